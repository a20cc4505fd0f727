"""A start or stop that the API server does not carry out: the plan while it waits and when it is due."""

from typing import Any

import pytest
from mainstem_operator.decisions.actions import Start
from mainstem_operator.loop.retries import FailedStep, failed_step
from mainstem_operator.observed.rejections import StepFailure
from unit.operator_steps import body, condition, ended, next_step, revision, running, status


WAITS = StepFailure("no pods today", retry_in=3.5)
DUE = StepFailure("no pods today", retry_in=0.0)


def after(plan: Any, pipeline: dict[str, Any]) -> dict[str, Any]:
    return {**pipeline, "status": plan.status}


def test_waits_double_up_to_a_minute() -> None:
    waits, failure = [], None
    for _ in range(8):
        failure = failed_step(failure, "", ValueError("no"), now=100.0)
        waits.append(failure.seconds_left(100.0))
    assert waits == [2, 4, 8, 16, 32, 60, 60, 60]
    assert failure == FailedStep("", "no", 8, 160.0)
    assert failed_step(failure, "another-pod", ValueError("no"), now=0.0).count == 1


def test_a_pending_step_is_retried_at_short_intervals() -> None:
    waits, failure = [], failed_step(None, "", ValueError("no"), now=100.0)
    for _ in range(4):
        failure = failed_step(failure, "", ValueError("no"), now=100.0, is_pending=True)
        waits.append(failure.seconds_left(100.0))
    assert waits == [2, 4, 4, 4]


def test_an_error_without_a_message_is_named_by_its_type() -> None:
    assert failed_step(None, "", TimeoutError(), now=0.0).message == "TimeoutError"


def test_a_failed_first_start_is_reported_and_waits() -> None:
    pipeline = body()
    plan = next_step(pipeline, failure=WAITS)
    assert (plan.status["phase"], plan.start, plan.requeue) == ("BackingOff", None, 3.5)
    assert condition(plan, "DriverRunning") == (
        "False",
        "StartFailed",
        "no pods today; the operator tries the start again, at least once a minute",
    )
    assert (plan.status["attempt"], plan.status["revision"]) == (1, revision(pipeline).name)
    assert [event.reason for event in plan.events] == ["BackingOff"]


@pytest.mark.parametrize("failure", [DUE, None], ids=["due", "an operator that is new"])
def test_a_due_start_is_retried_without_an_event(failure: StepFailure | None) -> None:
    pipeline = body()
    waiting = after(next_step(pipeline, failure=WAITS), pipeline)
    again = next_step(waiting, failure=failure)
    assert again.start == Start(revision(pipeline), attempt=1, run="generation-1")
    assert (again.status, again.events) == (waiting["status"], ())


def test_a_changed_document_starts_without_the_old_failure() -> None:
    pipeline = body()
    waiting = after(next_step(pipeline, failure=WAITS), pipeline)
    changed = {**body(timeZone="Europe/Zurich", generation=2), "status": waiting["status"]}
    plan = next_step(changed)
    assert (plan.status["phase"], plan.start) == (
        "Starting",
        Start(revision(changed), attempt=1, run="generation-2"),
    )


def test_a_start_without_an_answer_is_starting() -> None:
    plan = next_step(body(), failure=StepFailure("no answer", retry_in=9e9, is_pending=True))
    assert (plan.status["phase"], plan.start) == ("Starting", None)
    assert condition(plan, "DriverRunning") == ("False", "DriverStarting", "no answer")


def test_a_later_start_keeps_its_attempt_and_the_earlier_failures() -> None:
    pipeline = body(status=status("BackingOff", body(), restarts=1))
    failed = next_step(pipeline, ended(body(), 4, "failed", "SinkRefused", finished=-60))
    assert failed.stop  # first the pod of the driver before goes
    gone = after(failed, pipeline)
    started = next_step(gone, gone=ended(body(), 4, "failed", "SinkRefused", finished=-60))
    assert started.start == Start(revision(pipeline), attempt=2, run="generation-1")
    plan = next_step(after(started, pipeline), failure=WAITS)
    assert (plan.status["phase"], plan.status["attempt"]) == ("BackingOff", 2)
    assert plan.status["lastTermination"]["reason"] == "SinkRefused"
    assert next_step(after(plan, pipeline), failure=DUE).start == Start(
        revision(pipeline), attempt=2, run="generation-1"
    )


@pytest.mark.parametrize(
    ("more", "reason"), [({"suspend": True}, "Suspending"), ({"deleted": True}, "Deleting")]
)
def test_a_failed_stop_is_reported_and_waits(more: dict[str, Any], reason: str) -> None:
    pipeline = body(status=status("Running", body()), **more)
    plan = next_step(pipeline, running(body()), failure=WAITS)
    assert (plan.stop, plan.requeue) == (False, 3.5)
    _, text, message = condition(plan, "DriverRunning")
    assert text == reason
    assert message.endswith("at least once a minute: no pods today")
    due = next_step(after(plan, pipeline), running(body()), failure=DUE)
    assert (due.stop, due.status) == (True, plan.status)


def test_the_failure_is_cleared_when_the_pod_terminates() -> None:
    pipeline = body(status=status("Running", body()), suspend=True)
    failed = next_step(pipeline, running(body()), failure=WAITS)
    plan = next_step(after(failed, pipeline), running(body(), leaving=True))
    assert (
        condition(plan, "DriverRunning")[2] == "spec.suspend is true; the driver finishes its running batches"
    )
