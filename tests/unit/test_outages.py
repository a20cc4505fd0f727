"""The status of a query after an outage and after answers of brokers; without a server."""

import json
from collections.abc import Collection
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from harness.clock import BEGIN, OwnClock
from harness.documents import pipeline_head
from mainstem.errors import NotReady
from mainstem.language.analysis.graph import Graph
from mainstem.language.document import read_text
from mainstem.language.model.connections import Connection
from mainstem.language.model.status.progress_parts import SourceProgress
from mainstem.language.model.status.query_progress import QueryProgress
from mainstem.language.model.status.states import QueryState
from mainstem.runtime.clients.kafka_admin import TopicOffsets, offsets
from mainstem.runtime.supervision import current as present
from mainstem.runtime.supervision.outages import AGAIN_SECONDS, GREET_SECONDS, Outage, Outages
from mainstem.runtime.supervision.topics import FRESH_SECONDS, OffsetSnapshot


READ = SourceProgress("orders", partitions=2, lag=0, max_lag=0, end_offset={"orders": {"0": 10, "1": 5}})
STATUS = QueryProgress("copy", QueryState.RUNNING, sources=(READ, SourceProgress("lines")), idle=True)
AWAY = Outage("BrokerUnreachable", "no broker answers", datetime(2026, 1, 1, tzinfo=UTC))


NOW = 1_000.0


def answer(
    latest: dict[str, int], earliest: dict[str, int] | None = None, age: float = 0.0
) -> OffsetSnapshot:
    return OffsetSnapshot(TopicOffsets({}, {"orders": earliest or {}}, {"orders": latest}), NOW - age)


def current(
    status: QueryProgress, outage: Outage | None, answers: dict[str, OffsetSnapshot], silent: Collection[str]
) -> QueryProgress:
    return present.current(status, outage, answers, silent, NOW)


def test_lag_is_the_distance_from_the_read_offsets_to_the_newest() -> None:
    shown = current(STATUS, None, {"orders": answer({"0": 14, "1": 6})}, ())
    assert (shown.lag, shown.sources[0].max_lag, shown.idle, shown.reason) == (5, 4, True, None)
    # A partition that is new begins where it begins; one that was read further than the answer knows is not behind.
    shown = current(STATUS, None, {"orders": answer({"0": 9, "1": 5, "2": 30}, {"2": 20})}, ())
    assert (shown.lag, shown.sources[0].partitions) == (10, 3)


def test_records_that_the_topics_keep_are_the_distance_between_their_ends() -> None:
    shown = current(STATUS, None, {"orders": answer({"0": 14, "1": 6}, {"0": 4, "1": 6})}, ())
    assert [source.retained_records for source in shown.sources] == [10, None]
    # Of a partition without an earliest offset nothing is known, and nothing is counted.
    assert current(STATUS, None, {"orders": answer({"0": 14})}, ()).sources[0].retained_records == 0
    silent = current(STATUS, AWAY, {"orders": answer({"0": 14}, {"0": 4})}, {"orders"})
    assert silent.sources[0].retained_records is None


def test_before_the_first_answer_the_lag_is_that_of_spark() -> None:
    assert current(STATUS, None, {}, ()) == STATUS


@pytest.mark.parametrize("state", [QueryState.STARTING, QueryState.RUNNING])
def test_lag_is_unknown_and_no_query_idle_while_a_broker_does_not_answer(state: QueryState) -> None:
    shown = current(replace(STATUS, state=state), AWAY, {"orders": answer({"0": 14, "1": 6})}, {"orders"})
    assert (shown.state, shown.lag, shown.idle, shown.reason) == (state, None, False, "BrokerUnreachable")
    assert shown.message == "no broker answers, since 2026-01-01T00:00:00Z"


def test_an_unreachable_store_does_not_make_the_lag_unknown() -> None:
    shown = current(STATUS, AWAY, {"orders": answer({"0": 14, "1": 6})}, ())
    assert (shown.lag, shown.reason) == (5, "BrokerUnreachable")


def test_lag_is_unknown_after_an_old_answer_or_a_failure_of_the_broker() -> None:
    old = answer({"0": 14}, age=FRESH_SECONDS + 1)
    assert current(STATUS, None, {"orders": old}, ()).lag is None
    failed = replace(STATUS, state=QueryState.RESTARTING, reason="BrokerUnreachable", message="no answer")
    shown = current(failed, None, {"orders": answer({"0": 14})}, ())
    assert (shown.lag, shown.reason, shown.message) == (None, "BrokerUnreachable", "no answer")


@pytest.mark.parametrize(
    "state", [QueryState.COMPLETED, QueryState.DRAINED, QueryState.INTERRUPTED, QueryState.SUSPENDED]
)
def test_a_finished_query_keeps_its_final_status(state: QueryState) -> None:
    over = replace(STATUS, state=state)
    assert current(over, AWAY, {"orders": answer({"0": 99})}, {"orders"}) == over


