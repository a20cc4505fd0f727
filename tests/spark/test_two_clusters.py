"""One checkpoint, and pipelines of the same namespace and name in two clusters: only one of them writes to it."""

import json
from pathlib import Path
from typing import Any

import pytest
from harness.supervisor_loop import Stage
from mainstem.checkpoints.owner import DriverIdentity
from mainstem.errors import NotReady
from mainstem.language.model.status.states import QueryState
from pyspark.sql import SparkSession


pytestmark = [pytest.mark.faults, pytest.mark.S29]
FIRST, SECOND = (DriverIdentity("etl/orders", cluster, uid=f"uid-{cluster}") for cluster in ("one", "two"))


def spec(stage: Stage, **checkpoints: str) -> dict[str, Any]:
    ends = {"trigger": {"availableNow": True}}
    queries = [stage.query("in", "out", **ends)]
    # A second query, so that a refused one does not end the run.
    other = stage.query("in", "other", **ends, checkpoint={"id": "other"})
    return {"sources": [stage.files("in")], "queries": [*queries, other], "checkpoints": checkpoints}


def values(stage: Stage, table: str) -> list[str]:
    return [row["value"] for row in stage.rows(table)]


def test_a_pipeline_of_another_cluster_is_refused_until_its_document_names_the_owner(
    spark: SparkSession, tmp_path: Path
) -> None:
    stage = Stage(spark, tmp_path)
    stage.put("in", "a", "b")
    with stage.running(FIRST, **spec(stage)) as run:
        run.to_the_end()
    record = tmp_path / "checkpoints" / "to-out" / "_1.mainstem-owner.json"
    first = json.loads(record.read_text(encoding="utf-8"))
    assert (first["cluster"], first["epoch"]) == ("one", 1)
    (record.parent.parent / "other" / "_1.mainstem-owner.json").unlink()
    stage.put("in", "c")
    with stage.running(SECOND, **spec(stage)) as run:
        run.to_the_end()
        refused = run["to-out"]
        assert (refused.state, refused.reason) == (QueryState.FAILED, "CheckpointInUse")
        takeover = f"one/etl/orders@{first['started']}"
        assert f"set checkpoints.takeOver: {takeover}" in (refused.message or "")
        assert run["to-other"].state is QueryState.COMPLETED
    assert json.loads(record.read_text(encoding="utf-8")) == first
    assert values(stage, "out") == ["a", "b"]
    assert values(stage, "other") == ["a", "b", "c"]
    with stage.running(SECOND, **spec(stage, takeOver=takeover)) as run:
        run.to_the_end()
        assert run["to-out"].state is QueryState.COMPLETED
    assert values(stage, "out") == ["a", "b", "c"], "every row once"
    taken = json.loads(record.read_text(encoding="utf-8"))
    assert (taken["cluster"], taken["epoch"]) == ("two", 2)
    # The document of the first cluster does not get it back by itself.
    stage.put("in", "d")
    with (
        pytest.raises(NotReady, match="belongs to the pipeline") as kept,
        stage.running(FIRST, **spec(stage)),
    ):
        pass
    assert kept.value.reason == "CheckpointInUse"
    assert values(stage, "out") == ["a", "b", "c"]
