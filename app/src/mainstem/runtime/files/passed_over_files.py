"""Looks for files below the paths of sources that no batch reads, because of their folder; in its own thread.

Unless a folder below a path is called like `k=v`, Spark reads only the files directly in the path; and a table reads none beside
such folders. It passes over all others without a word.
"""

import threading
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final, NamedTuple

from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from mainstem import logs
from mainstem.language.analysis.graph import Graph
from mainstem.language.model.connectors.file_source import FilesSource
from mainstem.language.model.connectors.static_sources import CsvTable, JsonTable, SchemalessTable
from mainstem.language.requirements import running
from mainstem.runtime.clock import Clock
from mainstem.runtime.failures.classification import classify


LOOK_SECONDS: Final = 300.0
"""Seconds between two looks at a stream: each lists all files below its path, as Spark does before each batch."""
PATIENCE_SECONDS: Final = 8.0
"""Seconds that a run whose queries have ended goes on for a look that is not over."""
REMEDY: Final = (
    'to read them, set options: {recursiveFileLookup: "true"} on the source, which then has no columns of folders, or move '
    "them; a stream reads a file again that was moved after a batch had read it"
)
_NEVER: Final = str(2**31 - 1)


class PassedOver(NamedTuple):
    """The files below a path that no batch reads.

    Attributes:
        files: their number.
        first: the first of them in alphabetical order; empty if there is none.
    """

    files: int
    first: str

    def described(self, source: str) -> str:
        """The number and the first file."""
        number = "1 file" if self.files == 1 else f"{self.files} files"
        return f"source {source!r} passes over {number} below its path, first {self.first}"


class Folder(NamedTuple):
    """How a source reads below a path.

    Attributes:
        source: name of the source.
        path: the path, or a glob.
        options: options of the source's reader.
        is_stream: whether the source is a stream.
    """

    source: str
    path: str
    options: Mapping[str, str]
    is_stream: bool


class Others(NamedTuple):
    """The paths of the document: a folder below a source's path that another part reads or writes is no oversight.

    Attributes:
        read: the paths of the sources, which may be globs.
        written: the folders of checkpoints, sinks and archives.
    """

    read: tuple[str, ...] = ()
    written: tuple[str, ...] = ()


class _Watched:
    """A folder, and what the looks at it have shown."""

    def __init__(self, folder: Folder) -> None:
        self.folder = folder
        self.answer: PassedOver | None = None
        self.error = ""
        self.begun = 0.0
        """When a query that reads it has started last; a look is due then."""
        self.due = False
        self.at: float | None = None
        """When the last look began."""


