"""Reads and checks documents: YAML, shape, parameters and rules; reports all problems at once."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path as File
from typing import Any

from mainstem import input_files, reasons
from mainstem.errors import Problem, SpecInvalid
from mainstem.language.analysis.graph import Graph
from mainstem.language.loading.parameters import substitute, values_of
from mainstem.language.loading.partial import rest
from mainstem.language.loading.problems import problem_at
from mainstem.language.loading.shape_validation import MAX_PROBLEMS, did_you_mean, shape_problems, show
from mainstem.language.model.pipeline import StreamingPipeline
from mainstem.language.rules.registry import check
from mainstem.language.yaml.yamltext import Path, YamlText, parse, parse_path, render_path
from mainstem.names import GROUP, KIND


@dataclass(frozen=True)
class Document:
    """A checked document.

    Attributes:
        written: the pipeline as written.
        graph: the graph of the same pipeline with its parameters filled in; built once, for all who need it.
        warnings: problems that do not make the document invalid.
        file: the file's name.
        text: the document's text with its positions.
        values: the values of the parameters.
    """

    written: StreamingPipeline
    graph: Graph
    warnings: tuple[Problem, ...]
    file: str
    text: YamlText
    values: Mapping[str, str]

    @property
    def pipeline(self) -> StreamingPipeline:
        """The pipeline with its parameters filled in."""
        return self.graph.pipeline

    @property
    def folder(self) -> File:
        """The folder of the document's file, with the user's Python modules."""
        return File(self.file).absolute().parent

    def running_only(self, names: Collection[str]) -> "Document":
        """The same document with these queries running, suspended or not, and all others suspended."""
        return replace(self, graph=self.graph.running_only(names))

    def with_generations(self, generations: Mapping[str, int]) -> "Document":
        """The same document with other generations of the named queries' checkpoints."""
        return replace(self, graph=self.graph.with_generations(generations))

    def with_fields(self, fields: Mapping[str, Any]) -> "Document":
        """The same document with other values of some fields of `spec`; its text stays.

        Args:
            fields: field -> its value, as a document has them.

        Raises:
            ValidationError: a value is not valid.
        """
        return replace(self, graph=self.graph.with_fields(fields))

    def located(self, error: SpecInvalid) -> SpecInvalid:
        """The same error with lines of this document, for problems that have no line yet."""
        return SpecInvalid([self._located(problem) for problem in error.problems], self.file)

    def problem(
        self, path: Path, message: str, reason: reasons.Reason, *, offset: int | None = None
    ) -> Problem:
        """A problem with its line and column in this document."""
        return problem_at(self.text, self.values, path, message, reason, offset=offset)

    def _located(self, problem: Problem) -> Problem:
        if problem.line:
            return problem
        line, column = self.text.where(parse_path(problem.path))
        return replace(problem, line=line, column=column)


def read(file: str | File, overrides: Mapping[str, str] | None = None) -> Document:
    """Read the only pipeline of a file, and check it by every rule that needs no Spark.

    Args:
        file: path of a YAML or JSON file, or `-` for standard input; documents of other kinds in it are ignored.
        overrides: values of parameters, which replace the document's values.

    Raises:
        SpecInvalid: the document is invalid; holds all problems, each with its line.
        NotReady: the file cannot be read (`FileNotReadable`).
    """
    documents = read_all(file, overrides)
    if len(documents) != 1:
        problem = Problem(
            1,
            1,
            "$",
            f"the file has {len(documents)} pipelines; use a file with exactly one",
            reasons.NOT_ONE_PIPELINE,
        )
        raise SpecInvalid([problem], input_files.shown_name(file))
    return documents[0]


def read_all(file: str | File, overrides: Mapping[str, str] | None = None) -> list[Document]:
    """Read every pipeline of a file; raises the same errors as `read`."""
    return read_text(input_files.read_text(file), input_files.shown_name(file), overrides)


