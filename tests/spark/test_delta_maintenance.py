"""Maintenance beside a stream: few files remain, unused ones are deleted, and no query is affected."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from harness.checkpoints import newest
from harness.deltabench import DeltaBench
from harness.waiting import within
from mainstem.dataframes.query import build, start
from mainstem.language.analysis.graph import Graph
from mainstem.language.document import read_text
from mainstem.runtime.clock import Clock
from mainstem.runtime.maintenance.maintenance import TableMaintenance
from pyspark.sql import SparkSession


pytestmark = pytest.mark.S30


@pytest.fixture
def bench(spark: SparkSession, tmp_path: Path) -> DeltaBench:
    return DeltaBench(spark, tmp_path)


def graph(bench: DeltaBench, **sink: Any) -> Graph:
    """Lines of JSON, read ten times a second, one file a batch, into the table `t`."""
    files = {"path": bench.path("in"), "format": "json", "schema": "id INT, n INT", "maxFilesPerTrigger": 1}
    query = {
        "to": [{"name": "table", "delta": {"path": bench.path("t"), **sink}}],
        "trigger": {"processingTime": "100 ms"},
    }
    [document] = read_text(bench.document({"files": files}, query))
    return document.graph


def files(bench: DeltaBench) -> int:
    return len(DeltaTable(bench.path("t")).file_uris())


def test_maintenance_compacts_files_and_removes_unused_ones(bench: DeltaBench) -> None:
    for first in (0, 3, 6):
        bench.put("t", f"SELECT id, id % 2 AS `n.n` FROM range({first}, {first + 3})")
    old, young = bench.folder / "t" / "part-old.parquet", bench.folder / "t" / "part-young.parquet"
    for stray in (old, young):
        stray.write_bytes(b"of a writer that died")
    month_ago = old.stat().st_mtime - 30 * 86400
    os.utime(old, (month_ago, month_ago))
    asked = graph(bench, maintenance={"optimize": {"zOrderBy": ["n.n"]}, "vacuum": {"retain": "7 days"}})
    maintenance = TableMaintenance(bench.spark, asked, Clock())
    maintenance.maintain(asked.spec.queries[0].to[0].delta)  # type: ignore[arg-type]
    assert maintenance.failures == 0
    assert (files(bench), old.exists(), young.exists()) == (1, False, True)
    assert bench.rows("t", "id") == list(range(9))
    assert bench.spark.read.format("delta").option("versionAsOf", 2).load(bench.path("t")).count() == 9
    assert "OPTIMIZE" in bench.history("t")
    assert bench.history("t")[-1] == "VACUUM END"


def test_a_missing_or_broken_table_does_not_end_maintenance(bench: DeltaBench) -> None:
    asked = graph(bench, maintenance={"optimize": {"zOrderBy": ["n"]}})
    sink = asked.spec.queries[0].to[0].delta
    assert sink
    maintenance = TableMaintenance(bench.spark, asked, Clock())
    maintenance.maintain(sink)
    assert maintenance.failures == 0
    bench.put("t", "SELECT 1 AS id")
    maintenance.maintain(sink)
    maintenance.maintain(sink)
    assert maintenance.failures == 2


@pytest.mark.full(
    gate="spark/test_delta_maintenance.py::test_maintenance_compacts_files_and_removes_unused_ones"
)
def test_maintenance_runs_beside_a_merge_and_a_reader_of_the_table(bench: DeltaBench) -> None:
    """Compaction each second while batches are merged; the merge never fails, and every row is there once."""
    (bench.folder / "in").mkdir()
    asked = graph(
        bench,
        merge={"keys": ["id"]},
        maintenance={"every": "1 second", "optimize": {}},
    )
    [query] = asked.spec.queries
    session = bench.spark.newSession()
    with TableMaintenance(bench.spark, asked, Clock()) as maintenance:
        handle = start(session, build(session, asked, query), query)
        batch = 0
        commits = bench.folder / "checkpoints" / "copy" / "1" / "commits"

        def compacted() -> bool:
            nonlocal batch
            assert handle.exception() is None
            if newest(commits) >= batch - 2:  # always one ahead, so that a merge is running
                rows = [{"id": batch * 2 + n, "n": batch} for n in (0, 1)]
                (bench.folder / "in" / f"{batch}.json").write_text("\n".join(map(json.dumps, rows)))
                batch += 1
            made = any((bench.folder / "t" / "_delta_log").glob("*.json"))
            return made and "OPTIMIZE" in bench.history("t")

        try:
            within(200, "a compaction", compacted)
            handle.processAllAvailable()
        finally:
            handle.stop()
    assert maintenance.failures == 0
    assert not [thread for thread in [maintenance._thread] if thread.is_alive()]
    assert bench.rows("t", "id") == list(range(batch * 2))
    assert bench.history("t").count("MERGE") == batch - 1, "the first batch made the table"
