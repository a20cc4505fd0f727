"""Classes of driver failures: each end has one, and the failures in a row decide the pause and the budget."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mainstem import reasons
from mainstem.backoff import pause_seconds, steady_jitter
from mainstem.language.base import seconds
from mainstem.language.model.pipeline import Restart
from mainstem_operator.decisions.failure_classes import POLICIES, FailureClass, Failures, failure_class
from mainstem_operator.observed.pod_status import DriverEnd
from unit.operator_steps import NOW, SPEC, at, body, ended, next_step, status


CLASSES = [
    # exit code, reason -> class
    (3, "SpecInvalid", "Document"),
    (4, "SinkRefused", "Query"),
    (4, "OutOfMemory", "OutOfMemory"),
    (137, "OOMKilled", "OutOfMemory"),
    (137, "Killed", "Driver"),
    (1, "InternalError", "Driver"),
    (0, "Completed", "Driver"),
    (5, "TableNotFound", "Driver"),
    (5, "StoreUnreachable", "Infrastructure"),
    (5, "BrokerUnreachable", "Infrastructure"),
    (6, "Interrupted", "Infrastructure"),
    (137, "Evicted", "Infrastructure"),
    (None, "Evicted", "Infrastructure"),
    (None, "Error", "Infrastructure"),
    (None, "OutOfcpu", "Infrastructure"),
    (None, "DriverLost", "Infrastructure"),
    (128, "StartError", "Infrastructure"),
    (143, "Terminated", "Infrastructure"),
]


def end(code: int | None, reason: str, ran: float = 0.0, attempt: int = 1) -> DriverEnd:
    return DriverEnd(attempt, None, code, reasons.named(reason), "because", ran)


@pytest.mark.parametrize(("code", "reason", "want"), CLASSES)
def test_an_end_has_one_class(code: int | None, reason: str, want: str) -> None:
    assert failure_class(end(code, reason)) == want


def test_every_class_has_a_policy() -> None:
    assert set(POLICIES) == set(FailureClass)
    assert [kind for kind, policy in POLICIES.items() if not policy.spends_budget] == [
        "Infrastructure",
        "Change",
    ]


ENDS = st.sampled_from([(code, reason) for code, reason, kind in CLASSES if kind != "Document"])


@given(
    st.lists(st.tuples(ENDS, st.sampled_from([0.0, 30.0, 599.0, 600.0])), max_size=40),
    st.integers(0, 5),
    st.floats(0, 1),
)
def test_the_budget_is_never_negative_and_no_pause_exceeds_its_limit(
    ends: list[tuple[tuple[int | None, str], float]], limit: int, jitter: float
) -> None:
    restart = Restart.model_validate({"maxDriverRetries": limit, "maxBackoff": "60 seconds"})
    failures, spent = Failures(), 0
    for attempt, ((code, reason), ran) in enumerate(ends, start=1):
        failures = failures.next(end(code, reason, ran, attempt), restart)
        counts = failures.last is not FailureClass.INFRASTRUCTURE
        spent = (0 if ran >= 600 else spent) + counts
        left, pause = failures.budget_left(restart), failures.pause_seconds(restart, jitter)
        assert failures.counted == spent, "infrastructure spends nothing"
        assert left == max(0, limit + 1 - spent)
        assert (pause is None) == (counts and spent > limit)
        assert pause is None or 0 < pause <= seconds(restart.max_backoff)


@given(st.integers(0, 200), st.floats(0, 1), st.integers(1, 600), st.integers(0, 600))
def test_a_pause_grows_up_to_its_limit_and_jitter_takes_a_fifth_at_most(
    count: int, jitter: float, first: int, more: int
) -> None:
    whole = pause_seconds(count, first, first + more)
    assert whole <= pause_seconds(count + 1, first, first + more) <= first + more
    assert 0.8 * whole - 0.001 <= pause_seconds(count, first, first + more, jitter=jitter) <= whole


def test_the_jitter_of_a_start_is_the_same_after_a_restart_of_the_operator() -> None:
    assert steady_jitter("uid", 3) == steady_jitter("uid", 3)
    spread = [steady_jitter("uid", attempt) for attempt in range(200)]
    assert 0 <= min(spread) < 0.1 < 0.9 < max(spread) <= 1


def lived(pipeline: dict[str, Any], *ends: tuple[int, str]) -> dict[str, Any]:
    """The pipeline after drivers that have ended so, each as soon as the pause before has passed."""
    now = 0.0
    for attempt, (code, why) in enumerate(ends, start=1):
        dead = ended(pipeline, code, why=why, attempt=attempt, started=now, finished=now + 1)
        plan = next_step(pipeline, dead, now=at(now + 1))
        pipeline = {**pipeline, "status": {**plan.status, **(plan.driver_part or {})}}
        now += 1 + (plan.requeue or 0)
        if plan.requeue is not None and attempt < len(ends):
            starts = next_step(pipeline, gone=dead, now=at(now))
            assert starts.start is not None
            pipeline = {**pipeline, "status": {**starts.status, **(starts.driver_part or {})}}
    return pipeline


def started(**restart: Any) -> dict[str, Any]:
    pipeline = body(restart=restart)
    return pipeline | {"status": status("Running", pipeline)}


def test_the_status_shows_the_class_of_the_last_failure_and_the_next_start() -> None:
    failed = lived(started(), (1, "Error"), (137, "OOMKilled"))["status"]
    next_start = failed["lastFailure"].pop("nextStartTime")
    assert failed["lastFailure"] == {
        "class": "OutOfMemory",
        "reason": "OOMKilled",
        "attempt": 2,
        "inARow": 2,
    }
    assert at(7 + 8) <= NOW.fromisoformat(next_start) <= at(7 + 10)


def test_infrastructure_never_spends_the_budget_and_memory_does() -> None:
    lost = lived(started(maxDriverRetries=1), *[(128, "StartError")] * 4)["status"]
    assert (lost["phase"], lost["restarts"], lost["lastFailure"]["inARow"]) == ("BackingOff", 0, 4)
    failed = lived(started(maxDriverRetries=1), (137, "OOMKilled"), (128, "StartError"), (137, "OOMKilled"))[
        "status"
    ]
    assert (failed["phase"], failed["restarts"]) == ("Failed", 2)
    assert "because restart.maxDriverRetries is 1" in failed["conditions"][0]["message"]
    assert "nextStartTime" not in failed["lastFailure"]


def test_a_new_nonce_restores_the_budget() -> None:
    failed = lived(started(maxDriverRetries=0), (137, "OOMKilled"))
    failed["spec"]["restartNonce"] = 1
    starts = next_step(failed, now=at(60))
    assert starts.start is not None
    assert (starts.status["restarts"], "lastFailure" in starts.status) == (0, False)


def test_a_failure_that_an_older_operator_has_counted_gets_its_class() -> None:
    pipeline = body(SPEC)
    dead = ended(pipeline, 4, "failed", attempt=3)
    known = next_step(body(SPEC, status("Running", pipeline, attempt=3, restarts=2)), dead).status
    old = {key: value for key, value in known.items() if key != "lastFailure"}
    plan = next_step(body(SPEC, old | {"phase": "BackingOff"}), dead, now=NOW + timedelta(seconds=2))
    assert (plan.start, plan.status["lastFailure"]["class"], plan.status["restarts"]) == (None, "Query", 3)
