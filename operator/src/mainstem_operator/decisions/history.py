"""What has happened to a pipeline so far: its last start, how that ended, how often it has failed in a row; pure."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from mainstem_operator.decisions.health import SILENT_SECONDS
from mainstem_operator.decisions.restart import failures
from mainstem_operator.observed import pod_status
from mainstem_operator.observed.ages import Ages, Moment
from mainstem_operator.observed.conditions import parsed, timestamp
from mainstem_operator.observed.observation import Observation, requested_restart
from mainstem_operator.observed.pod_status import DriverEnd
from mainstem_operator.validation.documents import Revision


@dataclass(frozen=True)
class DriverHistory:
    """Attributes:
    attempt: the number of the last start; 0 before the first.
    ended: how its driver ended; None where it lives, was never made, or is about to be.
    restarts: failures in a row, this end included.
    revision: what the last start ran, or runs; None before the first.
    run: the run of the pipeline that the last start belongs to; None before the first.
    """

    attempt: int
    ended: DriverEnd | None
    restarts: int
    revision: str | None = None
    run: str | None = None


def driver_history(observation: Observation) -> DriverHistory:
    """What has happened, by the status and by the pod; the pod knows more where they differ."""
    # A driver may have told of itself before the operator came to write of its first start.
    source = observation.status if "attempt" in observation.status else observation.status.get("reported", {})
    attempt = int(source.get("attempt", 0))
    if observation.pod is not None:
        attempt = max(attempt, pod_status.attempt(observation.pod))
    ended = _ended(observation, attempt)
    # An operator that was killed after it had made the first pod has written no status.
    pod = next(
        (pod for pod in (observation.pod, observation.gone) if pod and pod_status.attempt(pod) == attempt),
        None,
    )
    revision, run = (pod_status.revision(pod), pod_status.run(pod)) if pod else ("", "")
    return DriverHistory(
        attempt,
        ended,
        _restarts(observation, attempt, ended),
        revision or observation.status.get("revision"),
        run or observation.status.get("run"),
    )


def run_of(
    observation: Observation, before: DriverHistory, revision: Revision, schedule: Mapping[str, Any] | None
) -> str:
    """The run that a start begins or continues: of a schedule the slot; else the generation at which it began, and the
    request for a restart of a run that had come to its end.

    A start continues the run before, unless the document has changed or the run has come to its end.
    """
    slot = (schedule or observation.status.get("schedule", {})).get("lastTime")
    if slot and revision.pipeline.spec.schedule:
        return str(slot)
    ended = before.ended is not None and before.ended.outcome == "completed"
    if before.run and before.revision == revision.name and not ended:
        return before.run
    begun = f"generation-{observation.generation}"
    if observation.restart_requested and before.run and before.revision == revision.name:
        # Of the same generation as the run that has ended; what is asked for is any text.
        begun += (
            f"-restart-{hashlib.sha256(str(requested_restart(observation.body)).encode()).hexdigest()[:8]}"
        )
    return begun


def with_ages(observation: Observation, ages: Ages, now: Moment) -> Observation:
    """The same, with the ages of what the operator has noticed itself.

    The end of a driver that it has seen alive is as old as the news of it. An operator that is new takes the ages of
    what it finds from the status and the node, as far as they make sense by its own clock.
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
    known = replace(observation, report_age=report_age, deletion_age=deletion_age)
    before = driver_history(known)
    if before.ended is None or before.ended.finished is None:
        ages.notice("end", None, now)
        return known
    lasted = max(0.0, (now.wall - before.ended.finished).total_seconds())
    end = ages.notice("end", before.ended.attempt, now, age=lasted)
    return replace(known, end=end.wall, end_age=now.monotonic - end.monotonic)


def _silent_seconds(observation: Observation) -> float:
    """How long a driver is silent that an operator finds so: one that was called silent before is still."""
    for condition in observation.status.get("conditions", ()):
        if condition["reason"] == "DriverNotReporting":
            return SILENT_SECONDS + 1
    return 0.0


def termination(observation: Observation, ended: DriverEnd | None) -> dict[str, Any] | None:
    """`status.lastTermination`: what is known already, or what is new."""
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
    # The intent was written and the pod never made, or it was made and is gone: only a driver reports.
    if attempt and observation.status.get("reported", {}).get("attempt") == attempt:
        return pod_status.vanished(attempt, observation.now)
    return None


def _dated(ended: DriverEnd, known: Mapping[str, Any], observation: Observation) -> DriverEnd:
    """With the time of its end by the operator's clock: as it has noticed, else as it has written before.

    An operator that finds the driver ended takes the node's word, which cannot be later than now.
    """
    written = known.get("finishedAt") if known.get("attempt") == ended.attempt else None
    finished = observation.end or (
        parsed(written) if written else min(ended.finished or observation.now, observation.now)
    )
    return replace(ended, finished=finished)


def _restarts(observation: Observation, attempt: int, ended: DriverEnd | None) -> int:
    before = int(observation.status.get("restarts", 0))
    counted = observation.status.get("lastTermination", {}).get("attempt") == attempt
    if ended is None or observation.revision is None or counted or _completed(ended, observation.revision):
        return before
    return failures(ended, before, observation.revision.pipeline.spec.restart)


def _completed(ended: DriverEnd, revision: Revision) -> bool:
    return ended.outcome == "completed" and revision.bounded


def _remembered(known: Mapping[str, Any]) -> DriverEnd:
    return DriverEnd(
        attempt=known["attempt"],
        outcome=known.get("outcome"),
        exit_code=known.get("exitCode"),
        reason=known["reason"],
        message=known.get("message", ""),
        finished=parsed(known["finishedAt"]) if "finishedAt" in known else None,
    )
