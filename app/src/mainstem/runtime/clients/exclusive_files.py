"""Small files that only one writer may create: objects of an S3 store by conditional PUT, and local files."""

import errno
import fcntl
import os
from pathlib import Path
from typing import Any, Final, Protocol, TextIO
from uuid import uuid4

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession


_CONFLICT: Final = 409
_PRECONDITION_FAILED: Final = 412
_NOT_IMPLEMENTED: Final = 501
_NO_LOCKS: Final = (errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS, errno.EINVAL, errno.EBADF)
"""Answers of a file system that has no locks, or has them only for files that are open for writing."""
_S3: Final = "software.amazon.awssdk.services.s3.model."
_EXISTS: Final = "org.apache.hadoop.fs.FileAlreadyExistsException"
_ABSENT: Final = "java.io.FileNotFoundException"
# Options.CreateFileOptionKeys of Hadoop 3.5.
_CONDITIONAL: Final = "fs.option.create.conditional.overwrite"
_ETAG: Final = "fs.option.create.conditional.overwrite.etag"


class SmallFile(Protocol):
    """A file that is read and written whole."""

    def create(self, text: str) -> bool:
        """Create the file; returns False if it exists or another writer is creating it."""
        ...

    def read(self) -> str | None:
        """The text of the file; None if it does not exist."""
        ...

    def replace(self, text: str) -> bool:
        """Replace the file that was read last; returns False if another writer is known to have changed it since."""
        ...

    def delete(self) -> None:
        """Remove the file."""
        ...


class S3Object:
    """An object of an S3 store, accessed by S3A with the settings of its bucket, including encryption.

    Errors are py4j's, with the Java exception as cause.
    """

    def __init__(self, session: SparkSession, path: str) -> None:
        self._jvm: Any = session._jvm  # noqa: SLF001
        self._path = self._jvm.org.apache.hadoop.fs.Path(path)
        self._system = self._path.getFileSystem(session._jsparkSession.sessionState().newHadoopConf())  # noqa: SLF001
        # False if checkpoints.requireConditionalWrites is false: S3A then checks for the object before it writes.
        self._conditional = bool(self._system.hasPathCapability(self._path, _CONDITIONAL))
        self._read_etag: str | None = None

    def create(self, text: str) -> bool:
        """Create the object; returns False if it exists or another writer is creating it."""
        try:
            builder = self._builder(overwrite=self._conditional)
            _write(builder.must(_CONDITIONAL, True) if self._conditional else builder, text)
        except Py4JJavaError as error:
            if _is_conflict(error):
                return False
            raise
        return True

    def read(self) -> str | None:
        """The text of the object; None if it does not exist."""
        try:
            # Before the read: if another writer replaces the object meanwhile, `replace` then detects that.
            self._read_etag = str(self._system.getFileStatus(self._path).getEtag() or "")
            stream = self._system.open(self._path)
            try:
                return str(self._jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
            finally:
                stream.close()
        except Py4JJavaError as error:
            if str(error.java_exception.getClass().getName()) == _ABSENT:
                self._read_etag = None
                return None
            raise

    def replace(self, text: str) -> bool:
        """Replace the object that was read last; returns False if another writer is known to have changed it since."""
        if self._conditional and self._read_etag is None:
            return self.create(text)
        etag = self._read_etag if self._conditional else None
        try:
            builder = self._builder(overwrite=True)
            _write(builder.must(_ETAG, etag) if etag else builder, text)
        except Py4JJavaError as error:
            if etag and _is_conflict(error):
                return False
            if not etag or _status(error) != _NOT_IMPLEMENTED:
                raise
            # The store supports If-None-Match only: of two concurrent replacements the later one wins.
            _write(self._builder(overwrite=True), text)
        return True

    def delete(self) -> None:
        """Remove the object."""
        self._system.delete(self._path, False)

    def _builder(self, *, overwrite: bool) -> Any:
        return self._system.createFile(self._path).create().recursive().overwrite(overwrite)


class LocalFile:
    """A file of this machine, or of a volume that is mounted here."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read_text: str | None = None

    def create(self, text: str) -> bool:
        """Create the file; returns False if it exists."""
        temporary = self._write_beside(text)
        try:
            self._path.hardlink_to(temporary)
        except FileExistsError:
            return False
        except OSError:  # a file system without hard links, such as SMB or one in user space
            return self._create_without_link(text)
        finally:
            temporary.unlink()
        return True

    def read(self) -> str | None:
        """The text of the file; None if it does not exist."""
        try:
            self._read_text = self._path.read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            self._read_text = None
        return self._read_text

    def replace(self, text: str) -> bool:
        """Replace the file that was read last; returns False if another writer has changed it since, or does it now.

        The file is locked meanwhile. On a file system without locks, of two writers at the same moment the later one wins.
        """
        try:
            file = self._opened()
        except FileNotFoundError:
            return self.create(text)
        with file:
            if not _is_locked(file) or self._is_changed(file):
                return False
            temporary = self._write_beside(text)
            try:
                temporary.replace(self._path)
            finally:
                temporary.unlink(missing_ok=True)
        return True

    def delete(self) -> None:
        """Remove the file."""
        self._path.unlink(missing_ok=True)

    def _opened(self) -> TextIO:
        """The open file: for writing, without which NFS has no lock of its own, unless another user wrote it."""
        try:
            return self._path.open("r+", encoding="utf-8", errors="replace")
        except PermissionError:
            return self._path.open(encoding="utf-8", errors="replace")

    def _is_changed(self, file: TextIO) -> bool:
        """Whether the open file is no longer the one at the path, or has another text than was read last."""
        try:
            is_same = os.path.samestat(os.fstat(file.fileno()), self._path.stat())
        except FileNotFoundError:
            return True
        return not is_same or file.read() != self._read_text

    def _create_without_link(self, text: str) -> bool:
        try:
            with self._path.open("x", encoding="utf-8") as file:
                file.write(text)
        except FileExistsError:
            return False
        return True

    def _write_beside(self, text: str) -> Path:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        temporary = self._path.with_name(f"{self._path.name}.{uuid4().hex}")
        temporary.write_text(text, encoding="utf-8")
        return temporary


def _is_locked(file: TextIO) -> bool:
    """Lock an open file; False if another process has the lock. A file system without locks lets everyone have it."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
    return True


def _write(builder: Any, text: str) -> None:
    """Write the text; closing the stream sends one PUT."""
    stream = builder.build()
    stream.write(text.encode())
    stream.close()


def _is_conflict(error: Py4JJavaError) -> bool:
    """Whether the store refused a conditional write because of another writer."""
    exists = str(error.java_exception.getClass().getName()) == _EXISTS
    return exists or _status(error) in (_CONFLICT, _PRECONDITION_FAILED)


def _status(error: Py4JJavaError) -> int:
    """The HTTP status of the store's answer, from the causes of S3A's exception; 0 if it is not known."""
    cause = error.java_exception
    while cause is not None:
        if str(cause.getClass().getName()).startswith(_S3):
            return int(cause.statusCode())
        cause = cause.getCause()
    return 0