def test_a_failed_query_keeps_its_reason_and_its_lag_grows() -> None:
    failed = replace(STATUS, state=QueryState.FAILED, reason="PythonFailed", message="no")
    shown = current(failed, AWAY, {"orders": answer({"0": 14, "1": 5})}, ())
    assert (shown.lag, shown.reason, shown.message) == (4, "PythonFailed", "no")


def graph() -> Graph:
    """`copy` reads a broker, `both` reads it and writes to a database, `lines` needs neither."""

    def query(name: str, read: str, **sink: Any) -> dict[str, Any]:
        return {"name": name, "from": read, "to": [{"name": "out", **sink}]}

    spec = {
        "connections": [
            {"name": "events", "kafka": {"bootstrapServers": "127.0.0.1:1"}},
            {"name": "shop", "jdbc": {"url": "jdbc:postgresql://127.0.0.1:1/shop"}},
            {"name": "unused", "kafka": {"bootstrapServers": "127.0.0.1:2"}},
        ],
        "sources": [
            {"name": "orders", "kafka": {"connection": "events", "subscribe": ["t"]}},
            {"name": "lines", "files": {"path": "/in"}},
        ],
        "queries": [
            query("copy", "orders", console={}),
            query("both", "orders", jdbc={"connection": "shop", "table": "t"}),
            query("lines", "lines", console={}),
        ],
        "checkpoints": {"location": "/checkpoints"},
    }
    head = pipeline_head("some")
    [document] = read_text(json.dumps(head | {"spec": spec}))
    return document.graph


class Network:
    """Servers that answer, or do not; counts the greetings."""

    def __init__(self) -> None:
        self.away: set[str] = set()
        self.greeted: list[str] = []

    def greet(self, connection: Connection) -> NotReady | None:
        self.greeted.append(connection.name)
        away = connection.name in self.away
        return NotReady(f"{connection.name} does not answer", reason="BrokerUnreachable") if away else None


CONNECTIONS = 2
"""Of the graph, each with a thread that greets its server."""


def test_an_outage_affects_only_the_queries_that_use_the_server() -> None:
    network, document_graph, clock = Network(), graph(), OwnClock()
    watch = Outages(document_graph, clock, network.greet)
    queries = {query.name: query for query in document_graph.spec.queries}
    watch.start()
    try:
        clock.advance(GREET_SECONDS, CONNECTIONS)
        assert sorted(network.greeted) == ["events", "shop"]
        assert [watch.query(query) for query in queries.values()] == [None, None, None]
        network.away = {"events"}
        clock.advance(GREET_SECONDS + AGAIN_SECONDS, CONNECTIONS)
        both = watch.query(queries["both"])
        assert both is not None
        assert (both.message, both.reason) == ("events does not answer", "BrokerUnreachable")
        assert both.since == BEGIN + timedelta(seconds=2 * GREET_SECONDS)  # the first greeting that failed
        assert watch.query(queries["copy"]) == both
        assert watch.query(queries["lines"]) is None
        network.away = {"events", "shop"}
        clock.advance(GREET_SECONDS + AGAIN_SECONDS, CONNECTIONS)
        assert watch.connection("shop")
        assert watch.query(queries["both"]) == watch.connection("events")  # the longer one
        network.away = set()
        clock.advance(AGAIN_SECONDS, CONNECTIONS)
        assert (watch.connection("shop"), watch.connection("events")) == (None, None)
        assert "unused" not in network.greeted
    finally:
        watch.close()


def test_a_single_missing_answer_is_no_outage() -> None:
    network, clock = Network(), OwnClock()
    watch = Outages(graph(), clock, network.greet)
    watch.start()
    try:
        network.away = {"events"}
        clock.advance(GREET_SECONDS, CONNECTIONS)
        assert watch.connection("events") is None
        network.away = set()
        clock.advance(AGAIN_SECONDS, CONNECTIONS)
        network.away = {"events"}
        clock.advance(GREET_SECONDS, CONNECTIONS)
        assert watch.connection("events") is None
        clock.advance(AGAIN_SECONDS, CONNECTIONS)
        assert watch.connection("events")
    finally:
        watch.close()


def test_offsets_are_read_from_the_text_of_kafkas_answer() -> None:
    info = "ListOffsetsResultInfo(offset={}, timestamp=-1, leaderEpoch=Optional[0])"
    text = f"{{a.b-2-10={info.format(7)}, a.b-2-0={info.format(0)}, c_d-1={info.format(-1)}}}"
    assert offsets(text) == {"a.b-2": {"10": 7, "0": 0}, "c_d": {"1": -1}}
