"""Rows that a query reads and does not write: the log names the query, their number and the remedy."""

import json
import os
from pathlib import Path
from random import Random
from typing import Any

import pytest
from harness.supervisor_loop import Stage
from pyspark.sql import SparkSession


def orders(stage: Stage, *hours: str) -> None:
    """Files of one order each, in this order of their modification times."""
    folder = stage.folder / "orders"
    folder.mkdir(exist_ok=True)
    for seconds, hour in enumerate(hours):
        file = folder / f"{hour}.json"
        file.write_text(json.dumps({"at": f"2026-01-01T{hour}:30:00Z", "pieces": 1}) + "\n", encoding="utf-8")
        os.utime(file, (seconds, seconds))


def document(stage: Stage) -> dict[str, Any]:
    """Orders of each hour, one file in a batch; malformed records and orders of no piece are dropped."""
    decode = {"json": {"schema": "at TIMESTAMP, pieces INT"}, "onMalformedRecord": "drop"}
    files = {"path": str(stage.folder / "orders"), "maxFilesPerTrigger": 1}
    watermark = {"column": "at", "delay": "10 minutes"}
    sold = {"name": "sold", "expect": "pieces > 0", "onViolation": "drop"}
    return {
        "sources": [{"name": "orders", "files": files, "decode": decode, "watermark": watermark}],
        "views": [
            {"name": "sound", "sql": "SELECT * FROM orders", "expectations": [sold]},
            {"name": "hours", "sql": "SELECT window(at, '1 hour') AS w, count(*) AS n FROM sound GROUP BY 1"},
            {"name": "flat", "sql": "SELECT w.start AS hour, n FROM hours"},
        ],
        "queries": [stage.query("flat", "hourly", trigger={"availableNow": True})],
    }


@pytest.fixture
def stage(spark: SparkSession, tmp_path: Path) -> Stage:
    return Stage(spark.newSession(), tmp_path)


def test_the_log_has_the_rows_that_a_query_did_not_write(
    stage: Stage, capsys: pytest.CaptureFixture[str]
) -> None:
    orders(stage, "11", "12", "13", "10", "09")
    (stage.folder / "orders" / "99.json").write_text(
        '{"at": "2026-01-01T13:00:00Z", "pieces": 0}\nno json\n', encoding="utf-8"
    )
    with stage.running(**document(stage)) as run:
        run.to_the_end()
    written = capsys.readouterr().err.splitlines()
    [first] = [line for line in written if "the first late rows are dropped" in line]
    assert "query=to-hourly" in first
    [last] = [line for line in written if "rows were read and not written" in line]
    for field in ("[warning", "query=to-hourly", "late=2", "malformed=1", "violating=1"):
        assert field in last
    assert "raise watermark.delay above the time by which rows arrive out of order" in last


@pytest.mark.full(gate="spark/test_recipes.py::test_files_are_read_in_the_order_of_their_modification")
def test_files_of_one_modification_time_are_read_by_name(stage: Stage) -> None:
    """So no row of theirs is late, in whatever order they were written."""
    shuffled = [f"{hour:02}" for hour in range(4)]
    Random(7).shuffle(shuffled)
    orders(stage, *shuffled)
    for file in (stage.folder / "orders").iterdir():
        os.utime(file, (5, 5))
    with stage.running(**document(stage)) as run:
        run.to_the_end()
        assert run["to-hourly"].dropped_by_watermark == 0
    assert [row["n"] for row in stage.rows("hourly")] == [1] * 3, "the last window is open"


@pytest.mark.full(gate="spark/test_unwritten.py::test_the_log_has_the_rows_that_a_query_did_not_write")
def test_the_log_has_no_such_line_if_all_rows_are_written(
    stage: Stage, capsys: pytest.CaptureFixture[str]
) -> None:
    orders(stage, "09", "10", "11")
    with stage.running(**document(stage)) as run:
        run.to_the_end()
    written = capsys.readouterr().err
    assert "query completed" in written
    assert "not written" not in written
    assert "late" not in written
