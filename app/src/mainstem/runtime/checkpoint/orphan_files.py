"""Finds what a driver that died has left: files of unfinished batches in a sink's folder, and an incomplete first
batch.

Spark's file sink logs a batch's files in `_spark_metadata` once the batch is complete, and Spark's readers go by that
log. A driver that dies in a batch leaves files that no log names; readers of the bare folder see their rows twice once
the batch has run again. So before a query starts on its checkpoint again, exactly those files are suspected: data files
of the sink's own naming, in no entry of the log, and not older than the plan of the batch that was never committed.

Nothing is removed here. The log's entry of that batch may still be on its way, sent by a driver that is gone: only the
commit of the batch decides which files it has (`orphan_removal`).
"""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from pyspark.sql import SparkSession

from mainstem.errors import NotReady
from mainstem.runtime.clients.filesystem import Directory, FileInfo, newest


LOG: Final = "_spark_metadata"
_SUCCESS: Final = "_SUCCESS"
# ManifestFileCommitProtocol.newTaskTempFile: part-<split>-<uuid>-c<count> and what the format puts behind it.
_STEM: Final = r"/part-\d{5,}-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}[.-]c\d{3,}"
_CODEC: Final = r"(\.(?!crc$|tmp$)[a-z0-9]+)?$"
_DATA_FILE: Final = {
    "parquet": re.compile(rf"{_STEM}[\w.]*\.parquet$"),
    "orc": re.compile(rf"{_STEM}[\w.]*\.orc$"),
    "csv": re.compile(rf"{_STEM}\.csv{_CODEC}"),
    "json": re.compile(rf"{_STEM}\.json{_CODEC}"),
    "text": re.compile(rf"{_STEM}\.txt{_CODEC}"),
}
SKEW_MS: Final = 2_000
"""What two times of files may differ by: file systems that keep whole seconds."""


@dataclass(frozen=True)
class Suspects:
    """Files that may be orphans.

    Attributes:
        files: full names, as in a listing.
        batch: the newest batch that was planned when they were listed: once it is committed, those that the log does not
            name will never be named.
    """

    files: tuple[str, ...] = ()
    batch: int = -1


def suspects(
    session: SparkSession,
    folder: str,
    checkpoint: str,
    kind: str = "parquet",
    logs: tuple[str, str] = ("offsets", "commits"),
) -> Suspects:
    """The files in a folder that an unfinished batch may have left, looked for before the folder's query starts.

    Args:
        session: the query's session.
        folder: what the sink writes.
        checkpoint: the query's.
        kind: the format of the files.
        logs: folders below the checkpoint that count what was planned, and what is over.

    Raises:
        NotReady: `SinkFolderTaken`: the checkpoint is fresh and the folder holds data, or the folder's log is ahead of
            the checkpoint. Spark would take the batches for written already and lose them without a word.
    """
    target, offsets = Directory(session, folder), Directory(session, checkpoint) / logs[0]
    planned = newest(offsets)
    if not target.exists():
        return Suspects()
    _refuse_foreign(target, folder, planned, kind)
    committed = newest(Directory(session, checkpoint) / logs[1])
    if planned is None or committed == planned:
        return Suspects()
    if committed is not None and newest(target / LOG) is None:
        return (
            Suspects()
        )  # the folder is not the one of the batches before: what is there is not known to be left over
    since = (offsets / str(planned)).modified() - SKEW_MS
    found = unlogged_files(session, target, since, kind)
    return Suspects(tuple(found), newest(offsets) or planned)


def clear_incomplete_first_batch(session: SparkSession, checkpoint: str) -> list[str]:
    """Remove the files that a start left in `offsets` when it died before its first plan, and return them.

    A stateful query of Spark 4.2 refuses a checkpoint whose first plan was begun and not written
    (STATE_STORE_CHECKPOINT_LOCATION_NOT_EMPTY). Without a numbered entry there was no batch, so nothing is lost.
    """
    offsets = Directory(session, checkpoint) / "offsets"
    if not offsets.exists() or newest(offsets) is not None:
        return []
    leftovers = [file.path for file in offsets.files() if file.path.endswith(".tmp")]
    for path in leftovers:
        Directory(session, path).delete()
    return leftovers


