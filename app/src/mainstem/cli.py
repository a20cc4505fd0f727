"""The command line `mainstem` with all its commands; `driver` and `executor` are the commands of containers.

A command imports its own libraries only when it runs, so that no command waits for the libraries of another command.
"""

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from mainstem import __version__
from mainstem.cli_checkpoint import checkpoint
from mainstem.cli_diff import diff
from mainstem.cli_errors import fail, fail_without_spark
from mainstem.cli_options import (
    Commands,
    cores_option,
    heap_option,
    output_option,
    parse_duration,
    query_option,
    set_option,
    verbose_option,
)
from mainstem.cli_packages import packages
from mainstem.cli_preflight import preflight
from mainstem.cli_trial import trial
from mainstem.cli_validate import validate
from mainstem.errors import MainstemError
from mainstem.input_files import STANDARD_INPUT
from mainstem.reasons import Exit


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="mainstem")
def main() -> None:
    """Check and run a streaming pipeline that is described in one YAML document.

    Exit codes: 0 the run completed or drained; 1 an error in Mainstem; 2 wrong usage; 3 the document is invalid; 4 a query
    failed permanently; 5 something that the pipeline needs is missing or unreachable, or a query must not start on its
    checkpoint; 6 the drain's deadline or a second signal interrupted a batch; 7 a test of a document failed; 8 a newer
    driver has taken over a checkpoint; 9 a changed document writes other rows, or fails.
    """


@main.command()
@click.argument("file", type=click.Path(dir_okay=False))
@set_option
@query_option
@cores_option
@heap_option
@click.option(
    "--stop-when-idle",
    callback=parse_duration,
    metavar="DURATION",
    help="Drain once no query has read data for this long.",
)
@click.option(
    "--strict",
    is_flag=True,
    help="Run nothing if Spark rejects a query or a view, or if a query is not ready.",
)
@click.option(
    "--watch",
    is_flag=True,
    help="Apply changes of FILE while it runs: only the queries that a change concerns restart.",
)
@click.option(
    "--report", type=click.Path(dir_okay=False, path_type=Path), help="Write the final status here, as JSON."
)
@click.option(
    "--log-format", type=click.Choice(["console", "json"]), help="Default: console on a terminal, else json."
)
@verbose_option
def run(
    *,
    file: str,
    overrides: dict[str, str],
    queries: tuple[str, ...],
    cores: int | None,
    heap: str,
    stop_when_idle: float | None,
    strict: bool,
    watch: bool,
    report: Path | None,
    log_format: Any,
    verbose: bool,
) -> None:
    """Run the pipeline of FILE on this machine, until its queries end or you stop it.

    Ctrl-C or SIGTERM drains the pipeline: running batches finish and commit. A second signal interrupts them.
    """
    from mainstem import logs

    if watch and file == STANDARD_INPUT:
        raise click.BadParameter("standard input does not change; give a file", param_hint="--watch")
    logs.configure(log_format or ("console" if sys.stderr.isatty() else "json"), verbose=verbose)
    try:
        from mainstem.language.document import read

        def chosen() -> Any:
            document = read(file, overrides)
            return _only_queries(document, queries) if queries else document

        document = chosen()
        for warning in document.warnings:
            logs.get("mainstem").warning(warning.render(document.file))
        from mainstem.runtime import runner
        from mainstem.runtime.clock import Clock
        from mainstem.runtime.watching import DocumentWatch, FileChanges

        clock = Clock()
        options = runner.on_this_machine(
            document,
            cores=cores,
            heap=heap,
            idle=stop_when_idle,
            report=report,
            strict=strict,
            verbose=verbose,
            clock=clock,
            watch=DocumentWatch(FileChanges(Path(file), chosen), clock) if watch else None,
        )
        runner.run(document, options)
    except MainstemError as error:
        fail(error, file, verbose=verbose)
    except ImportError as error:
        fail_without_spark(error)


