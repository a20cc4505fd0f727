"""Reads and writes the log of a file sink by Spark's own class: one entry for each batch, with the files of the batch."""

import json
from typing import Any, Final

from pyspark.sql import SparkSession

from mainstem.filesystem import Directory, newest
from mainstem.log_entries import SINK_LOG


_VERSION: Final = 1


def logged_paths(session: SparkSession, target: Directory) -> list[str]:
    """The paths of all files that the log of a sink's folder names; empty if there is no log."""
    if not (target / SINK_LOG).exists():
        return []
    log = _spark_log(session, target)
    # One call for all files: one call for each file of a long log would take minutes.
    jvm: Any = session._jvm  # noqa: SLF001
    out = jvm.java.io.ByteArrayOutputStream()
    log.serialize(log.allFiles(), out)
    return [json.loads(line)["path"] for line in out.toString("UTF-8").splitlines()[1:]]


def newest_path(session: SparkSession, target: Directory) -> str | None:
    """The path of a file of the newest batch that has files; None if there is none."""
    last = newest(target / SINK_LOG) if target.exists() else None
    if last is None:
        return None
    log = _spark_log(session, target)
    for batch in range(last, -1, -1):
        entry = log.get(batch)
        if entry.isDefined() and len(entry.get()):
            return str(entry.get()[len(entry.get()) - 1].path())
    return None


def add_empty_entry(session: SparkSession, target: Directory, batch: int) -> None:
    """Add the entry of a batch without files to the log of a sink's folder. Spark compacts the log if it is due."""
    gateway: Any = session.sparkContext._gateway  # noqa: SLF001
    kind = _sinks(session).SinkFileStatus
    _spark_log(session, target).add(batch, gateway.new_array(kind, 0))


def _spark_log(session: SparkSession, target: Directory) -> Any:
    """Spark's `FileStreamSinkLog` of a sink's folder."""
    kind = _sinks(session).FileStreamSinkLog
    retention = getattr(kind, "$lessinit$greater$default$4")()
    return kind(_VERSION, session._jsparkSession, (target / SINK_LOG).path, retention)  # noqa: SLF001


def _sinks(session: SparkSession) -> Any:
    jvm: Any = session._jvm  # noqa: SLF001
    return jvm.org.apache.spark.sql.execution.streaming.sinks
