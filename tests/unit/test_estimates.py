"""How many records a query has to read after a change, and how long that takes, from its status."""

from typing import Any

import pytest
from mainstem.changes.consequences import Consequence, QueryOutcome
from mainstem.changes.verdict import Effect
from mainstem.cluster.running_pipeline import running_pipeline
from mainstem.errors import NotReady
from mainstem.estimates import Estimate, estimate
from mainstem.language.document import read_text


DOCUMENT = """\
apiVersion: mainstem.dev/v1alpha1
kind: StreamingPipeline
metadata: {name: orders}
spec:
  connections:
    - {name: broker, kafka: {bootstrapServers: "broker:9092"}}
  sources:
    - {name: orders, kafka: {connection: broker, subscribe: [orders], START}}
    - {name: lines, files: {path: /data/in, format: text}}
  views:
    - {name: both, sql: "SELECT CAST(value AS STRING) AS value FROM orders UNION ALL SELECT value FROM lines"}
    - {name: twice, sql: "SELECT * FROM orders UNION ALL SELECT * FROM orders"}
  queries:
    - {name: copy, from: orders, to: [{name: nowhere, noop: {}}]}
    - {name: both, from: both, to: [{name: nowhere, noop: {}}]}
    - {name: twice, from: twice, to: [{name: nowhere, noop: {}}]}
  checkpoints: {location: /data/checkpoints}
"""
STATUS = {
    "name": "copy",
    "state": "Running",
    "processedRowsPerSecond": 5300,
    "rowsPerSecond": 300,
    "lag": 40,
    "sources": [{"name": "orders", "lag": 40, "retainedRecords": 1_200_000}],
}


def consequence(effect: Effect) -> Consequence:
    outcome = QueryOutcome(effect, begins=effect is Effect.EMPTY)
    return Consequence(outcome, "", restarts=effect is Effect.CONTINUES)


def estimated(
    effect: Effect, status: Any = STATUS, query: str = "copy", start: str = "startingOffsets: earliest"
) -> Estimate:
    [document] = read_text(DOCUMENT.replace("START", start))
    known = estimate(consequence(effect), status, document.graph, query)
    assert known is not None
    return known


def test_an_empty_start_reads_again_what_the_topics_keep() -> None:
    known = estimated(Effect.EMPTY)
    assert known.words() == (
        "reads 1.2 million records again, about 4 minutes at 5,300 records/s while 300/s arrive"
    )
    assert known.seconds == 240
    assert known.json()["records"] == 1_200_000


def test_a_restart_reads_the_lag() -> None:
    behind = estimated(Effect.CONTINUES, STATUS | {"lag": 530_000, "rowsPerSecond": 5300})
    # So far behind, the rate of reading is not the rate of arrival.
    assert behind.words() == "has to read 530,000 records, at least 100 seconds at 5,300 records/s"
    assert behind.arriving is None
    assert estimated(Effect.CONTINUES, STATUS | {"lag": 0}).words() == ""


@pytest.mark.parametrize("start", ["startingOffsets: latest", "failOnDataLoss: true"])
def test_a_start_at_the_newest_record_reads_nothing_again_and_skips(start: str) -> None:
    known = estimated(Effect.EMPTY, start=start)
    assert known.words() == (
        "reads 0 records again, skips the records of orders that arrive before it starts"
    )


@pytest.mark.parametrize(
    ("status", "query", "unknown"),
    [
        (STATUS | {"sources": [{"name": "orders"}]}, "copy", ("orders",)),
        (STATUS | {"sources": []}, "copy", ("orders",)),
        (STATUS | {"sources": [*STATUS["sources"], {"name": "lines"}]}, "both", ("lines",)),  # type: ignore[misc]
    ],
)
def test_what_the_status_does_not_have_stays_unknown(
    status: Any, query: str, unknown: tuple[str, ...]
) -> None:
    known = estimated(Effect.EMPTY, status, query)
    assert known.unknown == unknown
    assert known.seconds is None
    assert "minute" not in known.words()


def test_a_start_at_a_time_or_at_given_offsets_is_unknown() -> None:
    for start in ("startingTimestamp: '2026-01-01T00:00:00Z'", 'startingOffsets: \'{"orders": {"0": 3}}\''):
        assert estimated(Effect.EMPTY, start=start).unknown == ("orders",)


def test_every_occurrence_of_a_source_is_read() -> None:
    sources = [{"name": name, "retainedRecords": 10} for name in ("orders", "orders_2")]
    assert estimated(Effect.EMPTY, STATUS | {"sources": sources}, "twice").records == 20


def test_without_a_rate_there_is_no_time() -> None:
    idle = {key: value for key, value in STATUS.items() if not key.endswith("PerSecond")}
    assert estimated(Effect.EMPTY, idle).words() == "reads 1.2 million records again"


def test_a_query_that_is_slower_than_its_input_never_gets_current() -> None:
    slow = estimated(Effect.EMPTY, STATUS | {"processedRowsPerSecond": 300})
    assert slow.seconds is None
    assert slow.words().endswith("again, without an end at 300 records/s while 300/s arrive")


def test_other_effects_have_no_estimate() -> None:
    [document] = read_text(DOCUMENT.replace("START", "startingOffsets: earliest"))
    for effect in (Effect.UNCHANGED, Effect.REMOVED, Effect.LIVE):
        assert estimate(consequence(effect), STATUS, document.graph, "copy") is None
    assert estimate(consequence(Effect.EMPTY), None, document.graph, "copy") is None


def test_the_running_revision_is_the_one_that_the_driver_reports() -> None:
    body: dict[str, Any] = {"metadata": {"namespace": "a", "name": "orders"}}
    with pytest.raises(NotReady) as nothing:
        running_pipeline(body)
    assert nothing.value.reason == "NothingHasRun"
    body["status"] = {"revision": "old", "phase": "Running", "queries": [{"name": "copy", "state": "Idle"}]}
    assert running_pipeline(body).revision == "old"
    body["status"]["reported"] = {"revision": "new", "attempt": 1}
    running = running_pipeline(body)
    assert (running.revision, running.phase, running.has_driver) == ("new", "Running", False)
    assert running.queries["copy"]["state"] == "Idle"