def unlogged_files(session: SparkSession, folder: Directory, since: int, kind: str) -> list[str]:
    """The data files of a sink's folder that its log does not name and that are not older than `since`.

    There are none where another Spark job has left its mark of success: its files have names of the same kind.
    """
    if (folder / _SUCCESS).exists():
        return []
    return unlogged(folder.files(), _logged(session, folder), since, folder.qualified(), kind)


def leftovers(session: SparkSession, folder: Directory, files: Iterable[str]) -> list[str]:
    """The files that are certainly orphans, once their batch is committed: the current log does not name them."""
    if (folder / _SUCCESS).exists():
        return []
    known = {_name(path) for path in _logged(session, folder)}
    return [path for path in files if _name(path) not in known]


def unlogged(
    files: Iterable[FileInfo], logged: Iterable[str], since: int, folder: str, kind: str = "parquet"
) -> list[str]:
    """The data files of a folder that no log entry names and that are not older than `since`; pure.

    Args:
        files: all files below the folder.
        logged: what the sink's log names, in any spelling of the folder.
        since: milliseconds since 1970.
        folder: the sink's folder, spelled as in `files`. A table of its own below it is another writer's.
        kind: the format of the files.
    """
    listed = list(files)
    known = {_name(path) for path in logged}
    foreign = tuple({f"{root}/" for root in _tables(listed) if root != folder.rstrip("/")})
    return sorted(
        file.path
        for file in listed
        if file.modified >= since
        and _DATA_FILE[kind].search(file.path)
        and _name(file.path) not in known
        and not file.path.startswith(foreign)
    )


def _tables(files: Iterable[FileInfo]) -> Iterator[str]:
    for file in files:
        root, log, _ = file.path.partition(f"/{LOG}/")
        if not log:
            root, log, _ = file.path.partition("/_delta_log/")
        if log:
            yield root


def _logged(session: SparkSession, target: Directory) -> list[str]:
    if not (target / LOG).exists():
        return []
    jvm: Any = session._jvm  # noqa: SLF001
    kind = jvm.org.apache.spark.sql.execution.streaming.sinks.FileStreamSinkLog
    default_retention = getattr(kind, "$lessinit$greater$default$4")()
    log = kind(1, session._jsparkSession, (target / LOG).path, default_retention)  # noqa: SLF001
    # One text for all: a call for each file of a long log would take minutes.
    out = jvm.java.io.ByteArrayOutputStream()
    log.serialize(log.allFiles(), out)
    return [json.loads(line)["path"] for line in out.toString("UTF-8").splitlines()[1:]]


def _refuse_foreign(target: Directory, folder: str, planned: int | None, kind: str) -> None:
    """Raise where the folder's data is not of this checkpoint: its log is ahead, or there is no batch yet and data."""
    logged = newest(target / LOG)
    if planned is None:
        foreign = logged is not None or any(_is_data(file.path, kind) for file in target.files())
    else:
        foreign = logged is not None and logged > planned
    if foreign:
        raise NotReady(
            f"the folder {folder} has data of another checkpoint, of a later state of this one, or of another writer",
            reason="SinkFolderTaken",
            remedy="give the sink a new path, or use the checkpoint that wrote the data",
        )


def _is_data(path: str, kind: str) -> bool:
    """Whoever has written it, with whatever codec."""
    ending = ".txt" if kind == "text" else f".{kind}"
    return _name(path).endswith(ending) or f"{ending}." in _name(path)


def _name(path: str) -> str:
    """A file's own name: unique by its UUID, and the same in a listing and in the log, whose folders differ in spelling."""
    return path.rpartition("/")[2]