class PassedOverFiles:
    """Looks for such files of the sources that running queries read.

    Args:
        session: the application's session.
        graph: the graph of the document.
        clock: the time of the run.
    """

    def __init__(self, session: SparkSession, graph: Graph, clock: Clock) -> None:
        self._session, self._clock = session, clock
        self._watched: tuple[_Watched, ...] = ()
        self._wake, self._closed = threading.Event(), False
        self._thread: threading.Thread | None = None
        self._log = logs.get("mainstem")
        self.adopt(graph)

    def adopt(self, graph: Graph) -> None:
        """Look at the sources of another document from now on. What is known of a source that stays the same is kept."""
        known = self._watched
        self._others = others(graph)
        self._watched = tuple(
            next((each for each in known if each.folder == folder), None) or _Watched(folder)
            for folder in folders(graph)
        )

    def begin(self, sources: Collection[str]) -> None:
        """Look at sources soon, because a query that reads them starts; then at streams again and again."""
        for watched in self._watched:
            if watched.folder.source in sources:
                watched.begun, watched.due = self._clock.seconds(), True
                self._wake.set()
        if self._thread is None and self._wake.is_set():
            self._thread = threading.Thread(target=self._run, name="passed-over-files", daemon=True)
            self._thread.start()

    @property
    def pending(self) -> bool:
        """Whether a look is not over, and worth a wait: a query may end before the first look at its sources."""
        now = self._clock.seconds()
        return any(each.due and now - each.begun < PATIENCE_SECONDS for each in self._watched)

    def close(self) -> None:
        """Stop looking; does not wait for a running look."""
        self._closed = True
        self._wake.set()

    def answers(self, sources: Collection[str]) -> dict[str, PassedOver]:
        """Source -> the files that it passes over, at the last look; only sources that do."""
        known = {each.folder.source: each.answer for each in self._watched}
        return {
            source: answer for source in sources if (answer := known.get(source)) is not None and answer.files
        }

    def _run(self) -> None:
        try:
            session = _listing_session(self._session)
            while True:
                self._wake.clear()
                for watched in self._watched:
                    if self._closed:
                        return
                    if watched.due or self._is_old(watched):
                        self._look(session, watched)
                self._clock.wait(self._wake, LOOK_SECONDS)
        except (Py4JNetworkError, ConnectionError):
            return  # no JVM: the supervisor notices that itself

    def _is_old(self, watched: _Watched) -> bool:
        if not watched.folder.is_stream or watched.at is None:
            return False
        return self._clock.seconds() - watched.at >= LOOK_SECONDS

    def _look(self, session: SparkSession, watched: _Watched) -> None:
        begun, folder, before = watched.begun, watched.folder, watched.answer
        watched.at, error = self._clock.seconds(), ""
        try:
            watched.answer = below(session, folder, self._others)
        except Py4JNetworkError:
            raise
        except (PySparkException, Py4JError) as failure:
            error = classify(failure).message
        if watched.begun == begun:
            watched.due = False
        if self._closed:
            return
        if error and error != watched.error:
            self._log.info("the look at a source's files has failed", source=folder.source, error=error)
        watched.error = error
        if watched.answer and watched.answer.files and not (before and before.files):
            self._log.warning(
                "files are passed over", source=folder.source, **watched.answer._asdict(), remedy=REMEDY
            )


def below(session: SparkSession, folder: Folder, others: Others) -> PassedOver | None:
    """The files below a source's path that Spark does not read; None if nothing exists there.

    Args:
        session: any session.
        folder: the source.
        others: files below these paths do not count, nor do files that are such a path.

    Raises:
        PySparkException: the files cannot be listed.
        Py4JError: the same.
    """
    jvm: Any = session._jvm  # noqa: SLF001
    passed = jvm.dev.mainstem.files.PassedOverFiles.below(
        session._jsparkSession,  # noqa: SLF001
        folder.path,
        dict(folder.options),
        folder.is_stream,
        list(others.read),
        list(others.written),
    )
    return None if passed is None else PassedOver(int(passed.count()), str(passed.first()))


def folders(graph: Graph) -> Iterator[Folder]:
    """The sources of files that running queries read."""
    read = {source.name for query in running(graph) for source in graph.sources_of(query.from_)}
    for source in graph.spec.sources:
        files = source.connector
        if source.name in read and isinstance(files, FilesSource | CsvTable | JsonTable | SchemalessTable):
            options = dict(files.options)
            if isinstance(files, FilesSource) and files.path_glob_filter:
                options["pathGlobFilter"] = files.path_glob_filter
            yield Folder(source.name, files.path, options, isinstance(files, FilesSource))


def others(graph: Graph) -> Others:
    """The paths that a document reads and writes."""
    read = [source.connector.main_path for source in graph.spec.sources]
    named = [path for _, connector in graph.spec.connectors() for _, path in connector.paths()]
    written = [graph.spec.checkpoints.location, *(path for path in named if path not in read)]
    return Others(tuple(path for path in read if path is not None), tuple(written))


def _listing_session(session: SparkSession) -> SparkSession:
    """A session that lists any number of folders in the driver: a job might wait for cores that queries never free."""
    own = session.newSession()
    own.conf.set("spark.sql.sources.parallelPartitionDiscovery.threshold", _NEVER)
    return own
