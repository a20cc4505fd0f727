"""Reads and writes the log of a file sink by Spark's own class: one entry for each batch, with the files of the batch."""

import json
from pathlib import Path
from typing import Any, Final

from pyspark.sql import SparkSession

from mainstem import reasons
from mainstem.checkpoints.damage import sink_logs
from mainstem.checkpoints.requirements import Problem
from mainstem.errors import NotReady
from mainstem.filesystem import Directory, local_path, newest
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


def entry_names(session: SparkSession, folder: str) -> list[str]:
    """The names of the files of a folder's log; empty if there is no log."""
    log = Directory(session, folder) / SINK_LOG
    return log.names() if log.exists() else []


def refuse_broken(session: SparkSession, folder: str) -> list[str]:
    """The names of the files of a folder's log, if each entry that Spark reads is whole.

    Raises:
        NotReady: `SinkLogDamaged`.
    """
    names = entry_names(session, folder)
    for problem in broken_entries(session, folder, names):
        raise NotReady(
            f"the log of the folder {folder} is damaged: {SINK_LOG}/{problem.file} {problem.problem}",
            reason=reasons.SINK_LOG_DAMAGED,
            remedy="restore the file from a copy, or give the sink a new path",
        )
    return names


def broken_entries(session: SparkSession, folder: str, names: list[str]) -> list[Problem]:
    """The entries of a folder's log that Spark reads and that are not whole; `names` are those of its files."""
    path = local_path(folder)

    def read(name: str) -> bytes:
        if path is not None:  # Hadoop hides the checksums, and compares them only block by block
            return (Path(path) / SINK_LOG / name).read_bytes()
        return (Directory(session, folder) / SINK_LOG / name).text().encode()

    if path is not None and (Path(path) / SINK_LOG).is_dir():
        names = [file.name for file in (Path(path) / SINK_LOG).iterdir()]
    return list(sink_logs.broken(names, read))


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
