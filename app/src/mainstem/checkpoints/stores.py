"""Folders of checkpoints, on a local file system or in an S3 store."""

import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from mainstem import reasons
from mainstem.errors import NotReady


@dataclass(frozen=True)
class StoredFile:
    """A file below a folder.

    Attributes:
        path: the path below the folder, with `/` between its parts.
        size: bytes.
        modified: the time of the last change, in milliseconds since 1970.
    """

    path: str
    size: int
    modified: int


class Store(Protocol):
    """A place that keeps files under paths of its own. Errors are `NotReady`; a missing file is a FileNotFoundError."""

    prefix: str
    """What a user writes before a path of the store: `s3a://`, or nothing."""

    def files(self, folder: str) -> list[StoredFile]:
        """All files below a folder, at any depth; none if it does not exist."""

    def read(self, path: str) -> bytes:
        """The content of a file."""

    def write(self, path: str, content: bytes) -> None:
        """Write a file whole, and the folders above it."""

    def copy(self, path: str, target: str) -> None:
        """Copy a file within the store."""

    def delete(self, path: str) -> None:
        """Remove a file."""

    def reserve(self, folder: str) -> bool:
        """Create a folder for this process alone; returns False if it is known to exist."""

    def prune(self, folder: str) -> None:
        """Remove a folder that has no files."""


@dataclass(frozen=True)
class Folder:
    """A folder of a store.

    Attributes:
        store: the store.
        path: the folder's path in the store.
    """

    store: Store
    path: str

    def __str__(self) -> str:
        return f"{self.store.prefix}{self.path}"

    def __truediv__(self, name: str) -> "Folder":
        return Folder(self.store, f"{self.path}/{name}")

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rpartition("/")[2]

    @property
    def parent(self) -> "Folder":
        """The folder above."""
        return Folder(self.store, self.path.rpartition("/")[0])

    def files(self) -> list[StoredFile]:
        """All files below the folder, in the order of their paths."""
        return sorted(self.store.files(self.path), key=lambda file: file.path)

    def read(self, path: str) -> bytes:
        """The content of a file below the folder."""
        return self.store.read(f"{self.path}/{path}")

    def text(self, path: str) -> str:
        """The text of a file below the folder; raises ValueError if it is not UTF-8."""
        return self.read(path).decode()

    def write(self, path: str, content: bytes) -> None:
        """Write a file below the folder."""
        self.store.write(f"{self.path}/{path}", content)

    def delete(self, path: str) -> None:
        """Remove a file below the folder."""
        self.store.delete(f"{self.path}/{path}")

    def copy(self, path: str, target: "Folder") -> None:
        """Copy a file to the same path below another folder."""
        if self.store is target.store:
            self.store.copy(f"{self.path}/{path}", f"{target.path}/{path}")
        else:
            target.write(path, self.read(path))


class LocalStore:
    """The file system of this machine; paths are absolute."""

    prefix = ""

    def files(self, folder: str) -> list[StoredFile]:
        """All files below a folder."""
        with _reported(folder):
            listed = (_stored(file, folder) for file in Path(folder).rglob("*"))
            return [file for file in listed if file]

    def read(self, path: str) -> bytes:
        """The content of a file."""
        with _reported(path):
            return Path(path).read_bytes()

    def write(self, path: str, content: bytes) -> None:
        """Write a file whole."""
        with _reported(path):
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            Path(path).write_bytes(content)

    def copy(self, path: str, target: str) -> None:
        """Copy a file."""
        with _reported(target):
            Path(target).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)

    def delete(self, path: str) -> None:
        """Remove a file."""
        with _reported(path):
            Path(path).unlink()

    def reserve(self, folder: str) -> bool:
        """Create a folder; returns False if it exists."""
        with _reported(folder):
            Path(folder).parent.mkdir(parents=True, exist_ok=True)
            try:
                Path(folder).mkdir()
            except FileExistsError:
                return False
            return True

    def prune(self, folder: str) -> None:
        """Remove a folder and the folders below it, none of which has a file."""
        with _reported(folder):
            below = [path for path in Path(folder).rglob("*") if path.is_dir()]
            for path in (*sorted(below, reverse=True), Path(folder)):
                path.rmdir()


def _stored(file: Path, folder: str) -> StoredFile | None:
    """The file below a folder; None for a folder, and for a file that a running driver has just removed."""
    try:
        status = file.stat()
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(status.st_mode):
        return None
    return StoredFile(str(file.relative_to(folder)), status.st_size, status.st_mtime_ns // 1_000_000)


@contextmanager
def _reported(path: str) -> Iterator[None]:
    """Reports an error of the file system in Mainstem's terms."""
    try:
        yield
    except FileNotFoundError:
        raise
    except PermissionError as error:
        raise NotReady(
            f"this user may not read or write {error.filename or path}", reason=reasons.PERMISSION_DENIED
        ) from error
    except OSError as error:
        raise NotReady(
            f"{error.filename or path} cannot be read or written: {error.strerror}",
            reason=reasons.PATH_NOT_WRITABLE,
        ) from error
