"""The history of a pipeline's drivers: the last start, how it ended, and the consecutive failures; pure."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from mainstem import reasons

from mainstem_operator.decisions.failure_classes import (
    OF_THE_DOCUMENT,
    POLICIES,
    FailureClass,
    Failures,
    failure_class,
)
from mainstem_operator.decisions.health import has_begun, reported
from mainstem_operator.decisions.updates import wanted
from mainstem_operator.observed import pod_status
from mainstem_operator.observed.conditions import parsed, timestamp
from mainstem_operator.observed.observation import Observation, last_revision, report_of, running_revision
from mainstem_operator.observed.pod_status import DriverEnd
from mainstem_operator.observed.revision_entries import is_healthy
from mainstem_operator.observed.unanswered import Unanswered
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
        unanswered: the drivers that have failed while a changed document waits, including this end; None if none has.
    """

    attempt: int
    ended: DriverEnd | None
    failures: Failures
    revision: str | None = None
    run: str | None = None
    unanswered: Unanswered | None = None


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
    known, unanswered = observation.unanswered, _unanswered(observation, attempt, ended, pod)
    # The check of a changed document may have ended the driver: that is no failure of the document before.
    is_blamed = unanswered is not None and unanswered.drivers > (known.drivers if known else 0)
    return DriverHistory(
        attempt,
        ended,
        _failures(observation, attempt, ended, FailureClass.CHANGE if is_blamed else None),
        revision or last_revision(observation.body, None) or None,
        run or observation.status.get("run"),
        unanswered,
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
    begun = f"generation-{observation.generation}{'-rollback' if observation.rolled_back else ''}"
    if observation.restart_requested and before.run and before.revision == revision.name:
        # The nonce is arbitrary text, so take its hash.
        begun += f"-restart-{hashlib.sha256(str(observation.requested_nonce).encode()).hexdigest()[:8]}"
    return begun


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
            _dated(_end_of(observation, observation.pod), known, observation)
            if pod_status.over(observation.pod)
            else None
        )
    gone = observation.gone
    if gone is not None and pod_status.attempt(gone) == attempt and pod_status.over(gone):
        return _dated(_end_of(observation, gone), known, observation)
    if attempt and known.get("attempt") == attempt:
        return _remembered(known)
    # The pod was never created, or was created and is gone. Only a driver reports, so a report proves the second case.
    if attempt and observation.status.get("reported", {}).get("attempt") == attempt:
        return pod_status.vanished(attempt, observation.now)
    return None


def _end_of(observation: Observation, pod: Mapping[str, Any]) -> DriverEnd:
    """How the driver of an ended pod ended, with the memory that it has reported."""
    return pod_status.ended(pod, report_of(observation.body, pod).get("memoryPeakBytes"))


def _dated(ended: DriverEnd, known: Mapping[str, Any], observation: Observation) -> DriverEnd:
    """The end with its time by the operator's clock: as the operator noticed it, else as the status has it.

    An operator that starts after the end takes the node's time, but not a later time than now.
    """
    written = known.get("finishedAt") if known.get("attempt") == ended.attempt else None
    finished = observation.end or (
        parsed(written) if written else min(ended.finished or observation.now, observation.now)
    )
    return replace(ended, finished=finished)


def _failures(
    observation: Observation, attempt: int, ended: DriverEnd | None, kind: FailureClass | None
) -> Failures:
    before = _known_failures(observation.status)
    counted = _is_counted(observation.status, attempt)
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
    restart = observation.revision.pipeline.spec.restart
    return Failures() if ended.drained else before.next(ended, restart, kind)


def _is_counted(status: Mapping[str, Any], attempt: int) -> bool:
    """Whether the status counts the end of this driver already."""
    before = _known_failures(status)
    is_reported = status.get("lastTermination", {}).get("attempt") == attempt
    return bool(is_reported or (before.last is not None and before.attempt == attempt))


def _unanswered(
    observation: Observation, attempt: int, ended: DriverEnd | None, pod: Mapping[str, Any] | None
) -> Unanswered | None:
    """The drivers in a row that have failed while a changed document waits, including this end if it is a new one. A driver that
    answers, or whose queries run, begins the count again.
    """
    known, document = observation.unanswered, wanted(observation)
    if observation.awaits_preflight:
        document = observation.wanted
    if document is None or observation.rolled_back:
        return known
    has_answered = _has_answered(observation.status, attempt, document)
    if known is not None and not known.is_final:
        known = known.after_report(
            has_begun=has_begun(observation.status, attempt), has_answered=has_answered
        )
    if ended is None or pod is None or has_answered or _is_counted(observation.status, attempt):
        return known
    return _with_end(observation, known, ended, pod, document)


def _with_end(
    observation: Observation,
    known: Unanswered | None,
    ended: DriverEnd,
    pod: Mapping[str, Any],
    document: Revision,
) -> Unanswered | None:
    """The same with the end of a driver. Only a failure of the driver itself counts: no end of a pod that was deleted, none of the
    infrastructure, and none after an answer. A driver of a document that works gets the changed one once a query runs, so if
    it had that at hand, its check may be the cause; otherwise the document before is.
    """
    runs, kind = running_revision(observation.body, pod), failure_class(ended)
    waits = runs != document.name and is_healthy(observation.status, runs)
    was_deleted = pod_status.leaving(pod) or observation.status.get("phase") == "Draining"
    if not waits or was_deleted or ended.succeeded:
        return known
    if kind in OF_THE_DOCUMENT:
        return None
    if not POLICIES[kind].spends_budget:
        return known
    before = known or Unanswered(document.name)
    if pod_status.handed_revision(pod) == document.name:
        return replace(before, drivers=before.drivers + 1, starts=0, reason=str(ended.reason))
    if has_begun(observation.status, pod_status.attempt(pod)):
        return known
    return replace(before, starts=before.starts + 1, reason=str(ended.reason))


def _has_answered(status: Mapping[str, Any], attempt: int, document: Revision) -> bool:
    """Whether the driver with this start number has refused the changed document, for now or for good."""
    refused = status.get("reported", {}).get("refused", {}) if reported(status, attempt) else {}
    return bool(refused.get("revision") == document.name)


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
