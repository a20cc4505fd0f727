"""The commands of `mainstem checkpoint` that read a checkpoint, and `rm`."""

import sys

import click

from mainstem.cli_checkpoint.options import command_options, reporting, target_of, write


@click.command()
@click.argument("location", required=False)
@command_options
def ls(
    *, location: str | None, file: str | None, query: str | None, overrides: dict[str, str], output: str
) -> None:
    """List checkpoints at and below LOCATION.

    The list has the last committed batch, the pending batch, age, size, stateful operators and owner.
    """
    with reporting(file):
        from mainstem.checkpoints import description, finding, text

        target = target_of(location, file, query, overrides, every=True)
        shown = [description.summary(each) for each in finding.below(target.root)]
    write(shown, output, text.table)


@click.command()
@click.argument("path", required=False, metavar="[CHECKPOINT]")
@click.option(
    "--ends",
    is_flag=True,
    help="Ask Kafka for the ends of the topics, and show the records that are not read yet. Needs -f and Java.",
)
@command_options
def show(
    *,
    path: str | None,
    ends: bool,
    file: str | None,
    query: str | None,
    overrides: dict[str, str],
    output: str,
) -> None:
    """Show offsets, state and owner of CHECKPOINT.

    Show also the watermark, the columns of the state, and the batches to which `rewind` can go back.
    """
    with reporting(file):
        from mainstem.checkpoints import backlog, description, finding, text

        target = target_of(path, file, query, overrides)
        if ends and target.query is None:
            raise click.UsageError("--ends needs a document with -f, and its query with --query")
        shown = description.details(finding.stream(target.root))
        if ends:
            from mainstem.runtime.preflight.topic_ends import topic_ends

            shown |= {"ends": backlog.ends(shown["offsets"], topic_ends(target.graph, target.query))}
    write(shown, output, text.details)


@click.command()
@click.argument("path", required=False, metavar="[CHECKPOINT]")
@command_options
def verify(
    *, path: str | None, file: str | None, query: str | None, overrides: dict[str, str], output: str
) -> None:
    """Check whether a restart on CHECKPOINT works.

    The command names missing and damaged files, and describes what a restart would do. Exit code 5: a restart would fail.
    """
    with reporting(file):
        from mainstem import reasons
        from mainstem.checkpoints import finding, text
        from mainstem.checkpoints.damage.verification import verify as check

        source = finding.stream(target_of(path, file, query, overrides).root)
        result = check(source.folder, source.layout)
    shown = {
        "path": str(source.folder),
        "sound": result.sound,
        "problems": [each.__dict__ for each in result.problems],
        "restart": result.restart,
    }
    write(shown, output, lambda _: text.verification(str(source.folder), result))
    if not result.sound:
        click.echo(f"error: a restart would fail or lose rows [{reasons.CHECKPOINT_DAMAGED}]", err=True)
        sys.exit(reasons.CHECKPOINT_DAMAGED.exit_code)


@click.command()
@click.argument("path", required=False, metavar="[CHECKPOINT]")
@click.option("--yes", is_flag=True, help="Remove it. Without this option nothing is removed.")
@command_options
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
    with reporting(file):
        from mainstem.checkpoints import finding, text
        from mainstem.checkpoints.removal import remove

        source = finding.single(target_of(path, file, query, overrides).root)
        source.refuse_running()
        shown = remove(source, really=yes)
    write(shown, output, text.removal)
