"""The entries of `status.history` that say what runs; pure."""

from collections.abc import Mapping
from typing import Any, Final

from mainstem.language.model.status.revision_history import RevisionOutcome


Entry = Mapping[str, Any]

_NEVER_HEALTHY: Final = (RevisionOutcome.REJECTED, RevisionOutcome.REPLACED, RevisionOutcome.ROLLED_BACK)


def newest(status: Mapping[str, Any]) -> Entry | None:
    """The entry of the revision that runs, or ran last; rejected ones never ran."""
    return next((each for each in status.get("history", ()) if "endTime" not in each), None)


def is_healthy(status: Mapping[str, Any], revision: str) -> bool:
    """Whether the revision runs, has been healthy, and has not failed since."""
    entry = newest(status)
    return entry is not None and (entry["revision"], entry["outcome"]) == (revision, RevisionOutcome.HEALTHY)


def follows_healthy(status: Mapping[str, Any], revision: str) -> bool:
    """Whether the revision runs, has replaced a healthy one, and has been neither healthy nor failed since. One that a driver has taken
    over just now has no entry yet.
    """
    entry, before = newest(status), _before(status)
    if entry is None:
        return False
    if entry["revision"] != revision and entry["outcome"] == RevisionOutcome.HEALTHY:
        return True
    is_healthy_before = before is not None and before["outcome"] == RevisionOutcome.HEALTHY
    return entry["outcome"] == RevisionOutcome.PROGRESSING and is_healthy_before


def last_healthy(status: Mapping[str, Any], failed: str) -> str | None:
    """The revision to return to if this one fails: the last one before that got all queries active. None if there is none,
    or if that one had failed before it was replaced, or if it is this one, to which a rollback has returned.
    """
    before = _before(status)
    if before is None or before["outcome"] != RevisionOutcome.HEALTHY or before["revision"] == failed:
        return None
    return str(before["revision"])


def _before(status: Mapping[str, Any]) -> Entry | None:
    """The entry of the last revision before the newest one that ran long enough to get healthy or to fail."""
    ended = (entry for entry in status.get("history", ()) if "endTime" in entry)
    return next((entry for entry in ended if entry["outcome"] not in _NEVER_HEALTHY), None)
