"""The history of a pipeline's drivers: the last start, how it ended, and the consecutive failures; pure."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from mainstem import reasons

from mainstem_operator.decisions.failure_classes import POLICIES, FailureClass, Failures, failure_class
from mainstem_operator.decisions.health import SILENT_SECONDS
from mainstem_operator.observed import pod_status
from mainstem_operator.observed.ages import Ages, Moment
from mainstem_operator.observed.conditions import parsed, timestamp
from mainstem_operator.observed.observation import Observation, running_revision
from mainstem_operator.observed.pod_status import DriverEnd
from mainstem_operator.validation.documents import Revision


@dataclass(frozen=True)
class DriverHistory:
    """The last start of a pipeline's driver, and the failures before it.

    Attributes:
        attempt: the driver start number; 0 before the first start.
        ended: how the driver ended; None if it runs, or if its pod was not created yet.
        failures: the failures in a row, including this end.
        revision: the revision that the last start runs or ran; None before the first start.
        run: the run of the pipeline that the last start belongs to; None before the first start.
    """

    attempt: int
    ended: DriverEnd | None
    failures: Failures
    revision: str | None = None
    run: str | None = None


def driver_history(observation: Observation) -> DriverHistory:
    """The history, from the status and the pod; the pod is right if they differ."""
    # A driver may have reported before the operator wrote the status of its first start.
    source = observation.status if "attempt" in observation.status else observation.status.get("reported", {})
    attempt = int(source.get("attempt", 0))
    if observation.pod is not None:
        attempt = max(attempt, pod_status.attempt(observation.pod))
    ended = _ended(observation, attempt)
    # An operator that was killed after it had created the first pod has written no status.
    pod = next(
        (pod for pod in (observation.pod, observation.gone) if pod and pod_status.attempt(pod) == attempt),
        None,
    )
    revision, run = (running_revision(observation.body, pod), pod_status.run(pod)) if pod else ("", "")
    return DriverHistory(
        attempt,
        ended,
        _failures(observation, attempt, ended),
        revision or observation.status.get("revision"),
        run or observation.status.get("run"),
    )


def run_of(
    observation: Observation, before: DriverHistory, revision: Revision, schedule: Mapping[str, Any] | None
) -> str:
    """The run that a start begins or continues, as text: the scheduled time; without a schedule the generation of the
    resource at which the run began, and the restart request if that began a run after a completed one.

    A start continues the previous run, unless the document has changed or the run has completed.
    """
    slot = (schedule or observation.status.get("schedule", {})).get("lastTime")
    if slot and revision.pipeline.spec.schedule:
        return str(slot)
    ended = before.ended is not None and before.ended.outcome == "completed"
    if before.run and before.revision == revision.name and not ended:
        return before.run
    begun = f"generation-{observation.generation}"
    if observation.restart_requested and before.run and before.revision == revision.name:
        # The nonce is arbitrary text, so take its hash.
        begun += f"-restart-{hashlib.sha256(str(observation.requested_nonce).encode()).hexdigest()[:8]}"
    return begun


def with_ages(observation: Observation, ages: Ages, now: Moment) -> Observation:
    """The observation with the ages of facts, by the operator's own clock.

    If the operator knew the driver while it ran, the end is as old as its event. An operator that has just started takes
    ages from the status and the node, as far as they are possible by its own clock.
    """
    report_age = (
        now.monotonic
        - ages.notice(
            "report",
            observation.status.get("reported", {}).get("time"),
            now,
            age=_silent_seconds(observation),
        ).monotonic
    )
    deletion_age = now.monotonic - ages.notice("deleting", observation.deleting, now).monotonic
    start_age = now.monotonic - _start_noticed(observation, ages, now).monotonic
    wanted = observation.validation.revision
    update = None
    if observation.takes_documents and wanted is not None and wanted.name != observation.running_revision:
        update = f"{wanted.name}-{observation.status['reported']['attempt']}"
    update_age = now.monotonic - ages.notice("update", update, now).monotonic
    known = replace(
        observation,
        report_age=report_age,
        deletion_age=deletion_age,
        start_age=start_age,
        update_age=update_age,
    )
    before = driver_history(known)
    if before.ended is None or before.ended.finished is None:
        ages.notice("end", None, now)
        return known
    lasted = max(0.0, (now.wall - before.ended.finished).total_seconds())
    end = ages.notice("end", before.ended.attempt, now, age=lasted)
    return replace(known, end=end.wall, end_age=now.monotonic - end.monotonic)


def _start_noticed(observation: Observation, ages: Ages, now: Moment) -> Moment:
    """When the operator noticed a driver pod that has not run yet; now if there is none."""
    pod = observation.pod
    if pod is None or pod_status.running(pod) or pod_status.over(pod):
        ages.notice("start", None, now)
        return now
    about = pod["metadata"]
    created = parsed(about["creationTimestamp"]) if "creationTimestamp" in about else now.wall
    lasted = max(0.0, (now.wall - created).total_seconds())
    return ages.notice("start", about["uid"], now, age=lasted)


def _silent_seconds(observation: Observation) -> float:
    """Seconds without a report when an operator starts: a driver with the condition `DriverNotReporting` keeps it."""
    for condition in observation.status.get("conditions", ()):
        if condition["reason"] == reasons.DRIVER_NOT_REPORTING:
            return SILENT_SECONDS + 1
    return 0.0


def termination(observation: Observation, ended: DriverEnd | None) -> dict[str, Any] | None:
    """`status.lastTermination`: as it is, or of the driver that has just ended."""
    known: dict[str, Any] | None = observation.status.get("lastTermination")
    if ended is None or (known and known.get("attempt") == ended.attempt):
        return known
    fields = {
        "attempt": ended.attempt,
        "outcome": ended.outcome,
        "exitCode": ended.exit_code,
        "reason": ended.reason,
        "message": ended.message,
        "finishedAt": timestamp(ended.finished) if ended.finished else None,
        "queries": [
            {"name": name, **({} if batch is None else {"batch": batch})} for name, batch in ended.queries
        ]
        or None,
    }
    return {key: value for key, value in fields.items() if value is not None}


def _ended(observation: Observation, attempt: int) -> DriverEnd | None:
    known = observation.status.get("lastTermination", {})
    if observation.pod is not None:
        return (
            _dated(pod_status.ended(observation.pod), known, observation)
            if pod_status.over(observation.pod)
            else None
        )
    gone = observation.gone
    if gone is not None and pod_status.attempt(gone) == attempt and pod_status.over(gone):
        return _dated(pod_status.ended(gone), known, observation)
    if attempt and known.get("attempt") == attempt:
        return _remembered(known)
    # The pod was never created, or was created and is gone. Only a driver reports, so a report proves the second case.
    if attempt and observation.status.get("reported", {}).get("attempt") == attempt:
        return pod_status.vanished(attempt, observation.now)
    return None


def _dated(ended: DriverEnd, known: Mapping[str, Any], observation: Observation) -> DriverEnd:
    """The end with its time by the operator's clock: as the operator noticed it, else as the status has it.

    An operator that starts after the end takes the node's time, but not a later time than now.
    """
    written = known.get("finishedAt") if known.get("attempt") == ended.attempt else None
    finished = observation.end or (
        parsed(written) if written else min(ended.finished or observation.now, observation.now)
    )
    return replace(ended, finished=finished)


def _failures(observation: Observation, attempt: int, ended: DriverEnd | None) -> Failures:
    before = _known_failures(observation.status)
    is_reported = observation.status.get("lastTermination", {}).get("attempt") == attempt
    counted = is_reported or (before.last is not None and before.attempt == attempt)
    if ended is not None and counted and before.counted and before.last is None:
        # An older operator counted the failure, and wrote no class.
        return replace(
            before,
            last=failure_class(ended),
            reason=ended.reason,
            attempt=attempt,
            infrastructure=before.counted,
        )
    if ended is None or observation.revision is None or counted or _completed(ended, observation.revision):
        return before
    return Failures() if ended.drained else before.next(ended, observation.revision.pipeline.spec.restart)


def _known_failures(status: Mapping[str, Any]) -> Failures:
    """The failures in a row, as the status has them."""
    counted, last = int(status.get("restarts", 0)), status.get("lastFailure")
    if last is None:
        return Failures(counted)
    kind = FailureClass(last["class"])
    infrastructure = 0 if POLICIES[kind].spends_budget else last["inARow"]
    return Failures(counted, kind, last["reason"], last["attempt"], infrastructure)


def last_failure(failures: Failures, next_start: datetime | None) -> dict[str, Any] | None:
    """`status.lastFailure`; None without a failure.

    Args:
        failures: the failures in a row.
        next_start: when the operator starts the driver again; None if it runs, or if the operator starts none.
    """
    if failures.last is None:
        return None
    fields = {
        "class": str(failures.last),
        "reason": failures.reason,
        "attempt": failures.attempt,
        "inARow": failures.in_a_row,
        "nextStartTime": timestamp(next_start) if next_start else None,
    }
    return {key: value for key, value in fields.items() if value is not None}


def _completed(ended: DriverEnd, revision: Revision) -> bool:
    return ended.outcome == "completed" and revision.bounded


def _remembered(known: Mapping[str, Any]) -> DriverEnd:
    return DriverEnd(
        attempt=known["attempt"],
        outcome=known.get("outcome"),
        exit_code=known.get("exitCode"),
        reason=reasons.named(known["reason"]),
        message=known.get("message", ""),
        finished=parsed(known["finishedAt"]) if "finishedAt" in known else None,
    )
