"""Lists the files below a source's path with Spark's own classes, and counts those that no batch reads.

Unless a folder below a path is called like `k=v`, Spark reads only the files directly in the path; and a table reads none beside
such folders. A stream does not read a file again that changes. Spark passes over all these files without a word.
"""

from typing import Any

from pyspark.sql import SparkSession

from mainstem.runtime.files.source_folders import Files, Folder, Others


class Listing:
    """The files below a source's path at one moment.

    Args:
        files: the files, in Java.
        by_name: whether the source knows files by their names alone.
    """

    def __init__(self, files: Any, *, by_name: bool) -> None:
        self._files, self._by_name = files, by_name

    def passed_over(self, others: Others) -> Files:
        """The files in folders that Spark does not read.

        Args:
            others: files below these paths do not count, nor do files that are such a path.

        Raises:
            Py4JError: the folders of the document cannot be compared.
        """
        return _files(self._files.passedOver(list(others.read), list(others.written)))

    def changed(self, log: Any) -> Files:
        """The files that have changed since Spark listed them for a batch, and are not read again.

        Args:
            log: what `open_log` has returned before the files were listed. A file that is listed for a batch afterwards may have
                another time there.

        Raises:
            Py4JError: the log cannot be read.
        """
        return _files(self._files.changed(log, self._by_name))


def listed(session: SparkSession, folder: Folder) -> Listing | None:
    """The files below a source's path; None if nothing exists there.

    Args:
        session: any session.
        folder: the source.

    Raises:
        PySparkException: the files cannot be listed.
        Py4JError: the same.
    """
    files = _package(session).SourceFiles.list(
        session._jsparkSession,  # noqa: SLF001
        folder.path,
        dict(folder.options),
        folder.is_stream,
    )
    return None if files is None else Listing(files, by_name=folder.by_name)


def open_log(session: SparkSession, path: str) -> Any:
    """The log of a source in the checkpoint of a query, as it is now; None if it has no entry.

    Args:
        session: any session.
        path: the log's folder.

    Raises:
        PySparkException: the store does not answer.
        Py4JError: the same.
    """
    return _package(session).SourceLog.open(session._jsparkSession, path)  # noqa: SLF001


def _package(session: SparkSession) -> Any:
    jvm: Any = session._jvm  # noqa: SLF001
    return jvm.dev.mainstem.files


def _files(java: Any) -> Files:
    return Files(int(java.count()), str(java.first()))
