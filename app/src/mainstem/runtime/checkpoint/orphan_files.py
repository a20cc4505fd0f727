"""Finds what a dead driver has left: files of an unfinished batch in a sink's folder, and an incomplete first batch.

Spark's file sink logs the files of a complete batch in `_spark_metadata`, and Spark's readers use this log. A driver that
dies during a batch leaves files that the log does not name. After the batch has run again, readers of the bare folder see
these rows twice. So before a query starts again on its checkpoint, these files are suspects: data files with a name of
the sink's pattern, in no entry of the log, and not older than the plan of the uncommitted batch.

This module does not remove suspects. A dead driver may have sent the batch's log entry, which may still arrive. Only the
commit of the batch decides which files belong to it (`orphan_removal`).
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from pyspark.sql import SparkSession

from mainstem import reasons
from mainstem.dataframes.sinks.spark_sink_log import logged_paths
from mainstem.errors import NotReady
from mainstem.filesystem import Directory, FileInfo, newest
from mainstem.log_entries import SINK_LOG


_SUCCESS: Final = "_SUCCESS"
# ManifestFileCommitProtocol.newTaskTempFile: part-<split>-<uuid>-c<count>, then the extension of the format.
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
"""Tolerance between the times of two files: some file systems keep whole seconds only."""


@dataclass(frozen=True)
class Suspects:
    """Files that may be orphans.

    Attributes:
        files: full paths, spelled as in a listing.
        batch: the newest planned batch at the time of the listing. Once this batch is committed, the log will never name
            a file that it does not name yet.
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
    """The files that an unfinished batch may have left in a sink's folder; called before the folder's query starts.

    Args:
        session: the query's session.
        folder: the sink's folder.
        checkpoint: full path of the query's checkpoint.
        kind: the format of the files.
        logs: the folders below the checkpoint that list the planned and the committed batches.

    Raises:
        NotReady: `SinkFolderTaken`: the checkpoint is new and the folder has data, or the folder's log is ahead of the
            checkpoint. Spark would skip batches that it believes are written, and lose them silently.
    """
    target, offsets = Directory(session, folder), Directory(session, checkpoint) / logs[0]
    last_planned = newest(offsets)
    if not target.exists():
        return Suspects()
    _refuse_foreign(target, folder, last_planned, kind)
    last_committed = newest(Directory(session, checkpoint) / logs[1])
    if last_planned is None or last_committed == last_planned:
        return Suspects()
    if last_committed is not None and newest(target / SINK_LOG) is None:
        return Suspects()  # earlier batches wrote to another folder, so the files here may be somebody else's
    since = (offsets / str(last_planned)).modified() - SKEW_MS
    files = unlogged_files(session, target, since, kind)
    return Suspects(tuple(files), newest(offsets) or last_planned)


def clear_incomplete_first_batch(session: SparkSession, checkpoint: str) -> list[str]:
    """Remove the temporary files of a start that died before its first plan was written, and return their paths.

    A stateful query of Spark 4.2 refuses a checkpoint with an incomplete first plan
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
    """The data files in a sink's folder that its log does not name and that are not older than `since`.

    If another Spark job has written `_SUCCESS`, the result is empty, because names of its files have the same pattern.
    """
    if (folder / _SUCCESS).exists():
        return []
    return select_unlogged(folder.files(), logged_paths(session, folder), since, folder.qualified(), kind)


def leftovers(session: SparkSession, folder: Directory, files: Iterable[str]) -> list[str]:
    """The suspects that are orphans, after the commit of their batch: the log does not name them."""
    if (folder / _SUCCESS).exists():
        return []
    known = {_name(path) for path in logged_paths(session, folder)}
    return [path for path in files if _name(path) not in known]


def select_unlogged(
    files: Iterable[FileInfo], logged: Iterable[str], since: int, folder: str, kind: str = "parquet"
) -> list[str]:
    """The data files in a folder that no log entry names and that are not older than `since`; pure.

    Args:
        files: all files below the folder.
        logged: the paths in the sink's log, in any spelling of the folder.
        since: milliseconds since 1970.
        folder: the sink's folder, spelled as in `files`. Another table below it belongs to another writer.
        kind: the format of the files.
    """
    known = {_name(path) for path in logged}
    tables, unlogged = set(), []
    for file in files:  # one pass that keeps little: a folder may have millions of files
        if table := _table(file.path):
            tables.add(f"{table}/")
        if file.modified >= since and _DATA_FILE[kind].search(file.path) and _name(file.path) not in known:
            unlogged.append(file.path)
    foreign = tuple(tables - {f"{folder.rstrip('/')}/"})
    return sorted(path for path in unlogged if not path.startswith(foreign))


def _table(path: str) -> str | None:
    """The table or sink to whose log the file belongs; None if the file is not in a log."""
    for log in (SINK_LOG, "_delta_log"):
        root, separator, _ = path.partition(f"/{log}/")
        if separator:
            return root
    return None


def refuse_foreign(session: SparkSession, folder: str, plans: Directory, kind: str, subject: str) -> None:
    """Raise if the folder's data is not from this checkpoint: its log is ahead, or it has data before the first batch.

    Args:
        session: the query's session.
        folder: the sink's folder, which need not exist.
        plans: the checkpoint's log of planned batches. A run that writes both may plan another batch meanwhile.
        kind: the format of the files.
        subject: the sink, for the message.

    Raises:
        NotReady: `SinkFolderTaken`.
    """
    target = Directory(session, folder)
    while target.exists():
        planned = newest(plans)
        try:
            _refuse_foreign(target, folder, planned, kind, subject)
        except NotReady:
            if newest(plans) == planned:
                raise
        else:
            return


def _refuse_foreign(
    target: Directory, folder: str, last_planned: int | None, kind: str, subject: str = ""
) -> None:
    last_logged = newest(target / SINK_LOG)
    if last_planned is None:
        foreign = last_logged is not None or any(_is_data(file.path, kind) for file in target.files())
    else:
        foreign = last_logged is not None and last_logged > last_planned
    if foreign:
        raise NotReady(
            f"{subject}{': ' if subject else ''}the folder {folder} has data of another checkpoint, of a later state of this one, or of another writer",
            reason=reasons.SINK_FOLDER_TAKEN,
            remedy="give the sink a new path, or use the checkpoint that wrote the data",
        )


def _is_data(path: str, kind: str) -> bool:
    """Whether the file is a data file of the format, by any writer and with any codec."""
    ending = ".txt" if kind == "text" else f".{kind}"
    return _name(path).endswith(ending) or f"{ending}." in _name(path)


def _name(path: str) -> str:
    """A file's name, unique by its UUID. Log and listing spell the folder in different ways, but not the name."""
    return path.rpartition("/")[2]
