"""Objects that are written again after a batch has read them, with a checkpoint on the same store."""

import os
from pathlib import Path
from typing import Any

import pytest
from harness.s3 import S3Server
from harness.supervisor_loop import Stage
from pyspark.sql import SparkSession


@pytest.mark.full(
    gate="spark/test_unread_files.py::test_exactly_the_files_that_changed_after_a_run_are_counted"
)
def test_an_object_that_is_written_again_counts(spark: SparkSession, s3: S3Server, tmp_path: Path) -> None:
    s3.make_bucket("rewritten")
    folder = s3.root / "rewritten" / "in"
    folder.mkdir(parents=True)
    for name in ("a b%.txt", "b.txt", "c.txt"):
        (folder / name).write_text(f"{name}\n")
    s3.open_to(spark, "rewritten")
    sink = {"name": "table", "delta": {"path": str(tmp_path / "out")}}
    spec: dict[str, Any] = {
        "connections": [
            {"name": "store", "s3": {"buckets": ["rewritten"], "endpoint": s3.endpoint, "pathStyle": True}}
        ],
        "sources": [{"name": "lines", "files": {"path": "s3a://rewritten/in", "maxFilesPerTrigger": 1}}],
        "checkpoints": {"location": "s3a://rewritten/checkpoints"},
        "queries": [{"name": "q", "from": "lines", "to": [sink], "trigger": {"availableNow": True}}],
    }
    stage = Stage(spark, tmp_path)
    shown = []
    for _ in range(2):
        with stage.running(**spec) as turning:
            turning.to_the_end()
            status = turning["q"]
            shown.append((status.reason, status.message, status.sources[0].changed))
        for name in ("a b%.txt", "c.txt"):
            (folder / name).write_text(f"{name} again\n")
            os.utime(folder / name, (5, 5))
    first = "s3a://rewritten/in/a b%.txt"
    message = f"source 'lines' does not read 2 files again that changed since, first {first}"
    assert shown == [(None, None, 0), ("FilesChanged", message, 2)]
    assert [row["value"] for row in stage.rows("out")] == ["a b%.txt", "b.txt", "c.txt"]
