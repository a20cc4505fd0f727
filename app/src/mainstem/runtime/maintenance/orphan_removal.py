"""Removes, beside the running queries, the files that killed drivers and executors leave in the folders of sinks.

A task that fails removes its files. A killed driver or executor cannot: the task runs again with new file names, and the
batch commits. Readers of the bare folder see the rows twice.

No clock decides which files are orphans. Every file of a listing belongs to a batch that was planned before the listing
ended. Once all these batches are committed, the sink's log will never name a file that it does not name yet: the entry of
a batch is written once, before its commit, and a late request of an older driver is refused.
"""

import math
import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from mainstem import logs
from mainstem.dataframes import query as build
from mainstem.filesystem import Directory, newest, oldest
from mainstem.language.analysis.graph import Graph
from mainstem.language.requirements import running
from mainstem.log_entries import SINK_LOG
from mainstem.runtime.checkpoint import orphan_files, sink_logs
from mainstem.runtime.checkpoint.batch_journal import DONE, PLANNED
from mainstem.runtime.checkpoint.orphan_files import Suspects
from mainstem.runtime.clock import Clock
from mainstem.runtime.failures.classification import classify


PAUSE: Final = 5.0
"""Seconds between two checks for lost executors."""
FIRST_INTERVAL: Final = 15.0
"""Seconds from the first listing of a folder to the second. Each further interval is twice as long as the one before."""
LONGEST_INTERVAL: Final = 3600.0
"""Seconds. Any interval is longer if a listing would otherwise fill more than a hundredth of the time."""
_ERRORS: Final = (PySparkException, Py4JError, ConnectionError)
_STOP_SECONDS: Final = 10.0


@dataclass
class _Target:
    """The folder of one sink.

    Attributes:
        query: name of the query that writes to the folder.
        path: the folder.
        kind: the format of the files.
        checkpoint: full path of the query's checkpoint.
        forgets: whether the log drops entries of old files (Spark's option `retention`). These files are still data, so
            only files that a start suspects can be orphans.
        next_listing: when the folder is listed next, in seconds of the monotonic clock.
        interval: seconds from that listing to the one after it.
        since: the age limit of the first listing, in milliseconds since 1970; None before it. Later listings keep it,
            because the checkpoint soon forgets the plans that show it.
        suspects: files that the log did not name at the time of the listing.
        planned: the newest batch that may have written the suspects.
    """

    query: str
    path: str
    kind: str
    checkpoint: str
    forgets: bool
    next_listing: float = -math.inf
    interval: float = FIRST_INTERVAL
    since: int | None = None
    suspects: set[str] = field(default_factory=set)
    planned: int = -1

    @property
    def key(self) -> tuple[str, str, str, str, bool]:
        """All that the document sets for it."""
        return self.query, self.path, self.kind, self.checkpoint, self.forgets

    def add(self, suspects: Suspects) -> None:
        """Add suspected files."""
        self.suspects |= set(suspects.files)
        self.planned = max(self.planned, suspects.batch)

    def is_due(self, now: float) -> bool:
        """Whether the folder must be listed."""
        return now >= self.next_listing and not self.suspects and not self.forgets

    def listed(self, now: float, seconds: float) -> None:
        """Set the time of the next listing, after one that took so many seconds."""
        self.next_listing = now + max(self.interval, 100 * seconds)
        self.interval = min(2 * self.interval, LONGEST_INTERVAL)


