"""Counts of rows: over batches and restarts, in log lines, on the resource, for Prometheus."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from mainstem.language.model.status.pipeline_status import Status
from mainstem.language.model.status.progress_parts import ExpectationProgress, SourceProgress
from mainstem.language.model.status.query_progress import QueryProgress
from mainstem.language.model.status.states import QueryState
from mainstem.runtime.clock import Clock
from mainstem.runtime.driver import status_report
from mainstem.runtime.driver.driver_state import DriverState
from mainstem.runtime.driver.metrics import Metrics
from mainstem.runtime.progress.spark_progress import Offsets, expired_offsets, updated
from mainstem.runtime.progress.status_json import as_json
from mainstem.runtime.supervision.topics import History


def batch(number: int, **observed: Any) -> dict[str, Any]:
    metrics = {f"mainstem-expectations.{view}": counts for view, counts in observed.items()}
    return {
        "batchId": number,
        "numInputRows": 5,
        "timestamp": "2026-01-01T00:00:00.000Z",
        "durationMs": {"addBatch": 1},
        "sources": [{}],
        "observedMetrics": metrics,
    }


def test_expectations_are_summed_over_batches_and_restarts() -> None:
    status = QueryProgress("copy")
    status = updated(status, batch(0, v={"mainstem-rows": 5, "has_id": 2, "has_name": 0}), ["lines"])
    status = replace(status, state=QueryState.RESTARTING)
    status = updated(status, batch(1, v={"mainstem-rows": 3, "has_id": 3, "has_name": None}), ["lines"])
    status = updated(status, batch(2, w={"mainstem-rows": 1, "has_id": 0}), ["lines"])
    assert status.expectations == (
        ExpectationProgress("v", "has_id", passed=3, violated=5),
        ExpectationProgress("v", "has_name", passed=8, violated=0),
        ExpectationProgress("w", "has_id", passed=1, violated=0),
    )
    assert status.violated == 5
    assert as_json(status)["expectations"][0] == {"view": "v", "name": "has_id", "passed": 3, "violated": 5}


def test_tombstones_are_summed_over_batches_and_shown_if_there_are_any() -> None:
    status = QueryProgress("copy")
    assert "tombstones" not in reported(updated(status, batch(0), ["lines"]))
    for number, counts in enumerate([{"decoded": 2, "malformed": 1, "tombstones": 3}, {"tombstones": 4}]):
        event = batch(number) | {"observedMetrics": {"mainstem.lines": counts}}
        status = updated(status, event, ["lines"])
    [source] = status.sources
    assert (source.decoded, source.malformed, source.tombstones, status.tombstones) == (2, 1, 7, 7)
    assert reported(status)["tombstones"] == 7


def reported(status: QueryProgress) -> dict[str, Any]:
    """The source of a query in the resource."""
    part = status_report.part([status], None, attempt=1, time="2026-01-01T00:00:10Z")
    source: dict[str, Any] = part["queries"][0]["sources"][0]
    return source


def test_the_resource_has_the_worst_expectations_and_the_start_of_counting() -> None:
    many = tuple(ExpectationProgress("v", f"e{number}", 1, number % 3) for number in range(100))
    status = QueryProgress(
        "copy", counted_since="2026-01-01T00:00:00Z", expectations=many, last_progress_time="t"
    )
    part = status_report.part([status], None, attempt=1, time="2026-01-01T00:00:10Z")
    shown = part["queries"][0]["expectations"]
    assert len(shown) == 64
    assert [entry["violated"] for entry in shown] == sorted(
        (entry["violated"] for entry in shown), reverse=True
    )
    assert shown[0]["violated"] == 2
    assert part["reported"]["since"] == "2026-01-01T00:00:00Z"
    del part["queries"][0]["lastProgressTime"]
    assert Status.model_validate(part).queries


def test_satisfied_expectations_are_dropped_first_when_space_is_short() -> None:
    many = tuple(ExpectationProgress("v" * 63, f"e{number}" * 9, 1, int(number == 7)) for number in range(60))
    queries = [QueryProgress(f"q{number}", expectations=many) for number in range(64)]
    part = status_report.part(queries, None, attempt=1, time="2026-01-01T00:00:10Z")
    assert status_report.size(part) <= status_report.BUDGET
    assert [entry["name"] for entry in part["queries"][63]["expectations"]] == ["e7" * 9]


def test_prometheus_exports_expectations_and_expired_offsets() -> None:
    status = QueryProgress(
        "copy",
        sources=(SourceProgress("lines", expired=4),),
        expectations=(ExpectationProgress("v", "has_id", 3, 5),),
    )
    samples = {
        (sample.name, *sorted(sample.labels.values())): sample.value
        for family in Metrics("p", 1, DriverState([status], Clock())).collect()
        for sample in family.samples
    }
    assert samples["mainstem_expectation_passed_rows_total", "copy", "has_id", "p", "v"] == 3
    assert samples["mainstem_expectation_violated_rows_total", "copy", "has_id", "p", "v"] == 5
    assert samples["mainstem_source_expired_offsets_total", "copy", "lines", "p"] == 4


LOST: list[tuple[Any, Any, Offsets | None, int]] = [
    # start, end, first offsets there were, lost
    ({"t": {"0": 4, "1": 3}}, {"t": {"0": 10, "1": 8}}, {"t": {"0": 7, "1": 3}}, 3),
    ({"t": {"0": 4}}, {"t": {"0": 10}}, {"t": {"0": 4}}, 0),
    ({"t": {"0": 4}}, {"t": {"0": 10}}, {"t": {"0": 2}}, 0),
    (
        {"t": {"0": 4}},
        {"t": {"0": 6}},
        {"t": {"0": 9}},
        2,
    ),  # no more than the batch has: the rest is the next one's
    ({"t": {"0": 4}}, {"t": {"0": 4}}, {"t": {"0": 9}}, 0),
    ({"t": {"0": 4}}, {"t": {"0": 2}}, {"t": {"0": 9}}, 2),  # recreated: Spark continues at its end
    ({"t": {"0": 4}}, {"t": {"0": 9, "1": 5}}, {"t": {"0": 4, "1": 2}}, 0),  # a new partition
    ({"t": {"0": 4}}, {"u": {"0": 9}}, {"t": {"0": 9}}, 0),
    ({"t": {"0": 4}, "u": {"0": 1}}, {"t": {"0": 9}, "u": {"0": 3}}, {"t": {"0": 5}, "u": {"0": 2}}, 2),
    ({"t": {"0": 4}}, {"t": {"0": 9}}, None, 0),
    ({"t": {"0": 4}}, {"t": {"0": 9}}, {}, 0),
    (None, {"t": {"0": 9}}, {"t": {"0": 5}}, 0),  # the first batch of a checkpoint begins where it can
    ({"logOffset": 3}, {"logOffset": 5}, {"t": {"0": 5}}, 0),
]


@pytest.mark.S03
@pytest.mark.parametrize(("start", "end", "earliest", "wanted"), LOST)
def test_expired_offsets_of_a_batch_are_counted(
    start: Any, end: Any, earliest: Offsets | None, wanted: int
) -> None:
    assert expired_offsets(start, end, earliest) == wanted


@pytest.mark.S03
def test_expired_offsets_are_summed_by_occurrence() -> None:
    event = batch(0) | {"sources": [{"startOffset": {"t": {"0": 1}}, "endOffset": {"t": {"0": 9}}}]}
    status = updated(QueryProgress("copy"), event, ["orders"], {"orders": {"t": {"0": 3}}})
    status = updated(status, event, ["orders"], {"orders": {"t": {"0": 4}}})
    status = updated(status, event, ["orders"])
    assert (status.sources[0].expired, status.expired) == (5, 5)


def test_the_history_returns_the_offsets_known_before_a_time() -> None:
    history, noon = History(), datetime(2026, 1, 1, 12, tzinfo=UTC)
    assert history.before(noon) is None
    history.add(noon, {"t": {"0": 1}})
    history.add(noon + timedelta(seconds=10), {"t": {"0": 1}})
    history.add(noon + timedelta(seconds=20), {"t": {"0": 5}})
    assert history.before(noon - timedelta(seconds=1)) is None
    assert history.before(noon + timedelta(seconds=19)) == {"t": {"0": 1}}
    assert history.before(noon + timedelta(seconds=20)) == {"t": {"0": 5}}
    for number in range(1000):
        history.add(noon + timedelta(seconds=30 + number), {"t": {"0": number}})
    assert history.before(noon + timedelta(hours=1)) == {"t": {"0": 999}}
