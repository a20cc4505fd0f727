"""The command `kubectl mainstem`: kubectl finds the executable `kubectl-mainstem` on PATH."""

import signal
import sys
from typing import Any, Final

import click
from mainstem.cli_diff import diff
from mainstem.cli_errors import fail
from mainstem.cli_options import Commands
from mainstem.errors import MainstemError


COMMANDS: Final = ("ls", "show", "verify", "fork", "rewind", "repartition", "rm")


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="mainstem-operator", prog_name="kubectl mainstem")
def main() -> None:
    """Work on the pipelines of a cluster, with the context and the rights of kubectl."""


@main.command(context_settings={"ignore_unknown_options": True})
@click.option("--context", metavar="NAME", help="The context of the kubeconfig. Default: the current one.")
@click.option("--namespace", "-n", metavar="NAME", help="The namespace. Default: the one of the context.")
@click.option("--image", metavar="IMAGE", help="The image of the pod. Default: the image of the driver.")
@click.option("--timeout", default=120.0, show_default=True, help="Seconds in which the pod has to start.")
@click.argument("command", type=click.Choice(COMMANDS))
@click.argument("pipeline")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def checkpoint(
    *,
    context: str | None,
    namespace: str | None,
    image: str | None,
    timeout: float,
    command: str,
    pipeline: str,
    arguments: tuple[str, ...],
) -> None:
    """Run `mainstem checkpoint COMMAND` for PIPELINE in a pod of its namespace.

    The pod has the image, the service account, the Secrets and the volumes of the driver, so it reaches the store. The
    document is the one that the pipeline runs. ARGUMENTS are those of `mainstem checkpoint COMMAND`, such as --query. The
    pod is deleted at the end. The exit code is that of the command.

    While the pipeline has a driver, fork, rewind, repartition and rm refuse to run. repartition runs Spark, so its pod has
    the resources of the driver.
    """
    from mainstem.cluster.user_api import UserApi

    from mainstem_operator.kubectl_plugin.command_run import run

    signal.signal(signal.SIGTERM, _interrupted)
    try:
        api = UserApi(context, namespace)
        code = run(api, pipeline, command, arguments, image=image, timeout=timeout, write=_write)
    except MainstemError as error:
        fail(error, "", verbose=False)
    sys.exit(code)


@main.command()
@click.option("--context", metavar="NAME", help="The context of the kubeconfig. Default: the current one.")
@click.option("--namespace", "-n", metavar="NAME", help="The namespace. Default: the one of the context.")
@click.argument("pipeline")
def promote(*, context: str | None, namespace: str | None, pipeline: str) -> None:
    """Apply the changed document of PIPELINE that is on trial, whatever its trial has shown.

    The command sets `spec.trial.promote` to the revision in `status.trial`. If a repository of documents is applied to the
    cluster, write the field there.
    """
    from mainstem.cluster.user_api import UserApi

    from mainstem_operator.kubectl_plugin import promotion

    try:
        click.echo(promotion.promote(UserApi(context, namespace), pipeline))
    except MainstemError as error:
        fail(error, "", verbose=False)


@main.command(
    name="diff",
    context_settings={"ignore_unknown_options": True, "help_option_names": []},
    add_help_option=False,
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def diff_cluster(arguments: tuple[str, ...]) -> None:
    """Compare a document with what its pipeline runs: `mainstem diff FILE --cluster`."""
    diff.main(["--cluster", *arguments], prog_name="kubectl mainstem diff")


def _write(part: bytes) -> None:
    sys.stdout.buffer.write(part)
    sys.stdout.buffer.flush()


def _interrupted(*_: Any) -> None:
    raise KeyboardInterrupt
