"""Conditions by the conventions of Kubernetes; pure. `Ready`, `Reconciling` and `Stalled` are derived from the others.

kstatus, with which Flux and Helm wait, reads these three: `Ready` True is current, `Reconciling` True is in progress,
`Stalled` True is failed. Exactly one of the three is True in every status.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from mainstem import reasons


TRUE: Final = "True"
FALSE: Final = "False"
UNKNOWN: Final = "Unknown"
_LONGEST: Final = 4096
_LONGEST_REASON: Final = 128
CHECKPOINT_COMPATIBLE: Final = "CheckpointCompatible"
"""Type of a condition that a resource has only while it is False; then `Ready` repeats it, unless `SpecValid` is False."""
DOCUMENT_APPLIED: Final = "DocumentApplied"
"""The same for a changed document that the running driver has not applied yet, or that is on trial."""
ROLLED_BACK: Final = "RolledBack"
"""Type of a condition that a resource has only after its document has failed. If it is True, `Ready` is False."""
ONLY_FALSE: Final = (CHECKPOINT_COMPATIBLE, DOCUMENT_APPLIED)
DEPENDENTS: Final = ("SpecValid", CHECKPOINT_COMPATIBLE, DOCUMENT_APPLIED, "DriverRunning", "QueriesActive")
"""`Ready` is True if all of these are True and `RolledBack` is not; otherwise it repeats the first one that is not."""
AT_REST: Final = ("Suspended", "Scheduled", "Completed")
"""Phases in which no driver should run: the pipeline is as its document requests."""
ENDED: Final = ("Invalid", "Failed")
"""Phases that end only after a change by a user."""
DERIVED: Final = ("Ready", "Reconciling", "Stalled")


class Condition(NamedTuple):
    """One statement about a pipeline that is true, false or unknown.

    Attributes:
        type: its name.
        status: `True`, `False`, `Unknown`.
        reason: why, one CamelCase word for programs.
        message: why, for people.
    """

    type: str
    status: str
    reason: reasons.Reason
    message: str = ""


def with_summary(conditions: Sequence[Condition], phase: str) -> list[Condition]:
    """The conditions, preceded by `Ready` and, if that is not True, by either `Stalled` or `Reconciling`.

    >>> [condition.type for condition in with_summary([Condition("SpecValid", "False", "UnknownRelation")], "Invalid")]
    ['Ready', 'Stalled', 'SpecValid']
    """
    by_type = {condition.type: condition for condition in conditions}
    ready = _ready(by_type, phase)
    if ready.status == TRUE:
        return [ready, *conditions]
    kind = "Stalled" if _needs_a_change(by_type, phase) else "Reconciling"
    return [ready, ready._replace(type=kind, status=TRUE), *conditions]


def worst_reason(conditions: Sequence[Condition]) -> str:
    """The reason that a reader should see first: why the pipeline is not ready, else why it is degraded."""
    by_type = {condition.type: condition for condition in conditions}
    ready = by_type["Ready"]
    impaired = [by_type[name] for name in ("Degraded", "DataStalled") if name in by_type]
    # A first batch that hangs is worse than a slow start.
    is_cause = ready.status != TRUE and ready.reason != reasons.QUERIES_STARTING
    first = (
        ready if is_cause else next((condition for condition in impaired if condition.status == TRUE), ready)
    )
    return first.reason[:_LONGEST_REASON]


def _ready(by_type: Mapping[str, Condition], phase: str) -> Condition:
    rolled_back = by_type.get(ROLLED_BACK)
    for name in DEPENDENTS:
        condition = by_type.get(name)
        if name == DOCUMENT_APPLIED and rolled_back is not None and rolled_back.status == TRUE:
            return rolled_back._replace(type="Ready", status=FALSE)
        if condition is None and name in ONLY_FALSE:
            continue
        if name == DOCUMENT_APPLIED and _waits_for_a_driver(by_type):
            continue
        if condition is None:
            return Condition("Ready", UNKNOWN, reasons.NOT_YET_KNOWN)
        if condition.status != TRUE:
            at_rest = name == "DriverRunning" and phase in AT_REST
            return condition._replace(type="Ready", status=TRUE if at_rest else condition.status)
    return Condition("Ready", TRUE, reasons.RUNNING, "every query is active")


def _waits_for_a_driver(by_type: Mapping[str, Condition]) -> bool:
    """Whether a changed document waits for a driver that does not run: then why it does not run comes first."""
    driver = by_type.get("DriverRunning")
    return driver is not None and driver.status != TRUE


_HELD_BACK: Final = (reasons.TRIAL_DIFFERS, reasons.TRIAL_FAILED, reasons.NEVER_ANSWERED)


def _needs_a_change(by_type: Mapping[str, Condition], phase: str) -> bool:
    """Whether no retry of the driver or of the operator can help."""
    of_document = [by_type[name] for name in ("SpecValid", CHECKPOINT_COMPATIBLE) if name in by_type]
    degraded, applied = by_type.get("Degraded"), by_type.get(DOCUMENT_APPLIED)
    return (
        phase in ENDED
        or any(condition.status == FALSE for condition in of_document)
        or ROLLED_BACK in by_type
        or (applied is not None and applied.reason in _HELD_BACK)
        or (degraded is not None and degraded[1:3] == (TRUE, reasons.QUERY_FAILED))
    )


def rendered(
    conditions: Iterable[Condition], before: Sequence[Mapping[str, Any]], generation: int, now: datetime
) -> list[dict[str, Any]]:
    """The conditions as the resource has them; a transition time changes only with the status."""
    old = {condition["type"]: condition for condition in before}
    return [_rendered(condition, old.get(condition.type), generation, now) for condition in conditions]


def _rendered(
    condition: Condition, old: Mapping[str, Any] | None, generation: int, now: datetime
) -> dict[str, Any]:
    same = old is not None and old["status"] == condition.status
    return {
        "type": condition.type,
        "status": condition.status,
        "reason": condition.reason[:_LONGEST_REASON],
        "message": condition.message[:_LONGEST],
        "lastTransitionTime": old["lastTransitionTime"] if same and old else timestamp(now),
        "observedGeneration": generation,
    }


def find_condition(status: Mapping[str, Any], name: str) -> Mapping[str, Any] | None:
    """The condition of a type in a status; None if the status has none."""
    return next((each for each in status.get("conditions", ()) if each["type"] == name), None)


def timestamp(when: datetime) -> str:
    """A time in the format of Kubernetes, in whole seconds."""
    return when.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def parsed(text: str) -> datetime:
    """The time of a text that `timestamp` wrote."""
    return datetime.fromisoformat(text)
