"""Rows in a second of time, beside Spark's own rate, of queries that run."""

from pathlib import Path

import pytest
from harness.supervisor_loop import Stage
from mainstem.language.model.status.states import QueryState
from mainstem.runtime.progress import rates
from pyspark.sql import SparkSession


@pytest.mark.full(gate="unit/test_rates.py::test_a_steady_source_shows_its_rate_for_any_length_of_batches")
def test_a_steady_source_shows_its_rate_and_an_idle_one_zero(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rates, "SHORTEST", 3.0)
    stage = Stage(spark.newSession(), tmp_path)
    stage.put("lines", *map(str, range(90)))
    ticks = {"name": "ticks", "rate": {"rowsPerSecond": 5, "numPartitions": 1}}
    steady = {"name": "steady", "from": "ticks", "to": [{"name": "out", "noop": {}}]}
    idle = {"name": "idle", "from": "lines", "to": [{"name": "out", "noop": {}}]}
    with stage.running(sources=[ticks, stage.files("lines")], queries=[steady, idle]) as running:
        running.until(lambda: running["idle"].rows_per_second > 0)
        assert running["idle"].rows_per_second <= 30
        running.until(lambda: running["idle"].idle and running["idle"].rows_per_second == 0)
        assert running["idle"].state is QueryState.RUNNING
        assert running["idle"].processed_rows_per_second > 0
        running.until(lambda: running["steady"].input_rows > 50)
        assert 3 < running["steady"].rows_per_second < 7
