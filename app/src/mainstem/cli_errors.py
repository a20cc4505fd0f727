"""How a command reports an error: lines on standard error, and the exit code of the error."""

import sys
from typing import NoReturn

import click

from mainstem import reasons
from mainstem.errors import MainstemError, SpecInvalid
from mainstem.reasons import Exit


def fail(error: MainstemError, file: str, *, verbose: bool) -> NoReturn:
    """Report an error, with its traceback if `verbose`, and exit with its code."""
    report(error, file)
    if verbose:
        import traceback

        from mainstem.logs import redact

        click.echo(redact("".join(traceback.format_exception(error))), err=True)
    sys.exit(error.exit_code)


def fail_without_spark(error: ImportError) -> NoReturn:
    """Report that the extra `spark` is not installed, and exit; raises any other import error again."""
    if (error.name or "").partition(".")[0] not in ("pyspark", "py4j", "delta", "pandas", "pyarrow", "rich"):
        raise error
    click.echo(
        f"error: the Python module {error.name} is missing; install mainstem with its extra spark, "
        f"see Installing in the README [{reasons.SPARK_NOT_INSTALLED}]",
        err=True,
    )
    sys.exit(Exit.NOT_READY)


def fail_without_cluster(error: ImportError) -> NoReturn:
    """Report that the extra `cluster` is not installed, and exit; raises any other import error again."""
    if (error.name or "").partition(".")[0] not in ("kubernetes", "urllib3"):
        raise error
    click.echo(
        f"error: the Python module {error.name} is missing; install mainstem with its extra cluster "
        f"[{reasons.CLUSTER_CLIENT_NOT_INSTALLED}]",
        err=True,
    )
    sys.exit(Exit.NOT_READY)


def report(error: MainstemError, file: str) -> None:
    """Write the lines of an error to standard error."""
    for line in error_lines(error, file):
        click.echo(line, err=True)


def error_lines(error: MainstemError, file: str) -> list[str]:
    """The lines of an error, without secrets: one for each problem of a document."""
    from mainstem.logs import redact

    if isinstance(error, SpecInvalid):
        return [redact(problem.render(error.file or file)) for problem in error.problems]
    return [redact(f"error: {error}")]
