"""What a checkpoint fixes: without the check Spark loses rows, or ignores a changed setting."""

from pathlib import Path
from typing import Any

import pytest
from harness.eventtime import Streams
from mainstem.errors import NotReady
from mainstem.language.model.queries import State
from mainstem.runtime.checkpoint import checkpoint_compatibility
from pyspark.sql import SparkSession


pytestmark = [pytest.mark.S37, pytest.mark.S39]

KEYS = "xyzuwp"
ROWS = ", ".join(f"{key} 0:01" for key in KEYS)


@pytest.fixture
def streams(spark: SparkSession, tmp_path: Path) -> Streams:
    streams = Streams(spark, tmp_path)
    streams.stream("a", None, ROWS)
    return streams


def run(streams: Streams, **state: Any) -> list[str]:
    """Count by key, on a checkpoint that begins with three partitions."""
    query = {"name": "q", "from": "c", "outputMode": "complete", "state": {"partitions": 3} | state}
    return streams.run(query, views={"c": "SELECT k, count(*) AS n FROM a GROUP BY k"})["q"].rows


def refusal(spark: SparkSession, folder: Path, state: State) -> str:
    with pytest.raises(NotReady) as refused:
        checkpoint_compatibility.refuse_change(spark, str(folder / "checkpoints" / "q" / "1"), state)
    assert refused.value.reason == "StateLayoutChanged"
    return str(refused.value)


def test_another_number_of_partitions_is_rejected_because_spark_would_lose_rows(
    spark: SparkSession, tmp_path: Path, streams: Streams
) -> None:
    assert run(streams) == sorted(f"{key} 1" for key in KEYS)
    checkpoint_compatibility.refuse_change(
        spark, str(tmp_path / "checkpoints" / "q" / "1"), State(partitions=3)
    )
    assert "state.partitions is fixed at 3" in refusal(spark, tmp_path, State(partitions=1))
    streams.put("a", ROWS)
    assert run(streams, partitions=1) != sorted(f"{key} 2" for key in KEYS)


@pytest.mark.full(
    gate="unit/test_checkpoint_compatibility.py::test_a_setting_that_differs_from_the_checkpoint_is_reported"
)
def test_the_state_store_provider_stays_the_same(
    spark: SparkSession, tmp_path: Path, streams: Streams
) -> None:
    run(streams, provider="hdfs")
    streams.put("a", ROWS)
    assert run(streams) == sorted(f"{key} 2" for key in KEYS)
    state = tmp_path / "checkpoints" / "q" / "1" / "state"
    assert list(state.rglob("*.delta"))
    assert not [*state.rglob("*.zip"), *state.rglob("*.changelog")]
    assert "state.provider is fixed at hdfs" in refusal(spark, tmp_path, State(partitions=3))
    checkpoint_compatibility.refuse_change(spark, str(state.parent), State(partitions=3, provider="hdfs"))


@pytest.mark.full(
    gate="unit/test_checkpoint_compatibility.py::test_a_setting_that_differs_from_the_checkpoint_is_reported"
)
def test_a_query_without_state_fixes_nothing(spark: SparkSession, tmp_path: Path, streams: Streams) -> None:
    streams.run({"name": "q", "from": "a"}, views={})
    checkpoint_compatibility.refuse_change(
        spark, str(tmp_path / "checkpoints" / "q" / "1"), State(partitions=5)
    )
    checkpoint_compatibility.refuse_change(spark, str(tmp_path / "never" / "1"), State(partitions=5))
