"""A request to end while queries are still built: what the building waits for is cancelled, what runs is not."""

import itertools
import threading
from pathlib import Path

import pytest
from harness.clock import OwnClock
from harness.supervisor_loop import Stage
from harness.waiting import LIMIT, eventually
from mainstem.language.model.status.states import QueryState
from mainstem.runtime.clock import Clock
from mainstem.runtime.query.execution import Stream
from mainstem.runtime.runner import _interruptible
from mainstem.runtime.stop import Stop
from mainstem.runtime.supervision.draining import stopped
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery


def test_a_batch_that_ignores_interruption_does_not_block_the_stop(
    spark: SparkSession, tmp_path: Path
) -> None:
    own = spark.newSession()
    assert own.conf.get("spark.sql.streaming.stopTimeout") == "15s"
    own.conf.set("spark.sql.streaming.stopTimeout", "1s")
    began, over = threading.Event(), threading.Event()

    def batch(_rows: DataFrame, _number: int) -> None:
        began.set()
        over.wait(LIMIT)

    rows = own.readStream.name("ticks").format("rate").option("rowsPerSecond", 10).load()
    query = rows.writeStream.foreachBatch(batch).option("checkpointLocation", str(tmp_path / "c")).start()
    try:
        assert began.wait(LIMIT)
        outcome = stopped("stuck", Stream(query, Clock(), resident=False), lambda: True)
        assert not over.is_set()
        assert (outcome.clean, outcome.pending) == (False, 0)
    finally:
        over.set()
        query.stop()


def test_a_drain_that_is_slow_ends_at_the_boundary_too(spark: SparkSession, tmp_path: Path) -> None:
    """The next batch has its rows, so the stream plans it at once if nothing holds it."""
    began, over = threading.Event(), threading.Event()
    batches: list[int] = []
    looks = itertools.count()

    def batch(_rows: DataFrame, number: int) -> None:
        batches.append(number)
        began.set()
        over.wait(LIMIT)

    def interrupt() -> bool:
        for _ in range(3):
            spark.range(1).count()  # longer than a commit and a plan
        if next(looks) > 3:
            over.set()
        return False

    rows = spark.readStream.name("ready").format("rate-micro-batch").option("rowsPerBatch", 1).load()
    query = rows.writeStream.foreachBatch(batch).option("checkpointLocation", str(tmp_path / "c")).start()
    try:
        assert began.wait(LIMIT)
        outcome = stopped("ready", Stream(query, Clock(), resident=False), interrupt)
        assert batches == [0]
        assert (outcome.clean, outcome.committed, outcome.pending) == (True, 0, None)
    finally:
        over.set()
        query.stop()


@pytest.mark.parametrize("interrupts", [True, False])
def test_a_drain_interrupts_a_batch_once_its_timeout_has_passed_unless_it_waits(
    spark: SparkSession, tmp_path: Path, *, interrupts: bool
) -> None:
    stage, gate, clock = Stage(spark.newSession(), tmp_path), tmp_path / "gate", OwnClock()
    gate.touch()
    stage.put("in", str(gate))
    pipeline = {
        "sources": [stage.files("in")],
        "functions": [{"name": "hold", "python": {"function": "hanging:hold", "returns": "STRING"}}],
        "views": [{"name": "held", "sql": "SELECT hold(value) AS value FROM in"}],
        "queries": [stage.query("held", "out")],
        "drain": {"timeout": "10 seconds"} | ({} if interrupts else {"onTimeout": "wait"}),
    }
    with stage.running(clock=clock, **pipeline) as run:
        run.until((tmp_path / "gate.held").exists)
        clean: list[bool] = []
        draining = threading.Thread(target=lambda: clean.append(run.supervisor.drain()), daemon=True)
        draining.start()
        eventually(
            "the drain waits",
            lambda: "drain-to-out" in {thread.name for thread in threading.enumerate()},
        )
        clock.advance(9)
        assert draining.is_alive()
        clock.advance(1)
        if not interrupts:
            clock.advance(3600)
            assert draining.is_alive()
            gate.unlink()
        draining.join(LIMIT)
        assert clean == [not interrupts]
        assert run["to-out"].state is (QueryState.INTERRUPTED if interrupts else QueryState.DRAINED)
        gate.unlink(missing_ok=True)


def test_the_build_is_interrupted_and_running_queries_are_not(spark: SparkSession, tmp_path: Path) -> None:
    stop = Stop()
    rows = spark.readStream.name("ticks").format("rate").option("rowsPerSecond", 10).load()
    query = rows.writeStream.format("noop").option("checkpointLocation", str(tmp_path / "c")).start()
    sleeps = spark.range(1).selectExpr("java_method('java.lang.Thread', 'sleep', id + 20000L)")
    jobs = spark.sparkContext.statusTracker()

    def request_once_it_builds() -> None:
        eventually("it builds", lambda: jobs.getJobIdsForGroup("mainstem-build"))
        stop.requested = True

    threading.Thread(target=request_once_it_builds, daemon=True).start()
    try:
        with _interruptible(spark, stop, Clock()), pytest.raises(Exception, match="mainstem-build"):
            sleeps.collect()
        before = query.lastProgress["batchId"] if query.lastProgress else -1
        eventually("two more batches", lambda: _batch(query) >= before + 2)
    finally:
        query.stop()


def _batch(query: StreamingQuery) -> int:
    assert query.isActive
    return int(query.lastProgress["batchId"]) if query.lastProgress else -1
