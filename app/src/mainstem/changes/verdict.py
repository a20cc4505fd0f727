"""What a comparison finds: the changes of each query with their effects, and the fields that restart the driver."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Effect(StrEnum):
    """What a change does to a query and its checkpoint, from the mildest to the worst."""

    UNCHANGED = "unchanged"
    """Nothing changes for the query."""
    LIVE = "live"
    """Takes effect while the query runs; nothing restarts."""
    CONTINUES = "continues"
    """The query restarts and continues from its checkpoint."""
    EMPTY = "empty"
    """The query starts with an empty checkpoint."""
    REMOVED = "removed"
    """The query stops; its checkpoint stays."""
    MISREADS = "misreads"
    """Spark continues without an error, and the state does not have, or may not have, the meaning that the query needs."""
    INCOMPATIBLE = "incompatible"
    """Spark or Mainstem refuses the query on this checkpoint."""


NEW_GENERATION: Final = "undo the change, or raise checkpoint.generation to start with an empty checkpoint"
"""The ways out of a refused change."""
_SEVERITY: Final = {effect: place for place, effect in enumerate(Effect)}
REFUSED: Final = (Effect.MISREADS, Effect.INCOMPATIBLE)
"""Effects with which a query must not start on its checkpoint."""


def worst(effects: Iterable[Effect]) -> Effect:
    """The worst of some effects; `UNCHANGED` without any."""
    return max(effects, key=_SEVERITY.__getitem__, default=Effect.UNCHANGED)


@dataclass(frozen=True)
class Change:
    """One change that concerns a query.

    Attributes:
        path: field of the document, such as `spec.views[daily].sql`; of the new one, unless the field is only in the old one.
        text: what changes and what it does, in one sentence.
        effect: what the change alone does to the query.
        remedy: what to do about it; empty where nothing needs to be done.
        of_sink: whether a sink is the cause, so that another checkpoint does not help.
    """

    path: str
    text: str
    effect: Effect
    remedy: str = ""
    of_sink: bool = False


@dataclass(frozen=True)
class QueryVerdict:
    """All changes that concern one query.

    Attributes:
        query: the query's name in the new document; in the old one for a query that is removed.
        changes: the changes, the worst ones first; empty for a query that does not change.
        afresh: what its sources and sinks do if it starts with an empty checkpoint.
    """

    query: str
    changes: tuple[Change, ...] = ()
    afresh: tuple[Change, ...] = ()

    @property
    def effect(self) -> Effect:
        """The worst effect of all changes."""
        return worst(change.effect for change in self.changes)

    @property
    def refusals(self) -> tuple["Change", ...]:
        """The changes with which the query must not start on its checkpoint."""
        return tuple(change for change in self.changes if change.effect in REFUSED)


@dataclass(frozen=True)
class Verdict:
    """The result of a comparison.

    Attributes:
        queries: every query of the new document, in its order, then the queries that are removed.
        driver: paths of the changed fields that only a new driver can apply.
    """

    queries: tuple[QueryVerdict, ...]
    driver: tuple[str, ...] = ()

    @property
    def refused(self) -> tuple[QueryVerdict, ...]:
        """The queries that must not start on their checkpoints: they misread them, or do not fit them."""
        return tuple(query for query in self.queries if query.effect in REFUSED)


def verdict_of(query: str, changes: Iterable[Change], afresh: Iterable[Change] = ()) -> QueryVerdict:
    """The verdict about a query, with the worst changes first."""
    return QueryVerdict(query, worst_first(changes), tuple(afresh))


def worst_first(changes: Iterable[Change]) -> tuple[Change, ...]:
    """The changes without repetitions, the worst ones first."""
    return tuple(sorted(dict.fromkeys(changes), key=lambda change: -_SEVERITY[change.effect]))
