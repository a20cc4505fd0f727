"""A batch that hangs is interrupted, and its query starts again; rows are written once."""

from pathlib import Path

import pytest
from harness.clock import OwnClock
from harness.sampling import sampled
from harness.supervisor_loop import Stage
from mainstem.language.model.status.states import QueryState
from mainstem.runtime.supervision.supervisor import LOOK_SECONDS
from pyspark.sql import SparkSession


HOLD = {"name": "hold", "python": {"function": "hanging:hold", "returns": "STRING"}}
DAY = 86_400
"""Far more than passes before the batch hangs."""


@pytest.mark.S29
@pytest.mark.parametrize("earlier", sampled([0, 1], every=2), ids=["the first batch", "a later batch"])
def test_a_batch_that_hangs_is_started_again(spark: SparkSession, tmp_path: Path, earlier: int) -> None:
    stage, gate, clock = Stage(spark.newSession(), tmp_path), tmp_path / "gate", OwnClock()
    lines = [f"{tmp_path}/none-{number}" for number in range(earlier)]
    (tmp_path / "in").mkdir()
    (tmp_path / "idle").mkdir()
    for line in lines:
        stage.put("in", line)
    stage.put("idle", "row")
    pipeline = {
        "sources": [stage.files("in"), stage.files("idle")],
        "functions": [HOLD],
        "views": [{"name": "held", "sql": "SELECT hold(value) AS value FROM in"}],
        "queries": [stage.query("held", "out"), stage.query("idle", "rows")],
        "restart": {"onStall": "restart", "stallAfter": "1 day", "backoff": "10 seconds"},
    }
    with stage.running(clock=clock, **pipeline) as run:

        def both_wait() -> bool:
            clock.advance(LOOK_SECONDS)
            return len(stage.rows("out")) == earlier and run["to-out"].idle and run["to-rows"].idle

        run.until(both_wait)
        gate.touch()
        stage.put("in", str(gate))
        lines.append(str(gate))
        other, started = run["to-rows"].run_id, run["to-out"].run_id
        run.until((tmp_path / "gate.held").exists)
        for seconds in (LOOK_SECONDS, DAY + 60):
            clock.advance(seconds)
            run.supervisor.tick()
        assert run["to-out"].state is QueryState.RESTARTING
        assert run["to-out"].reason == "QueryStalled"
        assert f"batch {earlier} made no progress" in (run["to-out"].message or "")
        gate.unlink()
        clock.advance(60)
        run.until(lambda: len(stage.rows("out")) == len(lines))
        assert run["to-out"].run_id != started
        assert run["to-rows"].run_id == other, "a query without data does not stall"
    assert [row["value"] for row in stage.rows("out")] == sorted(lines)
