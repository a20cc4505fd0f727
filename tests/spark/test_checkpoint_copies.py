"""Checkpoints that `mainstem checkpoint` copies, and queries that continue on the copies: each row counts once."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from deltalake import DeltaTable
from harness import sparks
from harness.checkpoints import logged_rows
from harness.sampling import sampled
from mainstem.cli import main
from mainstem.errors import NotReady
from mainstem.runtime.checkpoint import new_sink_logs
from pyspark.sql import SparkSession


pytestmark = pytest.mark.S37
COUNTS = "SELECT k, count(*) AS n, sum(v) AS v FROM a GROUP BY k"
WINDOWS = (
    "SELECT k, count(*) AS n, window(ts, '1 hour').start AS hour FROM a GROUP BY k, window(ts, '1 hour')"
)


class Bench:
    """A query over files, one file for each batch; each call of `run` starts it again and reads all that is there."""

    def __init__(self, spark: SparkSession, folder: Path, view: str | dict[str, Any], **query: Any) -> None:
        self.spark, self.folder, self.view, self.query = spark, folder, view, query
        (folder / "a").mkdir()

    def put(self, *values: int) -> None:
        for v in values:
            file = self.folder / "a" / f"{v:03}.json"
            row = {"k": "xy"[v % 2], "v": v, "ts": f"2026-01-01T{v:02}:00:00Z"}
            file.write_text(json.dumps(row) + "\n", encoding="utf-8")
            os.utime(file, (1_700_000_000 + v,) * 2)

    def run(self, table: str, generation: int = 1, location: str = "checkpoints") -> None:
        source = {"path": f"{self.folder}/a", "format": "json", "schema": "k STRING, ts TIMESTAMP, v INT"}
        view = self.view if isinstance(self.view, dict) else {"sql": self.view}
        query = {"to": [{"name": "table", "delta": {"path": f"{self.folder}/{table}"}}]} | self.query
        query |= {"name": "q", "from": "result", "checkpoint": {"generation": generation}}
        query["state"] = {"partitions": 1} | query.get("state", {})
        sparks.run(
            self.spark,
            {
                "sources": [
                    {
                        "name": "a",
                        "files": source | {"maxFilesPerTrigger": 1},
                        "watermark": {"column": "ts", "delay": "1 minute"},
                    }
                ],
                "views": [{"name": "result"} | view],
                "queries": [query],
                "checkpoints": {"location": f"{self.folder}/{location}"},
            },
        )

    def rows(self, table: str) -> list[tuple[Any, ...]]:
        rows = DeltaTable(self.folder / table).to_pyarrow_table().to_pylist()
        return sorted(tuple(row[name] for name in sorted(row)) for row in rows)

    @property
    def checkpoint(self) -> Path:
        return self.folder / "checkpoints" / "q" / "1"


def command(*arguments: str) -> dict[str, Any]:
    result = CliRunner().invoke(main, ["checkpoint", *arguments, "--output", "json"])
    assert result.exit_code == 0, result.output
    shown: dict[str, Any] = json.loads(result.stdout)
    return shown


def contents(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


@pytest.mark.parametrize("provider", sampled(["rocksdb", "hdfs"], every=2))
def test_a_rewound_aggregation_counts_each_row_once(
    spark: SparkSession, tmp_path: Path, provider: str
) -> None:
    bench = Bench(spark, tmp_path, COUNTS, outputMode="complete", state={"provider": provider})
    bench.put(0, 1, 2)
    bench.run("first")
    before = contents(bench.checkpoint)
    shown = command("rewind", str(bench.checkpoint), "--to", "0")
    assert (shown["to"], shown["repeated"]) == (f"{tmp_path}/checkpoints/q/2", "batches 1 to 2")
    assert contents(bench.checkpoint) == before
    assert command("verify", shown["to"])["restart"].startswith("a restart plans batch 1")
    bench.put(5)
    bench.run("again", generation=2)
    assert bench.rows("again") == [("x", 2, 2), ("y", 2, 6)]
    assert bench.rows("first") == [("x", 2, 2), ("y", 1, 1)]
    assert command("verify", shown["to"])["sound"]


@pytest.mark.full(gate="unit/test_checkpoint_files.py::test_a_copy_is_sound_and_continues_after_its_batch")
def test_a_rewound_append_query_loses_no_row_of_a_table_that_knows_the_old_batches(
    spark: SparkSession, tmp_path: Path
) -> None:
    bench = Bench(spark, tmp_path, "SELECT k, v FROM a")
    bench.put(0, 1, 2)
    bench.run("table")
    command("rewind", str(bench.checkpoint), "--to", "0")
    bench.put(3, 4)
    bench.run("table", generation=2)
    assert [v for _, v in sorted(bench.rows("table"), key=lambda row: row[1])] == [0, 1, 1, 2, 2, 3, 4]


@pytest.mark.full(gate="spark/test_leftovers.py::test_a_directory_ahead_of_the_checkpoint_is_rejected")
def test_a_rewound_query_does_not_start_on_a_folder_that_has_its_later_batches(
    spark: SparkSession, tmp_path: Path
) -> None:
    to = [{"name": "files", "parquet": {"path": f"{tmp_path}/out"}}]
    bench = Bench(spark, tmp_path, "SELECT k, v FROM a", to=to)
    bench.put(0, 1)
    bench.run("none")
    command("rewind", str(bench.checkpoint), "--to", "0")
    with pytest.raises(NotReady, match="has data of another checkpoint") as refused:
        bench.run("none", generation=2)
    assert refused.value.reason == "SinkFolderTaken"


@pytest.mark.parametrize("existing", ["", "out", "out/_spark_metadata"])
def test_the_log_of_a_new_folder_of_files_has_entries_for_the_batches_before_it(
    spark: SparkSession, tmp_path: Path, existing: str
) -> None:
    (tmp_path / existing).mkdir(parents=True, exist_ok=True)
    log = tmp_path / "out" / "_spark_metadata"
    for name in ("offsets", "commits"):
        folder = tmp_path / "checkpoint" / name
        folder.mkdir(parents=True)
        for batch in range(12):
            (folder / str(batch)).write_text("v1\n{}", encoding="utf-8")
    for _ in range(2):
        new_sink_logs.prepare(spark, str(log.parent), str(tmp_path / "checkpoint"), "parquet")
        entries = {file.name: file.read_text() for file in log.iterdir() if not file.name.startswith(".")}
        assert entries == {"9.compact": "v1", "10": "v1", "11": "v1"}
    assert logged_rows(log.parent) == []


@pytest.mark.full(
    gate="spark/test_checkpoint_copies.py::test_the_log_of_a_new_folder_of_files_has_entries_for_the_batches_before_it"
)
@pytest.mark.parametrize("before", [3, 12])
def test_a_query_continues_in_a_new_folder_of_files_beyond_ten_batches(
    spark: SparkSession, tmp_path: Path, before: int
) -> None:
    """Spark compacts the log of a folder every tenth batch, and fails without the entries before the first one here."""
    bench = Bench(spark, tmp_path, "SELECT k, v FROM a", to=files(tmp_path, "first"))
    bench.put(*range(before))
    bench.run("none")
    bench.query["to"] = files(tmp_path, "second")
    bench.put(*range(before, before + 11))
    bench.run("none")
    rows = logged_rows(tmp_path / "second")
    assert sorted(row["v"] for row in rows) == list(range(before, before + 11))


def files(folder: Path, name: str) -> list[dict[str, Any]]:
    return [{"name": "files", "parquet": {"path": f"{folder}/{name}"}}]


@pytest.mark.full(gate="spark/test_checkpoint_copies.py::test_a_rewound_aggregation_counts_each_row_once")
def test_a_fork_and_its_origin_both_continue(spark: SparkSession, tmp_path: Path) -> None:
    bench = Bench(spark, tmp_path, WINDOWS, outputMode="append")
    bench.put(0, 2, 4)
    bench.run("table")
    command("fork", str(bench.checkpoint), str(tmp_path / "other" / "q" / "1"))
    bench.put(6, 8)
    bench.run("table")
    bench.run("forked", location="other")
    hours = [hour.hour for hour, _, _ in bench.rows("table")]
    forked = [hour.hour for hour, _, _ in bench.rows("forked")]
    assert (hours, forked) == ([0, 2, 4, 6], [4, 6])


@pytest.mark.full(gate="unit/test_checkpoint_files.py::test_paths_of_schema_files_follow_the_copy")
def test_a_query_with_python_state_continues_after_its_origin_was_removed(
    spark: SparkSession, tmp_path: Path
) -> None:
    state = {"from": "a", "keys": ["k"], "schema": "user STRING, n BIGINT", "processor": "visits:Counter"}
    bench = Bench(spark, tmp_path, {"state": state}, outputMode="append")
    bench.put(0, 2, 4)
    bench.run("table")
    command("rewind", str(bench.checkpoint), "--to", "1")
    command("rm", str(bench.checkpoint), "--yes")
    assert not bench.checkpoint.exists()
    bench.put(6)
    bench.run("again", generation=2)
    assert bench.rows("again") == [(4, "x")]
