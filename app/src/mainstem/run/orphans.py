"""Removes the files that killed executors leave in sinks' folders, beside the running queries.

A task that fails removes what it wrote. An executor that is killed cannot: its task runs again elsewhere, under new file
names, the batch commits, and no later start looks for the first files. Readers of the bare folder see their rows twice.

No clock decides which files are orphans. Every file of a listing belongs to a batch that was planned before the listing
ended. Once all these batches are committed, a listed file that the sink's log does not name will never be named.
"""

import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Final, Self

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from mainstem import logs
from mainstem.build import query as build
from mainstem.run import sweep
from mainstem.run.failures import classify
from mainstem.run.hadoop import Folder, newest, oldest
from mainstem.run.needed import running
from mainstem.run.runs import DONE, PLANNED
from mainstem.spec.graph import Graph
from mainstem.spec.sinks import Sink


PAUSE: Final = 5.0
"""Seconds between two looks for executors that were lost."""
_ERRORS: Final = (PySparkException, Py4JError, ConnectionError)
_STOP_SECONDS: Final = 10.0
_SUCCESS: Final = "_SUCCESS"


@dataclass
class _Target:
    """The folder of one sink.

    Attributes:
        query: name of the query that writes it.
        path: the folder.
        kind: the format of its files.
        checkpoint: full path of the query's checkpoint.
        due: an executor was lost since the last listing, or there was none yet.
        suspects: files of the last listing that the log did not name.
        planned: the newest batch that may have written them.
    """

    query: str
    path: str
    kind: str
    checkpoint: str
    due: bool = True
    suspects: list[str] = field(default_factory=list)
    planned: int = -1


class OrphanCleaner:
    """Looks once after the start, again after each loss of an executor, and a last time at the end.

    As a context manager it works in a thread of its own, where executors are processes of their own: a task of a driver's
    own thread goes with its driver, or removes what it wrote. Failures are logged and end nothing.

    Args:
        session: the application's session.
        graph: the pipeline's.
    """

    def __init__(self, session: SparkSession, graph: Graph) -> None:
        self._session = session.newSession()
        self._targets = list(_targets(graph))
        self._has_executors = not session.sparkContext.master.startswith("local[")
        self._lost: set[str] = set()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run, name="orphans", daemon=True)
        self._log = logs.get("mainstem")

    def __enter__(self) -> Self:
        if self._targets and self._has_executors:
            self._thread.start()
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._done.set()
        if self._thread.is_alive():
            self._thread.join(_STOP_SECONDS)
            if not self._thread.is_alive():
                self.look()

    def look(self) -> None:
        """Remove the orphans of committed batches; what belongs to a running batch waits for a later look."""
        with suppress(*_ERRORS):
            self._note_losses()
        for target in self._targets:
            try:
                if target.due and not target.suspects:
                    target.due = False
                    self._list(target)
                if target.suspects:
                    self._clear(target)
            except _ERRORS as error:
                target.due = True
                self._log.warning(
                    "orphan files not removed", query=target.query, error=classify(error).message
                )

    def _run(self) -> None:
        while not self._done.wait(PAUSE):
            self.look()

    def _note_losses(self) -> None:
        """Every folder is due once more where executors have gone since the last look."""
        store: Any = self._session.sparkContext._jsc.sc().statusStore()  # noqa: SLF001
        known = store.executorList(False)
        executors = (known.apply(index) for index in range(known.size()))
        lost = {str(executor.id()) for executor in executors if not executor.isActive()}
        if lost - self._lost:
            self._lost |= lost
            for target in self._targets:
                target.due = True

    def _list(self, target: _Target) -> None:
        folder, batches = Folder(self._session, target.path), self._batches(target)
        if batches is None or not folder.exists() or (folder / _SUCCESS).exists():
            return  # another job's mark of success: its files have names of the same kind
        first, logged = oldest(batches[0]), oldest(folder / sweep.LOG)
        if first is None:
            return
        if logged is None:
            target.due = True  # without a log of its own the folder may hold anybody's files
            return
        # Files from before the log's first batch are not of this query: somebody has put them there.
        first = max(first, min(logged, newest(batches[0]) or logged))
        since = (batches[0] / str(first)).modified() - sweep.SKEW_MS
        target.suspects = sweep.unlogged_files(self._session, folder, since, target.kind)
        target.planned = newest(batches[0]) or 0

    def _clear(self, target: _Target) -> None:
        batches = self._batches(target)
        committed = newest(batches[1]) if batches else None
        if committed is None or committed < target.planned:
            return
        suspects, target.suspects = target.suspects, []
        known = sweep.logged_names(self._session, Folder(self._session, target.path))
        orphans = [path for path in suspects if path.rpartition("/")[2] not in known]
        for path in orphans:
            Folder(self._session, path).delete()
        if orphans:
            self._log.warning(
                "removed files that lost executors had left", query=target.query, files=len(orphans)
            )

    def _batches(self, target: _Target) -> tuple[Folder, Folder] | None:
        """The logs of planned and of committed batches; None where there is none yet."""
        checkpoint = Folder(self._session, target.checkpoint)
        if (checkpoint / "offsets").exists():
            return checkpoint / "offsets", checkpoint / "commits"
        runs = checkpoint / "runs"
        names = sorted(runs.names()) if runs.exists() else []
        return (runs / names[0] / PLANNED, runs / names[0] / DONE) if names else None


def _targets(graph: Graph) -> Iterator[_Target]:
    for query in running(graph):
        for sink in query.to:
            if sink.files is not None and not _expires(sink):
                yield _Target(query.name, sink.files.path, sink.choice(), build.checkpoint(graph, query))


def _expires(sink: Sink) -> bool:
    """True where the log forgets files after a while (Spark's option `retention`): they are data nevertheless."""
    return sink.files is not None and any(key.lower() == "retention" for key in sink.files.options)
