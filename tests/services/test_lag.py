"""How far a query is behind, and since when: before its first batch, between batches, and after a restart; on a real broker."""

from pathlib import Path
from typing import Any, NamedTuple

import pytest
from harness.kafka import Broker
from harness.records import Record
from harness.sampling import only
from harness.supervisor_loop import Stage
from mainstem.runtime.supervision import topics
from pyspark.sql import SparkSession


JANUARY = 1_767_225_600_000
"""The time of the first record of each partition; the others follow, one a millisecond."""


class Start(NamedTuple):
    """Where a query begins to read.

    Attributes:
        options: of its source; `{topic}` stands for the topic.
        lag: the records of six and four in two partitions that it then has to read; None if that is not known before Spark
            has planned the first batch.
        planned: the number that is known then.
    """

    options: dict[str, str]
    lag: int | None
    planned: int


STARTS = {
    "oldest": Start({"startingOffsets": "earliest"}, 10, 10),
    "numbers": Start({"startingOffsets": '{"{topic}": {"0": 2, "1": -1}}'}, 4, 4),
    "beginnings": Start({"startingOffsets": '{"{topic}": {"0": -2, "1": 3}}'}, 7, 7),
    "times": Start({"startingTimestamp": str(JANUARY + 3)}, None, 4),
}


def spec(stage: Stage, kafka: Broker, topic: str, start: Start) -> dict[str, Any]:
    """A query of which each batch waits while the file exists that its records name."""
    options = {key: value.replace("{topic}", topic) for key, value in start.options.items()}
    return {
        "connections": [{"name": "events", "kafka": {"bootstrapServers": kafka.bootstrap_servers}}],
        "sources": [{"name": "in", "kafka": {"connection": "events", "subscribe": [topic], **options}}],
        "functions": [{"name": "hold", "python": {"function": "hanging:hold", "returns": "STRING"}}],
        "views": [{"name": "held", "sql": "SELECT hold(CAST(value AS STRING)) AS value FROM in"}],
        "queries": [stage.query("held", "out")],
        "drain": {"timeout": "1 second"},
    }


@pytest.mark.S38
@pytest.mark.parametrize("begin", only(STARTS, {"numbers"}))
def test_lag_is_known_before_the_first_batch_and_after_a_restart(
    spark: SparkSession, kafka: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, begin: str
) -> None:
    monkeypatch.setattr(topics, "ASK_SECONDS", 0.2)
    stage, gate = Stage(spark.newSession(), tmp_path), tmp_path / "gate"
    topic, start = tmp_path.name, STARTS[begin]
    document = spec(stage, kafka, topic, start)

    def produce(*counts: int) -> None:
        """So many records in each partition, none of which is written while there is a gate."""
        gate.touch()
        records = [
            Record(None, str(gate).encode(), partition=partition, timestamp_ms=JANUARY + number)
            for partition, count in enumerate(counts)
            for number in range(count)
        ]
        kafka.produce(topic, records)

    kafka.create_topic(topic, 2, {"retention.ms": "-1"})
    produce(6, 4)
    with stage.running(**document) as run:
        first = run["to-out"].lag
        assert first in (start.lag, start.planned), "Spark may have planned it already"
        run.until(Path(f"{gate}.held").exists)  # now Spark has asked for the newest offsets too
        produce(2, 1)
        expected = None if first is None else first + 3
        run.until(lambda: run["to-out"].lag == expected)
        status = run["to-out"]
        assert (status.batch, status.last_commit_time, status.behind_since) == (None, None, None)

    # The first batch is planned, and not committed: the checkpoint says where it begins.
    with stage.running(**document) as run:
        status = run["to-out"]
        assert (status.lag, status.batch, status.behind_since) == (start.planned + 3, None, None)
        gate.unlink()
        run.until(lambda: run["to-out"].lag == 0)
        assert run["to-out"].behind_since is None
        produce(1, 4)
        run.until(lambda: run["to-out"].lag == 5)
        status = run["to-out"]
        assert (status.started_at or "") <= (status.behind_since or ""), (
            "it has been current since it was started"
        )
        committed = status.last_commit_time
        assert committed

    with stage.running(**document) as run:
        status = run["to-out"]
        assert (status.lag, status.batch, status.behind_since) == (5, None, None)
        assert status.last_commit_time == committed
        gate.unlink()
        run.until(lambda: run["to-out"].lag == 0)
