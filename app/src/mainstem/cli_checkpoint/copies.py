"""The commands of `mainstem checkpoint` that make a copy: `fork` and `rewind`."""

from typing import Any

import click

from mainstem.cli_checkpoint.options import Target, command_options, reporting, target_of, write


@click.command()
@click.argument("paths", nargs=-1, metavar="[CHECKPOINT] TO")
@click.option(
    "--at", metavar="TIME|BATCH", help="The batch to continue after. Default: the last committed batch."
)
@command_options
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
    with reporting(file):
        from mainstem.checkpoints import finding, text

        *path, to = paths
        target = target_of(path[0] if path else None, file, query, overrides)
        source = finding.stream(target.root)
        shown = _copied(source, finding.beside(source.folder, to, target.pipeline), at, target, forked=True)
    write(shown, output, text.copy)


@click.command()
@click.argument("path", required=False, metavar="[CHECKPOINT]")
@click.option(
    "--to", required=True, metavar="TIME|BATCH", help="The batch to go back to: a number or a time."
)
@command_options
def rewind(
    *, path: str | None, to: str, file: str | None, query: str | None, overrides: dict[str, str], output: str
) -> None:
    """Continue after an older batch, on a new generation.

    CHECKPOINT stays as it is. A TIME such as 2026-03-01T12:00:00Z means the newest batch that was planned by then.
    """
    with reporting(file):
        from mainstem.checkpoints import finding, text

        target = target_of(path, file, query, overrides)
        source = finding.stream(target.root)
        shown = _copied(source, finding.next_generation(source), to, target, forked=False)
    write(shown, output, text.copy)


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


def last_batch(source: Any) -> int:
    """The last committed batch of a checkpoint."""
    return _batch(source, None)


def _batch(source: Any, at: str | None) -> int:
    """The batch that the command line names, by its number or a time; without one the last committed batch."""
    from mainstem import reasons
    from mainstem.checkpoints import description, times
    from mainstem.errors import NotReady

    if at is not None and at.isdecimal():
        return int(at)
    last: int | None = source.layout.last_committed
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
