"""The entries of `status.history` that say what runs; pure."""

from collections.abc import Mapping
from typing import Any

from mainstem.language.model.status.revision_history import RevisionOutcome


Entry = Mapping[str, Any]


def newest(status: Mapping[str, Any]) -> Entry | None:
    """The entry of the revision that runs, or ran last; rejected ones never ran."""
    return next((each for each in status.get("history", ()) if "endTime" not in each), None)


def is_healthy(status: Mapping[str, Any], revision: str) -> bool:
    """Whether the revision runs, has been healthy, and has not failed since."""
    entry = newest(status)
    return entry is not None and (entry["revision"], entry["outcome"]) == (revision, RevisionOutcome.HEALTHY)
