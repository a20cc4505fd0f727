"""A request to end while queries are still built: what the building waits for is cancelled, what runs is not."""

import threading
import time
from pathlib import Path

import pytest
from mainstem.run.runner import _interruptible
from mainstem.run.stop import Stop
from pyspark.sql import SparkSession


def test_building_is_interrupted_and_running_queries_are_not(spark: SparkSession, tmp_path: Path) -> None:
    stop = Stop()
    rows = spark.readStream.name("ticks").format("rate").option("rowsPerSecond", 10).load()
    query = rows.writeStream.format("noop").option("checkpointLocation", str(tmp_path / "c")).start()
    sleeps = spark.range(1).selectExpr("java_method('java.lang.Thread', 'sleep', id + 20000L)")
    threading.Timer(1.0, lambda: setattr(stop, "asked", True)).start()
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
