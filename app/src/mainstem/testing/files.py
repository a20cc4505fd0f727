"""Reads a test file and its pipeline, and checks the names in the tests."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mainstem import input_files, reasons
from mainstem.errors import NotReady, Problem, SpecInvalid
from mainstem.language.analysis.graph import Graph
from mainstem.language.analysis.source_columns import complete_names, decoded_columns
from mainstem.language.document import Document, read
from mainstem.language.loading.shape_validation import nearest_of, shape_problems
from mainstem.language.model.sources import Source
from mainstem.language.yaml.yamltext import Path as Place
from mainstem.language.yaml.yamltext import YamlText, parse, render_path
from mainstem.testing.beside import holds_tests, pipeline_beside, tests_beside
from mainstem.testing.cases import KIND, PipelineTest, Row, is_record


@dataclass(frozen=True)
class Suite:
    """The tests of one file, and the checked document that they test."""

    file: Path
    tests: PipelineTest
    document: Document
    text: YamlText

    def line(self, case: int) -> int:
        """The line at which a case begins."""
        return self.text.where(("cases", case))[0]


def suite(file: Path, overrides: Mapping[str, str]) -> Suite:
    """Read the tests of a file: `x.test.yaml`, also for the pipeline's file `x.yaml`.

    Args:
        file: the test file, or the pipeline's file.
        overrides: values of parameters, which replace those of the tests.

    Raises:
        SpecInvalid: the tests or the pipeline are invalid; holds all problems, each with its line.
        NotReady: `FileNotReadable`, `TestsNotFound`.
    """
    file = _tests_of(file)
    tests, text = _read(file)
    named = file.parent / tests.pipeline if tests.pipeline else pipeline_beside(file)
    values = {parameter.name: parameter.value for parameter in tests.parameters}
    document = read(named, values | dict(overrides))
    if problems := list(_unknown(tests, text, document.graph)):
        raise SpecInvalid(problems, str(file))
    return Suite(file, tests, document, text)


def _tests_of(file: Path) -> Path:
    if holds_tests(file):
        return file
    beside = tests_beside(file)
    if file.exists() and not beside.exists():
        message = f"{file} has no tests: the file {beside} does not exist"
        raise NotReady(
            message, reason=reasons.TESTS_NOT_FOUND, remedy=f"create it with kind {KIND}; see docs/testing.md"
        )
    return beside


def _read(file: Path) -> tuple[PipelineTest, YamlText]:
    try:
        parts = parse(input_files.read_text(file))
    except SpecInvalid as invalid:
        raise SpecInvalid(invalid.problems, str(file)) from None
    if len(parts) != 1:
        problem = Problem(
            1, 1, "$", f"holds {len(parts)} documents; one {KIND} is expected", reasons.NOT_ONE_TEST
        )
        raise SpecInvalid([problem], str(file))
    tests, problems = shape_problems(parts[0], PipelineTest)
    if tests is None:
        raise SpecInvalid(problems, str(file))
    return tests, parts[0]


def _unknown(tests: PipelineTest, text: YamlText, graph: Graph) -> Iterator[Problem]:
    """Problems of names: names that the pipeline does not have, and names of cases that are not unique."""
    queries = [query.name for query in graph.spec.queries]
    streams = [name for name, source in graph.sources.items() if source.streaming]
    static = [name for name, source in graph.sources.items() if not source.streaming]
    for path, name, known, noun in _named(tests, graph.names, queries, streams, static):
        if name not in known:
            line, column = text.where((*path, name), key=True)
            message = f"the pipeline has no {noun} {name!r}{nearest_of(name, known) if known else ''}"
            yield Problem(line, column, render_path((*path, name)), message, reasons.UNKNOWN_RELATION)
    yield from _unknown_columns(tests, text, graph)
    taken: set[str] = set()
    for index, case in enumerate(tests.cases):
        if case.name in taken:
            line, column = text.where(("cases", index, "name"))
            message = f"an earlier case already has the name {case.name!r}; give each case its own name"
            yield Problem(line, column, f"cases[{index}].name", message, reasons.DUPLICATE_NAME)
        taken.add(case.name)


def _named(
    tests: PipelineTest, relations: list[str], queries: list[str], streams: list[str], static: list[str]
) -> Iterator[tuple[Place, str, list[str], str]]:
    """(path of the mapping, name in it, names that exist, noun for them)."""
    yield from ((("tables",), name, static, "static source") for name in tests.tables)
    yield from ((("schemas",), name, [*streams, *static], "source") for name in tests.schemas)
    for index, case in enumerate(tests.cases):
        at: Place = ("cases", index)
        yield from (((*at, "tables"), name, static, "static source") for name in case.tables)
        for number, step in enumerate(case.steps):
            here: Place = (*at, "steps", number)
            yield from (((*here, "given"), name, streams, "streaming source") for name in step.given)
            expect: Place = (*here, "expect")
            yield from (((*expect, "relations"), n, relations, "relation") for n in step.expect.relations)
            yield from (((*expect, "queries"), n, queries, "query") for n in step.expect.queries)
            yield from (((*expect, "dropped"), n, queries, "query") for n in step.expect.dropped)


def _unknown_columns(tests: PipelineTest, text: YamlText, graph: Graph) -> Iterator[Problem]:
    """Problems of given rows: columns that their source does not have, where its columns are known without Spark."""
    for path, name, rows in _given(tests):
        source = graph.sources.get(name)
        known = _row_columns(source) if source is not None and name not in tests.schemas else None
        if known is None:
            continue
        for index, row in enumerate(rows):
            for column in _named_columns(row):
                if column not in known:
                    place = (*path, name, index, column)
                    line, at = text.where(place, key=True)
                    message = f"{name!r} has no column {column!r}, and a record with other keys is given as text{nearest_of(column, known)}"
                    yield Problem(line, at, render_path(place), message, reasons.UNKNOWN_COLUMN)


def _named_columns(row: Row) -> list[str]:
    """The columns that a given row names; none if it is the text of a record, or has the columns of one."""
    return [] if isinstance(row, str) or is_record(row) else list(row)


def _given(tests: PipelineTest) -> Iterator[tuple[Place, str, Sequence[Row]]]:
    """(path of the mapping, name of the source, its rows)."""
    yield from ((("tables",), name, rows) for name, rows in tests.tables.items())
    for index, case in enumerate(tests.cases):
        yield from ((("cases", index, "tables"), name, rows) for name, rows in case.tables.items())
        for number, step in enumerate(case.steps):
            at: Place = ("cases", index, "steps", number, "given")
            yield from ((at, name, rows) for name, rows in step.given.items())


def _row_columns(source: Source) -> list[str] | None:
    """The columns that a given row of the source may have, or None if only Spark knows them."""
    return decoded_columns(source.decode) if source.decode else complete_names(source)
