"""How sources of files read below their paths, and which files there no batch reads.

Unless a folder below a path is called like `k=v`, Spark reads only the files directly in the path; and a table reads none beside
such folders. A stream reads a file once, and not again when it changes. It passes over all others without a word.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from pyspark.sql import SparkSession

from mainstem import reasons
from mainstem.dataframes.query import checkpoint
from mainstem.language.analysis.graph import Graph
from mainstem.language.analysis.occurrences import source_occurrences
from mainstem.language.model.connectors.file_source import FilesSource
from mainstem.language.model.connectors.static_sources import CsvTable, JsonTable, SchemalessTable
from mainstem.language.requirements import running


class Files(NamedTuple):
    """Some files.

    Attributes:
        number: their number.
        first: the first of them in alphabetical order; empty if there is none.
    """

    number: int
    first: str

    def described(self, kind: str) -> str:
        """The number, what files they are, and the first one."""
        number = "1 file" if self.number == 1 else f"{self.number} files"
        return f"{number} {kind}, first {self.first}"


NO_FILES: Final = Files(0, "")


class Reader(NamedTuple):
    """An occurrence of a source in a query.

    Attributes:
        query: name of the query.
        occurrence: name of the occurrence.
    """

    query: str
    occurrence: str


class UnreadFiles(NamedTuple):
    """The files below a source's path that no batch reads.

    Attributes:
        passed_over: those in folders that Spark does not read.
        changed: those that are not as they were when a batch planned them, of each occurrence that has some.
        by_name: whether the source knows files by their names alone.
    """

    passed_over: Files = NO_FILES
    changed: Mapping[Reader, Files] = MappingProxyType({})
    by_name: bool = False

    def notices(self, source: str, query: str) -> Iterator[tuple[reasons.Reason, str]]:
        """Reason and message of what a query does not read of a source."""
        if self.passed_over.number:
            message = f"source {source!r} passes over {self.passed_over.described('below its path')}"
            yield reasons.FILES_PASSED_OVER, message
        if changed := [files for reader, files in self.changed.items() if reader.query == query]:
            kind = "with a name that was read" if self.by_name else "again that changed after a batch's plan"
            yield reasons.FILES_CHANGED, f"source {source!r} does not read {max(changed).described(kind)}"


class Folder(NamedTuple):
    """How a source reads below a path.

    Attributes:
        source: name of the source.
        path: the path, or a glob.
        options: options of the source's reader.
        is_stream: whether the source is a stream.
        by_name: whether it knows files by their names alone.
        logs: the folder of each log in which Spark keeps the files that the batches of a query have planned.
    """

    source: str
    path: str
    options: Mapping[str, str]
    is_stream: bool
    by_name: bool = False
    logs: Mapping[Reader, str] = MappingProxyType({})


class Others(NamedTuple):
    """The paths of the document: a folder below a source's path that another part reads or writes is no oversight.

    Attributes:
        read: the paths of the sources, which may be globs.
        written: the folders of checkpoints, sinks and archives.
    """

    read: tuple[str, ...] = ()
    written: tuple[str, ...] = ()


def unread(session: SparkSession, folder: Folder, others: Others) -> UnreadFiles | None:
    """The files below a source's path that Spark does not read; None if nothing exists there.

    Args:
        session: any session.
        folder: the source.
        others: files below these paths are not passed over, nor are files that are such a path.

    Raises:
        PySparkException: the files cannot be listed, or a log cannot be read.
        Py4JError: the same.
    """
    jvm: Any = session._jvm  # noqa: SLF001
    java = session._jsparkSession  # noqa: SLF001
    package = jvm.dev.mainstem.files
    # Before the files are listed: one that is planned afterwards may have another time in the listing.
    logs = {reader: package.SourceLog.open(java, log) for reader, log in folder.logs.items()}
    files = package.SourceFiles.list(java, folder.path, dict(folder.options), folder.is_stream)
    if files is None:
        return None
    passed_over = _files(files.passedOver(list(others.read), list(others.written)))
    changed = {
        reader: _files(files.changed(log, folder.by_name)) for reader, log in logs.items() if log is not None
    }
    some = {reader: files for reader, files in changed.items() if files.number}
    return UnreadFiles(passed_over, some, folder.by_name)


def _files(java: Any) -> Files:
    return Files(int(java.count()), str(java.first()))


def folders(graph: Graph) -> Iterator[Folder]:
    """The sources of files that running queries read."""
    read = {source.name for query in running(graph) for source in graph.sources_of(query.from_)}
    for source in graph.spec.sources:
        files = source.connector
        if source.name in read and isinstance(files, FilesSource | CsvTable | JsonTable | SchemalessTable):
            if isinstance(files, FilesSource):
                yield _stream(graph, source.name, files)
            else:
                yield Folder(source.name, files.path, dict(files.options), is_stream=False)


def _stream(graph: Graph, source: str, files: FilesSource) -> Folder:
    options = dict(files.options)
    if files.path_glob_filter:
        options["pathGlobFilter"] = files.path_glob_filter
    logs = {
        Reader(query.name, occurrence): f"{checkpoint(graph, query)}/sources/{occurrence}"
        for query in running(graph)
        for occurrence, name in source_occurrences(graph, query).items()
        if name == source
    }
    return Folder(source, files.path, options, is_stream=True, by_name=files.file_name_only, logs=logs)


def others(graph: Graph) -> Others:
    """The paths that a document reads and writes."""
    read = [source.connector.main_path for source in graph.spec.sources]
    named = [path for _, connector in graph.spec.connectors() for _, path in connector.paths()]
    written = [graph.spec.checkpoints.location, *(path for path in named if path not in read)]
    return Others(tuple(path for path in read if path is not None), tuple(written))
