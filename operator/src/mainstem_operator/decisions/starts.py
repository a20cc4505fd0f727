"""Plans that start a driver: the status gets the start number, then the pod is created; and failed starts; pure."""

from dataclasses import replace
from typing import Final

from mainstem import reasons
from mainstem.names import driver_name

from mainstem_operator.decisions import pipeline_status
from mainstem_operator.decisions.actions import Object, Plan, Start, with_failure
from mainstem_operator.decisions.failure_classes import Failures
from mainstem_operator.decisions.history import DriverHistory, run_of
from mainstem_operator.observed import pod_status
from mainstem_operator.observed.conditions import FALSE, Condition, find_condition
from mainstem_operator.observed.observation import Observation
from mainstem_operator.observed.rejections import StepFailure
from mainstem_operator.validation.documents import Revision


SOON_SECONDS: Final = 0.1
"""Seconds until the next reconcile after a first start, which writes the status."""
START_AGAIN: Final = "the operator tries the start again, at least once a minute"


def start(
    observation: Observation,
    before: DriverHistory,
    revision: Revision,
    *,
    fresh: bool = False,
    schedule: Object | None = None,
) -> Plan:
    """Write the start number, then start. The previous driver's pod must be deleted first; `fresh` resets the failures.

    The very first start writes no status beforehand: of a thousand new pipelines, all get a driver before the first status
    is written. The fixed pod name prevents a second driver.
    """
    run = run_of(observation, before, revision, schedule)
    if (
        not observation.status
        and observation.pod is None
        and schedule is None
        and observation.failure is None
    ):
        return Plan({}, start=Start(revision, 1, run), requeue=SOON_SECONDS)
    starts = Condition("DriverRunning", FALSE, reasons.DRIVER_STARTING, pod_status.STARTING)
    part = pipeline_status.driver_part(observation)
    if observation.pod is not None:
        # The phase is the reason for a fresh start; it stays until the start number is written.
        phase = observation.status.get("phase", "Starting") if fresh else "Starting"
        starts = starts._replace(message=with_failure(observation, starts.message))
        status = pipeline_status.status(observation, before, phase, starts, revision=before.revision)
        return Plan(status, driver_part=part, stop=not pod_status.leaving(observation.pod))
    phases = ("Starting", "Failed", "BackingOff")
    intended = observation.status.get("phase") in phases and before.ended is None and before.attempt > 0
    attempt = before.attempt if intended else before.attempt + 1
    known = replace(before, attempt=attempt, failures=Failures() if fresh else before.failures, run=run)
    if failure := _start_failure(observation):
        return _start_again(observation, known, Start(revision, attempt, run), failure, schedule)
    status = pipeline_status.status(
        observation, known, "Starting", starts, revision=revision.name, schedule=schedule
    )
    name = driver_name(observation.body["metadata"]["name"])
    status = {**status, "driver": {"pod": name}, **_nonce(observation)}
    return Plan(status, driver_part=part, start=Start(revision, attempt, run))


def _nonce(observation: Observation) -> dict[str, str]:
    """The restart that this start fulfils, as a field of the status."""
    requested = observation.requested_nonce
    return {"restartNonce": requested} if requested else {}


def _start_failure(observation: Observation) -> StepFailure | None:
    """The failure of the current start: the API server's error, or, after a restart of the operator, that of the status."""
    if observation.failure or observation.status.get("phase") != "BackingOff":
        return observation.failure
    condition = find_condition(observation.status, "DriverRunning")
    if condition is None or condition["reason"] != reasons.START_FAILED:
        return None
    if condition["observedGeneration"] != observation.generation:
        return None
    return StepFailure(condition["message"].partition(f"; {START_AGAIN}")[0], retry_in=0.0)


def _start_again(
    observation: Observation,
    before: DriverHistory,
    start: Start,
    failure: StepFailure,
    schedule: Object | None,
) -> Plan:
    """The plan after a start that the API server has not carried out: the status reports it, and stays during the retries."""
    phase, reason = (
        ("Starting", reasons.DRIVER_STARTING) if failure.is_pending else ("BackingOff", reasons.START_FAILED)
    )
    message = failure.message if failure.is_pending else f"{failure.message}; {START_AGAIN}"
    waits = Condition("DriverRunning", FALSE, reason, message)
    status = pipeline_status.status(
        observation, before, phase, waits, revision=start.revision.name, schedule=schedule
    )
    is_due = failure.retry_in <= 0
    return Plan(
        status,
        driver_part=pipeline_status.driver_part(observation),
        start=start if is_due else None,
        requeue=None if is_due else failure.retry_in,
    )
