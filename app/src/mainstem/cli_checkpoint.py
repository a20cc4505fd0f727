"""`mainstem checkpoint`: lists, checks, copies and removes checkpoints without Spark and without Java."""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar

import click

from mainstem.cli_errors import fail, fail_without_spark
from mainstem.cli_options import set_option
from mainstem.errors import MainstemError


Command = TypeVar("Command", bound=Callable[..., Any])


class Target(NamedTuple):
    """What the command line names.

    Attributes:
        root: the folder.
        query: the query of the document whose checkpoint it is; None without a document or without a query.
        pipeline: the document's pipeline.
    """

    root: Any
    query: Any = None
    pipeline: Any = None


@click.group()
def checkpoint() -> None:
    """List, check, copy and remove checkpoints, on a disk or in an S3 store, without Spark.

    CHECKPOINT is the folder of a checkpoint, `<checkpoints.location>/<query>/<generation>`. Instead of it, you can give a
    document with -f and a query with --query. For a store, the command uses the connections and secrets of the document;
    without a document it uses AWS's environment variables.
    """


_output = click.option("--output", type=click.Choice(["text", "json"]), default="text", show_default=True)
_file = click.option(
    "-f",
    "--file",
    metavar="FILE",
    type=click.Path(dir_okay=False),
    help="The document that names the checkpoint.",
)
_query = click.option("--query", metavar="NAME", help="The query of the document whose checkpoint it is.")


def _options(command: Command) -> Command:
    """The options of all commands on one checkpoint."""
    return _file(_query(set_option(_output(command))))


@checkpoint.command()
@click.argument("location", required=False)
@_options
def ls(
    *, location: str | None, file: str | None, query: str | None, overrides: dict[str, str], output: str
) -> None:
    """List checkpoints at and below LOCATION.

    The list has the last committed batch, the pending batch, age, size, stateful operators and owner.
    """
    with _reporting(file):
        from mainstem.checkpoints import description, finding, text

        target = _target(location, file, query, overrides, every=True)
        shown = [description.summary(each) for each in finding.below(target.root)]
    _write(shown, output, text.table)


@checkpoint.command()
@click.argument("path", required=False, metavar="[CHECKPOINT]")
@_options
def show(
    *, path: str | None, file: str | None, query: str | None, overrides: dict[str, str], output: str
) -> None:
    """Show offsets, state and owner of CHECKPOINT.

    Show also the watermark, the columns of the state, and the batches to which `rewind` can go back.
    """
    with _reporting(file):
        from mainstem.checkpoints import description, finding, text

        shown = description.details(finding.stream(_target(path, file, query, overrides).root))
    _write(shown, output, text.details)


@checkpoint.command()
@click.argument("path", required=False, metavar="[CHECKPOINT]")
@_options
def verify(
    *, path: str | None, file: str | None, query: str | None, overrides: dict[str, str], output: str
) -> None:
    """Check whether a restart on CHECKPOINT works.

    The command names missing and damaged files, and describes what a restart would do. Exit code 5: a restart would fail.
    """
    with _reporting(file):
        from mainstem import reasons
        from mainstem.checkpoints import finding, text
        from mainstem.checkpoints.verification import verify as check

        source = finding.stream(_target(path, file, query, overrides).root)
        result = check(source.folder, source.layout)
    shown = {
        "path": str(source.folder),
        "sound": result.sound,
        "problems": [each.__dict__ for each in result.problems],
        "restart": result.restart,
    }
    _write(shown, output, lambda _: text.verification(str(source.folder), result))
    if not result.sound:
        click.echo(f"error: a restart would fail or lose rows [{reasons.CHECKPOINT_DAMAGED}]", err=True)
        sys.exit(reasons.CHECKPOINT_DAMAGED.exit_code)


@checkpoint.command()
@click.argument("paths", nargs=-1, metavar="[CHECKPOINT] TO")
@click.option(
    "--at", metavar="TIME|BATCH", help="The batch to continue after. Default: the last committed batch."
)
@_options
def fork(
    *,
    paths: tuple[str, ...],
    at: str | None,
    file: str | None,
    query: str | None,
    overrides: dict[str, str],
    output: str,
) -> None:
    """Copy CHECKPOINT to the folder TO.

    The copy continues after a committed batch. CHECKPOINT stays as it is.
    """
    if len(paths) not in (1, 2):
        raise click.UsageError("name the folder TO of the copy, and before it CHECKPOINT unless you give -f")
    with _reporting(file):
        from mainstem.checkpoints import finding, text

        *path, to = paths
        target = _target(path[0] if path else None, file, query, overrides)
        source = finding.stream(target.root)
        shown = _copied(source, finding.beside(source.folder, to, target.pipeline), at, target, forked=True)
    _write(shown, output, text.copy)


