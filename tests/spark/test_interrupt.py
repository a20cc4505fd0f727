"""A request to end while queries are still built: what the building waits for is cancelled, what runs is not."""

import math
import threading
import time
from pathlib import Path

import pytest
from mainstem.runtime.query.execution import Stream
from mainstem.runtime.runner import _interruptible
from mainstem.runtime.stop import Stop
from mainstem.runtime.supervision.draining import stopped
from pyspark.sql import DataFrame, SparkSession


@pytest.mark.parametrize(
    ("seconds", "forced"), [(0.0, False), (math.inf, True)], ids=["after the deadline", "by a second signal"]
)
def test_a_batch_that_ignores_interruption_does_not_block_the_stop(
    spark: SparkSession, tmp_path: Path, seconds: float, forced: bool
) -> None:
    own = spark.newSession()
    assert own.conf.get("spark.sql.streaming.stopTimeout") == "15s"
    own.conf.set("spark.sql.streaming.stopTimeout", "1s")
    began, over = threading.Event(), threading.Event()

    def batch(_rows: DataFrame, _number: int) -> None:
        began.set()
        over.wait(60)

    rows = own.readStream.name("ticks").format("rate").option("rowsPerSecond", 10).load()
    query = rows.writeStream.foreachBatch(batch).option("checkpointLocation", str(tmp_path / "c")).start()
    try:
        assert began.wait(60)
        begun = time.monotonic()
        outcome = stopped("stuck", Stream(query, resident=False), begun + seconds, lambda: forced)
        assert time.monotonic() - begun < 20
        assert (outcome.clean, outcome.pending) == (False, 0)
    finally:
        over.set()
        query.stop()


def test_the_build_is_interrupted_and_running_queries_are_not(spark: SparkSession, tmp_path: Path) -> None:
    stop = Stop()
    rows = spark.readStream.name("ticks").format("rate").option("rowsPerSecond", 10).load()
    query = rows.writeStream.format("noop").option("checkpointLocation", str(tmp_path / "c")).start()
    sleeps = spark.range(1).selectExpr("java_method('java.lang.Thread', 'sleep', id + 20000L)")
    threading.Timer(1.0, lambda: setattr(stop, "requested", True)).start()
    begun = time.monotonic()
    try:
        with _interruptible(spark, stop), pytest.raises(Exception, match="mainstem-build"):
            sleeps.collect()
        assert time.monotonic() - begun < 15
        before = query.lastProgress["batchId"] if query.lastProgress else -1
        until = time.monotonic() + 120
        while (query.lastProgress or {"batchId": -1})["batchId"] < before + 2:
            assert query.isActive
            assert time.monotonic() < until
            time.sleep(0.1)
    finally:
        query.stop()
