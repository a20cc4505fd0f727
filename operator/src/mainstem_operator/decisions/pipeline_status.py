"""The operator's part of the status, the driver's part after its end, and events; pure."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from mainstem import reasons
from mainstem.language.model.status.pipeline_status import MAX_BYTES
from mainstem.language.model.status.trial_status import TrialPhase
from mainstem.reasons import Exit

from mainstem_operator.decisions import revisions, rollback, updates
from mainstem_operator.decisions.beside import preflights, trials
from mainstem_operator.decisions.checkpoints import checkpoint_compatible
from mainstem_operator.decisions.health import tidied
from mainstem_operator.decisions.history import DriverHistory, last_failure, termination
from mainstem_operator.observed.conditions import (
    CHECKPOINT_COMPATIBLE,
    DOCUMENT_APPLIED,
    FALSE,
    ROLLED_BACK,
    TRUE,
    Condition,
    rendered,
    with_summary,
    worst_reason,
)
from mainstem_operator.observed.observation import Observation


DRIVERS_PART: Final = ("queries", "summary", "reported")
"""Fields of the status that the driver writes while it runs."""


@dataclass(frozen=True)
class PipelineEvent:
    """A Kubernetes event of a pipeline, which `kubectl describe` shows."""

    type: str
    reason: reasons.Reason
    message: str


def status(
    observation: Observation,
    before: DriverHistory,
    phase: str,
    *others: Condition,
    revision: str | None,
    schedule: Mapping[str, Any] | None = None,
    next_start: datetime | None = None,
) -> dict[str, Any]:
    """The operator's whole part of the status.

    Args:
        observation: what is known of the pipeline.
        before: its drivers so far.
        phase: the phase of the pipeline.
        others: the conditions besides those about the document and the derived ones.
        revision: the revision that runs, or ran last.
        schedule: last and next run, if they change.
        next_start: when the operator starts a failed driver again.
    """
    is_active = any(each.type == "QueriesActive" and each.status == TRUE for each in others)
    of_document = [
        _spec_valid(observation, before),
        *checkpoint_compatible(observation),
        *rollback.rolled_back(observation, phase, is_active=is_active),
        *updates.document_applied(observation),
        *trials.document_on_trial(observation),
        *preflights.document_waits(observation),
    ]
    conditions = with_summary([*of_document, *others], phase)
    whole = _whole(observation, before, phase, conditions, revision, schedule)
    if failure := last_failure(before.failures, next_start):
        whole["lastFailure"] = failure
    if failed := rollback.written(observation, is_active=is_active):
        whole["rollback"] = failed
    if observation.trial is not None:
        whole["trial"] = observation.trial.written()
    if before.unanswered is not None:
        whole["unanswered"] = before.unanswered.written()
    if whole != {key: value for key, value in observation.status.items() if key not in DRIVERS_PART}:
        # An operator that is new to a pipeline writes no status only for the history.
        whole |= _history(observation, before, phase, conditions, revision)
    return fitted(whole, {key: observation.status[key] for key in DRIVERS_PART if key in observation.status})


def _history(
    observation: Observation,
    before: DriverHistory,
    phase: str,
    conditions: Sequence[Condition],
    revision: str | None,
) -> dict[str, Any]:
    entries = revisions.history(observation, before, phase, conditions, revision)
    return {"history": entries} if entries else {}


def _whole(
    observation: Observation,
    before: DriverHistory,
    phase: str,
    conditions: Sequence[Condition],
    revision: str | None,
    schedule: Mapping[str, Any] | None,
) -> dict[str, Any]:
    old = observation.status.get("conditions", ())
    known = {
        "revision": revision,
        "run": before.run,
        "attempt": before.attempt or None,
        "checkpoint": observation.revision.pipeline.spec.checkpoints.location
        if observation.revision
        else observation.status.get("checkpoint"),
        "driver": _driver(observation),
        "restartNonce": observation.started_nonce,
        "lastTermination": termination(observation, before.ended),
        "schedule": schedule or observation.status.get("schedule"),
    }
    return {
        "observedGeneration": observation.generation,
        "phase": phase,
        "reason": worst_reason(conditions),
        "conditions": rendered(conditions, old, observation.generation, observation.now),
        "restarts": before.failures.counted,
        **{key: value for key, value in known.items() if value is not None},
    }


_LENGTHS: Final = (4096, 1024, 256, 100)
"""Maximum lengths of the conditions' messages, tried in this order while the status is too long."""


