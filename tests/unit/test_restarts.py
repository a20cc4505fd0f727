import pytest
from harness.clock import OwnClock
from hypothesis import given
from hypothesis import strategies as st
from mainstem.language.model.pipeline import Drain, Restart
from mainstem.runtime.query.restarts import Restarts
from mainstem.runtime.supervision.draining import out_of_time


def settings(**fields: object) -> Restart:
    return Restart.model_validate(fields)


def test_waits_double_up_to_the_maximum() -> None:
    restarts = Restarts(settings(maxRetries=8, backoff="5 seconds", maxBackoff="60s"))
    assert [restarts.next(0.0) for _ in range(8)] == [5, 10, 20, 40, 60, 60, 60, 60]


def test_outages_are_retried_without_limit_and_use_no_budget() -> None:
    restarts = Restarts(settings(maxRetries=1, backoff="5 seconds", maxBackoff="60s"))
    assert [restarts.next(0.0, outage=True) for _ in range(6)] == [5, 10, 20, 40, 60, 60]
    assert {restarts.next(0.0, outage=True) for _ in range(2000)} == {60}
    assert (restarts.count, restarts.in_a_row) == (0, 2006)
    assert [restarts.next(0.0) for _ in range(2)] == [5, None]
    assert restarts.next(0.0, outage=True) == 60


def test_a_healthy_time_also_resets_the_wait_after_outages() -> None:
    restarts = Restarts(settings(resetAfter="10 minutes"))
    assert [restarts.next(now, outage=True) for now in (0.0, 1.0)] == [5, 10]
    restarts.started(100.0)
    assert (restarts.next(700.0, outage=True), restarts.in_a_row) == (5, 1)


def test_policy_never_does_not_restart_after_an_outage() -> None:
    assert Restarts(settings(policy="Never")).next(0.0, outage=True) is None


def test_a_spent_budget_stays_spent() -> None:
    restarts = Restarts(settings(maxRetries=2))
    assert [restarts.next(0.0) for _ in range(4)] == [5, 10, None, None]
    assert restarts.count == 2


@pytest.mark.parametrize("given", [{"policy": "Never"}, {"maxRetries": 0}])
def test_no_budget_means_no_restart(given: dict[str, object]) -> None:
    assert Restarts(settings(**given)).next(0.0) is None


def test_a_long_healthy_time_restores_the_budget() -> None:
    restarts = Restarts(settings(maxRetries=2, resetAfter="10 minutes"))
    restarts.started(0.0)
    assert [restarts.next(1.0), restarts.next(2.0)] == [5, 10]
    restarts.started(100.0)
    assert restarts.next(699.9) is None
    restarts.started(100.0)
    assert restarts.next(700.0) == 5
    assert restarts.count == 1


def test_a_restart_without_a_failure_does_not_end_the_healthy_time() -> None:
    """A query that restarts to read its side inputs again was healthy all the time."""
    restarts = Restarts(settings(maxRetries=1, resetAfter="10 minutes"))
    restarts.started(0.0)
    assert restarts.next(1.0) == 5
    for now in (10.0, 300.0, 600.0):
        restarts.started(now)
    assert restarts.next(610.0) == 5


def test_failed_starts_are_no_healthy_time() -> None:
    """A store is down for an hour: nothing runs in that time, so nothing is given back."""
    restarts = Restarts(settings(maxRetries=3, resetAfter="10 minutes"))
    restarts.started(0.0)
    assert [restarts.next(now) for now in (1.0, 1000.0, 2000.0, 3000.0)] == [5, 10, 20, None]


def test_a_failed_first_start_is_no_healthy_time() -> None:
    """The clock is the machine's: it may stand at days."""
    restarts = Restarts(settings(maxRetries=2))
    assert [restarts.next(3e5 + hour) for hour in range(3)] == [5, 10, None]


def test_time_before_the_first_start_is_no_healthy_time() -> None:
    """The clock is the machine's: it may stand at days."""
    restarts = Restarts(settings(maxRetries=1))
    restarts.started(1e6)
    assert restarts.next(1e6 + 1) == 5
    restarts.started(1e6 + 6)
    assert restarts.next(1e6 + 7) is None


@given(st.lists(st.floats(0, 1e5), max_size=50), st.integers(0, 5))
def test_never_more_restarts_in_a_row_than_the_budget(runs: list[float], budget: int) -> None:
    restarts = Restarts(settings(maxRetries=budget, resetAfter="100 seconds"))
    now, row = 0.0, 0
    restarts.started(now)
    for length in runs:
        now += length
        row = 0 if length >= 100 else row
        wait = restarts.next(now)
        if wait is None:
            assert row == budget
            return
        row += 1
        assert row <= budget
        assert 0 < wait <= 300
        now += wait
        restarts.started(now)


def test_a_drain_that_waits_has_no_deadline() -> None:
    clock = OwnClock()
    late = out_of_time(Drain.model_validate({"timeout": "10 seconds"}), clock)
    never = out_of_time(Drain.model_validate({"timeout": "10 seconds", "onTimeout": "wait"}), clock)
    clock.advance(9.9)
    assert (late(), never()) == (False, False)
    clock.advance(0.1)
    assert (late(), never()) == (True, False)
    clock.advance(86_400)
    assert (late(), never()) == (True, False)
