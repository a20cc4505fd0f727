"""What has happened to a pipeline so far: its last start, how that ended, how often it has failed in a row; pure."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from mainstem_operator import driverpod
from mainstem_operator.conditions import parsed, timestamp
from mainstem_operator.driverpod import Ended
from mainstem_operator.observe import Observed
from mainstem_operator.restart import failures


@dataclass(frozen=True)
class Past:
    """Attributes:
    attempt: the number of the last start; 0 before the first.
    ended: how its driver ended; None where it lives, was never made, or is about to be.
    restarts: failures in a row, this end included.
    """

    attempt: int
    ended: Ended | None
    restarts: int


def past(seen: Observed) -> Past:
    """What has happened, by the status and by the pod; the pod knows more where they differ."""
    # A driver may have told of itself before the operator came to write of its first start.
    told = seen.status if "attempt" in seen.status else seen.status.get("reported", {})
    attempt = int(told.get("attempt", 0))
    if seen.pod is not None:
        attempt = max(attempt, driverpod.attempt(seen.pod))
    ended = _ended(seen, attempt)
    return Past(attempt, ended, _restarts(seen, attempt, ended))


def termination(seen: Observed, ended: Ended | None) -> dict[str, Any] | None:
    """`status.lastTermination`: what is known already, or what is new."""
    known: dict[str, Any] | None = seen.status.get("lastTermination")
    if ended is None or (known and known.get("attempt") == ended.attempt):
        return known
    told = {
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
    return {key: value for key, value in told.items() if value is not None}


def _ended(seen: Observed, attempt: int) -> Ended | None:
    known = seen.status.get("lastTermination", {})
    if seen.pod is not None:
        return _dated(driverpod.ended(seen.pod), known, seen) if driverpod.over(seen.pod) else None
    gone = seen.gone
    if gone is not None and driverpod.attempt(gone) == attempt and driverpod.over(gone):
        return _dated(driverpod.ended(gone), known, seen)
    if attempt and known.get("attempt") == attempt:
        return _remembered(known)
    # The intent was written and the pod never made, or it was made and is gone: only a driver reports.
    if attempt and seen.status.get("reported", {}).get("attempt") == attempt:
        return driverpod.vanished(attempt, seen.now)
    return None


def _dated(ended: Ended, known: Mapping[str, Any], seen: Observed) -> Ended:
    """With a time: a pod that was evicted before it ran has none, and counts from when its end was first seen."""
    if ended.finished is not None:
        return ended
    first = known.get("finishedAt") if known.get("attempt") == ended.attempt else None
    return replace(ended, finished=parsed(first) if first else seen.now)


def _restarts(seen: Observed, attempt: int, ended: Ended | None) -> int:
    before = int(seen.status.get("restarts", 0))
    counted = seen.status.get("lastTermination", {}).get("attempt") == attempt
    if ended is None or seen.revision is None or counted:
        return before
    return failures(ended, before, seen.revision.pipeline.spec.restart)


def _remembered(known: Mapping[str, Any]) -> Ended:
    return Ended(
        attempt=known["attempt"],
        outcome=known.get("outcome"),
        exit_code=known.get("exitCode"),
        reason=known["reason"],
        message=known.get("message", ""),
        finished=parsed(known["finishedAt"]) if "finishedAt" in known else None,
    )
