"""Since when a query is behind, from the offsets of its topics and of its batches; on a clock of the test."""

import json
from collections.abc import Iterable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest
from harness.clock import OwnClock
from harness.documents import pipeline_head
from mainstem.language.analysis.graph import Graph
from mainstem.language.document import read_text
from mainstem.language.model.status.progress_parts import SourceProgress
from mainstem.language.model.status.query_progress import QueryProgress
from mainstem.language.model.status.states import QueryState
from mainstem.runtime.clients.kafka_admin import TopicOffsets
from mainstem.runtime.progress.rates import Meter
from mainstem.runtime.query.restarts import Restarts
from mainstem.runtime.query.supervised_query import SupervisedQuery
from mainstem.runtime.supervision.current import Current
from mainstem.runtime.supervision.outages import Outage
from mainstem.runtime.supervision.topics import OffsetSnapshot


SOURCES = ("orders", "returns")


def graph() -> Graph:
    spec = {
        "connections": [{"name": "events", "kafka": {"bootstrapServers": "localhost:1"}}],
        "sources": [
            {"name": name, "kafka": {"connection": "events", "subscribe": [name]}} for name in SOURCES
        ],
        "views": [{"name": "all", "sql": "SELECT value FROM orders UNION ALL SELECT value FROM returns"}],
        "queries": [{"name": "copy", "from": "all", "to": [{"name": "out", "console": {}}]}],
        "checkpoints": {"location": "/tmp/checkpoints"},
    }
    [document] = read_text(json.dumps({**pipeline_head("orders"), "spec": spec}))
    return document.graph


class Answers:
    """The last answers of brokers about the two topics, each with one partition, as `Topics` keeps them."""

    def __init__(self, clock: OwnClock) -> None:
        self._clock, self._answers, self.silent = clock, dict[str, OffsetSnapshot](), set[str]()

    def take(self, ends: dict[str, int], ids: str = "first", earliest: int = 0) -> None:
        for name, end in ends.items():
            offsets = TopicOffsets({name: ids}, {name: {"0": earliest}}, {name: {"0": end}})
            self._answers[name] = OffsetSnapshot(offsets, self._clock.seconds())

    def polled(self, occurrences: dict[str, str]) -> set[str]:
        return {name for name, source in occurrences.items() if source in SOURCES}

    def answer(self, source: str) -> OffsetSnapshot | None:
        return self._answers.get(source)

    def outage(self, source: str) -> Outage | None:
        return (
            Outage("BrokerUnreachable", "none answers", self._clock.now()) if source in self.silent else None
        )


class Bench:
    """A query that has read both topics up to some offset, and the status that it shows."""

    def __init__(self) -> None:
        self.clock = OwnClock()
        self.answers = Answers(self.clock)
        document = graph()
        none: Any = SimpleNamespace(query=lambda _query: None, answers=lambda _sources: {})
        polls: Any = SimpleNamespace(outages=none, topics=self.answers, files=none)
        self.current = Current(polls, document, self.clock)
        self.query = SupervisedQuery(
            query=document.spec.queries[0],
            session=cast("Any", None),
            occurrences={name: name for name in SOURCES},
            restarts=Restarts(document.spec.restart),
            status=QueryProgress("copy", QueryState.RUNNING),
            meter=Meter(0.0),
            topic_ids={name: {name: "first"} for name in SOURCES},
        )
        self.read(10)

    def read(self, offset: int | None, names: Iterable[str] = SOURCES) -> None:
        known = {source.name: source for source in self.query.status.sources}
        known |= {
            name: SourceProgress(name, end_offset=None if offset is None else {name: {"0": offset}})
            for name in names
        }
        self.query.show(replace(self.query.status, sources=tuple(known.values())))

    def shown(self) -> tuple[int | None, str | None]:
        status = self.current.status(self.query)
        return status.lag, status.behind_since and status.behind_since[11:19]


