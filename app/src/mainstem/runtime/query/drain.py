"""Stops a query at a batch boundary. Spark has no call for that: `stop()` cancels the running batch.

A micro-batch stream plans and commits a batch under one fair lock (`awaitProgressLock`), and runs the batch without the
lock. So a thread that holds the lock between a commit and the next plan has the stream at a boundary:

1. Take the lock. If the newest planned batch is committed, this is the boundary.
2. Otherwise a batch is running. At its end its thread queues for the lock. Wait for that, release the lock, and queue
   behind the thread: the lock is fair, so the drain gets it before the stream can plan another batch.
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
from pyspark import SparkContext
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
    stream: Any = query._jsq.streamingQuery()  # noqa: SLF001
    lock = stream.awaitProgressLock()
    first = _committed(stream)

    def at_end() -> bool:
        committed = _committed(stream)
        return _planned(stream) == committed and not (resident and committed == first)

    boundary = False
    while query.isActive and not boundary and not interrupt():
        if _try(lock, 0.2):
            try:
                if not at_end():
                    _await_batch_end(query, lock, interrupt, clock)
                boundary = at_end()
                if boundary:
                    _await_report(query, lock, _committed(stream), clock)
                    _stop_holding_the_lock(query, stream, clock)
            finally:
                lock.unlock()
    clean = boundary or (not query.isActive and query.exception() is None)
    _stop(query)
    planned, committed = _planned(stream), _committed(stream)
    pending = planned if planned != committed else None
    return DrainOutcome(clean, committed, pending, clock.seconds() - begun)


def _try(lock: Any, seconds: float) -> bool:
    # tryLock with a time-out waits its turn; without one it would overtake the stream's thread.
    jvm: Any = SparkContext._jvm  # noqa: SLF001
    return bool(lock.tryLock(int(seconds * 1000), jvm.java.util.concurrent.TimeUnit.MILLISECONDS))


def _await_batch_end(query: StreamingQuery, lock: Any, interrupt: Callable[[], bool], clock: Clock) -> None:
    while query.isActive and not lock.hasQueuedThreads() and not interrupt():
        clock.sleep(POLL)


def _await_report(query: StreamingQuery, lock: Any, committed: int | None, clock: Clock) -> None:
    """Wait for Spark's report of the last commit; without it the status would lack the batch's rows."""
    until = clock.seconds() + REPORT_SECONDS
    while (
        query.isActive and committed is not None and clock.seconds() < until and not lock.hasQueuedThreads()
    ):
        progress = query._jsq.lastProgress()  # noqa: SLF001
        if progress is not None and progress.batchId() >= committed:
            return
        clock.sleep(POLL)


def _stop_holding_the_lock(query: StreamingQuery, stream: Any, clock: Clock) -> None:
    # stop() waits for the stream's thread, which may wait for this lock: so another thread calls stop().
    stopper = threading.Thread(target=_stop, args=(query,), name="drain-stop", daemon=True)
    stopper.start()
    while stream.isActive() and stopper.is_alive():
        clock.sleep(POLL / 2)


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
