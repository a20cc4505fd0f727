"""The command `mainstem checkpoint repartition`."""

from typing import Any, NamedTuple

import click

from mainstem.cli_checkpoint.options import command_options, reporting, target_of, write
from mainstem.cli_options import cores_option, heap_option


@click.command()
@click.argument("path", required=False, metavar="[CHECKPOINT]")
@click.option(
    "--partitions",
    type=click.IntRange(1, 100_000),
    required=True,
    metavar="N",
    help="The number of partitions of the state.",
)
@cores_option
@heap_option
@command_options
def repartition(
    *,
    path: str | None,
    partitions: int,
    cores: int | None,
    heap: str,
    file: str | None,
    query: str | None,
    overrides: dict[str, str],
    output: str,
) -> None:
    """Copy CHECKPOINT to a new generation whose state has N partitions. Needs -f and Spark.

    The new generation continues after the last committed batch. CHECKPOINT stays as it is.
    """
    if file is None:
        raise click.UsageError("repartition starts Spark, so it needs a document with -f")
    from mainstem import logs

    logs.configure("console", verbose=False)
    with reporting(file):
        from mainstem.checkpoints import finding, text
        from mainstem.cli_checkpoint.copies import last_batch
        from mainstem.language.document import read

        target = target_of(path, file, query, overrides)
        source = finding.stream(target.root)
        source.refuse_running()
        batch = last_batch(source)
        shown = _repartitioned(source, batch, partitions, SparkOptions(read(file, overrides), cores, heap))
    write(shown, output, text.repartitioned)


class SparkOptions(NamedTuple):
    """What the session of Spark is made of: the document with the store, the threads for tasks, and the Java heap."""

    document: Any
    cores: int | None
    heap: str


def _repartitioned(source: Any, batch: int, partitions: int, options: SparkOptions) -> dict[str, Any]:
    """Copy the checkpoint, and repartition the copy; a copy that Spark does not repartition is removed."""
    from mainstem.checkpoints import copying, finding, repartitioning, requirements
    from mainstem.runtime.checkpoint.repartitioning import repartition as with_spark

    before = requirements.partitions(source.folder, source.layout)
    to = finding.next_generation(source)
    copy = repartitioning.with_partitions(
        copying.plan(source.folder, source.layout, batch, to), source.folder, before
    )
    copying.carry_out(copy, source.folder, to)
    try:
        with_spark(
            options.document, copying.hadoop_path(to), partitions, cores=options.cores, heap=options.heap
        )
        repartitioning.finish(to, batch, partitions)
    except BaseException:
        copying.remove(to, [file.path for file in to.files()])
        raise
    return {
        "from": str(source.folder),
        "to": str(to),
        "batch": batch,
        "before": before,
        "partitions": partitions,
        "unsureTopics": list(copy.unsure_topics),
        "owner": source.owner.description if source.owner else None,
    }
