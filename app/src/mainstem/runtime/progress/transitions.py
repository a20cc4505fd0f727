"""The table of a query's states: which event takes a query from which state to which; pure.

Only `after` sets a state. A pair that is not in the table changes nothing: a query that has ended keeps its state, and a
late report of Spark's does not wake a failed query.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from mainstem import reasons
from mainstem.language.model.status.query_progress import QueryProgress
from mainstem.language.model.status.states import QueryState


class QueryEvent(StrEnum):
    """An event in the life of a query."""

    PROGRESS = "Progress"
    """Spark reports that the query runs: a trigger, or an epoch of a continuous query."""
    IDLE = "Idle"
    """Spark reports that the query waits for data: the last trouble is over."""
    INPUT_MISSING = "InputMissing"
    """A source does not exist, or its server does not answer, and the query waits for it."""
    INPUT_PRESENT = "InputPresent"
    """All sources that the query waited for exist."""
    RETRY = "Retry"
    """The query failed, and starts again after a pause."""
    FAILURE = "Failure"
    """The query failed, and does not start again."""
    END = "End"
    """The query has read all of its input."""
    DRAIN = "Drain"
    """The run ends, and the query stopped at the end of a batch."""
    INTERRUPTION = "Interruption"
    """The run ends, and a batch of the query was interrupted."""


class ReasonEffect(StrEnum):
    """What a transition does to the query's reason and message."""

    KEEP = "keep"
    CLEAR = "clear"
    SET = "set"


@dataclass(frozen=True)
class Transition:
    """One entry of the table: the new state, and what happens to reason and message."""

    to: QueryState
    reason: ReasonEffect


_STARTED: Final = (QueryState.STARTING, QueryState.RESTARTING)
_LIVING: Final = (QueryState.STARTING, QueryState.WAITING, QueryState.RUNNING, QueryState.RESTARTING)
_ANY_START: Final = (*_LIVING, QueryState.SUSPENDED)
"""A query that is not ready before Spark starts is suspended first: it can fail from there."""

_ROWS: Final[tuple[tuple[QueryEvent, tuple[QueryState, ...], QueryState, ReasonEffect], ...]] = (
    (QueryEvent.PROGRESS, _STARTED, QueryState.RUNNING, ReasonEffect.KEEP),
    (QueryEvent.IDLE, _STARTED, QueryState.RUNNING, ReasonEffect.CLEAR),
    (QueryEvent.INPUT_MISSING, _ANY_START, QueryState.WAITING, ReasonEffect.SET),
    (QueryEvent.INPUT_PRESENT, (QueryState.WAITING,), QueryState.STARTING, ReasonEffect.CLEAR),
    (QueryEvent.RETRY, _ANY_START, QueryState.RESTARTING, ReasonEffect.SET),
    (QueryEvent.FAILURE, _ANY_START, QueryState.FAILED, ReasonEffect.SET),
    (QueryEvent.END, _LIVING, QueryState.COMPLETED, ReasonEffect.CLEAR),
    (QueryEvent.DRAIN, _LIVING, QueryState.DRAINED, ReasonEffect.KEEP),
    (QueryEvent.INTERRUPTION, _LIVING, QueryState.INTERRUPTED, ReasonEffect.KEEP),
)


def _entries() -> Iterator[tuple[tuple[QueryState, QueryEvent], Transition]]:
    for event, states, to, reason in _ROWS:
        for state in states:
            yield (state, event), Transition(to, reason)


TRANSITIONS: Final[Mapping[tuple[QueryState, QueryEvent], Transition]] = MappingProxyType(dict(_entries()))
"""State and event -> transition."""


def initial(*, suspended: bool) -> QueryState:
    """The state of a query before its first event."""
    return QueryState.SUSPENDED if suspended else QueryState.STARTING


def after(
    status: QueryProgress, event: QueryEvent, reason: reasons.Reason | None = None, message: str | None = None
) -> QueryProgress:
    """The status after an event; unchanged where the event changes nothing in this state.

    Args:
        status: before the event.
        event: what happened.
        reason: why, in one word; for transitions that set it.
        message: why, for people.
    """
    transition = TRANSITIONS.get((status.state, event))
    if transition is None:
        return status
    if transition.reason is ReasonEffect.KEEP:
        return replace(status, state=transition.to)
    if transition.reason is ReasonEffect.CLEAR:
        reason, message = None, None
    return replace(status, state=transition.to, reason=reason, message=message)
