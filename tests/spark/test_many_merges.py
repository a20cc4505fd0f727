"""Merges of one document, side by side on a machine that is busy: each commits each of its batches."""

import os
from pathlib import Path

import pytest
from harness.load import load
from harness.supervisor_loop import Stage
from mainstem.language.model.status.states import QueryState
from pyspark.sql import SparkSession


FILES = 6
MERGES = [f"merged{number}" for number in range(5)]


@pytest.mark.full(
    gate="spark/test_file_records.py::test_the_plan_grows_with_the_columns_and_not_with_their_sets"
)
@pytest.mark.S13
@pytest.mark.timeout(1200)
def test_five_merges_beside_a_load_write_all_batches(spark: SparkSession, tmp_path: Path) -> None:
    stage = Stage(spark.newSession(), tmp_path)
    for number in range(FILES):
        stage.put("lines", *(f'{{"k": {key}, "at": {number}, "v": {key * number}}}' for key in range(4)))
    columns = ", ".join(["k INT", "at INT", *(f"c{number} STRING" for number in range(20)), "v INT"])
    files = {"path": f"{tmp_path}/lines", "format": "json", "schema": columns, "maxFilesPerTrigger": 1}
    merge = {"keys": ["k"], "sequenceBy": "at"}
    queries = [
        {
            "name": name,
            "from": "lines",
            "trigger": {"availableNow": True},
            "to": [{"name": "table", "delta": {"path": f"{tmp_path}/{name}", "merge": merge}}],
        }
        for name in MERGES
    ]
    with (
        load(os.cpu_count() or 1),
        stage.running(sources=[{"name": "lines", "files": files}], queries=queries) as running,
    ):
        running.to_the_end(within=900)
        assert {running[name].state for name in MERGES} == {QueryState.COMPLETED}
        assert {running[name].batches for name in MERGES} == {FILES}
    for name in MERGES:
        rows = [(row["k"], row["at"], row["v"]) for row in stage.rows(name)]
        assert rows == [(key, FILES - 1, key * (FILES - 1)) for key in range(4)], name
