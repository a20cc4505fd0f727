"""`mainstem validate`: checks documents and test files without Spark and without Java."""

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from mainstem.cli_errors import error_lines, report
from mainstem.cli_options import set_option
from mainstem.errors import MainstemError, SpecInvalid
from mainstem.reasons import Exit


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path())
@set_option
def validate(files: tuple[str, ...], overrides: dict[str, str]) -> None:
    """Check documents and test files (x.test.yaml) against every rule that needs neither Spark nor Java."""
    from functools import partial

    from mainstem.limits import within_limits

    code = Exit.OK
    for file in files:
        try:
            file_code, lines = within_limits(partial(check_file, file, overrides), file)
        except SpecInvalid as error:
            report(error, file)
            file_code, lines = error.exit_code, []
        code = max(code, file_code)
        for line, is_error in lines:
            click.echo(line, err=is_error)
    sys.exit(code)


def check_file(file: str, overrides: dict[str, str]) -> tuple[Exit, list[tuple[str, bool]]]:
    """Check one file: the exit code, and the output lines, each with whether it goes to standard error."""
    from mainstem.language.document import read_all
    from mainstem.testing.beside import holds_tests

    try:
        if holds_tests(Path(file)):
            from mainstem.testing.files import suite

            tests = suite(Path(file), overrides)
            cases = _counted(tests.tests.cases, "case")
            return Exit.OK, [(f"{file}: tests of {tests.document.pipeline.name}: ok ({cases})", False)]
        documents = read_all(file, overrides)
    except MainstemError as error:
        return error.exit_code, [(line, True) for line in error_lines(error, file)]
    lines = []
    for document in documents:
        lines += [(warning.render(file), True) for warning in document.warnings]
        spec = document.pipeline.spec
        counts = (
            _counted(spec.sources, "source"),
            _counted(spec.views, "view"),
            _counted(spec.queries, "query"),
        )
        lines.append((f"{file}: {document.pipeline.name}: ok ({', '.join(counts)})", False))
    return Exit.OK, lines


def _counted(items: Sequence[object], name: str) -> str:
    plural = f"{name.removesuffix('y')}ies" if name.endswith("y") else f"{name}s"
    return f"{len(items)} {name if len(items) == 1 else plural}"
