"""Refuses a damaged checkpoint before a query starts, where Spark would lose rows silently or fail without naming the file.

Spark reads plans and commits by their numbers, and the logs of sources of files from their newest compact entry. It notices
neither a missing newest plan nor a missing newest entry of such a log: it would plan batches that it has committed already,
or count new files as read. `mainstem checkpoint verify` finds these damages too, by the same functions.
"""

from collections.abc import Callable, Iterable
from typing import Any, Final

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from mainstem import reasons
from mainstem.checkpoints import entries
from mainstem.checkpoints.damage import source_logs, verification
from mainstem.checkpoints.layout import Layout
from mainstem.checkpoints.requirements import Problem
from mainstem.checkpoints.stores import StoredFile
from mainstem.errors import NotReady
from mainstem.filesystem import Directory


_CHECKSUM: Final = "ChecksumException"


def refuse(session: SparkSession, checkpoint: str) -> None:
    """Return if a start finds the batches and the source logs that it needs.

    Raises:
        NotReady: `CheckpointDamaged`, with the file.
    """
    folder = Directory(session, checkpoint)
    layout = Layout.from_files(
        StoredFile(f"{name}/{each}", 0, 0)
        for name in ("offsets", "commits")
        for each in _names(folder / name)
    )
    _raise(checkpoint, verification.missing_batches(layout))
    if not layout.planned:
        return
    plan = entries.plan(text(session, checkpoint, f"offsets/{layout.planned[-1]}", entries.plan))
    for name, last in source_logs.last_entries(plan).items():
        _raise(checkpoint, source_logs.missing_entries(name, _names(folder / "sources" / name), last))


def text(session: SparkSession, checkpoint: str, file: str, parse: Callable[[str], Any]) -> str:
    """The text of a small file of a checkpoint.

    Args:
        session: any session.
        checkpoint: the full path of the checkpoint.
        file: the path below it.
        parse: raises ValueError, KeyError or TypeError for a text that Spark has not written.

    Raises:
        NotReady: `CheckpointDamaged`.
    """
    try:
        content = (Directory(session, checkpoint) / file).text()
        parse(content)
    except (ValueError, KeyError, TypeError) as error:
        raise _damaged(checkpoint, Problem(file, f"cannot be read: {error}")) from error
    except Py4JJavaError as error:
        if _CHECKSUM not in str(error.java_exception.getClass().getName()):
            raise
        raise _damaged(checkpoint, Problem(file, "differs from its checksum")) from error
    return content


def _raise(checkpoint: str, problems: Iterable[Problem]) -> None:
    for problem in problems:
        if problem.blocks:
            raise _damaged(checkpoint, problem)


def _damaged(checkpoint: str, problem: Problem) -> NotReady:
    return NotReady(
        verification.damage(checkpoint, problem),
        reason=reasons.CHECKPOINT_DAMAGED,
        remedy=verification.WAYS_OUT,
    )


def _names(folder: Directory) -> list[str]:
    return folder.names() if folder.exists() else []
