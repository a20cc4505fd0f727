"""Creates temporary folders with a lock; the next start removes the folders of killed processes."""

import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from mainstem import reasons
from mainstem.errors import NotReady


PREFIX: Final = "mainstem-scratch-"
LEAST: Final = 128 * 1024 * 1024
"""Free bytes that a start needs. Java unpacks native libraries of up to 60 MB, and shuffles write to the same disk."""


@contextmanager
def folder(least: int = 0) -> Iterator[Path]:
    """A new temporary folder; it is removed when the context closes, or by the next start if this process is killed.

    Args:
        least: bytes that must be free.

    Raises:
        NotReady: `TemporaryFolderNotWritable`; `DiskFull` if fewer bytes are free.
    """
    parent = _parent()
    try:
        remove_abandoned(parent)
        _check_space(parent, least)
        path, lock = _create_locked(parent)
    except OSError as error:
        raise _not_writable(str(parent), error) from None
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
        os.close(lock)


def remove_abandoned(parent: Path) -> None:
    """Remove the scratch folders of this user that no running process has locked.

    Args:
        parent: the folder that has the scratch folders.
    """
    for path in parent.glob(f"{PREFIX}*"):
        with suppress(OSError):  # another process removes the folder, or the file system has no locks
            status = path.lstat()
            if status.st_uid == os.geteuid() and stat.S_ISDIR(status.st_mode):
                _remove_unlocked(path)


def _check_space(parent: Path, least: int) -> None:
    free = shutil.disk_usage(parent).free
    if free < least:
        raise NotReady(
            f"the temporary folder {parent} has {free // 1024:,} KiB free, and a run needs {least // 1024:,} KiB",
            reason=reasons.DISK_FULL,
            remedy="free space there, or set TMPDIR to a folder with more free space",
        )


def _remove_unlocked(path: Path) -> None:
    lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(path, ignore_errors=True)
    finally:
        os.close(lock)


def _parent() -> Path:
    try:
        return Path(tempfile.gettempdir())
    except FileNotFoundError as error:
        raise _not_writable(os.environ.get("TMPDIR", "/tmp"), error) from None  # noqa: S108 - what Python tries


def _not_writable(parent: str, error: OSError) -> NotReady:
    return NotReady(
        f"no folder can be created in the temporary folder {parent}: {error.strerror}",
        reason=reasons.TEMPORARY_FOLDER_NOT_WRITABLE,
        remedy="set TMPDIR to a folder that this user may write to",
    )


def _create_locked(parent: Path) -> tuple[Path, int]:
    """A new folder and the file descriptor of its lock; the lock ends with this process."""
    while True:
        path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
        lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        with suppress(OSError):  # on a file system without locks no other start removes the folder
            fcntl.flock(lock, fcntl.LOCK_EX)
        if path.exists():
            return path, lock
        os.close(lock)  # another start removed it before it was locked
