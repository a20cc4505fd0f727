"""Conditions after the conventions of Kubernetes; pure. `Ready` is derived, never set by hand."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple


TRUE: Final = "True"
FALSE: Final = "False"
UNKNOWN: Final = "Unknown"
_LONGEST: Final = 4096
_LONGEST_REASON: Final = 128
DEPENDENTS: Final = ("SpecValid", "DriverRunning", "QueriesActive")
"""`Ready` is True where all of these are; otherwise it says what the first of them says."""


class Condition(NamedTuple):
    """One thing that holds, does not, or is unknown.

    Attributes:
        type: its name.
        status: `True`, `False`, `Unknown`.
        reason: why, one CamelCase word.
        message: why, for people.
    """

    type: str
    status: str
    reason: str
    message: str = ""


def with_ready(found: Sequence[Condition]) -> list[Condition]:
    """The conditions with `Ready` before them.

    >>> with_ready([Condition("SpecValid", "True", "Accepted"), Condition("DriverRunning", "False", "Suspended")])[0]
    Condition(type='Ready', status='False', reason='Suspended', message='')
    """
    by_type = {condition.type: condition for condition in found}
    for name in DEPENDENTS:
        condition = by_type.get(name)
        if condition is None:
            return [Condition("Ready", UNKNOWN, "NotYetKnown"), *found]
        if condition.status != TRUE:
            return [condition._replace(type="Ready"), *found]
    return [Condition("Ready", TRUE, "Running", "every query is active"), *found]


def rendered(
    found: Iterable[Condition], before: Sequence[Mapping[str, Any]], generation: int, now: datetime
) -> list[dict[str, Any]]:
    """The conditions as the resource has them; a time is new only where the status is."""
    old = {condition["type"]: condition for condition in before}
    return [_rendered(condition, old.get(condition.type), generation, now) for condition in found]


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


def timestamp(when: datetime) -> str:
    """A time as Kubernetes writes it, to the second."""
    return when.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def parsed(text: str) -> datetime:
    """The reverse of `timestamp`."""
    return datetime.fromisoformat(text)
