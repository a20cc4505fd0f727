"""Begins the log of a file sink's new folder, so that Spark can compact it.

Spark's file sink writes an entry for each batch into `_spark_metadata`, and every tenth batch compacts all entries since
the last compaction. It fails if one of them does not exist, such as those before the first batch in a new folder of a query
that has committed batches before. The batch that repartitions state has no entry either. Any other log with a gap stays as
it is: somebody may have deleted the entry, and with an empty one in its place nobody would notice the rows that are lost.
"""

from typing import Final

from pyspark.sql import SparkSession

from mainstem.checkpoints import entries
from mainstem.dataframes.sinks.spark_sink_log import add_empty_entry
from mainstem.filesystem import Directory, newest
from mainstem.log_entries import COMPACT, SINK_LOG
from mainstem.runtime.checkpoint.orphan_files import Suspects, suspects


_INTERVAL: Final = "spark.sql.streaming.fileSink.log.compactInterval"
_ENTRY: Final = "v1"
"""An entry without files, as Spark writes it."""


def prepare(
    session: SparkSession,
    folder: str,
    checkpoint: str,
    kind: str,
    logs: tuple[str, str] = ("offsets", "commits"),
) -> Suspects:
    """Find the files of an unfinished batch before a sink's query starts, and begin a missing log of its folder.

    Args and errors are those of `orphan_files.suspects`.
    """
    files = suspects(session, folder, checkpoint, kind, logs)
    # A query that runs once has no folder `commits`, and needs no entries.
    committed = newest(Directory(session, checkpoint) / "commits")
    if committed is not None:
        _begin(session, folder, committed)
        _add_repartitioning(session, folder, checkpoint, committed)
    return files


def _begin(session: SparkSession, folder: str, committed: int) -> None:
    """Add an empty entry for each committed batch, if the sink's folder does not exist or is empty."""
    target = Directory(session, folder)
    # Files of another writer that are newer than a logged batch would look like those of an unfinished batch.
    if target.exists() and any(target.files()):
        return
    log = target / SINK_LOG
    first, batches = entries_before(committed, int(session.conf.get(_INTERVAL, "10")))
    log.make()
    if first is not None:
        (log / f"{first}{COMPACT}").replace(_ENTRY)
    for batch in batches:
        (log / str(batch)).replace(_ENTRY)


def _add_repartitioning(session: SparkSession, folder: str, checkpoint: str, committed: int) -> None:
    """Add the entry of the batch that `mainstem checkpoint repartition` has committed, if the query has not run since."""
    target, plans = Directory(session, folder), Directory(session, checkpoint) / "offsets"
    if newest(target / SINK_LOG) != committed - 1:
        return
    before, after = (plans / str(batch) for batch in (committed - 1, committed))
    if not before.exists() or not entries.repartitions(before.text(), after.text()):
        return
    add_empty_entry(session, target, committed)


def entries_before(committed: int, interval: int) -> tuple[int | None, list[int]]:
    """The entries that a new log needs so that Spark can compact it after the last committed batch; pure.

    Args:
        committed: the last committed batch.
        interval: the number of batches between two compactions.

    Returns:
        the batch of the last compaction, None if there was none; and the batches since.

    >>> entries_before(2, 10), entries_before(9, 10), entries_before(21, 10)
    ((None, [0, 1, 2]), (9, []), (19, [20, 21]))
    """
    compacted = (committed + 1) // interval * interval - 1
    return (compacted if compacted >= 0 else None), list(range(compacted + 1, committed + 1))
