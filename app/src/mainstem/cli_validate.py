"""`mainstem validate`: checks documents and test files without Spark and without Java."""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from mainstem.cli_errors import error_lines
from mainstem.cli_options import output_option, set_option
from mainstem.errors import MainstemError, Problem, SpecInvalid
from mainstem.input_files import STANDARD_INPUT, shown_name
from mainstem.reasons import Exit


@dataclass(frozen=True)
class Checked:
    """What the check of a file found.

    Attributes:
        code: the exit code for this file.
        lines: the text, each line with whether it goes to standard error.
        shown: the same as an object of JSON.
    """

    code: Exit
    lines: list[tuple[str, bool]]
    shown: dict[str, Any]


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(allow_dash=True))
@set_option
@output_option
def validate(files: tuple[str, ...], overrides: dict[str, str], output: str) -> None:
    """Check documents and test files (x.test.yaml) against every rule that needs neither Spark nor Java.

    A FILE of - is a document from standard input.
    """
    from functools import partial

    from mainstem.limits import within_limits

    if files.count(STANDARD_INPUT) > 1:
        raise click.UsageError("standard input can be read only once; give - once")
    results = []
    for file in files:
        try:
            result = within_limits(partial(check_file, file, overrides), shown_name(file))
        except SpecInvalid as error:
            result = _refused(error, shown_name(file))
        results.append(result)
        for line, is_error in result.lines if output == "text" else ():
            click.echo(line, err=is_error)
    if output == "json":
        click.echo(json.dumps({"files": [result.shown for result in results]}, indent=2))
    sys.exit(max(result.code for result in results))


def check_file(file: str, overrides: dict[str, str]) -> Checked:
    """Check one file, or standard input for `-`."""
    from mainstem.language.document import read_all
    from mainstem.testing.beside import holds_tests

    name = shown_name(file)
    try:
        if holds_tests(Path(file)):
            from mainstem.testing.files import suite

            tests = suite(Path(file), overrides)
            cases, pipeline = tests.tests.cases, tests.document.pipeline.name
            text = f"{name}: tests of {pipeline}: ok ({_counted(cases, 'case')})"
            shown = _file(name, []) | {"testsOf": pipeline, "cases": len(cases)}
            return Checked(Exit.OK, [(text, False)], shown)
        documents = read_all(file, overrides)
    except MainstemError as error:
        return _refused(error, name)
    lines: list[tuple[str, bool]] = []
    pipelines = []
    for document in documents:
        lines += [(warning.render(name), True) for warning in document.warnings]
        spec = document.pipeline.spec
        parts = {"source": spec.sources, "view": spec.views, "query": spec.queries}
        counts = ", ".join(_counted(items, part) for part, items in parts.items())
        lines.append((f"{name}: {document.pipeline.name}: ok ({counts})", False))
        numbers = {_plural(part): len(items) for part, items in parts.items()}
        pipelines.append({"name": document.pipeline.name, **numbers})
    problems = [_shown(warning, name) for document in documents for warning in document.warnings]
    return Checked(Exit.OK, lines, _file(name, problems) | {"pipelines": pipelines})


def _refused(error: MainstemError, file: str) -> Checked:
    from mainstem.logs import redact

    if isinstance(error, SpecInvalid):
        problems = [_shown(problem, error.file or file) for problem in error.problems]
    else:
        problems = [_problem("error", error.reason, error.text, file)]
    problems = [problem | {"message": redact(problem["message"])} for problem in problems]
    lines = [(line, True) for line in error_lines(error, file)]
    return Checked(error.exit_code, lines, _file(file, problems, valid=False))


def _file(file: str, problems: list[dict[str, Any]], *, valid: bool = True) -> dict[str, Any]:
    return {"file": file, "valid": valid, "pipelines": [], "problems": problems}


def _shown(problem: Problem, file: str) -> dict[str, Any]:
    severity = "warning" if problem.warning else "error"
    place = {"path": problem.path, "line": problem.line, "column": problem.column}
    return _problem(severity, problem.reason, problem.message, file) | place


def _problem(severity: str, reason: str, message: str, file: str) -> dict[str, Any]:
    """A problem without a place; `file` is the one that has it, such as the document of a test file."""
    place = {"file": file, "path": None, "line": None, "column": None}
    return {"severity": severity, "reason": reason, "message": message, **place}


def _counted(items: Sequence[object], name: str) -> str:
    return f"{len(items)} {name if len(items) == 1 else _plural(name)}"


def _plural(name: str) -> str:
    return f"{name.removesuffix('y')}ies" if name.endswith("y") else f"{name}s"
