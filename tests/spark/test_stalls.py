"""A batch that hangs is interrupted, and its query starts again; rows are written once."""

import time
from pathlib import Path

import pytest
from harness.sampling import sampled
from harness.supervisor_loop import Stage
from mainstem.language.model.status.states import QueryState
from pyspark.sql import SparkSession


HOLD = {"name": "hold", "python": {"function": "hanging:hold", "returns": "STRING"}}


@pytest.mark.S29
@pytest.mark.parametrize("earlier", sampled([0, 1], every=2), ids=["the first batch", "a later batch"])
def test_a_batch_that_hangs_is_started_again(spark: SparkSession, tmp_path: Path, earlier: int) -> None:
    stage, gate = Stage(spark.newSession(), tmp_path), tmp_path / "gate"
    lines = [f"{tmp_path}/none-{number}" for number in range(earlier)]
    (tmp_path / "in").mkdir()
    for line in lines:
        stage.put("in", line)
    pipeline = {
        "sources": [stage.files("in"), {"name": "ticks", "rate": {"rowsPerSecond": 1}}],
        "functions": [HOLD],
        "views": [{"name": "held", "sql": "SELECT hold(value) AS value FROM in"}],
        "queries": [
            stage.query("held", "out"),
            stage.query("ticks", "ticks", trigger={"processingTime": "1 second"}),
        ],
        "restart": {"onStall": "restart", "stallAfter": "5 seconds", "backoff": "1 second"},
    }
    with stage.running(**pipeline) as run:
        run.until(lambda: len(stage.rows("out")) == earlier and run["to-ticks"].batch is not None)
        gate.touch()
        stage.put("in", str(gate))
        lines.append(str(gate))
        other, started = run["to-ticks"].run_id, run["to-out"].run_id
        run.until(lambda: run["to-out"].state is QueryState.RESTARTING)
        assert run["to-out"].reason == "QueryStalled"
        assert f"batch {earlier} made no progress" in (run["to-out"].message or "")
        gate.unlink()
        run.until(lambda: len(stage.rows("out")) == len(lines))
        assert run["to-out"].run_id != started
        assert run["to-ticks"].run_id == other, "the other query runs on"
        time.sleep(1)
    assert [row["value"] for row in stage.rows("out")] == sorted(lines)


@pytest.mark.full(gate="unit/test_stalls.py::test_a_query_that_commits_or_waits_in_time_is_never_stalled")
def test_a_query_without_data_is_not_stalled(spark: SparkSession, tmp_path: Path) -> None:
    stage = Stage(spark.newSession(), tmp_path)
    stage.put("in", "row")
    restart = {"onStall": "restart", "stallAfter": "1 second"}
    with stage.running(
        sources=[stage.files("in")], queries=[stage.query("in", "out")], restart=restart
    ) as run:
        run.until(lambda: len(stage.rows("out")) == 1)
        begun, started = time.monotonic(), run["to-out"].run_id
        run.until(lambda: time.monotonic() - begun > 8)
        assert (run["to-out"].run_id, run["to-out"].restarts) == (started, 0)
