"""What is said: the operator's part of the status, the driver's part once it is dead, and events; pure."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from mainstem.errors import Exit
from mainstem.language.model.status.pipeline_status import MAX_BYTES

from mainstem_operator.decisions.health import tidied
from mainstem_operator.decisions.history import Past, termination
from mainstem_operator.observed.conditions import FALSE, TRUE, Condition, rendered, with_summary, worst_reason
from mainstem_operator.observed.observation import Observed


DRIVERS_PART: Final = ("queries", "summary", "reported")
"""Fields of the status that the driver writes, while it lives."""


@dataclass(frozen=True)
class Event:
    """A line of `kubectl describe`, for a transition."""

    type: str
    reason: str
    message: str


def status(
    seen: Observed,
    before: Past,
    phase: str,
    *found: Condition,
    revision: str | None,
    schedule: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The operator's part of the status, whole.

    Args:
        seen: what was observed.
        before: what has happened so far.
        phase: where the pipeline is.
        found: the conditions besides `SpecValid` and the derived ones.
        revision: what runs, or ran last.
        schedule: last and next run, where that is news.
    """
    conditions = with_summary([_spec_valid(seen, before), *found], phase)
    whole = _whole(seen, before, phase, conditions, revision, schedule)
    return fitted(whole, {key: seen.status[key] for key in DRIVERS_PART if key in seen.status})


def _whole(
    seen: Observed,
    before: Past,
    phase: str,
    conditions: Sequence[Condition],
    revision: str | None,
    schedule: Mapping[str, Any] | None,
) -> dict[str, Any]:
    old = seen.status.get("conditions", ())
    known = {
        "revision": revision,
        "run": before.run,
        "attempt": before.attempt or None,
        "checkpoint": seen.revision.pipeline.spec.checkpoints.location
        if seen.revision
        else seen.status.get("checkpoint"),
        "driver": _driver(seen),
        "restartedAt": seen.restarted_at,
        "lastTermination": termination(seen, before.ended),
        "schedule": schedule or seen.status.get("schedule"),
    }
    return {
        "observedGeneration": seen.generation,
        "phase": phase,
        "reason": worst_reason(conditions),
        "conditions": rendered(conditions, old, seen.generation, seen.now),
        "restarts": before.restarts,
        **{key: value for key, value in known.items() if value is not None},
    }


_LENGTHS: Final = (4096, 1024, 256, 100)
"""How long the conditions' messages may be, one after the other, where the status would be too long."""


def fitted(status: dict[str, Any], driver: Mapping[str, Any]) -> dict[str, Any]:
    """The operator's part, cut so far that it fits beside the driver's: the queries of `lastTermination` go first."""
    for longest in _LENGTHS:
        if len(json.dumps({**status, **driver}, ensure_ascii=False).encode()) <= MAX_BYTES:
            break
        conditions = [{**one, "message": one["message"][:longest]} for one in status["conditions"]]
        status = {**status, "conditions": conditions}
        if last := status.get("lastTermination"):
            status["lastTermination"] = {key: value for key, value in last.items() if key != "queries"}
    return status


def driver_part(seen: Observed) -> dict[str, Any] | None:
    """The driver's part once nobody writes it; None where a driver has never written."""
    if not seen.status.get("queries"):
        return None
    return tidied(seen.status)


_CALLED: Final = {"Starting": "DriverStarting", "Running": "Ready"}
_WARNINGS: Final = ("Invalid", "Failed", "BackingOff")
_NODE_SILENT: Final = "NodeSilent"
_BAD: Final = (("SpecValid", FALSE), ("Degraded", TRUE), ("DataStalled", TRUE))


def events(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[Event, ...]:
    """One event for each change of phase, and one where something bad begins."""
    if not new:
        return ()
    told = []
    now = {condition["type"]: condition for condition in new["conditions"]}
    before = {condition["type"]: condition for condition in old.get("conditions", ())}
    if new["phase"] != old.get("phase") and new["phase"] != "Degraded":  # the condition's own event says why
        ready = now["DriverRunning"] if new["phase"] != "Running" else now["Ready"]
        kind = "Warning" if new["phase"] in _WARNINGS else "Normal"
        told.append(
            Event(kind, _CALLED.get(new["phase"], new["phase"]), f"{ready['reason']}: {ready['message']}")
        )
    driver, was = now.get("DriverRunning"), before.get("DriverRunning")
    if driver and driver["reason"] == _NODE_SILENT and _differs(driver, was):
        told.append(Event("Warning", driver["reason"], driver["message"]))
    for name, bad in _BAD:
        condition = now.get(name)
        if condition and condition["status"] == bad and _differs(condition, before.get(name)):
            told.append(Event("Warning", condition["reason"], condition["message"]))
    return tuple(told)


def _differs(condition: Mapping[str, Any], before: Mapping[str, Any] | None) -> bool:
    return before is None or (condition["status"], condition["reason"]) != (
        before["status"],
        before["reason"],
    )


def _driver(seen: Observed) -> dict[str, str] | None:
    if seen.pod is None:
        return None
    node = seen.pod["spec"].get("nodeName")
    return {"pod": seen.pod["metadata"]["name"], **({"node": node} if node else {})}


def _spec_valid(seen: Observed, before: Past) -> Condition:
    """What the rules, the API server and, at last, Spark say of the document."""
    judged, ended = seen.judgement, before.ended
    if judged.revision is None:
        return Condition("SpecValid", FALSE, judged.reason, judged.message)
    if seen.refused:
        return Condition("SpecValid", FALSE, *seen.refused)
    same = judged.revision.name == before.revision
    if ended is not None and ended.exit_code == Exit.SPEC_INVALID and same:
        return Condition("SpecValid", FALSE, ended.reason, ended.message)
    return Condition("SpecValid", TRUE, judged.reason, judged.message)
