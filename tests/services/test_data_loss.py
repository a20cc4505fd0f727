"""Records that expired before they were read, and topics that are not there yet, on a real broker."""

import threading
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import TopicPartition
from harness.kafka import Broker
from harness.records import Record, new_producer, produce
from harness.supervisor_loop import Stage
from mainstem.language.model.status.states import QueryState
from mainstem.runtime.supervision import input_poller, topics
from pyspark.sql import SparkSession


pytestmark = [pytest.mark.faults, pytest.mark.timeout(300)]


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
def test_expired_offsets_are_counted_or_end_the_query(
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
        assert [status.sources[0].expired for status in running.supervisor.statuses] == [0, 0]

    kafka.produce("losses", [*records(0, 6), *records(1, 5)])
    gone = [TopicPartition("losses", 0, 7), TopicPartition("losses", 1, 3)]
    admin = kafka.admin()
    for deleted in admin.delete_records(gone).values():
        deleted.result(30)
    with stage.running(**document) as running:
        running.to_the_end()
        lossy, strict = running["to-lossy"], running["to-strict"]
    # Of partition 0 the offsets 4 to 6 are gone; of partition 1 only what had been read.
    assert (lossy.state, lossy.sources[0].expired) == (QueryState.COMPLETED, 3)
    assert lossy.counted_since is not None
    assert lossy.last_progress_time is not None
    assert lossy.counted_since[:19] <= lossy.last_progress_time[:19]
    assert rows(stage, "lossy") == [
        *((0, offset) for offset in (0, 1, 2, 3, 7, 8, 9)),
        *((1, offset) for offset in range(8)),
    ]
    assert (strict.state, strict.reason) == (QueryState.FAILED, "KafkaDataLost")
    assert "set failOnDataLoss: false" in (strict.message or "")


@pytest.mark.full(gate="services/test_data_loss.py::test_a_topic_recreated_while_its_query_runs_is_read")
def test_a_query_waits_for_a_missing_topic(
    spark: SparkSession, kafka: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(input_poller, "LOOK_SECONDS", 0.2)
    kafka.create_topic("early-bird")
    kafka.produce("early-bird", records(0, 2))
    stage = Stage(spark.newSession(), tmp_path)
    sources = {"late": {"subscribe": ["late-bird"]}, "early": {"subscribe": ["early-bird"]}}
    with stage.running(**spec(stage, kafka, sources)) as running:
        running.until(lambda: running["to-early"].input_rows == 2)
        late = running["to-late"]
        assert (late.state, late.reason) == (QueryState.WAITING, "TopicNotFound")
        kafka.create_topic("late-bird")
        kafka.produce("late-bird", records(0, 3))
        running.until(lambda: running["to-late"].input_rows == 3)
        assert running.supervisor.drain()
    assert rows(stage, "late") == [(0, 0), (0, 1), (0, 2)]


def lossy(stage: Stage, kafka: Broker, topic: str, **more: Any) -> dict[str, Any]:
    return spec(stage, kafka, {topic: {"subscribe": [topic, "steady"], "failOnDataLoss": False}}, **more)


@pytest.fixture(scope="module")
def steady(kafka: Broker) -> str:
    """A topic that is read beside those that go."""
    kafka.create_topic("steady")
    kafka.produce("steady", records(0, 4))
    return "steady"


def state_query(topic: str) -> dict[str, Any]:
    return {"name": f"{topic}_places", "sql": f"SELECT topic, offset, value FROM {topic}"}


@pytest.mark.full(gate="services/test_data_loss.py::test_a_topic_recreated_while_its_query_runs_is_read")
@pytest.mark.parametrize("pending", [False, True])
def test_a_recreated_topic_is_read_from_its_beginning(
    spark: SparkSession, kafka: Broker, steady: str, tmp_path: Path, *, pending: bool
) -> None:
    """Also with an uncommitted batch of the old topic: it keeps its records of the other topic."""
    topic = f"anew{pending}".lower()
    kafka.create_topic(topic)
    kafka.produce(topic, [Record(None, f"old {n}".encode(), partition=0) for n in range(5)])
    stage = Stage(spark.newSession(), tmp_path)
    document = lossy(stage, kafka, topic, trigger={"availableNow": True})
    document["views"] = [state_query(topic)]
    with stage.running(**document) as running:
        running.to_the_end()
    commits = tmp_path / "checkpoints" / f"to-{topic}" / "1" / "commits"
    if pending:
        kafka.produce(topic, [Record(None, b"old 5", partition=0)])
        kafka.produce(steady, records(0, 2))
        with stage.running(**document) as running:
            running.to_the_end()
        (commits / "1").unlink()
        (commits / ".1.crc").unlink()
    kafka.recreate_topic(topic, partitions=2)
    renewed = [Record(None, f"new {n}".encode(), partition=n % 2) for n in range(30)]
    produce(new_producer(kafka.client), topic, renewed)  # the broker's own knows one partition
    with stage.running(**document) as running:
        running.to_the_end()
        status = running[f"to-{topic}"]
    assert (status.state, status.reason) == (QueryState.COMPLETED, "TopicRecreated")
    assert f"topic {topic!r}" in (status.message or "")
    values = [row["value"].decode() for row in stage.rows(topic) if row["topic"] == topic]
    assert sorted(values) == sorted(
        [f"old {n}" for n in range(5 + pending)] + [f"new {n}" for n in range(30)]
    )
    places = [row["offset"] for row in stage.rows(topic) if row["topic"] == steady]
    assert len(places) == len(set(places)) >= 4 + 2 * pending

    kafka.produce(topic, [Record(None, b"newer", partition=0)])
    with stage.running(**document) as running:
        running.to_the_end()
        assert running[f"to-{topic}"].reason is None
    values = [row["value"].decode() for row in stage.rows(topic) if row["topic"] == topic]
    assert len(values) == 5 + pending + 31


@pytest.mark.full(gate="services/test_data_loss.py::test_a_topic_recreated_while_its_query_runs_is_read")
def test_records_of_a_recreated_topic_are_not_read_twice(
    spark: SparkSession, kafka: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its driver ends after a batch of the new topic, and before it has asked for ids again."""
    monkeypatch.setattr(topics, "ASK_SECONDS", 3600.0)
    topic, gate = "renewed", tmp_path / "gate"
    gate.touch()
    old = ["old 0", "old 1", str(gate)]
    kafka.create_topic(topic)
    kafka.produce(topic, [Record(None, text.encode(), partition=0) for text in old])
    stage = Stage(spark.newSession(), tmp_path)
    document = spec(stage, kafka, {topic: {"subscribe": [topic], "failOnDataLoss": False}})
    document["functions"] = [{"name": "hold", "python": {"function": "hanging:hold", "returns": "STRING"}}]
    sql = f"SELECT hold(CAST(value AS STRING)) AS value FROM {topic}"
    document["views"] = [{"name": f"{topic}_places", "sql": sql}]
    with stage.running(**document) as running:
        running.until((tmp_path / "gate.held").exists)  # the next trigger comes after this batch
        kafka.recreate_topic(topic)
        kafka.produce(topic, [Record(None, f"new {n}".encode(), partition=0) for n in range(8)])
        gate.unlink()
        running.until(lambda: running[f"to-{topic}"].input_rows == 8)
        assert running[f"to-{topic}"].restarts == 0
    kafka.produce(topic, [Record(None, f"new {n}".encode(), partition=0) for n in range(8, 10)])
    document["queries"][0]["trigger"] = {"availableNow": True}
    with stage.running(**document) as running:
        running.to_the_end()
    values = sorted(row["value"] for row in stage.rows(topic))
    assert values == sorted([*old, *(f"new {n}" for n in range(3, 10))])


def test_a_topic_recreated_while_its_query_runs_is_read(
    spark: SparkSession, kafka: Broker, steady: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(input_poller, "LOOK_SECONDS", 0.2)
    monkeypatch.setattr(topics, "ASK_SECONDS", 0.2)
    kafka.create_topic("leaves")
    kafka.produce("leaves", records(0, 5))
    stage = Stage(spark.newSession(), tmp_path)
    with stage.running(**lossy(stage, kafka, "leaves"), restart={"maxRetries": 0}) as running:
        running.until(lambda: running["to-leaves"].input_rows >= 9)
        admin = kafka.admin()
        admin.delete_topics(["leaves"])["leaves"].result(30)
        running.until(lambda: running["to-leaves"].state is QueryState.WAITING)
        waiting = running["to-leaves"]
        assert "no topic 'leaves'" in (waiting.message or "")
        rows_before = waiting.input_rows
        kafka.create_topic("leaves")
        kafka.produce("leaves", records(0, 3))
        running.until(lambda: running["to-leaves"].input_rows == rows_before + 3)
        back = running["to-leaves"]
        assert (back.state, back.reason, back.restarts) == (QueryState.RUNNING, "TopicRecreated", 0)
        assert running.supervisor.drain()


def test_a_recreated_topic_ends_a_query_that_may_lose_nothing(
    spark: SparkSession, kafka: Broker, tmp_path: Path
) -> None:
    """The new topic is longer than the old one, so Spark would continue in its middle."""
    kafka.create_topic("strictly")
    kafka.produce("strictly", records(0, 3))
    stage = Stage(spark.newSession(), tmp_path)
    document = spec(stage, kafka, {"strictly": {"subscribe": ["strictly"]}}, trigger={"availableNow": True})
    with stage.running(**document) as running:
        running.to_the_end()
    kafka.recreate_topic("strictly")
    kafka.produce("strictly", records(0, 8))
    with stage.running(**document) as running:
        running.to_the_end()
        status = running["to-strictly"]
    assert (status.state, status.reason) == (QueryState.FAILED, "TopicRecreated")
    assert "set failOnDataLoss: false" in (status.message or "")
    assert rows(stage, "strictly") == [(0, 0), (0, 1), (0, 2)]


@pytest.mark.full(
    gate="services/test_data_loss.py::test_a_recreated_topic_ends_a_query_that_may_lose_nothing"
)
@pytest.mark.parametrize("strict", [False, True])
def test_a_topic_recreated_between_two_triggers_is_detected(
    spark: SparkSession,
    kafka: Broker,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    strict: bool,
) -> None:
    """If the new topic is longer than the old one, Spark does not notice it and continues in its middle."""
    monkeypatch.setattr(topics, "ASK_SECONDS", 0.2)
    unasked = (
        threading.Lock()
    )  # while it is held, nobody asks the broker: the new topic is longer when it is found
    ask = topics.Topics._ask

    def ask_unless_held(self: topics.Topics, connection: str) -> None:
        with unasked:
            ask(self, connection)

    monkeypatch.setattr(topics.Topics, "_ask", ask_unless_held)
    topic = f"quickly{strict}".lower()
    kafka.create_topic(topic)
    kafka.produce(topic, records(0, 3))
    stage = Stage(spark.newSession(), tmp_path)
    source = {topic: {"subscribe": [topic], "failOnDataLoss": strict}}
    document = spec(stage, kafka, source, trigger={"processingTime": "1 hour"})
    with stage.running(**document) as running:
        name = f"to-{topic}"
        running.until(lambda: running[name].input_rows == 3 and running[name].lag == 0)
        with unasked:
            kafka.recreate_topic(topic)
            kafka.produce(topic, records(0, 8))
        running.until(lambda: running[name].reason == "TopicRecreated")
        status = running[name]
        if strict:
            assert status.state is QueryState.FAILED
        else:
            assert (status.state, status.expired) == (QueryState.RUNNING, 3)
