"""`status.history`: the last revisions of a pipeline, and what became of each; pure.

It changes only with another part of the status, so it costs no write of its own.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from mainstem import reasons
from mainstem.language.model.status.revision_history import KEPT_ENTRIES, RevisionOutcome

from mainstem_operator.decisions import updates
from mainstem_operator.decisions.health import updated
from mainstem_operator.decisions.history import DriverHistory
from mainstem_operator.observed.conditions import TRUE, Condition, timestamp
from mainstem_operator.observed.observation import Observation
from mainstem_operator.observed.revision_entries import last_healthy, newest


def is_progressing(status: Mapping[str, Any]) -> bool:
    """Whether the newest revision has been neither healthy nor failed yet."""
    entry = newest(status)
    return entry is not None and entry["outcome"] == RevisionOutcome.PROGRESSING


def protected(status: Mapping[str, Any]) -> frozenset[str]:
    """The revisions whose documents a rollback may need, however old they are."""
    current = newest(status)
    names = {
        last_healthy(status, current["revision"]) if current else None,
        next(
            (e["revision"] for e in status.get("history", ()) if e["outcome"] == RevisionOutcome.HEALTHY),
            None,
        ),
        status.get("rollback", {}).get("target"),
    }
    return frozenset(name for name in names if name)


def history(
    observation: Observation,
    before: DriverHistory,
    phase: str,
    conditions: Sequence[Condition],
    revision: str | None,
) -> list[dict[str, Any]]:
    """The history after a plan, the newest entry first.

    Args:
        observation: what is known of the pipeline.
        before: its drivers so far.
        phase: the next phase.
        conditions: the next conditions.
        revision: the revision that runs, or ran last.
    """
    entries = [dict(entry) for entry in observation.status.get("history", ())]
    entries = entries or _adopted(observation)
    entries = _with_newest(observation, before, entries, phase, revision)
    is_last = revision is None or last_healthy({"history": entries}, revision) is None
    entries = [
        _with_outcome(observation, before, entry, phase, conditions, is_last)
        if "endTime" not in entry
        else entry
        for entry in entries
    ]
    return _kept(_with_rejected(observation, entries))


def _adopted(observation: Observation) -> list[dict[str, Any]]:
    """The history of a pipeline that an older operator has started: one entry, as far as the status has it."""
    status = observation.status
    if not status.get("revision"):
        return []
    now = timestamp(observation.now)
    active = {each["type"]: each for each in status.get("conditions", ())}.get("QueriesActive", {})
    is_healthy = active.get("status") == TRUE or status.get("phase") == "Completed"
    entry = {
        "revision": status["revision"],
        "generation": max(0, status.get("observedGeneration", 0)),
        "outcome": RevisionOutcome.HEALTHY if is_healthy else RevisionOutcome.PROGRESSING,
        "attempt": status.get("attempt"),
        "startTime": active.get("lastTransitionTime", now) if is_healthy else now,
    }
    return [_plain(entry)]


def _with_newest(
    observation: Observation,
    before: DriverHistory,
    entries: list[dict[str, Any]],
    phase: str,
    revision: str | None,
) -> list[dict[str, Any]]:
    """The entries with the revision that runs; it ends the entry of the one before."""
    now = timestamp(observation.now)
    current = newest({"history": entries})
    is_same = current is not None and current["revision"] == revision
    # After a failure only another `restartNonce` lets the same revision run again.
    runs_again = current is not None and "reason" in current and observation.rollback is None
    if revision is None or (is_same and not runs_again):
        return [_resumed(observation, entry, phase) for entry in entries]
    ended = [_ended(entry, now) if "endTime" not in entry else entry for entry in entries]
    entry = {
        "revision": revision,
        "generation": observation.generation,
        "outcome": RevisionOutcome.PROGRESSING,
        "attempt": before.attempt or None,
        "startTime": now,
        "changes": _changes(observation, revision),
    }
    return [_plain(entry), *ended]


def _resumed(observation: Observation, entry: dict[str, Any], phase: str) -> dict[str, Any]:
    """The entry; a revision that no driver ran for a while begins again, so that its deadline does not count that time."""
    waits = "endTime" not in entry and entry["outcome"] == RevisionOutcome.PROGRESSING
    if waits and observation.status.get("phase") == "Suspended" and phase != "Suspended":
        return {**entry, "startTime": timestamp(observation.now)}
    return entry


def _ended(entry: dict[str, Any], now: str) -> dict[str, Any]:
    is_new = entry["outcome"] == RevisionOutcome.PROGRESSING
    return {**entry, "endTime": now, **({"outcome": str(RevisionOutcome.REPLACED)} if is_new else {})}


def _with_outcome(
    observation: Observation,
    before: DriverHistory,
    entry: dict[str, Any],
    phase: str,
    conditions: Sequence[Condition],
    is_last: bool,
) -> dict[str, Any]:
    """The entry of the revision that runs, with its present outcome. `is_last`: no other revision can replace it."""
    by_type = {condition.type: condition for condition in conditions}
    rollback = observation.rollback
    is_active = "QueriesActive" in by_type and by_type["QueriesActive"].status == TRUE
    if rollback is not None and rollback.revision == entry["revision"] and (rollback.target or not is_active):
        outcome = RevisionOutcome.ROLLED_BACK if rollback.target else RevisionOutcome.FAILED
        return {**entry, "outcome": str(outcome), "reason": rollback.reason}
    if is_active or phase == "Completed":
        return {key: value for key, value in entry.items() if key != "reason"} | {
            "outcome": str(RevisionOutcome.HEALTHY)
        }
    query_failed = any(
        query["state"] == "Failed"
        for query in (updated(observation.status) if "QueriesActive" in by_type else ())
    )
    was_healthy = entry["outcome"] == RevisionOutcome.HEALTHY
    # A pod that the API server refuses, or that has not run, is no failure of a document that was healthy.
    has_ended = before.ended is not None and not observation.refused
    has_failed = query_failed or (phase == "Failed" and (has_ended or not was_healthy))
    fails = has_failed and (was_healthy or is_last)
    return {**entry, "outcome": str(RevisionOutcome.FAILED)} if fails else entry


def _with_rejected(observation: Observation, entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The entries with a document that was refused, once for each revision in a row."""
    wanted = observation.validation.revision
    final = updates.final_refusal(observation)
    reason = final[0] if final else None
    if observation.refused_changes:
        reason = reasons.CHECKPOINT_INCOMPATIBLE
    if wanted is None or reason is None:
        return entries
    if entries and (entries[0]["revision"], entries[0]["outcome"]) == (wanted.name, RevisionOutcome.REJECTED):
        return entries
    now = timestamp(observation.now)
    entry = {
        "revision": wanted.name,
        "generation": observation.generation,
        "outcome": RevisionOutcome.REJECTED,
        "reason": reason,
        "startTime": now,
        "endTime": now,
        "changes": _changes(observation, wanted.name),
    }
    return [_plain(entry), *entries]


def _changes(observation: Observation, revision: str) -> list[str]:
    """What the revision changes against the newest one, if the observation has compared them."""
    return list(observation.difference) if revision == observation.wanted_name else []


def _plain(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: str(value) if isinstance(value, str) else value
        for key, value in entry.items()
        if value is not None and value != []
    }


def _kept(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The newest entries; rejected documents never push out the revision that runs, nor the healthy one before it."""
    status = {"history": entries}
    current, needed = newest(status), protected(status)
    kept = list(entries)
    for entry in reversed(entries):
        if len(kept) <= KEPT_ENTRIES:
            break
        is_healthy = entry["revision"] in needed and entry["outcome"] == RevisionOutcome.HEALTHY
        if entry is not current and not is_healthy:
            kept.remove(entry)
    return kept[:KEPT_ENTRIES]