class OrphanCleaner:
    """Removes orphan files after the start, after each loss of an executor, at growing intervals, and at the end.

    The intervals are for an older driver that hung and wakes up. It may write a file after any listing, and end before it
    removes the file.

    The cleaner works in its own thread, from `start` to `close`. It logs failures; they end no query.

    Args:
        session: the application's session.
        graph: the graph of the document.
        clock: the time of the run.
        owns: whether this driver still owns a checkpoint; asked before each removal.
    """

    def __init__(
        self,
        session: SparkSession,
        graph: Graph,
        clock: Clock,
        owns: Callable[[SparkSession, str], bool] = lambda *_: True,
    ) -> None:
        self._owns = owns
        self._clock = clock
        self._session = session.newSession()
        self._targets = list(_targets(graph))
        self._started = False
        self._has_executors = not session.sparkContext.master.startswith("local[")
        self._lost: set[str] = set()
        self._queue: queue.SimpleQueue[tuple[str, str, Suspects]] = queue.SimpleQueue()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run, name="orphans", daemon=True)
        self._log = logs.get("mainstem")

    def start(self) -> None:
        """Start the thread."""
        if self._targets and not self._started:
            self._started = True
            self._thread.start()

    def adopt(self, graph: Graph) -> None:
        """Look after the folders of another document from now on; what is known of a folder that stays is kept."""
        known = {target.key: target for target in self._targets}
        self._targets = [known.get(target.key, target) for target in _targets(graph)]
        self.start()

    def close(self) -> None:
        """Stop the thread and look a last time; called after every query has ended."""
        self._done.set()
        if self._thread.is_alive():
            self._thread.join(_STOP_SECONDS)
            if not self._thread.is_alive():
                self.look()

    def suspect(self, query: str, folder: str, suspects: Suspects) -> None:
        """Add files that an unfinished batch may have left in a folder of the query; does not block, from any thread."""
        self._queue.put((query, folder, suspects))

    def look(self) -> None:
        """Remove the orphan files of committed batches; files of a running batch wait for a later call."""
        with suppress(*_ERRORS):
            self._note_losses()
        while not self._queue.empty():
            self._suspect(*self._queue.get())
        for target in self._targets:
            try:
                self._clear(target)
                if target.is_due(self._clock.seconds()):
                    self._list(target)
                    self._clear(target)
            except _ERRORS as error:
                target.next_listing = -math.inf
                self._log.warning(
                    "removing orphan files failed", query=target.query, error=classify(error).message
                )

    def _suspect(self, query: str, folder: str, suspects: Suspects) -> None:
        for target in self._targets:
            if (target.query, target.path) == (query, folder):
                target.add(suspects)

    def _run(self) -> None:
        while not self._clock.wait(self._done, PAUSE):
            self.look()

    def _note_losses(self) -> None:
        """Mark every folder as due if executors were lost since the last call.

        Without executors no folder becomes due: a task in the driver's process ends with the driver, or removes its files.
        """
        if not self._has_executors:
            return
        store: Any = self._session.sparkContext._jsc.sc().statusStore()  # noqa: SLF001
        executor_list = store.executorList(False)
        executors = (executor_list.apply(index) for index in range(executor_list.size()))
        lost = {str(executor.id()) for executor in executors if not executor.isActive()}
        if lost - self._lost:
            self._lost |= lost
            for target in self._targets:
                target.next_listing = -math.inf

    def _list(self, target: _Target) -> None:
        folder, batches = Directory(self._session, target.path), self._batches(target)
        start = self._clock.seconds()
        target.next_listing = start + FIRST_INTERVAL
        if batches is None or not folder.exists():
            return
        first, logged = oldest(batches[0]), oldest(folder / SINK_LOG)
        if first is None or logged is None:
            return  # a folder without a log may have files of any writer
        if target.since is None:
            # Files that are older than the log's first batch are not from this query.
            first = max(first, min(logged, newest(batches[0]) or logged))
            target.since = (batches[0] / str(first)).modified() - orphan_files.SKEW_MS
        files = orphan_files.unlogged_files(self._session, folder, target.since, target.kind)
        target.add(Suspects(tuple(files), newest(batches[0]) or 0))
        end = self._clock.seconds()
        target.listed(end, end - start)

    def _clear(self, target: _Target) -> None:
        if not target.suspects:
            return
        batches = self._batches(target)
        committed = newest(batches[1]) if batches else None
        if (
            committed is None
            or committed < target.planned
            or not self._owns(self._session, target.checkpoint)
        ):
            return
        if not sink_logs.is_whole(self._session, target.path, committed):
            self._log.warning(
                "no orphan file is removed, because the log of the folder is not whole", folder=target.path
            )
            target.suspects = set()
            return
        orphans = orphan_files.leftovers(
            self._session, Directory(self._session, target.path), sorted(target.suspects)
        )
        for path in orphans:
            Directory(self._session, path).delete()
        target.suspects = set()
        if orphans:
            self._log.warning("orphan files removed", query=target.query, files=len(orphans))

    def _batches(self, target: _Target) -> tuple[Directory, Directory] | None:
        """The logs of planned and of committed batches; None if the checkpoint has none yet."""
        checkpoint = Directory(self._session, target.checkpoint)
        if (checkpoint / "offsets").exists():
            return checkpoint / "offsets", checkpoint / "commits"
        runs = checkpoint / "runs"
        names = sorted(runs.names()) if runs.exists() else []
        return (runs / names[0] / PLANNED, runs / names[0] / DONE) if names else None


def _targets(graph: Graph) -> Iterator[_Target]:
    for query in running(graph):
        for sink in query.to:
            if sink.files is not None:
                forgets = any(key.lower() == "retention" for key in sink.files.options)
                checkpoint = build.checkpoint(graph, query)
                yield _Target(query.name, sink.files.path, sink.choice(), checkpoint, forgets)
