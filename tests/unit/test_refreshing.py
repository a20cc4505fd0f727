"""The replacement of a query: when, by what, and after a failure or the end of the run."""

import json
import threading
from collections.abc import Callable
from typing import Any, cast

import pytest
from harness.documents import pipeline_head
from harness.waiting import within
from mainstem.errors import NotReady
from mainstem.language.analysis.graph import Graph
from mainstem.language.document import read_text
from mainstem.language.model.status.query_progress import QueryProgress
from mainstem.runtime.failures.classification import Failure
from mainstem.runtime.progress.rates import Meter
from mainstem.runtime.progress.spark_progress import updated
from mainstem.runtime.query.drain import DrainOutcome
from mainstem.runtime.query.restarts import Restarts
from mainstem.runtime.query.supervised_query import SupervisedQuery
from mainstem.runtime.supervision.refreshing import Refresher, Refreshing, every


BUILT: Any = object()


class Running:
    """A query whose test decides when a batch ends."""

    id, run_id, waiting, message, last_progress = "i", "r", True, "", None

    def __init__(self) -> None:
        self.active = True
        self.at_end = threading.Event()

    def failure(self) -> Failure | None:
        return None

    def drain(self, interrupt: Callable[[], bool]) -> DrainOutcome:
        while not (clean := self.at_end.is_set()) and not interrupt():
            self.at_end.wait(0.005)
        self.active = False
        return DrainOutcome(clean, 7, None, 0.0)


def test_the_new_query_is_built_before_the_old_one_stops() -> None:
    query, may_build = Running(), threading.Event()

    def build() -> Any:
        may_build.wait(10)
        assert query.active
        return BUILT

    refreshing = Refreshing("q", query, build)
    assert (refreshing.active, refreshing.built, refreshing.given_up) == (True, None, False)
    may_build.set()
    within(10, "it is built", lambda: refreshing.built)
    assert refreshing.active  # as long as its batch runs
    query.at_end.set()
    within(10, "it is stopped", lambda: not refreshing.active)
    assert not refreshing.given_up


def test_a_failed_build_keeps_the_old_query_running() -> None:
    def build() -> Any:
        raise NotReady("no such file", reason="PathNotFound")

    query = Running()
    refreshing = Refreshing("q", query, build)
    within(10, "it is given up", lambda: refreshing.given_up)
    assert (query.active, refreshing.built) == (True, None)


def test_a_drain_does_not_wait_for_a_build() -> None:
    query, may_build = Running(), threading.Event()
    refreshing = Refreshing("q", query, lambda: may_build.wait(10) and BUILT)
    query.at_end.set()
    assert refreshing.drain(lambda: False).clean
    may_build.set()
    within(10, "the thread ends", lambda: not refreshing.active)
    assert refreshing.built is None


def test_only_the_end_of_the_run_interrupts_a_batch() -> None:
    query = Running()
    refreshing = Refreshing("q", query, lambda: BUILT)
    within(10, "it is built", lambda: refreshing.built)
    outcome = refreshing.drain(lambda: True)
    assert (outcome.clean, outcome.committed, refreshing.active) == (False, 7, False)


def graph(tables: dict[str, str | None], query: dict[str, Any]) -> Graph:
    """A stream joined with tables, each with how often it is read anew."""
    side = [
        {"name": name, "static": {"csv": {"path": "/t"}} | ({"refresh": often} if often else {})}
        for name, often in tables.items()
    ]
    to = [{"name": "out", "console": {}}]
    spec = {
        "sources": [{"name": "ticks", "rate": {}}, *side],
        "views": [{"name": "joined", "sql": f"SELECT ticks.value FROM ticks, {', '.join(tables)}"}],
        "queries": [{"name": "q", "from": "joined", "to": to} | query],
        "checkpoints": {"location": "/c"},
    }
    head = pipeline_head("t")
    [document] = read_text(json.dumps(head | {"spec": spec}))
    return document.graph


@pytest.mark.parametrize(
    ("tables", "query", "seconds"),
    [
        ({"t": "10 minutes"}, {}, 600.0),
        ({"t": "1 hour", "u": "5m"}, {}, 300.0),
        ({"t": None}, {}, None),
        ({"t": "1 hour"}, {"from": "ticks"}, None),
    ],
)
def test_the_interval_follows_from_the_tables_and_the_query(
    tables: dict[str, str | None], query: dict[str, Any], seconds: float | None
) -> None:
    document_graph = graph(tables, query)
    assert every(document_graph, document_graph.spec.queries[0]) == seconds


def test_a_refresh_begins_when_it_is_due_and_again_after_a_failure() -> None:
    def build(supervised: SupervisedQuery) -> Any:
        raise NotReady(f"no file for {supervised.query.name}", reason="PathNotFound")

    document_graph = graph({"t": "10 minutes"}, {})
    refresher, query, nothing = Refresher(document_graph, build), Running(), cast(Any, None)
    supervised = SupervisedQuery(
        document_graph.spec.queries[0],
        nothing,
        {},
        Restarts(document_graph.spec.restart),
        QueryProgress("q"),
        Meter(0.0),
        execution=query,
    )
    refresher.started(supervised, 100.0)
    refresher.tick(supervised, 699.0)
    assert supervised.execution is query
    refresher.tick(supervised, 700.0)
    refreshing = supervised.execution
    assert isinstance(refreshing, Refreshing)
    within(10, "it is given up", lambda: refreshing.given_up)
    refresher.tick(supervised, 701.0)
    assert (supervised.execution, supervised.refresh) == (query, 1301.0)
    stale = ("SideInputsStale", "side inputs could not be read again: no file for q (PathNotFound)")
    assert (supervised.status.reason, supervised.status.message) == stale
    progress = {"batchId": 8, "numInputRows": 1, "durationMs": {"addBatch": 5}}
    supervised.show(updated(supervised.status, progress, []))
    assert (supervised.status.batch, supervised.status.reason) == (
        8,
        "SideInputsStale",
    )  # which a batch does not mend
    refresher.started(supervised, 1301.0)
    assert (supervised.status.reason, supervised.status.message) == (None, None)
