"""Two runs of one document at once: the one that came first has all checkpoints, and the other one starts no query."""

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from harness.documents import pipeline_head
from harness.driver import DriverProcess
from harness.supervisor_loop import Stage
from harness.waiting import within
from mainstem.checkpoints.owner import identity
from mainstem.errors import NotReady
from mainstem.language.model.status.states import QueryState
from pyspark.sql import SparkSession


pytestmark = [pytest.mark.faults, pytest.mark.S29]
START = 300.0


def record(stage: Stage, query: str) -> Path:
    return stage.folder / "checkpoints" / query / "_1.mainstem-owner.json"


def test_no_query_starts_while_another_run_uses_the_checkpoint_of_one(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Nor is a checkpoint taken, also not that of a query that waits for its source."""
    stage = Stage(spark.newSession(), tmp_path)
    ends = {"trigger": {"availableNow": True}}
    queries = [
        stage.query("in", "a", **ends),
        stage.query("late", "b"),
        stage.query("in", "c", **ends),
    ]
    spec: dict[str, Any] = {"sources": [stage.files("in"), stage.files("late")], "queries": queries}
    stage.put("in", "first")
    with stage.running(**spec) as run:
        run.until(lambda: run["to-a"].state is run["to-c"].state is QueryState.COMPLETED)
        assert run["to-b"].state is QueryState.WAITING
    records = [record(stage, f"to-{name}") for name in "abc"]
    stage.put("in", "second")
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        last = json.loads(records[-1].read_text()) | {"process": identity(other.pid)}
        records[-1].write_text(json.dumps(last).ljust(1023) + "\n")
        before = [path.read_text() for path in records]
        with (
            pytest.raises(NotReady, match=r"another run uses the checkpoint .*/to-c/1") as refused,
            stage.running(**spec),
        ):
            pass
        assert refused.value.reason == "CheckpointInUse"
        assert [path.read_text() for path in records] == before
        assert len(stage.rows("a")) == 1
        other.kill()
    with stage.running(**spec) as run:
        run.until(lambda: run["to-a"].state is run["to-c"].state is QueryState.COMPLETED)
    assert [len(stage.rows(name)) for name in "ac"] == [2, 2]


@pytest.mark.full(
    gate="spark/test_two_runs.py::test_no_query_starts_while_another_run_uses_the_checkpoint_of_one"
)
@pytest.mark.timeout(900)
@pytest.mark.parametrize("before", ["nothing", "a dead run"])
def test_of_two_runs_that_start_at_once_one_runs_all_queries_and_the_other_ends(
    spark: SparkSession, tmp_path: Path, before: str
) -> None:
    stage = Stage(spark, tmp_path)
    names = [f"q{number}" for number in range(4)]
    spec = {
        "sources": [stage.files("in")],
        "queries": [stage.query("in", name) for name in names],
        "checkpoints": {"location": f"{tmp_path}/checkpoints"},
    }
    stage.put("in", "first")
    document = tmp_path / "twice.yaml"
    document.write_text(json.dumps(pipeline_head("twice") | {"spec": spec}))

    def counts() -> list[int]:
        return [len(stage.rows(name)) for name in names]

    if before == "a dead run":
        with DriverProcess(document, tmp_path / "dead") as dead:
            dead.until(lambda: counts() == [1] * 4, START)
            dead.kill()
    with DriverProcess(document, tmp_path / "1") as first, DriverProcess(document, tmp_path / "2") as second:
        runs = [first, second]
        within(START, "the end of one run", lambda: any(each.process.poll() is not None for each in runs))
        loser, winner = sorted(runs, key=lambda each: each.process.poll() is None)
        assert loser.wait(START) == 5, loser.stderr[-3000:]
        assert "[CheckpointInUse]" in loser.stderr
        stage.put("in", "second")
        winner.until(lambda: counts() == [2] * 4, START)
        winner.send(signal.SIGTERM)
        assert winner.wait(START) == 0, winner.stderr[-3000:]
    assert counts() == [2] * 4
