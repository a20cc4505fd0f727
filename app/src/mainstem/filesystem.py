"""Directories and files of local file systems and S3, through Hadoop's FileSystem in the JVM."""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from mainstem.log_entries import entry_numbers


@dataclass(frozen=True)
class FileInfo:
    """A file: its full path, not escaped, and the time of its last change, in milliseconds since 1970."""

    path: str
    modified: int


def as_glob(path: str) -> str:
    """The glob that matches the path as it stands."""
    return re.sub(r"([][{}*?\\])", r"\\\1", path)


class Directory:
    """A directory or file in any file system of Hadoop. Errors are py4j's, with the Java exception as cause."""

    def __init__(self, session: SparkSession, path: str) -> None:
        jvm: Any = session._jvm  # noqa: SLF001
        self._session = session
        self._path = jvm.org.apache.hadoop.fs.Path(path)
        self._conf = session._jsparkSession.sessionState().newHadoopConf()  # noqa: SLF001
        self._system = self._path.getFileSystem(self._conf)
        self.path = path

    def __truediv__(self, name: str) -> "Directory":
        return Directory(self._session, f"{self.path.rstrip('/')}/{name}")

    def qualified(self) -> str:
        """The full path, spelled as in a listing of the directory."""
        return str(self._system.makeQualified(self._path).toString())

    def exists(self) -> bool:
        """Whether the file or directory exists."""
        return bool(self._system.exists(self._path))

    def matches(self) -> bool:
        """Whether at least one file or directory matches the path as a glob."""
        statuses = self._system.globStatus(self._path)
        return statuses is not None and len(statuses) > 0

    def matches_itself(self) -> bool:
        """Whether the path as a glob matches the file or directory whose name it is as it stands."""
        if as_glob(self.path) == self.path:
            return True
        try:
            statuses = self._system.globStatus(self._path)
        except Py4JJavaError as error:
            if "Illegal file pattern" not in str(error.java_exception.getMessage()):
                raise
            return False
        return any(str(status.getPath().toString()) == self.qualified() for status in statuses or ())

    def modified(self) -> int:
        """Time of the last change in milliseconds."""
        return int(self._system.getFileStatus(self._path).getModificationTime())

    def files(self) -> Iterator[FileInfo]:
        """All files below the directory, at any depth."""
        if self._system.getScheme() == "file":
            yield from self._walk(self._path)
            return
        listing = self._system.listFiles(self._path, True)
        while listing.hasNext():
            yield _info(listing.next())

    def _walk(self, path: Any) -> Iterator[FileInfo]:
        """The same for a local directory.

        Hadoop's `listFiles` starts a process for each local file to ask for its permissions, and fails where a file was
        renamed in the meantime, as a running query does all the time.
        """
        for status in self._system.listStatus(path):
            if status.isDirectory():
                yield from self._walk(status.getPath())
            else:
                yield _info(status)

    def text(self) -> str:
        """The content of the file, read as UTF-8."""
        stream = self._system.open(self._path)
        try:
            jvm: Any = self._session._jvm  # noqa: SLF001
            return str(jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
        finally:
            stream.close()

    def replace(self, text: str) -> None:
        """Write the file as UTF-8, and replace an existing one: a reader sees the old or the new file, always complete."""
        if self._path.toUri().getScheme() == "s3a":  # an object appears only when it is complete
            self._write(self._path, text)
            return
        jvm: Any = self._session._jvm  # noqa: SLF001
        beside = jvm.org.apache.hadoop.fs.Path(self._path.getParent(), f".{self._path.getName()}.new")
        self._write(beside, text)
        rename = jvm.org.apache.hadoop.fs.Options.Rename
        options = self._session.sparkContext._gateway.new_array(rename, 1)  # noqa: SLF001
        options[0] = rename.OVERWRITE
        context = jvm.org.apache.hadoop.fs.FileContext.getFileContext(
            self._system.makeQualified(self._path).toUri(), self._conf
        )
        context.rename(self._system.makeQualified(beside), self._system.makeQualified(self._path), options)

    def _write(self, path: Any, text: str) -> None:
        stream = self._system.create(path, True)
        try:
            stream.write(text.encode())
        finally:
            stream.close()

    def names(self) -> list[str]:
        """The names of the files and directories directly in the directory."""
        return [str(status.getPath().getName()) for status in self._system.listStatus(self._path)]

    def delete(self) -> None:
        """Remove the file."""
        self._system.delete(self._path, False)

    def make(self) -> None:
        """Create the directory and its parents."""
        self._system.mkdirs(self._path)

    def touch(self) -> None:
        """Write an empty file, and replace an existing one."""
        self._system.create(self._path, True).close()


def local_path(path: str) -> str | None:
    """The path on this machine; None for a path in an object store."""
    plain = re.sub(r"^file:/+", "/", path)
    return None if re.match(r"\w[\w+.-]*:", plain) else plain


def _info(status: Any) -> FileInfo:
    return FileInfo(str(status.getPath().toString()), int(status.getModificationTime()))


def newest(log: Directory) -> int | None:
    """The highest number in a folder of numbered files; None if there is no such file."""
    return max(_numbers(log), default=None)


def oldest(log: Directory) -> int | None:
    """The lowest number in a folder of numbered files; None if there is no such file."""
    return min(_numbers(log), default=None)


def _numbers(log: Directory) -> Collection[int]:
    return entry_numbers(log.names()).all if log.exists() else ()