def fitted(status: dict[str, Any], driver: Mapping[str, Any]) -> dict[str, Any]:
    """The operator's part, shortened to fit beside the driver's part; without the queries of `lastTermination` and of `trial` if too
    long.
    """
    if len(json.dumps({**status, **driver}, ensure_ascii=False).encode()) > MAX_BYTES and "history" in status:
        status = {**status, "history": [_without_changes(entry) for entry in status["history"]]}
    for longest in _LENGTHS:
        if len(json.dumps({**status, **driver}, ensure_ascii=False).encode()) <= MAX_BYTES:
            break
        conditions = [
            {**condition, "message": condition["message"][:longest]} for condition in status["conditions"]
        ]
        status = {**status, "conditions": conditions}
        if trial := status.get("trial"):
            status["trial"] = {key: value for key, value in trial.items() if key != "queries"}
        if last := status.get("lastTermination"):
            status["lastTermination"] = {key: value for key, value in last.items() if key != "queries"}
    return status


def _without_changes(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in entry.items() if key != "changes"}


def driver_part(observation: Observation) -> dict[str, Any] | None:
    """The driver's part after the driver has ended; None if no driver has ever written it."""
    if not observation.status.get("queries"):
        return None
    return tidied(observation.status)


_WARNINGS: Final = ("Invalid", "Failed", "BackingOff")
_NODE_SILENT: Final = reasons.NODE_SILENT
_SILENT: Final = (
    reasons.APPLYING,
    reasons.TRIAL_PENDING,
    reasons.TRIAL_RUNNING,
    reasons.TRIAL_PASSED,
    reasons.TRIAL_DIFFERS,
    reasons.TRIAL_FAILED,
)
"""Reasons of `DocumentApplied` without an event of the condition: a trial has events of its own."""
_BAD: Final = (
    ("SpecValid", FALSE),
    (CHECKPOINT_COMPATIBLE, FALSE),
    (ROLLED_BACK, TRUE),
    (ROLLED_BACK, FALSE),
    ("Degraded", TRUE),
    ("DataStalled", TRUE),
)


