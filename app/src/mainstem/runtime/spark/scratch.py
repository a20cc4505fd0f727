"""Makes temporary folders that do not outlive their run: each holds a lock, and the next start removes those of
killed processes.
"""

import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from mainstem.errors import NotReady


PREFIX: Final = "mainstem-scratch-"
LEAST: Final = 128 * 1024 * 1024
"""Free bytes that a start asks for. Java unpacks native libraries of up to 60 MB, and shuffles write beside them."""


@contextmanager
def folder(least: int = 0) -> Iterator[Path]:
    """A new temporary folder; it is removed when the context closes, or by the next start if this process is killed.

    Args:
        least: bytes that must be free.

    Raises:
        NotReady: `TemporaryFolderNotWritable`; `DiskFull` where fewer bytes are free.
    """
    parent = _parent()
    try:
        remove_abandoned(parent)
        _check_space(parent, least)
        path, lock = _locked(parent)
    except OSError as error:
        raise _not_writable(str(parent), error) from None
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
        os.close(lock)


def remove_abandoned(parent: Path) -> None:
    """Remove this user's folders that no living process has locked.

    Args:
        parent: the folder of temporary folders.
    """
    for path in parent.glob(f"{PREFIX}*"):
        with suppress(
            OSError
        ):  # another start removes it, or its owner does; or the file system has no locks
            found = path.lstat()
            if found.st_uid == os.geteuid() and stat.S_ISDIR(found.st_mode):
                _remove_unlocked(path)


def _check_space(parent: Path, least: int) -> None:
    free = shutil.disk_usage(parent).free
    if free < least:
        raise NotReady(
            f"the temporary folder {parent} has {free // 1024:,} KiB free, and a run needs {least // 1024:,} KiB",
            reason="DiskFull",
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
        reason="TemporaryFolderNotWritable",
        remedy="set TMPDIR to a folder that this user may write to",
    )


def _locked(parent: Path) -> tuple[Path, int]:
    """A new folder and the file descriptor of its lock, which ends with this process."""
    while True:
        path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
        lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        with suppress(OSError):  # without locks on this file system nobody removes it either
            fcntl.flock(lock, fcntl.LOCK_EX)
        if path.exists():
            return path, lock
        os.close(lock)  # another start removed it before it was locked
