"""Looks at the log of a sink of files before its query starts, and before files that it does not name are removed.

A damaged log names fewer files than it should. Spark's readers would not see these rows, and the files would count as
orphans.
"""

from typing import Final

from pyspark.sql import SparkSession

from mainstem import logs, reasons
from mainstem.checkpoints.damage.sink_logs import missing_batches
from mainstem.dataframes.sinks.spark_sink_log import broken_entries, entry_names, refuse_broken


_SHOWN: Final = 20


def refuse(session: SparkSession, folder: str, committed: int | None) -> None:
    """Return if each entry of the log is whole. Missing entries of committed batches are logged.

    Raises:
        NotReady: `SinkLogDamaged`.
    """
    names = refuse_broken(session, folder)
    if committed is not None and (missing := missing_batches(names, committed)):
        logs.get("mainstem").warning(
            "the log of a folder lacks committed batches; if the sink has not been left out for a while, entries are lost",
            reason=reasons.SINK_LOG_DAMAGED,
            folder=folder,
            batches=missing[:_SHOWN],
        )


def is_whole(session: SparkSession, folder: str, committed: int) -> bool:
    """Whether the log names the files of all batches up to a committed one."""
    names = entry_names(session, folder)
    return not missing_batches(names, committed) and not broken_entries(session, folder, names)