def test_a_query_is_behind_since_it_was_last_known_to_have_read_all() -> None:
    bench = Bench()
    bench.answers.take({"orders": 10, "returns": 10})
    bench.clock.advance(4)
    assert bench.shown() == (0, None)
    bench.clock.advance(10)
    bench.answers.take({"orders": 12, "returns": 10})
    assert bench.shown() == (2, "00:00:00"), "the time of the answers, and not that of looking at them"
    bench.read(12)
    bench.answers.take({"orders": 12, "returns": 12})
    assert bench.shown() == (0, None)
    bench.clock.advance(1)
    bench.answers.take({"orders": 13, "returns": 12})
    assert bench.shown() == (1, "00:00:14")


def test_nobody_knows_since_when_a_query_is_behind_that_has_never_caught_up() -> None:
    bench = Bench()
    bench.answers.take({"orders": 10})
    assert bench.shown() == (0, None)
    bench.clock.advance(5)
    bench.answers.take({"orders": 11, "returns": 30})
    assert bench.shown() == (21, None), "of the other topic nothing was known before"


def test_a_query_whose_brokers_are_silent_has_not_caught_up() -> None:
    bench = Bench()
    bench.answers.take({"orders": 10, "returns": 10})
    assert bench.shown() == (0, None)
    bench.clock.advance(20)
    bench.answers.silent = {"returns"}
    bench.answers.take({"orders": 10})
    assert bench.shown() == (0, "00:00:00"), "the lag of the other topic"
    bench.answers.silent = set()
    bench.answers.take({"returns": 10})
    assert bench.shown() == (0, None)
    bench.clock.advance(60)
    assert bench.shown() == (None, "00:00:20"), "the answers are too old"


@pytest.mark.parametrize("state", [QueryState.RUNNING, QueryState.FAILED])
def test_records_of_a_recreated_topic_are_neither_read_nor_counted_by_the_old_offsets(
    state: QueryState,
) -> None:
    bench = Bench()
    bench.query.show(replace(bench.query.status, state=state))
    bench.answers.take({"orders": 10, "returns": 10})
    assert bench.shown() == (0, None)
    bench.clock.advance(5)
    bench.answers.take({"orders": 3}, ids="second")
    bench.answers.take({"returns": 10})
    assert bench.shown() == (0, "00:00:00"), "only the lag of `returns` is known"
    bench.query.topic_ids = {"orders": {"orders": "second"}, "returns": {"returns": "first"}}
    bench.query.awaited_resets = {("orders", "orders")}
    assert bench.shown() == (0, "00:00:00"), "Spark has not gone back yet"
    bench.read(3, ["orders"])
    assert bench.shown() == (0, None)
    bench.answers.take({"orders": 12, "returns": 10}, ids="first")
    bench.query.topic_ids = {name: {name: "first"} for name in SOURCES}
    assert bench.shown() == (9, "00:00:05"), "Spark will never go back: the topic is longer now"


def test_records_that_expire_before_they_are_read_are_no_lag_and_not_committed() -> None:
    bench = Bench()
    bench.answers.take({"orders": 10, "returns": 10})
    assert bench.shown() == (0, None)
    bench.clock.advance(5)
    bench.answers.take({"orders": 30, "returns": 10}, earliest=30)
    assert bench.shown() == (0, "00:00:00")


def test_a_query_without_positions_has_no_lag() -> None:
    bench = Bench()
    bench.read(None)
    bench.answers.take({"orders": 10, "returns": 10})
    assert bench.shown() == (None, None)


def test_a_clock_that_is_set_back_does_not_keep_a_time_of_the_future() -> None:
    bench = Bench()
    now = bench.clock.now()
    bench.clock.advance(3600)
    bench.query.caught_up(bench.clock.now(), bench.clock.now())
    bench.query.caught_up(now, now)
    assert bench.query.caught_up_at == now
    bench.query.caught_up(now.replace(year=2025), now)
    assert bench.query.caught_up_at == now, "what was known later stays known"
