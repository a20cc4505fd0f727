"""How the sources of a document read files below their paths, and what is known of files that no batch reads."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

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


class Reading(NamedTuple):
    """An occurrence of a source in a query.

    Attributes:
        query: name of the query.
        occurrence: name of the occurrence.
    """

    query: str
    occurrence: str


class UnreadFiles(NamedTuple):
    """The files below a source's path that no batch reads, or not as they are now.

    Attributes:
        passed_over: those in folders that Spark does not read.
        changed: those that have changed since Spark listed them for a batch, of each occurrence that has some.
        by_name: whether the source knows files by their names alone; then also those that have the name of such a file.
    """

    passed_over: Files = NO_FILES
    changed: Mapping[Reading, Files] = MappingProxyType({})
    by_name: bool = False

    def notices(self, source: str, query: str) -> Iterator[tuple[reasons.Reason, str]]:
        """Reason and message of what a query does not read of a source."""
        if changed := [files for reading, files in self.changed.items() if reading.query == query]:
            kind = "with a name that it has read before" if self.by_name else "again that changed since"
            most = max(changed, key=lambda files: files.number)
            yield reasons.FILES_CHANGED, f"source {source!r} does not read {most.described(kind)}"
        if self.passed_over.number:
            message = f"source {source!r} passes over {self.passed_over.described('below its path')}"
            yield reasons.FILES_PASSED_OVER, message


class Folder(NamedTuple):
    """How a source reads below a path.

    Attributes:
        source: name of the source.
        path: the path, or a glob.
        options: options of the source's reader.
        is_stream: whether the source is a stream.
        by_name: whether it knows files by their names alone.
        logs: the folder of the log in which Spark keeps the files of each occurrence that it has listed for batches.
    """

    source: str
    path: str
    options: Mapping[str, str]
    is_stream: bool
    by_name: bool = False
    logs: Mapping[Reading, str] = MappingProxyType({})


class Others(NamedTuple):
    """The paths of the document: a folder below a source's path that another part reads or writes is no oversight.

    Attributes:
        read: the paths of the sources, which may be globs.
        written: the folders of checkpoints, sinks and archives.
    """

    read: tuple[str, ...] = ()
    written: tuple[str, ...] = ()


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
        Reading(query.name, occurrence): f"{checkpoint(graph, query)}/sources/{occurrence}"
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