def read_text(text: str, file: str = "<text>", overrides: Mapping[str, str] | None = None) -> list[Document]:
    """Read every pipeline of a text; raises `SpecInvalid` with the problems of all pipelines."""
    documents, problems = [], []
    try:
        parts = parse(text)
    except SpecInvalid as invalid:
        raise SpecInvalid(invalid.problems, file) from None
    ours = [part for part in parts if not _foreign(part)] or parts
    for part in ours:
        document, part_problems = _read_part(part, file, overrides or {})
        problems += part_problems
        documents += [document] if document else []
    if not parts:
        problems.append(
            Problem(1, 1, "$", f"the file is empty; a {KIND} is expected", reasons.EMPTY_DOCUMENT)
        )
    if any(not problem.warning for problem in problems):
        raise SpecInvalid(problems, file)
    return documents


def read_object(
    data: Mapping[str, Any], check_more: Callable[[StreamingPipeline], Iterable[Problem]] | None = None
) -> Document:
    """Read the pipeline of an object from the API server; raises `SpecInvalid` with paths but without lines.

    Args:
        data: the object.
        check_more: finds further problems of a document whose shape is right.
    """
    part = YamlText(
        {key: value for key, value in data.items() if key in ("apiVersion", "kind", "metadata", "spec")}
    )
    document, problems = _read_part(part, "", {})
    if document is not None and check_more is not None:
        problems = [*problems, *check_more(document.pipeline)]
    if document is None or any(not problem.warning for problem in problems):
        raise SpecInvalid(problems)
    return document


def _misread_keys(part: YamlText) -> list[Problem]:
    """The keys that have other names in a cluster than in this file."""
    return [
        Problem(
            *part.where(path, key=True),
            render_path(path),
            f"kubectl reads the key {path[-1]} as {read}; put it in quotes",
            reasons.KEY_WITHOUT_QUOTES,
            warning=True,
        )
        for path, read in part.misread.items()
    ]


def _foreign(part: YamlText) -> bool:
    """Whether a document is of another kind, such as a ConfigMap, which a file may also have."""
    if not isinstance(part.data, dict) or part.data.get("kind") in (None, KIND):
        return False
    return not str(part.data.get("apiVersion")).startswith(f"{GROUP}/")


def _read_part(
    part: YamlText, file: str, overrides: Mapping[str, str]
) -> tuple[Document | None, list[Problem]]:
    kind = part.data.get("kind", KIND) if isinstance(part.data, dict) else None
    if kind != KIND:
        path: Path = ("kind",) if isinstance(part.data, dict) else ()
        line, column = part.where(path)
        shown = show(kind if path else part.data)
        hint = did_you_mean(str(kind), [KIND])
        message = f"a {KIND} is expected, found {shown}{hint}"
        return None, [Problem(line, column, render_path(path), message, reasons.WRONG_KIND)]
    part = replace(part, data={key: value for key, value in part.data.items() if key != "status"})
    written, problems = shape_problems(part, StreamingPipeline)
    if written is None:
        return None, problems + _further(part, problems, overrides)
    pipeline, problems = substitute(written, part, overrides)
    if pipeline is None:
        return None, problems + _further(part, problems, overrides)
    values = values_of(written, overrides)
    graph = Graph(pipeline)
    problems = [*_misread_keys(part), *check(graph, part, values)]
    return Document(written, graph, tuple(p for p in problems if p.warning), file, part, values), problems


def _further(part: YamlText, problems: list[Problem], overrides: Mapping[str, str]) -> list[Problem]:
    """Further problems of a document, in the parts that are not broken."""
    remaining = rest(part, problems) if len(problems) < MAX_PROBLEMS else None
    if remaining is None:
        return []
    _, further = _read_part(remaining.text, "", overrides)
    known = {(problem.path, problem.reason) for problem in problems}
    return [problem for problem in remaining.whole(further) if (problem.path, problem.reason) not in known]