@main.command(hidden=True)
@click.argument("file", type=click.Path(dir_okay=False))
@click.option(
    "--preflight-against",
    "running",
    metavar="RUNNING",
    type=click.Path(dir_okay=False),
    help="Start nothing: check FILE as `mainstem preflight FILE --against RUNNING` does, as a driver of this pod.",
)
@verbose_option
def driver(file: str, running: str | None, verbose: bool) -> None:
    """Run the pipeline of FILE as the driver of a pod. The operator starts this command; on a machine use `mainstem run`.

    Environment variables describe the pod (MAINSTEM_NAMESPACE and others, see mainstem.names). Logs are JSON.
    """
    if running is not None:
        from mainstem.runtime.driver import preflight_pod

        sys.exit(preflight_pod.main(file, running, verbose=verbose))
    from mainstem.runtime.driver.entry import main as drive

    sys.exit(drive(file, verbose=verbose))


@main.command(hidden=True)
def executor() -> None:
    """Run an executor of Spark. Spark starts this command in the pods that a driver creates."""
    from mainstem.runtime.executor import entry

    entry.main()


@main.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(dir_okay=False, path_type=Path))
@set_option
@click.option(
    "--junit", type=click.Path(dir_okay=False, path_type=Path), help="Write JUnit's XML here, for CI."
)
@verbose_option
def test(files: tuple[Path, ...], overrides: dict[str, str], junit: Path | None, verbose: bool) -> None:
    """Run the tests of documents: `x.test.yaml` tests `x.yaml`. Each FILE is a document or a test file.

    A test gives rows to sources and lists the rows that queries must write. It reads and writes nothing outside this
    machine.
    """
    from mainstem import logs

    logs.configure("console", verbose=verbose)
    try:
        from mainstem.testing import command

        passed = command.run(files, overrides, junit=junit, verbose=verbose, write=click.echo)
    except MainstemError as error:
        fail(error, str(files[0]), verbose=verbose)
    except ImportError as error:
        fail_without_spark(error)
    sys.exit(Exit.OK if passed else Exit.TESTS_FAILED)


@main.command()
@click.argument("file", type=click.Path(dir_okay=False))
@set_option
@query_option
@output_option
@click.option(
    "--plan", is_flag=True, help="Show Spark's plans too. Needs Java, and the data that the sources read."
)
def explain(file: str, overrides: dict[str, str], queries: tuple[str, ...], output: str, plan: bool) -> None:
    """Explain FILE: what each query reads, keeps in state and guarantees, its possible triggers, and the defaults."""
    try:
        from mainstem.explain import meaning, text
        from mainstem.language.document import read

        document = read(file, overrides)
        _check_query_names(document.pipeline, queries)
        explained = meaning(document.graph, *queries)
        if plan:
            from mainstem.runtime.plans import plans

            explained["plans"] = plans(document, [query["name"] for query in explained["queries"]])
    except MainstemError as error:
        fail(error, file, verbose=False)
    except ImportError as error:
        fail_without_spark(error)
    if output == "json":
        import json

        click.echo(json.dumps(explained, indent=2))
    else:
        click.echo(text(explained))


@main.command()
def crd() -> None:
    """Print the CustomResourceDefinition of StreamingPipeline, for `kubectl apply -f -`."""
    from mainstem.schema import crd_yaml

    click.echo(crd_yaml(), nl=False)


main.add_command(checkpoint)
main.add_command(diff)
main.add_command(packages)
main.add_command(preflight)
main.add_command(trial)
main.add_command(validate)


def _only_queries(document: Any, names: Sequence[str]) -> Any:
    """The document with only the named queries and the warnings about them."""
    from mainstem.language.requirements import warnings_of

    _check_query_names(document.pipeline, names)
    warnings = tuple(warnings_of(document, names))
    return replace(document.running_only(names), warnings=warnings)


def _check_query_names(pipeline: Any, names: Sequence[str]) -> None:
    """Fail as wrong usage if the document has no query of one of the names."""
    known = [query.name for query in pipeline.spec.queries]
    for name in names:
        if name not in known:
            raise click.BadParameter(
                f"the document has no query {name!r}; its queries are {', '.join(known)}",
                param_hint="--query",
            )
