"""Each row once: for ever, or within the watermark."""

from pathlib import Path
from typing import Any

import pytest
from harness.pipebench import PipeBench
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession


pytestmark = pytest.mark.S22
EVENTS = {
    "files": {"format": "json", "schema": "id INT, at TIMESTAMP, text STRING"},
    "watermark": {"column": "at", "delay": "1 minute"},
}


@pytest.fixture
def bench(spark: SparkSession, tmp_path: Path) -> PipeBench:
    return PipeBench(spark, tmp_path, {"events": EVENTS})


def event(number: int | None, minute: int, text: str = "") -> dict[str, Any]:
    return {"id": number, "at": f"2026-01-01T00:{minute:02}:00Z", "text": text}


def texts(bench: PipeBench, **step: Any) -> list[str]:
    named = {"name": "v", "deduplicate": {"from": "events", **step}}
    return [row[-1] for row in bench.run(named, {"name": "t", "sql": "SELECT text FROM v"})]


@pytest.mark.full(
    gate="spark/test_sql_started.py::test_each_shape_of_plan_starts_and_gives_the_rows_of_a_batch"
)
def test_duplicates_by_a_column_are_dropped_for_ever(bench: PipeBench) -> None:
    """Nulls are equal, the state survives a restart, and an empty file does not end the stream."""
    bench.put("events", event(1, 0, "a"), event(1, 0, "a"), event(None, 0, "n"), event(None, 0, "n"))
    assert texts(bench, columns=["id"]) == ["a", "n"]
    bench.put("events")
    assert texts(bench, columns=["id"]) == ["a", "n"]
    bench.put("events", event(1, 50, "late a"), event(2, 50, "b"))
    assert texts(bench, columns=["id"]) == ["a", "b", "n"]


@pytest.mark.full(
    gate="spark/test_sql_started.py::test_each_shape_of_plan_starts_and_gives_the_rows_of_a_batch"
)
def test_duplicates_by_all_columns_are_dropped(bench: PipeBench) -> None:
    bench.put("events", event(1, 0, "a"), event(1, 0, "a"), event(1, 0, "b"))
    assert texts(bench) == ["a", "b"]


@pytest.mark.full(gate="spark/test_event_time.py::test_several_stateful_operators_run_in_a_row")
def test_state_with_the_column_of_the_watermark_is_dropped_behind_it(bench: PipeBench) -> None:
    bench.put("events", event(1, 0, "a"), event(1, 1, "b"), event(1, 1, "b"))
    assert texts(bench, columns=["id", "at"]) == ["a", "b"]
    bench.put("events", event(1, 50, "c"))
    assert texts(bench, columns=["id", "at"]) == ["a", "b", "c"]
    bench.put("events", event(1, 1, "too late"))
    assert texts(bench, columns=["id", "at"]) == ["a", "b", "c"]


@pytest.mark.full(gate="spark/test_future_records.py::test_with_max_future_no_row_is_lost")
def test_duplicates_within_the_watermark_are_dropped(bench: PipeBench) -> None:
    """The same id with other times is one row, until the watermark has passed the first one's time and delay."""
    bench.put("events", event(1, 0, "a"))
    step = {"columns": ["id"], "withinWatermark": True}
    assert texts(bench, **step) == ["a"]
    bench.put("events", event(1, 1, "within"))
    assert texts(bench, **step) == ["a"]
    bench.put("events", event(2, 10, "b"))
    assert texts(bench, **step) == ["a", "b"]
    bench.put("events", event(1, 10, "a again"), event(2, 11, "within"))
    assert texts(bench, **step) == ["a again", "a", "b"]


def test_spark_rejects_a_deduplication_within_a_missing_watermark(
    spark: SparkSession, tmp_path: Path
) -> None:
    reader: Any = spark.newSession().readStream.format("json").schema("id INT")
    (tmp_path / "in").mkdir()
    frame = reader.name("events").load(str(tmp_path / "in")).dropDuplicatesWithinWatermark(["id"])
    with pytest.raises(AnalysisException, match="watermark"):
        frame.writeStream.format("noop").option("checkpointLocation", str(tmp_path / "ck")).start()
    with pytest.raises(AnalysisException, match=r"(?i)dropDuplicatesWithinWatermark|batch"):
        spark.range(3).dropDuplicatesWithinWatermark(["id"]).collect()
