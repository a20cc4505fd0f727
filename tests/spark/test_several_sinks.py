"""One query, several sinks: computed once for each batch, and each sink at most once written with it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from mainstem.build import query as build
from mainstem.spec.document import read_text
from mainstem.spec.graph import Graph
from pyspark.sql import SparkSession


DOCUMENT = """
apiVersion: mainstem.dev/v1alpha1
kind: StreamingPipeline
metadata: {{name: several}}
spec:
  sources:
    - name: lines
      files: {{path: {folder}/in, format: json, schema: "k STRING, v STRING, n INT"}}
  views:
    - name: best
      sql: {sql}
  queries:
    - name: several
      from: best
      outputMode: {mode}
      to: {sinks}
      trigger: {{availableNow: true}}
      state: {{partitions: 1}}
  checkpoints: {{location: {folder}/checkpoints}}
"""

Run = Callable[..., SparkSession]


@pytest.fixture
def run(spark: SparkSession, tmp_path: Path) -> Run:
    """Runs the query over new lines to its end, in a session of its own, which is returned."""
    (tmp_path / "in").mkdir()
    count = 0

    def once(
        rows: list[dict[str, Any]],
        sinks: list[dict[str, Any]],
        sql: str = "SELECT * FROM lines",
        mode: str = "append",
    ) -> SparkSession:
        nonlocal count
        count += 1
        if rows:
            (tmp_path / "in" / f"{count}.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
        text = DOCUMENT.format(folder=tmp_path, sinks=json.dumps(sinks), sql=json.dumps(sql), mode=mode)
        [document] = read_text(text)
        graph = Graph(document.pipeline)
        [query] = document.pipeline.spec.queries
        session = spark.newSession()
        handle = build.start(session, build.build(session, graph, query), query)
        handle.processAllAvailable()
        handle.stop()
        return session

    return once


def delta(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = DeltaTable(path).to_pyarrow_table().to_pylist()
    return sorted(found, key=lambda row: json.dumps(row, default=str))


@pytest.mark.S31
def test_a_batch_sorted_by_a_renamed_column_is_kept_and_read_by_every_sink(run: Run, tmp_path: Path) -> None:
    """Spark 4.2 plans max(text) as a sorted aggregation, and its kept plan cannot be read once the column is renamed."""
    sinks: list[dict[str, Any]] = [
        {"name": "a", "delta": {"path": str(tmp_path / "a"), "merge": {"keys": ["kk"]}}},
        {"name": "b", "delta": {"path": str(tmp_path / "b"), "merge": {"keys": ["kk"]}}},
    ]
    sql = "SELECT k AS kk, max(v) AS v FROM lines GROUP BY k"
    run([{"k": "x", "v": "1"}, {"k": "x", "v": "3"}, {"k": None, "v": "2"}], sinks, sql, "update")
    run([{"k": "x", "v": "2"}, {"k": "y"}], sinks, sql, "update")
    rows = [{"kk": "x", "v": "3"}, {"kk": "y", "v": None}, {"kk": None, "v": "2"}]
    assert delta(tmp_path / "a") == sorted(rows, key=json.dumps)
    assert delta(tmp_path / "b") == sorted(rows, key=json.dumps)
