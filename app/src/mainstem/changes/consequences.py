"""What each query does after a change, in words, and which queries must not start; pure.

`mainstem diff`, the webhook, the operator and the driver take their words from here.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from mainstem.changes.verdict import REFUSED, Change, Effect, QueryVerdict, Verdict
from mainstem.language.model.pipeline import PipelineSpec, StreamingPipeline
from mainstem.language.model.queries import Query
from mainstem.language.yaml.yamltext import Path, parse_path


WAYS_OUT: Final = (
    "undo the change; or start with an empty checkpoint by a higher checkpoint.generation or by checkpoint.onChange: "
    "newGeneration; or accept the result by checkpoint.onChange: keep"
)
CANNOT_CONTINUE: Final = "cannot continue from its checkpoint"
ONLY_NEW_DRIVER: Final = "only a new driver can apply"
_WORDS: Final = {
    Effect.UNCHANGED: "keeps its checkpoint and its state",
    Effect.LIVE: "takes the change without a restart",
    Effect.CONTINUES: "restarts, and continues from its checkpoint",
    Effect.EMPTY: "starts with an empty checkpoint",
    Effect.REMOVED: "stops at a batch's end; its checkpoint stays",
    Effect.MISREADS: "is refused: its rows could be wrong on its checkpoint",
    Effect.INCOMPATIBLE: "is refused: it cannot start on its checkpoint",
}
_KEPT: Final = {
    Effect.MISREADS: "continues from its checkpoint and may misread it, by checkpoint.onChange",
    Effect.INCOMPATIBLE: "fails on its checkpoint, which it keeps by checkpoint.onChange",
}
Place = Callable[[str], str]
"""Gives a field's path with its place in a file, if there is one."""


@dataclass(frozen=True)
class Consequence:
    """What a query does after a change.

    Attributes:
        effect: the effect of the change on the query, after the query's own choice by `checkpoint.onChange`.
        words: what the query does; the query's name is the subject.
        refused: whether the query must not start, so that a running driver refuses the document.
    """

    effect: Effect
    words: str
    refused: bool = False


@dataclass(frozen=True)
class RefusedQuery:
    """A query that must not start with a changed document.

    Attributes:
        query: its name.
        message: the query, the changed fields, and what would go wrong.
    """

    query: str
    message: str


def consequence(verdict: QueryVerdict, query: Query | None) -> Consequence:
    """What a query does after a change.

    Args:
        verdict: the changes of the query.
        query: the query of the new document; None if the document does not have it any more.
    """
    effect = verdict.effect
    if query is None or effect not in REFUSED:
        return Consequence(effect, _WORDS[effect])
    if query.suspend:
        return Consequence(effect, f"is suspended, and {CANNOT_CONTINUE} when it is resumed")
    if query.checkpoint.on_change == "newGeneration":
        return Consequence(Effect.EMPTY, f"{_WORDS[Effect.EMPTY]}, by checkpoint.onChange")
    if query.checkpoint.on_change == "keep":
        return Consequence(effect, _KEPT[effect])
    return Consequence(effect, _WORDS[effect], refused=True)


def consequences(verdict: Verdict, wanted: StreamingPipeline) -> tuple[tuple[QueryVerdict, Consequence], ...]:
    """Each query of a verdict with what it does."""
    queries = {query.name: query for query in wanted.spec.queries}
    return tuple((each, consequence(each, queries.get(each.query))) for each in verdict.queries)


def new_driver(causes: Sequence[str]) -> str:
    """Why a running driver cannot take the change over, from `Transition.driver`."""
    return f"{ONLY_NEW_DRIVER} {', '.join(causes)}"


def refused_queries(verdict: Verdict, wanted: StreamingPipeline) -> tuple[RefusedQuery, ...]:
    """The refused queries of a verdict, without suspended ones and those that accept the change by `checkpoint.onChange`."""
    return tuple(
        RefusedQuery(each.query, message(each))
        for each, outcome in consequences(verdict, wanted)
        if outcome.refused
    )


def message(verdict: QueryVerdict, place: Place = str) -> str:
    """What is wrong with a refused query, without the ways out."""
    refused = [change for change in verdict.changes if change.effect in REFUSED]
    return (
        f"the query {verdict.query!r} {CANNOT_CONTINUE}: "
        f"{'; '.join(_sentence(change, place) for change in refused)}"
    )


def _sentence(change: Change, place: Place) -> str:
    return f"{place(change.path)}: {change.text}"


def path_in(spec: PipelineSpec, field: str) -> Path:
    """The path of a field whose list items have names: `spec.views[daily].sql` is `("spec", "views", 0, "sql")`.

    The path ends before a name that the document does not have.
    """
    numbered = field
    for kind, name in re.findall(r"(?:^|\.)(\w+)\[([^\]]*[^\]\d][^\]]*)\]", field):
        names = [each.name for each in getattr(spec, kind, ())]
        if name not in names:
            return parse_path(numbered.partition(f"[{name}]")[0])
        numbered = numbered.replace(f"[{name}]", f"[{names.index(name)}]", 1)
    return parse_path(numbered)
