"""Looks at the log of a sink of files before its query starts, and before files that it does not name are removed.

A damaged log names fewer files than it should. Spark's readers would not see these rows, and the files would count as
orphans.
"""

from pathlib import Path
from typing import Final

from pyspark.sql import SparkSession

from mainstem import logs, reasons
from mainstem.checkpoints.damage import sink_logs
from mainstem.checkpoints.requirements import Problem
from mainstem.errors import NotReady
from mainstem.filesystem import Directory
from mainstem.log_entries import SINK_LOG
from mainstem.runtime.failures.full_disks import local


_SHOWN: Final = 20


def refuse(session: SparkSession, folder: str, committed: int | None) -> None:
    """Return if each entry of the log is whole. Missing entries of committed batches are logged.

    Raises:
        NotReady: `SinkLogDamaged`.
    """
    names = _names(session, folder)
    for problem in _broken(session, folder, names):
        raise NotReady(
            sink_logs.damage(folder, problem),
            reason=reasons.SINK_LOG_DAMAGED,
            remedy=sink_logs.WAYS_OUT,
        )
    if committed is not None and (missing := sink_logs.missing_batches(names, committed)):
        logs.get("mainstem").warning(
            "the log of a folder lacks committed batches; if the sink has not been left out for a while, entries are lost",
            reason=reasons.SINK_LOG_DAMAGED,
            folder=folder,
            batches=missing[:_SHOWN],
        )


def is_whole(session: SparkSession, folder: str, committed: int) -> bool:
    """Whether the log names the files of all batches up to a committed one."""
    names = _names(session, folder)
    return not sink_logs.missing_batches(names, committed) and not _broken(session, folder, names)


def _names(session: SparkSession, folder: str) -> list[str]:
    log = Directory(session, folder) / SINK_LOG
    return log.names() if log.exists() else []


def _broken(session: SparkSession, folder: str, names: list[str]) -> list[Problem]:
    path = local(folder)

    def read(name: str) -> bytes:
        if path is not None:  # Hadoop hides the checksums, and compares them only block by block
            return (Path(path) / SINK_LOG / name).read_bytes()
        return (Directory(session, folder) / SINK_LOG / name).text().encode()

    if path is not None and (Path(path) / SINK_LOG).is_dir():
        names = [file.name for file in (Path(path) / SINK_LOG).iterdir()]
    return list(sink_logs.broken(names, read))
