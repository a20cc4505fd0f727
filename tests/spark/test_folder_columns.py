"""Columns that files have by the names of their folders: watermarks, keys and sinks may name them."""

from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest
from harness.sampling import sampled
from harness.supervisor_loop import Stage
from mainstem.language.model.status.states import QueryState
from pyspark.sql import SparkSession


pytestmark = pytest.mark.S06


@pytest.mark.parametrize("names", sampled([["hours", "parts"], ["once"]], every=2), ids=" ".join)
def test_a_partition_column_is_event_time_and_key(
    spark: SparkSession, tmp_path: Path, names: list[str]
) -> None:
    for hour in ("00", "02"):
        folder = tmp_path / "in" / f"at=2024-01-01 {hour}%3A00%3A00"
        folder.mkdir(parents=True)
        pyarrow.parquet.write_table(pyarrow.table({"k": ["a", "a", "b"]}), folder / "1.parquet")
    stage = Stage(spark.newSession(), tmp_path)
    rows = {
        "name": "rows",
        "files": {"path": str(tmp_path / "in"), "format": "parquet", "schema": "k STRING"},
        "watermark": {"column": "at", "delay": "1 minute"},
    }
    views = [
        {"name": "once", "deduplicate": {"from": "rows", "columns": ["k", "at"]}},
        {"name": "counted", "sql": "SELECT window(at, '1 hour') AS w, count(*) AS n FROM rows GROUP BY 1"},
        {"name": "hours", "sql": "SELECT hour(w.start) AS h, n FROM counted"},
    ]
    bounded = {"trigger": {"availableNow": True}}
    parts = {"path": str(tmp_path / "parts"), "partitionBy": ["at"]}
    known = {
        "once": stage.query("once", "once", **bounded),
        "hours": stage.query("hours", "hours", **bounded),
        "parts": stage.query("rows", "parts", **bounded) | {"to": [{"name": "f", "parquet": parts}]},
    }
    queries = [known[name] for name in names]
    with stage.running(sources=[rows], views=views, queries=queries) as run:
        run.to_the_end()
        assert set(run.states().values()) == {QueryState.COMPLETED}, run.supervisor.statuses
    if "once" in names:
        assert [row["k"] for row in stage.rows("once")] == ["a", "a", "b", "b"]
    else:
        assert stage.rows("hours") == [{"h": 0, "n": 3}]
        assert len(list((tmp_path / "parts").glob("at=*"))) == 2
