"""Looks for files below the paths of sources that no batch reads, or not as they are now; in its own thread."""

import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any, Final

from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from mainstem import logs
from mainstem.language.analysis.graph import Graph
from mainstem.runtime.clock import Clock
from mainstem.runtime.failures.classification import classify
from mainstem.runtime.files.listing import listed, open_log
from mainstem.runtime.files.source_folders import (
    NO_FILES,
    Files,
    Folder,
    Reading,
    UnreadFiles,
    folders,
    others,
)


LOOK_SECONDS: Final = 300.0
"""Seconds between two looks at a stream: each lists all files below its path, as Spark does before each batch."""
PATIENCE_SECONDS: Final = 8.0
"""Seconds that a run whose queries have ended goes on for a look that is not over."""
REMEDY_OF_FOLDERS: Final = (
    'to read them, set options: {recursiveFileLookup: "true"} on the source, which then has no columns of folders, or move '
    "them; a stream reads a file again that was moved after a batch had read it"
)
REMEDY_OF_CHANGES: Final = (
    "write each file elsewhere and move it below the path when it is whole; to read what is missing, write it into a file of another "
    "name, for a copy of the whole file repeats what was read before"
)
_NEVER: Final = str(2**31 - 1)


class _Watched:
    """A folder, and what the looks at it have shown."""

    def __init__(self, folder: Folder) -> None:
        self.folder = folder
        self.passed_over = NO_FILES
        self.changed: dict[str, Files] = {}
        """Log -> the files that have changed."""
        self.errors: dict[Reading | None, str] = {}
        """Of the last look at each log, or under no name at the folder itself."""
        self.begun = 0.0
        """When a query that reads it has started last; a look is due then."""
        self.due = False
        self.at: float | None = None
        """When the last look began."""

    def adopt(self, folder: Folder) -> bool:
        """Look at the files of other queries from now on, if it is the same folder; returns whether it is."""
        if self.folder._replace(logs=folder.logs) != folder:
            return False
        self.folder = folder
        self.changed = {log: files for log, files in self.changed.items() if log in folder.logs.values()}
        return True

    def answer(self) -> UnreadFiles:
        """What is known; a log that no query has any more does not count."""
        known = {reading: self.changed.get(log, NO_FILES) for reading, log in self.folder.logs.items()}
        changed = {reading: files for reading, files in known.items() if files.number}
        return UnreadFiles(self.passed_over, changed, self.folder.by_name)


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

    def begin(self, sources: Collection[str], *, only_tables: bool = False) -> None:
        """Look at sources soon, because a query that reads them starts; then at streams again and again.

        Args:
            sources: names of the sources.
            only_tables: look only at tables: the query starts only to read these again.
        """
        for watched in self._watched:
            folder = watched.folder
            if folder.source in sources and not (only_tables and folder.is_stream):
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
        for watched in self._watched:
            if watched.due:
                self._log.info("the look at a source's files was not over", source=watched.folder.source)
        self._wake.set()

    def answers(self, sources: Collection[str]) -> dict[str, UnreadFiles]:
        """Source -> the files that it does not read, at the last look; only sources that are looked at."""
        watched = {each.folder.source: each for each in self._watched}
        return {source: watched[source].answer() for source in sources if source in watched}

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
        except (PySparkException, Py4JError, ConnectionError):
            return  # no session or no JVM: the supervisor notices that itself

    def _is_old(self, watched: _Watched) -> bool:
        if not watched.folder.is_stream or watched.at is None:
            return False
        return self._clock.seconds() - watched.at >= LOOK_SECONDS

    def _look(self, session: SparkSession, watched: _Watched) -> None:
        begun, folder = watched.begun, watched.folder
        watched.at, errors = self._clock.seconds(), dict[Reading | None, str]()
        opened: dict[Reading, Any] = {}
        for reading, path in folder.logs.items():
            with _noted(errors, reading):
                opened[reading] = open_log(session, path)
        with _noted(errors, None):
            files = listed(session, folder)
            self._show_passed_over(watched, files.passed_over(self._others) if files else NO_FILES)
            for reading, log in opened.items():
                with _noted(errors, reading):
                    changed = files.changed(log) if files and log else NO_FILES
                    self._show_changed(watched, folder, reading, changed)
        if watched.begun == begun:
            watched.due = False
        self._log_errors(watched, errors)

    def _show_passed_over(self, watched: _Watched, files: Files) -> None:
        """Keep the answer, before the logs are read: that takes seconds for each million files."""
        before, watched.passed_over = watched.passed_over, files
        if files.number and not before.number:
            self._warn("files are passed over", files, REMEDY_OF_FOLDERS, source=watched.folder.source)

    def _show_changed(self, watched: _Watched, folder: Folder, reading: Reading, files: Files) -> None:
        log = folder.logs[reading]
        before, watched.changed[log] = watched.changed.get(log, NO_FILES), files
        if files.number > before.number:
            self._warn(
                "changed files are not read again",
                files,
                REMEDY_OF_CHANGES,
                source=folder.source,
                query=reading.query,
            )

    def _warn(self, event: str, files: Files, remedy: str, **about: str) -> None:
        if not self._closed:
            self._log.warning(event, **about, files=files.number, first=files.first, remedy=remedy)

    def _log_errors(self, watched: _Watched, errors: dict[Reading | None, str]) -> None:
        """Log each error once, until another one or none follows."""
        for reading, error in errors.items():
            if error != watched.errors.get(reading) and not self._closed:
                of_query = {"query": reading.query} if reading else {}
                self._log.info(
                    "the look at a source's files has failed",
                    source=watched.folder.source,
                    **of_query,
                    error=error,
                )
        watched.errors = errors


@contextmanager
def _noted(errors: dict[Reading | None, str], reading: Reading | None) -> Iterator[None]:
    """Keep an error, so that one log that cannot be read hides no other answer."""
    try:
        yield
    except Py4JNetworkError:
        raise
    except (PySparkException, Py4JError) as failure:
        errors[reading] = classify(failure).message


def _listing_session(session: SparkSession) -> SparkSession:
    """A session that lists any number of folders in the driver: a job might wait for cores that queries never free."""
    own = session.newSession()
    own.conf.set("spark.sql.sources.parallelPartitionDiscovery.threshold", _NEVER)
    return own
