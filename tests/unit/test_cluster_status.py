"""The driver's part of the resource's status: its shape, its size, and when it is written."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mainstem.language.model.status.pipeline_status import Status
from mainstem.language.model.status.progress_parts import SourceProgress
from mainstem.language.model.status.query_progress import QueryProgress
from mainstem.language.model.status.states import QueryState, tally
from mainstem.runtime.driver.status_report import (
    BUDGET,
    ExecutorCounts,
    active,
    meaning,
    part,
    query,
    ready,
    size,
    state,
    summary,
)
from mainstem.runtime.driver.status_writer import Missing, Pace
from mainstem.runtime.progress.spark_progress import waiting
from mainstem.runtime.progress.status_json import as_json
from unit.builders import BUSY, OFFSETS


NOW = "2026-01-01T00:00:00Z"


def written(*statuses: QueryProgress, executors: ExecutorCounts | None = None) -> dict[str, Any]:
    """A part, judged by the models of the resource."""
    body = part(statuses, executors, attempt=3, time=NOW)
    Status.model_validate(body)
    return body


def test_a_query_fills_every_field_of_the_resource() -> None:
    assert query(BUSY) == {
        "name": "copy",
        "state": "Running",
        "pool": "copy",
        "checkpoint": "s3a://c/flights/copy/1",
        "id": BUSY.id,
        "runId": BUSY.run_id,
        "batch": 7,
        "rowsPerSecond": 1234,
        "processedRowsPerSecond": 4321,
        "inputRows": 120,
        "batchDurationMs": 1250,
        "lag": 103,
        "watermark": "2013-01-01T10:00:00.000Z",
        "stateRows": 12,
        "stateBytes": 4096,
        "droppedByWatermark": 2,
        "lastProgressTime": "2026-01-01T00:00:00.000Z",
        "lastCommitTime": "2026-01-01T00:00:01Z",
        "behindSince": "2025-12-31T23:59:50Z",
        "restarts": 0,
        "sources": [
            {
                "name": "orders",
                "partitions": 2,
                "lag": 103,
                "maxLag": 100,
                "decoded": 119,
                "malformed": 1,
                "endOffset": '{"orders":{"0":7,"1":2}}',
            }
        ],
    }
    written(BUSY)


def test_a_watermark_that_the_resource_cannot_hold_is_left_out() -> None:
    """Milliseconds taken for seconds: Spark goes on with a watermark in the year 54321, the API server refuses it."""
    far = query(replace(BUSY, watermark="+54321-01-01T00:00:00.000Z"))
    assert far == {key: value for key, value in query(BUSY).items() if key != "watermark"}


def test_a_query_without_progress_has_no_numbers() -> None:
    assert query(QueryProgress("copy", pool="copy")) == {
        "name": "copy",
        "state": "Starting",
        "pool": "copy",
        "restarts": 0,
    }
    written(QueryProgress("copy"))


def test_a_query_that_waits_for_data_is_idle() -> None:
    assert state(waiting(BUSY)) == "Idle"
    assert state(waiting(QueryProgress("copy"))) == "Idle"
    assert state(replace(waiting(BUSY), state=QueryState.RESTARTING)) == "Restarting"
    assert state(BUSY) == "Running"


def test_only_a_query_that_still_ends_a_batch_of_the_document_before_is_updating() -> None:
    old = replace(BUSY, updating=True)
    assert query(old) == query(BUSY) | {"updating": True}
    assert as_json(old) == as_json(BUSY) | {"updating": True}
    assert "updating" not in query(BUSY).keys() | as_json(BUSY).keys()
    assert meaning(written(old)) != meaning(written(BUSY))


@pytest.mark.parametrize("kind", list(QueryState))
def test_every_state_is_valid_on_the_resource(kind: QueryState) -> None:
    written(replace(BUSY, state=kind))


@pytest.mark.parametrize(
    ("kind", "well"),
    [
        (QueryState.STARTING, False),
        (QueryState.RUNNING, True),
        (QueryState.COMPLETED, True),
        (QueryState.RESTARTING, False),
        (QueryState.FAILED, False),
        (QueryState.DRAINED, False),
        (QueryState.INTERRUPTED, False),
    ],
)
def test_a_driver_is_ready_when_every_query_is_active(kind: QueryState, well: bool) -> None:
    other = replace(BUSY, state=kind)
    assert active(other) is ready([other]) is ready([BUSY, other]) is well
    assert summary([BUSY, other], None)["queries"] == tally(["Running", str(kind)])


def test_a_driver_without_queries_is_not_ready() -> None:
    assert not ready([])


def test_the_summary_adds_up() -> None:
    idle = replace(waiting(BUSY), name="b", rows_per_second=0.0, sources=(SourceProgress("files"),))
    idle = replace(idle, behind_since=None, last_commit_time=None)
    done = replace(BUSY, name="c", state=QueryState.COMPLETED, rows_per_second=99.0, sources=())
    done = replace(done, behind_since="2025-12-31T23:59:40Z", last_commit_time="2025-12-31T23:59:59Z")
    shown = summary([BUSY, idle, done], ExecutorCounts(1, 2, "0/1 nodes are available: password=hunter2"))
    assert shown == {
        "queries": "2 active, 1 completed",
        "lag": 103,
        "behindSince": "2025-12-31T23:59:40Z",
        "lastCommitTime": "2026-01-01T00:00:01Z",
        "rowsPerSecond": 1234,  # what is completed reads no more
        "executors": "1/2",
        "executorsMessage": "0/1 nodes are available: password=*****",
    }


def test_the_summary_omits_unknown_executors_and_unknown_lag() -> None:
    never_current = replace(BUSY, name="d", behind_since=None)
    assert "behindSince" not in summary([BUSY, never_current], None), "it may be behind for longer"
    unknown = replace(BUSY, sources=(), behind_since=None, last_commit_time=None)
    assert summary([unknown], None) == {"queries": "1 active", "rowsPerSecond": 1234}


def test_messages_hold_no_credential_and_are_truncated() -> None:
    failed = replace(BUSY, state=QueryState.FAILED, reason="R" * 200, message=f"secretKey=abc {'x' * 5000}")
    entry = written(failed)["queries"][0]
    assert "abc" not in entry["message"]
    assert (len(entry["message"]), len(entry["reason"])) == (1024, 128)


@pytest.mark.parametrize(("end", "shown"), [("x" * 256, True), ("x" * 257, False), (None, False), (0, True)])
def test_an_offset_is_shown_when_it_is_short(end: Any, shown: bool) -> None:
    source = replace(BUSY.sources[0], end_offset=end)
    [entry] = query(replace(BUSY, sources=(source,)))["sources"]
    assert ("endOffset" in entry) is shown


def test_typical_queries_lose_only_values_that_are_too_long() -> None:
    body = written(*[replace(BUSY, name=f"query-{n}") for n in range(24)])
    assert "endOffset" in body["queries"][0]["sources"][0]


def test_sixty_four_queries_fit_and_keep_the_essential_fields() -> None:
    body = written(*[replace(BUSY, name=f"query-{n}", pool=f"query-{n}") for n in range(64)])
    assert size(body) <= BUDGET
    for entry in body["queries"]:
        assert entry.keys() >= {"name", "state", "batch", "lag", "rowsPerSecond", "watermark", "id"}


def test_the_longest_possible_status_fits() -> None:
    sources = tuple(
        SourceProgress(f"{'s' * 60}{n:03}", 10**6, 2**62, 2**62, 2**62, 2**62, end_offset="o" * 256)
        for n in range(64)
    )
    longest = [
        replace(
            BUSY,
            name=f"{'q' * 60}{n:03}",
            pool=f"{'q' * 60}{n:03}",
            state=QueryState.RESTARTING,
            checkpoint="c" * 1280,
            batch=2**62,
            input_rows=2**62,
            rows_per_second=1e15,
            batch_duration_ms=2**62,
            state_rows=2**62,
            state_bytes=2**62,
            dropped_by_watermark=2**62,
            restarts=1000,
            reason="R" * 128,
            message="é" * 1024,
            sources=sources[:1],
        )
        for n in range(64)
    ]
    body = written(*longest, executors=ExecutorCounts(0, 1000, "é" * 5000))
    assert size(body) <= BUDGET
    for entry in body["queries"]:
        assert entry.keys() >= {"name", "state", "batch", "lag", "reason"}


@given(
    st.builds(
        QueryProgress,
        name=st.just("copy"),
        state=st.sampled_from(QueryState),
        batch=st.none() | st.integers(0, 2**63 - 1),
        input_rows=st.integers(0, 2**63 - 1),
        rows_per_second=st.floats(0, 1e12),
        batch_duration_ms=st.none() | st.integers(0, 2**40),
        last_progress_time=st.none() | st.just(NOW),
        reason=st.none() | st.text(max_size=300),
        message=st.none() | st.text(max_size=3000),
        sources=st.lists(
            st.builds(
                SourceProgress,
                name=st.just("orders"),
                lag=st.none() | st.integers(0, 2**62),
                end_offset=st.none() | st.text(max_size=400) | st.integers() | st.just(OFFSETS),
            ),
            max_size=1,
        ).map(tuple),
    )
)
def test_any_status_fits_the_resource(status: QueryProgress) -> None:
    json.dumps(written(status))


def test_idle_reports_and_the_time_are_no_change() -> None:
    later = replace(BUSY, last_progress_time="2026-01-01T00:00:10.000Z")
    assert meaning(part([BUSY], None, attempt=3, time=NOW)) == meaning(
        part([later], None, attempt=3, time="2026-01-01T00:00:11Z")
    )
    moved = replace(BUSY, batch=8)
    assert meaning(written(BUSY)) != meaning(written(moved))
    assert meaning(written(BUSY)) != meaning(written(BUSY, executors=ExecutorCounts(1, 2)))


def test_the_first_write_is_immediate_and_later_ones_ten_seconds_apart() -> None:
    pace = Pace()
    assert pace.due(0.0, changed=True)
    pace.tried(0.0, succeeded=True)
    due = [second for second in range(1, 200) if _tick(pace, float(second), changed=True)]
    assert due == list(range(10, 200, 10))


def test_an_answer_to_a_changed_document_is_written_at_once() -> None:
    pace = Pace(last=0.0)
    assert pace.due(1.0, changed=True, answers=True)
    pace.tried(1.0, succeeded=False)
    assert not pace.due(2.0, changed=True, answers=True)
    assert pace.due(11.0, changed=True, answers=True)


def test_without_a_change_the_driver_reports_each_minute() -> None:
    pace = Pace(last=0.0)
    due = [second for second in range(1, 200) if _tick(pace, float(second), changed=False)]
    assert due == [60, 120, 180]


def test_an_unreachable_api_server_is_retried_with_backoff_up_to_a_minute() -> None:
    pace = Pace(last=0.0)
    due = [second for second in range(1, 300) if _tick(pace, float(second), changed=True, well=False)]
    assert due == [10, 20, 40, 80, 140, 200, 260]
    pace.tried(300.0, succeeded=True)
    assert pace.due(310.0, changed=True)


def _tick(pace: Pace, now: float, *, changed: bool, well: bool = True) -> bool:
    if not pace.due(now, changed=changed):
        return False
    pace.tried(now, succeeded=well)
    return True


def test_the_reason_for_missing_executors_is_requested_after_ten_seconds_and_every_ten_seconds() -> None:
    asked: list[int] = []

    def look(second: int) -> ExecutorCounts | None:
        def ask() -> str:
            asked.append(second)
            return f"reason at {second}"

        return missing.look(float(second), ask)

    missing = Missing(lambda: ExecutorCounts(1, 2))
    counts = [look(second) for second in range(35)]
    assert asked == [10, 20, 30]
    assert counts[9] == ExecutorCounts(1, 2)
    assert counts[34] == ExecutorCounts(1, 2, "reason at 30")
    missing.count = lambda: ExecutorCounts(2, 2)
    assert look(35) == ExecutorCounts(2, 2)
    missing.count = lambda: ExecutorCounts(1, 2)
    assert [look(second) for second in (36, 45)] == [ExecutorCounts(1, 2)] * 2
    assert look(46) == ExecutorCounts(1, 2, "reason at 46")


def test_a_driver_without_executors_reports_none() -> None:
    assert Missing(lambda: None).look(0.0, lambda: "never asked") is None
