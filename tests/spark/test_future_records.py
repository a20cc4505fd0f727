"""A record of the future neither moves the watermark nor vanishes, where `maxFuture` is set; without it the status warns."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from harness.supervisor_loop import Stage, Turning
from mainstem.language.model.status.query_progress import QueryProgress
from mainstem.language.model.status.states import QueryState
from pyspark.sql import SparkSession


FUTURE = "2099-01-01T00:00:00Z"


@pytest.fixture
def stage(spark: SparkSession, tmp_path: Path) -> Stage:
    return Stage(spark.newSession(), tmp_path)


def spec(stage: Stage, way: str, **bound: str) -> dict[str, Any]:
    """Distinct ids of records, kept for as long as the watermark lets them."""
    decode = {"json": {"schema": "id INT, at TIMESTAMP"}, "onMalformedRecord": way}
    watermark = {"column": "at", "delay": "10 minutes", **bound}
    source = {
        "name": "lines",
        "files": {"path": str(stage.folder / "lines")},
        "decode": decode,
        "watermark": watermark,
    }
    views = [
        {"name": "distinct_ids", "deduplicate": {"from": "lines", "columns": ["id"], "withinWatermark": True}}
    ]
    letters = [stage.query("lines_dead_letters", "letters")] if way == "deadLetter" else []
    return {"sources": [source], "views": views, "queries": [stage.query("distinct_ids", "ids"), *letters]}


def record(number: int, at: str) -> str:
    return json.dumps({"id": number, "at": at})


def fed(stage: Stage, running: Turning) -> QueryProgress:
    """A record of the future, then ten of now and one of before again, each lot a batch of its own."""
    now = datetime.now(UTC).isoformat()
    stage.put("lines", record(0, FUTURE), record(1, now))
    running.until(lambda: running["to-ids"].input_rows == 2 and running["to-ids"].watermark is not None)
    stage.put("lines", *(record(number, now) for number in range(1, 12)))
    running.until(lambda: running["to-ids"].input_rows == 13 and running["to-ids"].idle)
    return running["to-ids"]


@pytest.mark.S14
def test_with_max_future_no_row_is_lost(stage: Stage) -> None:
    (stage.folder / "lines").mkdir()
    with stage.running(**spec(stage, "deadLetter", maxFuture="1 hour")) as running:
        status = fed(stage, running)
        running.until(lambda: running["to-letters"].input_rows == 13)
    assert sorted(row["id"] for row in stage.rows("ids")) == list(range(1, 12))
    assert (status.reason, status.dropped_by_watermark) == (None, 0)
    assert (status.sources[0].decoded, status.sources[0].malformed) == (12, 1)
    [letter] = stage.rows("letters")
    assert letter["raw"] == record(0, FUTURE).encode()
    assert letter["error"].endswith("watermark.maxFuture: 2099-01-01 00:00:00")
    assert letter["file"].endswith(".txt")


@pytest.mark.S14
def test_without_max_future_the_status_warns(stage: Stage) -> None:
    (stage.folder / "lines").mkdir()
    with stage.running(**spec(stage, "drop")) as running:
        status = fed(stage, running)
    assert status.state is QueryState.RUNNING
    assert status.reason == "WatermarkAhead"
    assert "2098-12-31" in (status.message or "")
    assert status.dropped_by_watermark == 11


@pytest.mark.full(gate="spark/test_decode.py::test_fail_ends_the_query_with_the_position")
@pytest.mark.S14
def test_a_future_record_ends_a_query_that_fails_on_malformed_records(stage: Stage) -> None:
    (stage.folder / "lines").mkdir()
    stage.put("lines", record(0, FUTURE))
    with stage.running(**spec(stage, "fail", maxFuture="1 hour")) as running:
        running.until(lambda: running["to-ids"].state is QueryState.FAILED)
        status = running["to-ids"]
    assert status.reason == "MalformedRecord"
    assert "2099-01-01 00:00:00" in (status.message or "")
