"""A broker that goes while queries run, or is away when they start: their status, and how they continue afterwards."""

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from harness.kafka import Broker
from harness.records import Record
from harness.supervisor_loop import Stage
from harness.waiting import eventually
from mainstem.language.model.status.states import QueryState
from mainstem.runtime.supervision import input_poller, outages, topics
from pyspark.sql import SparkSession


pytestmark = [pytest.mark.faults, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    """A broker of the module's own: its tests fell it."""
    with Broker() as started:
        yield started


@pytest.fixture(autouse=True)
def standing(broker: Broker) -> Iterator[None]:
    """What a test fells stands again for the next one."""
    yield
    if not broker.process.alive:
        broker.start()


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is looked at every few seconds is looked at more often."""
    monkeypatch.setattr(input_poller, "LOOK_SECONDS", 0.2)
    monkeypatch.setattr(topics, "ASK_SECONDS", 0.5)
    monkeypatch.setattr(outages, "GREET_SECONDS", 0.3)
    monkeypatch.setattr(outages, "AGAIN_SECONDS", 0.1)


def records(count: int) -> list[Record]:
    return [Record(None, b"x") for _ in range(count)]


def spec(stage: Stage, broker: Broker, topic: str, **more: Any) -> dict[str, Any]:
    """A query of a topic, and one of files beside it."""
    source = {"connection": "events", "subscribe": [topic], "startingOffsets": "earliest"}
    return {
        "connections": [{"name": "events", "kafka": {"bootstrapServers": broker.bootstrap_servers}}],
        "sources": [{"name": "orders", "kafka": source}, stage.files("lines")],
        "views": [{"name": "places", "sql": "SELECT partition, offset FROM orders"}],
        "queries": [stage.query("places", topic), stage.query("lines", f"{topic}-lines")],
        "restart": {"maxRetries": 0, "backoff": "1 second"},
        **more,
    }


def spec_of_the_impatient(stage: Stage, broker: Broker, topic: str) -> dict[str, Any]:
    """As `spec`, with clients that report an outage within seconds."""
    document = spec(stage, broker, topic)
    patience = {"request.timeout.ms": "1500", "default.api.timeout.ms": "1500", "max.block.ms": "1500"}
    document["connections"][0]["kafka"]["properties"] = patience
    document["sources"][0]["kafka"]["options"] = {"fetchOffset.numRetries": "1"}
    return document


@pytest.mark.full(
    gate="unit/test_outages.py::test_lag_is_unknown_and_no_query_idle_while_a_broker_does_not_answer"
)
def test_a_hanging_broker_is_in_the_status_and_the_lag_unknown_until_it_answers(
    spark: SparkSession, broker: Broker, tmp_path: Path
) -> None:
    broker.create_topic("hangs")
    broker.produce("hangs", records(3))
    stage = Stage(spark.newSession(), tmp_path)
    stage.put("lines", "one")
    with stage.running(**spec(stage, broker, "hangs")) as running:
        running.until(lambda: running["to-hangs"].input_rows == 3 and running["to-hangs"].lag == 0)
        broker.process.send(signal.SIGSTOP)
        try:
            running.until(lambda: running["to-hangs"].reason is not None)
            hanging, lines = running["to-hangs"], running["to-hangs-lines"]
            assert (hanging.state, hanging.idle) == (QueryState.RUNNING, False)
            assert (hanging.reason, hanging.lag) == ("BrokerUnreachable", None)
            assert "connection 'events'" in (hanging.message or "")
            assert (lines.reason, lines.state) == (None, QueryState.RUNNING)
        finally:
            broker.process.send(signal.SIGCONT)
        broker.produce("hangs", records(2))
        running.until(lambda: running["to-hangs"].input_rows == 5)
        running.until(lambda: running["to-hangs"].reason is None and running["to-hangs"].lag == 0)


def test_an_outage_ends_no_query_and_other_queries_continue(
    spark: SparkSession, broker: Broker, tmp_path: Path
) -> None:
    broker.create_topic("away")
    broker.produce("away", records(3))
    stage = Stage(spark.newSession(), tmp_path)
    stage.put("lines", "one")
    with stage.running(**spec_of_the_impatient(stage, broker, "away")) as running:
        running.until(lambda: running["to-away"].input_rows == 3)
        running.until(lambda: running["to-away-lines"].input_rows == 1)
        broker.kill()
        running.until(lambda: running["to-away"].state is QueryState.RESTARTING)
        away = running["to-away"]
        assert (away.reason, away.lag, away.restarts) == ("BrokerUnreachable", None, 1)
        stage.put("lines", "two")
        running.until(lambda: running["to-away-lines"].input_rows == 2)
        broker.start()
        broker.produce("away", records(2))
        running.until(lambda: running["to-away"].input_rows == 5)
        assert running["to-away"].reason is None
    assert len(stage.rows("away")) == 5


@pytest.mark.full(gate="unit/test_outages.py::test_an_outage_affects_only_the_queries_that_use_the_server")
def test_a_query_waits_for_a_broker_that_is_away_at_the_start(
    spark: SparkSession, broker: Broker, tmp_path: Path
) -> None:
    broker.create_topic("not-yet")
    broker.produce("not-yet", records(3))
    broker.kill()
    stage = Stage(spark.newSession(), tmp_path)
    stage.put("lines", "one")
    with stage.running(**spec_of_the_impatient(stage, broker, "not-yet")) as running:
        running.until(lambda: running["to-not-yet-lines"].input_rows == 1)
        away = running["to-not-yet"]
        assert (away.state, away.reason) == (QueryState.WAITING, "BrokerUnreachable")
        assert "no broker of connection 'events' answers" in (away.message or "")
        broker.start()
        running.until(lambda: running["to-not-yet"].input_rows == 3)


@pytest.mark.full(gate="services/test_data_loss.py::test_a_topic_recreated_while_its_query_runs_is_read")
def test_a_query_waits_for_a_deleted_topic_without_a_restart(
    spark: SparkSession, broker: Broker, tmp_path: Path
) -> None:
    broker.create_topic("goes")
    broker.produce("goes", records(3))
    stage = Stage(spark.newSession(), tmp_path)
    stage.put("lines", "one")
    with stage.running(**spec(stage, broker, "goes")) as running:
        running.until(lambda: running["to-goes"].input_rows == 3)
        delete(broker, "goes")
        running.until(lambda: running["to-goes"].state is QueryState.WAITING)
        gone = running["to-goes"]
        assert (gone.reason, gone.restarts) == ("TopicNotFound", 0)
        assert "no topic 'goes'" in (gone.message or "")
        assert running["to-goes-lines"].state is QueryState.RUNNING


def delete(broker: Broker, topic: str) -> None:
    """Delete a topic, and wait until it is gone."""
    admin = broker.admin()
    admin.delete_topics([topic])[topic].result(timeout=30)
    eventually("the topic is gone", lambda: topic not in admin.list_topics(timeout=10).topics)


@pytest.mark.full(gate="unit/test_outages.py::test_lag_is_the_distance_from_the_read_offsets_to_the_newest")
def test_the_lag_is_updated_while_a_batch_runs(spark: SparkSession, broker: Broker, tmp_path: Path) -> None:
    broker.create_topic("grows")
    broker.produce("grows", records(1))
    stage = Stage(spark.newSession(), tmp_path)
    stage.put("lines", "one")
    document = spec(stage, broker, "grows")
    gate = tmp_path / "gate"
    gate.touch()
    sink = {"foreachBatch": "sinks:hold", "arguments": {"gate": str(gate)}}
    document["queries"][0]["to"] = [{"name": "code", "python": sink}]
    with stage.running(**document) as running:
        running.until(lambda: running["to-grows"].input_rows == 1)
        gate.unlink()
        broker.produce("grows", records(1))
        running.until((tmp_path / "held").exists)
        broker.produce("grows", records(10))
        try:
            running.until(lambda: running["to-grows"].lag == 11)
            assert running["to-grows"].input_rows == 1
        finally:
            gate.touch()
        running.until(lambda: running["to-grows"].input_rows == 12 and running["to-grows"].lag == 0)


@pytest.mark.full(gate="unit/test_kafka_options.py::test_a_timeout_of_the_user_is_never_shortened")
def test_slow_brokers_get_the_time_that_their_connection_configures(
    spark: SparkSession, broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No broker answers within a millisecond, and this one counts as slow."""
    monkeypatch.setattr(topics, "PATIENCE_MS", 1)
    broker.create_topic("slow")
    broker.produce("slow", records(3))
    stage = Stage(spark.newSession(), tmp_path)
    document = spec(stage, broker, "slow")
    document["connections"][0]["kafka"]["properties"] = {"request.timeout.ms": "30000"}
    stage.put("lines", "one")
    with stage.running(**document) as running:
        running.until(lambda: running["to-slow"].input_rows == 3 and running["to-slow"].lag == 0)
