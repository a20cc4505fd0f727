"""Records that expired before they were read, and topics that are not there yet, on a real broker."""

from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import TopicPartition
from harness.kafka import Broker
from harness.records import Record
from harness.turning import Stage
from mainstem.run import scout
from mainstem.run.querystatus import State
from pyspark.sql import SparkSession


pytestmark = pytest.mark.timeout(300)


def spec(stage: Stage, kafka: Broker, sources: dict[str, dict[str, Any]], **more: Any) -> dict[str, Any]:
    """One query for each source, to a table of its name: partition and offset of each record."""
    return {
        "connections": [{"name": "events", "kafka": {"bootstrapServers": kafka.bootstrap_servers}}],
        "sources": [
            {"name": name, "kafka": {"connection": "events", "startingOffsets": "earliest", **source}}
            for name, source in sources.items()
        ],
        "views": [
            {"name": f"{name}_places", "sql": f"SELECT partition, offset FROM {name}"} for name in sources
        ],
        "queries": [stage.query(f"{name}_places", name, **more) for name in sources],
    }


def rows(stage: Stage, table: str) -> list[tuple[int, int]]:
    return sorted((row["partition"], row["offset"]) for row in stage.rows(table))


def records(partition: int, count: int) -> list[Record]:
    return [Record(None, b"x", partition=partition) for _ in range(count)]


@pytest.mark.S03
def test_offsets_that_expired_are_counted_or_end_the_query(
    spark: SparkSession, kafka: Broker, tmp_path: Path
) -> None:
    kafka.create_topic("losses", partitions=2)
    stage = Stage(spark.newSession(), tmp_path)
    sources = {
        "lossy": {"subscribe": ["losses"], "failOnDataLoss": False},
        "strict": {"subscribe": ["losses"]},
    }
    document = spec(stage, kafka, sources, trigger={"availableNow": True})
    kafka.produce("losses", [*records(0, 4), *records(1, 3)])
    with stage.running(**document) as running:
        running.to_the_end()
        assert [status.sources[0].lost for status in running.supervisor.statuses] == [0, 0]

    kafka.produce("losses", [*records(0, 6), *records(1, 5)])
    gone = [TopicPartition("losses", 0, 7), TopicPartition("losses", 1, 3)]
    admin = kafka.admin()
    for deleted in admin.delete_records(gone).values():
        deleted.result(30)
    with stage.running(**document) as running:
        running.to_the_end()
        lossy, strict = running["to-lossy"], running["to-strict"]
    # Of partition 0 the offsets 4 to 6 are gone; of partition 1 only what had been read.
    assert (lossy.state, lossy.sources[0].lost) == (State.COMPLETED, 3)
    assert lossy.counted_since is not None
    assert lossy.last_progress_time is not None
    assert lossy.counted_since[:19] <= lossy.last_progress_time[:19]
    assert rows(stage, "lossy") == [
        *((0, offset) for offset in (0, 1, 2, 3, 7, 8, 9)),
        *((1, offset) for offset in range(8)),
    ]
    assert (strict.state, strict.reason) == (State.FAILED, "KafkaDataLost")
    assert "set failOnDataLoss: false" in (strict.message or "")


def test_a_topic_that_comes_later(
    spark: SparkSession, kafka: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scout, "LOOK_SECONDS", 0.2)
    kafka.create_topic("early-bird")
    kafka.produce("early-bird", records(0, 2))
    stage = Stage(spark.newSession(), tmp_path)
    sources = {"late": {"subscribe": ["late-bird"]}, "early": {"subscribe": ["early-bird"]}}
    with stage.running(**spec(stage, kafka, sources)) as running:
        running.until(lambda: running["to-early"].input_rows == 2)
        late = running["to-late"]
        assert (late.state, late.reason) == (State.WAITING, "TopicNotFound")
        kafka.create_topic("late-bird")
        kafka.produce("late-bird", records(0, 3))
        running.until(lambda: running["to-late"].input_rows == 3)
        assert running.supervisor.drain()
    assert rows(stage, "late") == [(0, 0), (0, 1), (0, 2)]
