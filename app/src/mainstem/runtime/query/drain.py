"""Stops a query at a batch boundary. Spark has no call for that: `stop()` cancels the running batch.

A micro-batch stream plans and commits a batch under one fair lock (`awaitProgressLock`), and runs the batch without the
lock. So a thread that holds the lock between a commit and the next plan has the stream at a boundary:

1. A thread of the drain takes the lock. If the newest planned batch is committed, this is the boundary.
2. Otherwise a batch is running. At its end its thread queues for the lock. Wait for that, queue another thread of the
   drain behind it, and release the lock: it is fair, so this thread gets it before the stream can plan another batch.
3. At the boundary stop the query, and release the lock only once Spark has marked the query stopped.

A real-time batch writes its plan when it ends, and a continuous stream has epochs instead of batches: there the boundary
is the next commit. A continuous stream writes again what it has written after that commit.

Source: MicroBatchExecution and StreamExecution of Spark 4.2 (constructNextBatch, markMicroBatchEnd, stop).
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from py4j.protocol import Py4JJavaError
from pyspark.sql.streaming import StreamingQuery

from mainstem import logs
from mainstem.runtime.clock import Clock


POLL: Final = 0.01
REPORT_SECONDS: Final = 0.5


@dataclass(frozen=True)
class DrainOutcome:
    """How a query was stopped.

    Attributes:
        clean: whether no batch was interrupted after its sink could have begun to write.
        committed: the last committed batch; None before the first.
        pending: the planned batch that runs at the next start; None without one.
        seconds: how long the drain took.
    """

    clean: bool
    committed: int | None
    pending: int | None
    seconds: float


def drain(
    query: StreamingQuery, interrupt: Callable[[], bool], clock: Clock, *, resident: bool = False
) -> DrainOutcome:
    """Stop one query at the end of its running batch, or interrupt the batch.

    Args:
        query: a query. If it has already ended, the outcome is clean unless it failed.
        interrupt: whether to interrupt the batch now; asked again and again.
        clock: the time of the run.
        resident: whether its tasks never end by themselves. Spark plans such a batch only when it commits it: the boundary
            is the next commit.
    """
    begun = clock.seconds()
    turns = _Turns(query, interrupt, clock, resident=resident)
    turns.queue()
    while query.isActive and not turns.ended and not interrupt():
        clock.sleep(POLL)
    if turns.error is not None:
        raise turns.error
    clean = turns.at_boundary or (not query.isActive and query.exception() is None)
    _stop(query)
    planned, committed = _planned(turns.stream), _committed(turns.stream)
    pending = planned if planned != committed else None
    return DrainOutcome(clean, committed, pending, clock.seconds() - begun)


class _Turns:
    """Threads that have the stream's lock one after the other, until one has it at a boundary.

    Each queues before its predecessor releases the lock. One thread alone would be late sometimes: between its release
    and its next request the stream may commit its batch and plan another one.

    Attributes:
        stream: Spark's own object of the query.
        at_boundary: a thread has the stream at a boundary.
        ended: the query is stopped at the boundary, or no thread waits for one any more.
        error: what ended them otherwise.
    """

    def __init__(
        self, query: StreamingQuery, interrupt: Callable[[], bool], clock: Clock, *, resident: bool
    ) -> None:
        self.at_boundary = False
        self.ended = False
        self.error: Exception | None = None
        self._query, self._interrupt, self._clock, self._resident = query, interrupt, clock, resident
        self.stream: Any = query._jsq.streamingQuery()  # noqa: SLF001
        self._lock = self.stream.awaitProgressLock()
        self._first = _committed(self.stream)

    def queue(self) -> None:
        """Let one more thread wait for the lock."""
        # Where a store does not answer, the stream may never release the lock: the thread ends with the process.
        threading.Thread(target=self._wait, name="drain-turn", daemon=True).start()

    def _wait(self) -> None:
        try:
            self._lock.lock()
            try:
                self.ended = self._take()
            finally:
                self._lock.unlock()
        except Exception as error:  # noqa: BLE001 - of the drain's own thread
            self.error, self.ended = error, True

    def _take(self) -> bool:
        """Whether this turn, which has the lock, is the last one."""
        if not self._is_boundary():
            self._until(self._lock.hasQueuedThreads)
        if not self._is_wanted():
            return True
        if self._is_boundary():
            self.at_boundary = True
            self._await_report()
            self._stop_holding_the_lock()
            return True
        self.queue()
        self._until(lambda: self._lock.getQueueLength() > 1)
        return False

    def _until(self, holds: Callable[[], bool]) -> None:
        while self._is_wanted() and not holds():
            self._clock.sleep(POLL)

    def _is_wanted(self) -> bool:
        return bool(self._query.isActive) and not self._interrupt()

    def _is_boundary(self) -> bool:
        committed = _committed(self.stream)
        return _planned(self.stream) == committed and not (self._resident and committed == self._first)

    def _await_report(self) -> None:
        """Wait for Spark's report of the last commit; without it the status would lack the batch's rows."""
        committed = _committed(self.stream)
        until = self._clock.seconds() + REPORT_SECONDS
        while (
            self._query.isActive
            and committed is not None
            and self._clock.seconds() < until
            and not self._lock.hasQueuedThreads()
        ):
            progress = self._query._jsq.lastProgress()  # noqa: SLF001
            if progress is not None and progress.batchId() >= committed:
                return
            self._clock.sleep(POLL)

    def _stop_holding_the_lock(self) -> None:
        # stop() waits for the stream's thread, which may wait for this lock: so another thread calls stop().
        stopper = threading.Thread(target=_stop, args=(self._query,), name="drain-stop", daemon=True)
        stopper.start()
        while self.stream.isActive() and stopper.is_alive():
            self._clock.sleep(POLL / 2)


def _stop(query: StreamingQuery) -> None:
    """Stop the query, and wait for its thread at most Spark's `stopTimeout`: user code or a socket may ignore the
    interruption. Such a thread ends with the process.
    """
    try:
        query.stop()
    except Py4JJavaError as error:
        if "TimeoutException" not in str(error.java_exception.getClass().getName()):
            raise
        logs.get("mainstem").warning(
            "query does not stop", query=query.name, error=str(error.java_exception.getMessage())
        )


def _planned(stream: Any) -> int | None:
    return _latest(stream.offsetLog())


def _committed(stream: Any) -> int | None:
    return _latest(stream.commitLog())


def _latest(log: Any) -> int | None:
    batch = log.getLatestBatchId()
    return int(batch.get()) if batch.isDefined() else None