@checkpoint.command()
@click.argument("path", required=False, metavar="[CHECKPOINT]")
@click.option(
    "--to", required=True, metavar="TIME|BATCH", help="The batch to go back to: a number or a time."
)
@_options
def rewind(
    *, path: str | None, to: str, file: str | None, query: str | None, overrides: dict[str, str], output: str
) -> None:
    """Continue after an older batch, on a new generation.

    CHECKPOINT stays as it is. A TIME such as 2026-03-01T12:00:00Z means the newest batch that was planned by then.
    """
    with _reporting(file):
        from mainstem.checkpoints import finding, text

        target = _target(path, file, query, overrides)
        source = finding.stream(target.root)
        shown = _copied(source, finding.next_generation(source), to, target, forked=False)
    _write(shown, output, text.copy)


@checkpoint.command()
@click.argument("path", required=False, metavar="[CHECKPOINT]")
@click.option("--yes", is_flag=True, help="Remove it. Without this option nothing is removed.")
@_options
def rm(
    *,
    path: str | None,
    yes: bool,
    file: str | None,
    query: str | None,
    overrides: dict[str, str],
    output: str,
) -> None:
    """Remove CHECKPOINT and the records of its owner and document.

    Without --yes the command only lists what it would remove.
    """
    with _reporting(file):
        from mainstem.checkpoints import finding, text
        from mainstem.checkpoints.removal import remove

        source = finding.single(_target(path, file, query, overrides).root)
        source.refuse_running()
        shown = remove(source, really=yes)
    _write(shown, output, text.removal)


def _target(
    path: str | None, file: str | None, query: str | None, overrides: dict[str, str], *, every: bool = False
) -> Target:
    """The folder that the command line names, by a path or by a document and a query."""
    from mainstem.checkpoints import finding

    if file is None:
        if path is None or query is not None:
            raise click.UsageError("name a path, or a document with -f")
        return Target(finding.opened(path))
    from mainstem.language.document import read

    pipeline = read(file, overrides).pipeline
    spec = pipeline.spec
    chosen = _query_of(spec.queries, query, every=every or path is not None)
    if path is None:
        below = chosen.checkpoint_id if every and query else "" if every else chosen.checkpoint_path
        path = f"{spec.checkpoints.location.rstrip('/')}/{below}".rstrip("/")
    return Target(finding.opened(path, pipeline), chosen, pipeline)


def _query_of(queries: Any, name: str | None, *, every: bool) -> Any:
    """The named query; without a name the only one, or None if any will do."""
    names = [each.name for each in queries]
    if name is None and len(queries) != 1 and not every:
        raise click.UsageError(f"the document has several queries; name one with --query: {', '.join(names)}")
    if name is not None and name not in names:
        raise click.BadParameter(
            f"the document has no query {name!r}; its queries are {', '.join(names)}", param_hint="--query"
        )
    return next((each for each in queries if (name is None and len(queries) == 1) or each.name == name), None)


def _copied(source: Any, to: Any, at: str | None, target: Target, *, forked: bool) -> dict[str, Any]:
    """Copy a checkpoint to a folder, and describe the copy."""
    from mainstem.checkpoints import consequences, copying

    source.refuse_running()
    batch = _batch(source, at)
    copy = copying.plan(source.folder, source.layout, batch, to)
    copying.carry_out(copy, source.folder, to)
    return {
        "from": str(source.folder),
        "forked": forked,
        "to": str(to),
        "batch": batch,
        "repeated": consequences.repeated(source.layout, batch),
        "sinks": consequences.sink_lines(target.query, source.layout, batch) if target.query else None,
        "unsureTopics": list(copy.unsure_topics),
        "owner": source.owner.description if source.owner else None,
    }


def _batch(source: Any, at: str | None) -> int:
    """The batch that the command line names, by its number or a time; without one the last committed batch."""
    from mainstem import reasons
    from mainstem.checkpoints import description, times
    from mainstem.errors import NotReady

    last: int | None = source.layout.last_committed
    if at is not None and at.isdecimal():
        return int(at)
    if at is not None:
        time = times.parsed(at)
        if time is None:
            raise click.BadParameter(
                f"{at!r} is neither the number of a batch nor a time such as 2026-03-01T12:00:00Z"
            )
        last = times.batch_at(time, description.planned_at(source))
    if last is None:
        raise NotReady(
            f"the checkpoint {source.folder} has no committed batch{f' by {at}' if at else ''}",
            reason=reasons.BATCH_NOT_KEPT,
            remedy="start a new generation with an empty checkpoint",
        )
    return last


def _write(shown: Any, output: str, text: Callable[[Any], str]) -> None:
    click.echo(json.dumps(shown, indent=2) if output == "json" else text(shown))


@contextmanager
def _reporting(file: str | None) -> Iterator[None]:
    """Reports an error as all commands do."""
    try:
        yield
    except MainstemError as error:
        fail(error, file or "", verbose=False)
    except FileNotFoundError as error:
        from mainstem import reasons
        from mainstem.errors import NotReady

        message = f"{error.filename or error} disappeared during the command: a driver uses the checkpoint"
        fail(NotReady(message, reason=reasons.CHECKPOINT_IN_USE), file or "", verbose=False)
    except ImportError as error:
        fail_without_spark(error)
