"""`mainstem checkpoint`: lists, checks, copies and removes checkpoints. Only `repartition` and `show --ends` need Java."""

import click

from mainstem.cli_checkpoint.commands import ls, rm, show, verify
from mainstem.cli_checkpoint.copies import fork, rewind
from mainstem.cli_checkpoint.repartitioning import repartition


@click.group()
def checkpoint() -> None:
    """List, check, copy and remove checkpoints, on a disk or in an S3 store.

    Only repartition and show --ends need Java.

    CHECKPOINT is the folder of a checkpoint, `<checkpoints.location>/<query>/<generation>`. Instead of it, you can give a
    document with -f and a query with --query. For a store, the command uses the connections and secrets of the document;
    without a document it uses AWS's environment variables.
    """


for _command in (ls, show, verify, fork, rewind, repartition, rm):
    checkpoint.add_command(_command)
