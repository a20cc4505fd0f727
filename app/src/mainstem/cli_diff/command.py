"""The command `mainstem diff`."""

import json
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mainstem.cli_errors import fail, fail_without_cluster
from mainstem.cli_options import output_option, set_option
from mainstem.errors import MainstemError
from mainstem.reasons import Exit


if TYPE_CHECKING:
    from mainstem.cluster.running_pipeline import RunningPipeline
    from mainstem.language.document import Document


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(dir_okay=False), metavar="[OLD] NEW")
@set_option
@click.option(
    "--cluster", is_flag=True, help="Compare NEW with what the pipeline of its name runs on a cluster."
)
@click.option("--context", metavar="NAME", help="The context of the kubeconfig. Default: the current one.")
@click.option("--namespace", "-n", metavar="NAME", help="The namespace. Default: the one of the context.")
@click.option("--name", metavar="NAME", help="The pipeline on the cluster. Default: the name in NEW.")
@output_option
def diff(
    *,
    files: tuple[str, ...],
    overrides: dict[str, str],
    cluster: bool,
    context: str | None,
    namespace: str | None,
    name: str | None,
    output: str,
) -> None:
    """Compare OLD, the running document, with NEW, and show what happens to each query and its checkpoint.

    With --cluster the command reads the running document from the cluster, so give only NEW. It also shows the state of
    each query, and how many records it has to read, as far as the status has the numbers.

    Exit code 5: a query must not start on its checkpoint, because it would misread the checkpoint or cannot use it, and
    its checkpoint.onChange accepts neither.
    """
    if len(files) != (1 if cluster else 2):
        raise click.UsageError("give one document with --cluster, and two documents without it")
    if not cluster and (context or namespace or name):
        raise click.UsageError("--context, --namespace and --name need --cluster")
    from mainstem.changes.transition import transition
    from mainstem.cli_diff.report import Comparison, json_of, lines
    from mainstem.language.document import read

    file = files[0]
    try:
        running = None if cluster else read(file, overrides)
        file = files[-1]
        after = read(file, overrides)
        pipeline = None
        if running is None:
            file = "the running document"
            pipeline, running = _on_cluster(context, namespace, name or after.pipeline.name)
    except MainstemError as error:
        fail(error, file, verbose=False)
    except ImportError as error:
        fail_without_cluster(error)
    way = transition(running.graph, after.graph, str(Path.cwd()))
    if pipeline is not None:
        way = way.retrying(pipeline.failed, after.graph)
    comparison = Comparison(way, running, after, pipeline)
    if output == "json":
        click.echo(json.dumps(json_of(comparison), indent=2))
    else:
        for line in lines(comparison, shutil.get_terminal_size((80, 24)).columns):
            click.echo(line)
    sys.exit(Exit.NOT_READY if comparison.refused else Exit.OK)


def _on_cluster(
    context: str | None, namespace: str | None, name: str
) -> tuple["RunningPipeline", "Document"]:
    """A pipeline of a cluster, and the document that it runs."""
    from pydantic import ValidationError

    from mainstem.cluster.running_pipeline import running_pipeline
    from mainstem.cluster.user_api import UserApi
    from mainstem.language.document import read_text
    from mainstem.names import revision_name

    api = UserApi(context, namespace)
    try:
        pipeline = running_pipeline(api.pipeline(name))
        text = api.document(pipeline.name, pipeline.revision)
    finally:
        api.close()
    [document] = read_text(text, f"configmap/{revision_name(pipeline.name, pipeline.revision)}")
    try:
        return pipeline, document.with_fields(pipeline.apart)
    except ValidationError:  # a newer release knows more of the fields; these two decide
        decisive = {
            name: pipeline.apart[name] for name in ("suspend", "restartNonce") if name in pipeline.apart
        }
        return pipeline, document.with_fields(decisive)
