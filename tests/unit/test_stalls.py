"""When a query counts as stalled, and what a stall costs of the restart budget."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mainstem.language.model.pipeline import Restart
from mainstem.language.model.status.query_progress import QueryProgress
from mainstem.runtime.query.restarts import Restarts
from mainstem.runtime.supervision.stalls import Moment, after, stalled_seconds


pytestmark = pytest.mark.S29
STATUS = QueryProgress("q", run_id="r", batch=3, batch_duration_ms=5_000)


@pytest.mark.parametrize(
    ("change", "excused", "kept"),
    [
        ({}, False, True),
        ({"batch": 4}, False, False),
        ({"run_id": "s"}, False, False),
        ({}, True, False),
        ({"lag": 7, "state_rows": 9}, False, True),
    ],
    ids=["nothing", "a batch", "a start", "no data or an outage", "other numbers"],
)
def test_a_batch_a_start_and_an_excuse_are_progress(
    change: dict[str, object], excused: bool, kept: bool
) -> None:
    last = Moment("r", 3, 100.0)
    status = replace(STATUS, **{key: value for key, value in change.items() if key != "lag"})  # type: ignore[arg-type]
    assert (after(last, status, 150.0, excused=excused) == last) is kept


@pytest.mark.parametrize(
    ("duration", "waited", "stalled"),
    [
        (None, 600, False),
        (None, 601, True),
        (5_000, 604, False),
        (5_000, 606, True),
        (3_600_000, 4_000, False),
    ],
    ids=["first batch, within", "first batch, beyond", "within", "beyond", "a long batch before"],
)
def test_a_stall_is_longer_than_the_batch_before_and_the_limit(
    duration: int | None, waited: float, stalled: bool
) -> None:
    status = replace(STATUS, batch_duration_ms=duration)
    assert (stalled_seconds(Moment("r", 3, 0.0), status, 600.0, waited) is not None) is stalled


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 5)), max_size=50))
def test_a_query_that_commits_or_waits_in_time_is_never_stalled(steps: list[tuple[bool, int]]) -> None:
    """Each step either commits a batch or waits for data, and lasts less than the limit."""
    moment, now, status = None, 0.0, replace(STATUS, batch_duration_ms=None)
    for commits, seconds in steps:
        now += seconds
        if commits:
            status = replace(status, batch=(status.batch or 0) + 1)
        moment = after(moment, status, now, excused=not commits)
        assert stalled_seconds(moment, status, 5.0, now) is None


def test_time_without_progress_restores_no_budget() -> None:
    restarts = Restarts(Restart.model_validate({"maxRetries": 2, "resetAfter": "10 minutes"}))
    waits = []
    for number in range(3):
        restarts.started(1000.0 * number)
        waits.append(restarts.next(1000.0 * number + 700.0, stalled=650.0))
    assert [wait is None for wait in waits] == [False, False, True]