def events(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[PipelineEvent, ...]:
    """One event for each change of phase, and one for each new problem."""
    if not new:
        return ()
    new_events = []
    now = {condition["type"]: condition for condition in new["conditions"]}
    before = {condition["type"]: condition for condition in old.get("conditions", ())}
    if new["phase"] not in (
        old.get("phase"),
        "Degraded",
        "Running",
    ):  # the conditions' own events have the reasons
        kind = "Warning" if new["phase"] in _WARNINGS else "Normal"
        entry = now["DriverRunning"]
        called = reasons.DRIVER_STARTING if new["phase"] == "Starting" else new["phase"]
        new_events.append(PipelineEvent(kind, called, f"{entry['reason']}: {entry['message']}"))
    driver, was = now.get("DriverRunning"), before.get("DriverRunning")
    if driver and driver["reason"] == _NODE_SILENT and _differs(driver, was):
        new_events.append(PipelineEvent("Warning", reasons.named(driver["reason"]), driver["message"]))
    if new_event := _ready(old, new, before.get("Ready"), now["Ready"]):
        new_events.append(new_event)
    if new_event := _applied(old, new, before.get(DOCUMENT_APPLIED), now.get(DOCUMENT_APPLIED)):
        new_events.append(new_event)
    if new_event := _tried(old, new):
        new_events.append(new_event)
    for name, bad in _BAD:
        condition = now.get(name)
        if condition and condition["status"] == bad and _differs(condition, before.get(name)):
            new_events.append(
                PipelineEvent("Warning", reasons.named(condition["reason"]), condition["message"])
            )
    return tuple(new_events)


def _ready(
    old: Mapping[str, Any], new: Mapping[str, Any], was: Mapping[str, Any] | None, now: Mapping[str, Any]
) -> PipelineEvent | None:
    """The event of a pipeline that has become ready: with its phase, or later, if its driver still had to apply a document.

    Of a document that was applied in the phase `Running` the event `DocumentApplied` is enough.
    """
    if new["phase"] != "Running" or now["status"] != TRUE:
        return None
    was_applying = was is not None and was["reason"] in (reasons.APPLYING, reasons.NOT_ANSWERED)
    if old.get("phase") == "Running" and (not was_applying or old.get("revision") != new.get("revision")):
        return None
    return PipelineEvent("Normal", reasons.READY, f"{now['reason']}: {now['message']}")


def _tried(old: Mapping[str, Any], new: Mapping[str, Any]) -> PipelineEvent | None:
    """The event of a trial that has reached another phase; a first start and a trial that waits have none."""
    was, now = old.get("trial", {}), new.get("trial")
    if now is None or now["phase"] == TrialPhase.PENDING or "against" not in now:
        return None
    if all(was.get(key) == now.get(key) for key in ("revision", "phase", "startTime")):
        return None
    kind = "Warning" if now["phase"] in (TrialPhase.DIFFERS, TrialPhase.FAILED) else "Normal"
    return PipelineEvent(
        kind, trials.event_reason(now["phase"]), f"revision {now['revision']}: {now['message']}"
    )


def _applied(
    old: Mapping[str, Any],
    new: Mapping[str, Any],
    was: Mapping[str, Any] | None,
    now: Mapping[str, Any] | None,
) -> PipelineEvent | None:
    """The event of a document that the running driver has taken over, or has not."""
    if now is not None and now["reason"] not in _SILENT and _differs(now, was):
        return PipelineEvent("Warning", reasons.named(now["reason"]), now["message"])
    if was is None or now is not None or new["phase"] not in ("Running", "Degraded", "Starting"):
        return None
    if old.get("revision") == new.get("revision") or old.get("attempt") != new.get("attempt"):
        return None
    message = f"the running driver has taken revision {new.get('revision')} over"
    return PipelineEvent("Normal", reasons.DOCUMENT_APPLIED, message)


def _differs(condition: Mapping[str, Any], before: Mapping[str, Any] | None) -> bool:
    return before is None or (condition["status"], condition["reason"]) != (
        before["status"],
        before["reason"],
    )


def _driver(observation: Observation) -> dict[str, str] | None:
    if observation.pod is None:
        return None
    node = observation.pod["spec"].get("nodeName")
    return {"pod": observation.pod["metadata"]["name"], **({"node": node} if node else {})}


def _spec_valid(observation: Observation, before: DriverHistory) -> Condition:
    """The condition `SpecValid`: from the rules, then from the API server, and last from Spark in a driver."""
    validation, ended = observation.validation, before.ended
    if validation.revision is None:
        return Condition("SpecValid", FALSE, validation.reason, validation.message)
    if observation.refused:
        return Condition("SpecValid", FALSE, *observation.refused)
    final = updates.final_refusal(observation)
    if final is not None and final[0] not in (reasons.CHECKPOINT_INCOMPATIBLE, reasons.NEVER_ANSWERED):
        return Condition("SpecValid", FALSE, *final)
    same = validation.revision.name == before.revision
    if ended is not None and ended.exit_code == Exit.SPEC_INVALID and same and not observation.rolled_back:
        return Condition("SpecValid", FALSE, ended.reason, ended.message)
    return Condition("SpecValid", TRUE, validation.reason, validation.message)
