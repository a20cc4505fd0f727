"""`mainstem preflight`: everything that a start of a document checks, without the start."""

import sys

import click

from mainstem.cli_errors import fail, fail_without_spark
from mainstem.cli_options import cores_option, heap_option, set_option, verbose_option
from mainstem.errors import MainstemError


@click.command()
@click.argument("file", type=click.Path(dir_okay=False))
@click.option(
    "--against",
    metavar="OLD",
    type=click.Path(dir_okay=False),
    help="The running document: a query of it must not wait for an input that FILE alone lacks.",
)
@set_option
@cores_option
@heap_option
@verbose_option
def preflight(
    *,
    file: str,
    against: str | None,
    overrides: dict[str, str],
    cores: int | None,
    heap: str,
    verbose: bool,
) -> None:
    """Check everything that a start of FILE checks, and start nothing.

    The command needs Java, and reaches the stores, the servers and the checkpoints. Spark analyses every query. The pipeline may
    run meanwhile: only the folder checkpoints.location is made, and a probe in it, which is removed again.

    Exit code 3: the document is invalid, or Spark refuses it. Exit code 5: a query is not ready, or must not start on its
    checkpoint.
    """
    from mainstem import logs

    logs.configure("console", verbose=verbose)
    read_file = against or file
    try:
        from mainstem.language.document import read

        runs = read(against, overrides).graph if against else None
        read_file = file
        document = read(file, overrides)
        for warning in document.warnings:
            click.echo(warning.render(document.file), err=True)
        from mainstem.checkpoints.owner import DriverIdentity
        from mainstem.runtime import dry_start
        from mainstem.runtime.clock import Clock
        from mainstem.runtime.local_sessions import LocalSessions
        from mainstem.runtime.preflight import user_modules

        user_modules.add_folder(document.folder)
        opened = LocalSessions(cores, heap, verbose)
        waits = dry_start.run(document, opened, DriverIdentity(document.pipeline.name), Clock(), runs)
    except MainstemError as error:
        fail(error, read_file, verbose=verbose)
    except ImportError as error:
        fail_without_spark(error)
    for line in dry_start.lines(waits):
        click.echo(f"{document.file}: {line}")
    sys.exit(0)
