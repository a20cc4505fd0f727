"""Returns to the last healthy revision if a changed document makes the pipeline fail; pure.

A failure counts only if the change can have caused it: an outage of a server counts only if the change concerns
connections, a pod without a node only if it concerns the pod. The status remembers the revision that failed.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from mainstem import reasons
from mainstem.language.base import seconds

from mainstem_operator.decisions import revisions
from mainstem_operator.decisions.health import updating
from mainstem_operator.decisions.history import DriverHistory
from mainstem_operator.decisions.setbacks import Setback, setback
from mainstem_operator.observed.conditions import AT_REST, FALSE, TRUE, Condition, timestamp
from mainstem_operator.observed.observation import Observation
from mainstem_operator.observed.revision_entries import last_healthy, newest
from mainstem_operator.observed.rollbacks import Rollback
from mainstem_operator.validation.documents import DocumentChange, Revision


_LONGEST: Final = 900
"""Maximum number of characters about the failure, so that the rest of the message fits."""


def target(observation: Observation, before: DriverHistory) -> str | None:
    """The name of the revision whose document the operator needs: it runs in place of the document, or a rollback to it may be
    due.
    """
    if observation.rollback is not None:
        return observation.rollback.target
    return _candidate(observation) if _due(observation, before) else None


def decided(observation: Observation, before: DriverHistory) -> Observation:
    """The observation with a rollback, if one is due now: with its target, or with why it is not possible."""
    due, failed = _due(observation, before), observation.validation.revision
    if due is None or failed is None:
        return observation
    healthy, way_back = observation.healthy, observation.way_back
    if healthy is None or way_back is None:
        why = "the document of the last healthy revision does not exist, or is invalid by the current rules"
        return _with(observation, failed, due, None, why)
    if not due.is_caused_by(way_back.driver) or not _is_caused_by_query(observation, due, healthy):
        return observation
    refused = _misreading(observation, way_back)
    return _with(observation, failed, due, None if refused else healthy.name, refused)


def progress_key(observation: Observation, before: DriverHistory) -> tuple[Any, ...]:
    """What begins the deadline of the newest revision again: another revision, and every pause that it has not caused.
    Once the revision was healthy, only its entry: neither a pause nor an edit that is undone begins the deadline again.
    """
    entry, wanted = newest(observation.status), observation.validation.revision
    if entry is not None and not revisions.is_progressing(observation.status):
        return (entry["revision"], entry["startTime"])
    if entry is None or wanted is None or entry["revision"] != wanted.name:
        return (wanted and wanted.name,)
    present = setback(observation, before, wanted)
    uncounted = before.attempt - before.failures.counted  # a crash raises both
    pauses = bool(updating(observation.status)) or (present is not None and present.pauses)
    return (wanted.name, entry["startTime"], uncounted, pauses)


def seconds_left(observation: Observation) -> float | None:
    """Seconds until the deadline of a revision that has not got healthy yet; None if none passes."""
    wanted = observation.validation.revision
    if (
        wanted is None
        or not revisions.is_progressing(observation.status)
        or observation.rollback is not None
        or not _candidate(observation)
    ):
        return None
    left = seconds(wanted.pipeline.spec.rollback.progress_deadline) - observation.progress_age
    return left + 1 if left > 0 else None


def rolled_back(observation: Observation, phase: str, *, is_active: bool) -> tuple[Condition, ...]:
    """The condition `RolledBack` of a document that has failed, unless no driver should run.

    Args:
        observation: what is known of the pipeline.
        phase: the next phase.
        is_active: whether all queries are active.
    """
    rollback = observation.rollback
    if rollback is None or phase in AT_REST:
        return ()
    failed = f"revision {rollback.revision} failed: {rollback.reason}: {rollback.message}"
    again = "Change the document, or set another spec.restartNonce to try the same one again"
    if rollback.target is not None:
        message = f"{failed}; revision {rollback.target} runs in its place. {again}"
        return (Condition("RolledBack", TRUE, reasons.ROLLED_BACK, message),)
    if is_active:
        return ()
    return (Condition("RolledBack", FALSE, reasons.ROLLBACK_NOT_POSSIBLE, f"{failed}. {again}"),)


def written(observation: Observation, *, is_active: bool) -> dict[str, Any] | None:
    """`status.rollback`; a revision that could not be rolled back and gets active in the end has not failed."""
    rollback = observation.rollback
    if rollback is None or (rollback.target is None and is_active):
        return None
    fields = {
        "revision": rollback.revision,
        "target": rollback.target,
        "reason": str(rollback.reason),
        "message": rollback.message,
        "time": rollback.time,
        "restartNonce": rollback.nonce,
    }
    return {key: value for key, value in fields.items() if value is not None}


def _candidate(observation: Observation) -> str | None:
    """The revision to return to if the document, which is the newest revision, fails; None if it must not be rolled back."""
    wanted, entry = observation.validation.revision, newest(observation.status)
    if wanted is None or entry is None or entry["revision"] != wanted.name:
        return None
    spec = wanted.pipeline.spec
    if spec.rollback.policy == "Never" or spec.schedule or wanted.ends:
        return None
    if observation.body["spec"].get("suspend") or observation.deleting or observation.restart_requested:
        return None
    return last_healthy(observation.status, wanted.name)


def _due(observation: Observation, before: DriverHistory) -> Setback | None:
    """The setback for which a rollback is due, if the change can have caused it."""
    wanted, entry = observation.validation.revision, newest(observation.status)
    if observation.rollback is not None or wanted is None or entry is None or not _candidate(observation):
        return None
    present = setback(observation, before, wanted)
    late = _is_late(observation, wanted)
    if (
        present is None
        or (late and not revisions.is_progressing(observation.status))
        or not (late or present.at_once)
    ):
        return None
    return present


def _is_late(observation: Observation, wanted: Revision) -> bool:
    """Whether the time of a change is over. It does not pass while a new revision waits for batches of the document before."""
    if updating(observation.status) and revisions.is_progressing(observation.status):
        return False
    return observation.progress_age > seconds(wanted.pipeline.spec.rollback.progress_deadline)


def _is_caused_by_query(observation: Observation, due: Setback, healthy: Revision) -> bool:
    """Whether a query of the healthy revision has failed, or the time of a new one is over."""
    wanted = observation.validation.revision
    ran = {query.name for query in healthy.pipeline.spec.queries if not query.suspend}
    return (
        not due.queries or bool(due.queries & ran) or (wanted is not None and _is_late(observation, wanted))
    )


def _misreading(observation: Observation, way_back: DocumentChange) -> str:
    """Why queries of the healthy revision must not start again; empty if all may. Only a query that may have committed a
    batch with the failed revision counts: until then the healthy revision wrote its checkpoint.
    """
    refused = [each.message for each in way_back.refused if _may_have_committed(observation, each.query)]
    return "; ".join(refused)


def _may_have_committed(observation: Observation, query: str) -> bool:
    status = observation.status
    entry, report = newest(status), status.get("reported", {})
    assert entry is not None
    first, attempt = entry.get("attempt", 0), report.get("attempt", 0)
    if attempt < first or (
        attempt == first and report.get("revision", entry["revision"]) != entry["revision"]
    ):
        return False  # no driver has reported that it ran the revision
    known: Mapping[str, Any] = next((each for each in status.get("queries", ()) if each["name"] == query), {})
    return "batch" in known or "lastProgressTime" in known or attempt != first


def _with(
    observation: Observation, failed: Revision, due: Setback, name: str | None, why_not: str
) -> Observation:
    because = f"; no rollback: {why_not}" if name is None else ""
    message = f"{due.message[: _LONGEST - min(len(because), _LONGEST // 2)]}{because}"
    rollback = Rollback(
        failed.name,
        name,
        due.reason,
        message[:1024],
        timestamp(observation.now),
        observation.requested_nonce,
    )
    return replace(observation, decided=rollback, change=observation.way_back)
