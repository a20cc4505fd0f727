"""`mainstem trial`: what a changed document would have written, compared with the running one on the same input."""

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import click

from mainstem.cli_errors import fail, fail_without_spark
from mainstem.cli_options import (
    cores_option,
    heap_option,
    output_option,
    query_option,
    set_option,
    verbose_option,
)
from mainstem.errors import MainstemError


@click.command()
@click.argument("new", type=click.Path(dir_okay=False))
@click.option(
    "--against",
    "old",
    required=True,
    metavar="OLD",
    type=click.Path(dir_okay=False),
    help="The running document.",
)
@click.option(
    "--batches",
    type=click.IntRange(1, 50),
    default=5,
    show_default=True,
    help="The number of the last committed batches of each query to process again.",
)
@query_option
@set_option
@output_option
@click.option(
    "--keep",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Keep the copies of the checkpoints and the rows in this folder, which must be new or empty.",
)
@click.option(
    "--summary",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Also write the numbers of each query as JSON of at most 4096 bytes, without examples of rows.",
)
@cores_option
@heap_option
@verbose_option
def trial(
    *,
    new: str,
    old: str,
    batches: int,
    queries: tuple[str, ...],
    overrides: dict[str, str],
    output: str,
    keep: Path | None,
    summary: Path | None,
    cores: int | None,
    heap: str,
    verbose: bool,
) -> None:
    """Try NEW, a changed document, against OLD, the running one.

    For each query, both documents process the last committed batches again, on copies of the checkpoint. The command
    compares the rows. It writes to no sink and to no checkpoint of the pipeline, which may run meanwhile.

    Exit code 9: rows or columns differ, or a query of NEW fails. Exit code 5: a query of NEW must not start on its
    checkpoint, or there is nothing to compare.
    """
    from mainstem import logs, reasons

    logs.configure("console", verbose=verbose)
    if keep is not None:
        _make(keep)
    file = old
    try:
        from mainstem.language.document import read

        before = read(old, overrides)
        file = new
        after = read(new, overrides)
        _check_names(after.pipeline, queries)
        from mainstem.runtime.local_sessions import LocalSessions
        from mainstem.trial import command, outcome

        opened = LocalSessions(cores, heap, verbose)
        trials = command.run(before, after, opened, batches=batches, names=queries, keep=keep)
    except MainstemError as error:
        _summarize_failure(summary, error)
        fail(error, file, verbose=verbose)
    except ImportError as error:
        fail_without_spark(error)
    if summary is not None:
        from mainstem.trial import summary as summaries

        summary.write_text(summaries.summary(trials), encoding="utf-8")
    if output == "json":
        code = outcome.exit_code(trials)
        click.echo(
            json.dumps(
                {"exitCode": int(code), "queries": [outcome.as_json(each) for each in trials]}, indent=2
            )
        )
    else:
        from mainstem.trial import text

        click.echo(text.report(trials, shutil.get_terminal_size((100, 24)).columns))
    if not any(each.outcome in outcome.COMPARED for each in trials):
        click.echo(f"error: the trial has compared no query [{reasons.NOTHING_COMPARED}]", err=True)
    sys.exit(outcome.exit_code(trials))


def _summarize_failure(file: Path | None, error: MainstemError) -> None:
    if file is None:
        return
    from mainstem.trial import summary

    file.write_text(summary.failure(error.reason, str(error)), encoding="utf-8")


def _make(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise click.BadParameter(f"{folder} is not empty", param_hint="--keep")


def _check_names(pipeline: Any, names: tuple[str, ...]) -> None:
    known = [query.name for query in pipeline.spec.queries]
    for name in names:
        if name not in known:
            raise click.BadParameter(
                f"the document has no query {name!r}; its queries are {', '.join(known)}",
                param_hint="--query",
            )
