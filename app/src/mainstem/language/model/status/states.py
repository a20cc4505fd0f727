"""The states of a query, and reasons that a query has while it runs."""

from collections import Counter
from collections.abc import Iterable
from enum import StrEnum
from typing import Final

from mainstem import reasons
from mainstem.reasons.reason import Restarted
from mainstem.reasons.registry import entries


OUTAGES: Final = frozenset(reason for reason in entries() if reason.restarted is Restarted.UNLIMITED)
"""Reasons of a query whose server does not answer. An outage is no failure of the query; restarts have no limit."""


class QueryState(StrEnum):
    """The state of a query. `Idle` and `Stopped` are only shown: the driver shows a running query that waits for data as
    idle, and the operator shows a query without a driver as stopped.
    """

    STARTING = "Starting"
    WAITING = "Waiting"
    RUNNING = "Running"
    IDLE = "Idle"
    RESTARTING = "Restarting"
    FAILED = "Failed"
    COMPLETED = "Completed"
    DRAINED = "Drained"
    INTERRUPTED = "Interrupted"
    SUSPENDED = "Suspended"
    STOPPED = "Stopped"


_HEALTHY: Final = frozenset({QueryState.RUNNING, QueryState.IDLE, QueryState.COMPLETED, QueryState.SUSPENDED})
FINAL: Final = frozenset(
    {
        QueryState.COMPLETED,
        QueryState.FAILED,
        QueryState.DRAINED,
        QueryState.INTERRUPTED,
        QueryState.SUSPENDED,
    }
)
"""States that a query keeps when its driver has ended."""

_TALLIED: Final[dict[str, str]] = {
    QueryState.RUNNING: "active",
    QueryState.IDLE: "active",
    QueryState.FAILED: "failed",
    QueryState.RESTARTING: "restarting",
    QueryState.WAITING: "waiting",
    QueryState.STARTING: "starting",
    QueryState.COMPLETED: "completed",
    QueryState.SUSPENDED: "suspended",
    QueryState.DRAINED: "stopped",
    QueryState.INTERRUPTED: "stopped",
    QueryState.STOPPED: "stopped",
}
"""State of a query -> the word that `tally` counts it under, in the order of its words."""


def is_active(state: str, reason: str | None) -> bool:
    """Whether a query with this state and reason is active: in this driver it committed a batch or read no data, it has
    nothing to do, or it waits for the end of another query.
    """
    return state in _HEALTHY or reason == reasons.WRITER_NOT_ENDED


def tally(states: Iterable[str]) -> str:
    """How many queries are in which state, in words.

    >>> tally(["Waiting", "Running", "Failed", "Idle"])
    '2 active, 1 failed, 1 waiting'
    """
    counts = Counter(_TALLIED[state] for state in states)
    return ", ".join(f"{counts[word]} {word}" for word in dict.fromkeys(_TALLIED.values()) if counts[word])
