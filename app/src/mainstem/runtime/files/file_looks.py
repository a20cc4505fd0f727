"""Looks for files below the paths of sources that no batch reads; in its own thread."""

import threading
from collections.abc import Collection
from typing import Final

from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from mainstem import logs
from mainstem.language.analysis.graph import Graph
from mainstem.runtime.clock import Clock
from mainstem.runtime.failures.classification import classify
from mainstem.runtime.files.source_folders import Folder, UnreadFiles, folders, others, unread


LOOK_SECONDS: Final = 300.0
"""Seconds between two looks at a stream: each lists all files below its path, as Spark does before each batch."""
PATIENCE_SECONDS: Final = 8.0
"""Seconds that a run whose queries have ended goes on for a look that is not over."""
REMEDY_OF_FOLDERS: Final = (
    'to read them, set options: {recursiveFileLookup: "true"} on the source, which then has no columns of folders, or move '
    "them; a stream reads a file again that was moved after a batch had read it"
)
REMEDY_OF_CHANGES: Final = (
    "write each file elsewhere and move it below the path when it is whole; a copy with another name is read from its beginning, "
    "also what a batch has read before"
)
_NEVER: Final = str(2**31 - 1)


class _Watched:
    """A folder, and what the looks at it have shown."""

    def __init__(self, folder: Folder) -> None:
        self.folder = folder
        self.answer: UnreadFiles | None = None
        self.error = ""
        self.begun = 0.0
        """When a query that reads it has started last; a look is due then."""
        self.due = False
        self.at: float | None = None
        """When the last look began."""

    def adopt(self, folder: Folder) -> bool:
        """Look at the files of other queries too, if it is the same folder; returns whether it is."""
        if self.folder._replace(logs=folder.logs) != folder:
            return False
        self.folder = folder
        return True


class FileLooks:
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
            next((each for each in known if each.adopt(folder)), None) or _Watched(folder)
            for folder in folders(graph)
        )

    def begin(self, sources: Collection[str]) -> None:
        """Look at sources soon, because a query that reads them starts; then at streams again and again."""
        for watched in self._watched:
            if watched.folder.source in sources:
                watched.begun, watched.due = self._clock.seconds(), True
                self._wake.set()
        if self._thread is None and self._wake.is_set():
            self._thread = threading.Thread(target=self._run, name="file-looks", daemon=True)
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

    def answers(self, sources: Collection[str]) -> dict[str, UnreadFiles]:
        """Source -> the files that it does not read, at the last look; only sources that were looked at."""
        known = {each.folder.source: each.answer for each in self._watched}
        return {source: answer for source in sources if (answer := known.get(source)) is not None}

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
        begun, folder, before = watched.begun, watched.folder, watched.answer or UnreadFiles()
        watched.at, error = self._clock.seconds(), ""
        try:
            watched.answer = unread(session, folder, self._others)
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
        if watched.answer is not None and not error:
            self._warn(folder, before, watched.answer)

    def _warn(self, folder: Folder, before: UnreadFiles, now: UnreadFiles) -> None:
        """Log files where there were none before."""
        if (files := now.passed_over).number and not before.passed_over.number:
            self._log.warning(
                "files are passed over",
                source=folder.source,
                files=files.number,
                first=files.first,
                remedy=REMEDY_OF_FOLDERS,
            )
        for reader in sorted(now.changed.keys() - before.changed.keys()):
            self._log.warning(
                "files are not read again",
                source=folder.source,
                query=reader.query,
                files=now.changed[reader].number,
                first=now.changed[reader].first,
                remedy=REMEDY_OF_CHANGES,
            )


def _listing_session(session: SparkSession) -> SparkSession:
    """A session that lists any number of folders in the driver: a job might wait for cores that queries never free."""
    own = session.newSession()
    own.conf.set("spark.sql.sources.parallelPartitionDiscovery.threshold", _NEVER)
    return own
