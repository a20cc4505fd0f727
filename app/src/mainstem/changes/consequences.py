"""What each query and the driver do after a change, in words, and which queries must not start; pure.

`mainstem diff`, the webhook, the operator and the driver take their words from here.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from mainstem.changes.transition import Step, Transition
from mainstem.changes.verdict import (
    REFUSED,
    Change,
    Effect,
    QueryVerdict,
    Verdict,
    worst,
    worst_first,
)
from mainstem.language.analysis.graph import Graph
from mainstem.language.model.pipeline import StreamingPipeline
from mainstem.language.model.queries import Query
from mainstem.language.yaml.yamltext import Path, parse_path


WAYS_OUT: Final = (
    "undo the change; or start with an empty checkpoint by a higher checkpoint.generation or by checkpoint.onChange: "
    "newGeneration; or accept the result by checkpoint.onChange: keep"
)
CANNOT_CONTINUE: Final = "cannot continue from its checkpoint"
ONLY_NEW_DRIVER: Final = "only a new driver can apply"
_STOPS: Final = "stops at a batch's end; its checkpoint stays"
_CONTINUES: Final = "continues from its checkpoint"
_BEGINS: Final = "starts with an empty checkpoint"
_TAKEN: Final = "cannot start with an empty checkpoint: the folder of a sink has files of another one"
_REFUSED: Final = {
    Effect.MISREADS: "is refused: its rows could be wrong on its checkpoint",
    Effect.INCOMPATIBLE: "is refused: it cannot start on its checkpoint",
}
_KEPT: Final = {
    Effect.MISREADS: f"{_CONTINUES} and may misread it",
    Effect.INCOMPATIBLE: "fails on its checkpoint, which it keeps",
}
_NONCE: Final = ("spec.restartNonce",)
Place = Callable[[str], str]
"""Gives a field's path with its place in a file, if there is one."""


class DriverStep(StrEnum):
    """What a change does to the driver of a pipeline."""

    KEEP = "keep"
    """It runs on."""
    REPLACE = "replace"
    """It ends, and a new one starts."""
    STOP = "stop"
    """It ends: the pipeline is suspended."""
    START = "start"
    """A driver starts: the pipeline is resumed."""
    REST = "rest"
    """There is none: the pipeline stays suspended."""


@dataclass(frozen=True)
class QueryOutcome:
    """What becomes of a query and its checkpoint, by the changes that concern it.

    Attributes:
        effect: their effect, after the query's own choice by `checkpoint.onChange`.
        changes: all of them, the worst ones first, with what sources and sinks do if the checkpoint is empty.
        refusals: those because of which the query must not start, so that a running driver refuses the document.
        taken: folders of files on which it cannot start. The documents do not show whether they really have files, or
            whether a command has filled the checkpoint.
        begins: whether the query starts with an empty checkpoint.
    """

    effect: Effect
    changes: tuple[Change, ...] = ()
    refusals: tuple[Change, ...] = ()
    taken: tuple[Change, ...] = ()
    begins: bool = False


@dataclass(frozen=True)
class Consequence:
    """What a query does after a change.

    Attributes:
        outcome: what becomes of it and its checkpoint.
        words: what it does; the query's name is the subject.
        restarts: whether it runs, stops, and starts again.
        refused: whether it must not start, or cannot.
    """

    outcome: QueryOutcome
    words: str
    restarts: bool = False
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


def driver_step(way: Transition, running: Graph, wanted: Graph) -> tuple[DriverStep, tuple[str, ...]]:
    """What a change does to the driver, and the causes: fields, or nouns."""
    old, new = running.spec, wanted.spec
    if old.suspend or new.suspend:
        step = DriverStep.START if not new.suspend else DriverStep.REST if old.suspend else DriverStep.STOP
        return step, ("spec.suspend",)
    nonce = _NONCE if new.restart_nonce not in (None, old.restart_nonce) else ()
    causes = (*way.driver, *nonce)
    return (DriverStep.REPLACE if causes else DriverStep.KEEP), causes


def outcome(verdict: QueryVerdict, query: Query | None) -> QueryOutcome:
    """What becomes of a query.

    Args:
        verdict: the changes of the query.
        query: the query of the new document; None if the document does not have it any more.
    """
    effect, changes = verdict.effect, verdict.changes
    if query is None:
        return QueryOutcome(effect, changes)
    choice = "suspend" if query.suspend else query.checkpoint.on_change
    renews = choice == "newGeneration" and bool(verdict.refusals)
    # Another checkpoint does not help against what a sink refuses.
    left = tuple(each for each in verdict.refusals if each.of_sink or not renews)
    refusals = left if choice in ("refuse", "newGeneration") else ()
    if not renews and all(each.effect is not Effect.EMPTY for each in changes):
        return QueryOutcome(effect, changes, refusals)
    taken = tuple(each for each in verdict.afresh if each.effect in REFUSED)
    effect = worst([Effect.EMPTY, *(each.effect for each in (*left, *taken))])
    changes = worst_first([*changes, *verdict.afresh])
    return QueryOutcome(effect, changes, refusals, taken, begins=True)


def consequences(
    way: Transition, running: Graph, wanted: Graph
) -> tuple[tuple[QueryVerdict, Consequence], ...]:
    """Each query with what it does on the way from the running document to the wanted one."""
    old, new = ({query.name: query for query in graph.spec.queries} for graph in (running, wanted))
    driver, _ = driver_step(way, running, wanted)
    result = []
    for each in way.verdict.queries:
        is_removed = each.effect is Effect.REMOVED
        was = old.get(each.query)
        runs = was is not None and not was.suspend and not running.spec.suspend
        query = None if is_removed else new[each.query]
        step = Step.REMOVE if is_removed else way.steps[each.query]
        result.append((each, _consequence(outcome(each, query), query, step, driver, runs=runs)))
    refused = [each for _, each in result if each.refused]
    if driver is DriverStep.REPLACE:  # a new driver looks into no folder before the old one ends
        refused = [each for each in refused if each.outcome.refusals]
    remains = bool(refused) and driver in (DriverStep.KEEP, DriverStep.REPLACE)
    return tuple((query, _remaining(each) if remains else each) for query, each in result)


def _remaining(consequence: Consequence) -> Consequence:
    """What a query does if another one is the reason why a running driver refuses the document."""
    if consequence.refused:
        return consequence
    return replace(consequence, words="goes on with the document before", restarts=False)


def _consequence(
    result: QueryOutcome, query: Query | None, step: Step, driver: DriverStep, *, runs: bool
) -> Consequence:
    if query is None:
        return Consequence(result, _STOPS if runs else "leaves the document; its checkpoint stays")
    if query.suspend or driver in (DriverStep.STOP, DriverStep.REST):
        return Consequence(result, _standing(result, stops=runs, is_new=step is Step.START))
    if result.refusals:
        return Consequence(result, _REFUSED[result.effect], refused=True)
    if result.taken:
        return Consequence(result, _TAKEN, refused=True)
    restarts = runs and (step is Step.REPLACE or driver is DriverStep.REPLACE)
    return Consequence(result, _running(result, query, step, driver), restarts)


def _standing(result: QueryOutcome, *, stops: bool, is_new: bool) -> str:
    """What a suspended query does, or a query of a suspended pipeline."""
    if result.effect in REFUSED:
        later = "cannot start with an empty checkpoint" if result.begins else CANNOT_CONTINUE
    elif result.begins:
        later = _BEGINS
    else:
        return _STOPS if stops else "stays suspended"
    return f"{'is' if stops or is_new else 'stays'} suspended, and {later} when it is resumed"


def _running(result: QueryOutcome, query: Query, step: Step, driver: DriverStep) -> str:
    """What a query does that must start or runs on."""
    accepted = any(each.effect in REFUSED for each in result.changes)
    chosen = f", by checkpoint.onChange: {query.checkpoint.on_change}" if accepted else ""
    if result.effect in _KEPT:
        return f"{_KEPT[result.effect]}{chosen}"
    if result.begins:
        return f"{_BEGINS}{chosen}"
    if step is Step.RETRY:
        return f"starts again, and {_CONTINUES}"
    if step is Step.START or driver is DriverStep.START:
        return f"starts, and {_CONTINUES}"
    return _continuing(result.effect, step, driver)


def _continuing(effect: Effect, step: Step, driver: DriverStep) -> str:
    """What a query does that runs, and keeps its checkpoint."""
    if driver is DriverStep.REPLACE:
        return f"restarts with the driver, and {_CONTINUES}"
    if step is Step.REPLACE and effect is Effect.UNCHANGED:
        return f"restarts because its text has changed; it computes the same, and {_CONTINUES}"
    if step is Step.REPLACE:
        return f"restarts, and {_CONTINUES}"
    return "runs on" if effect is Effect.UNCHANGED else "takes the change without a restart"


def new_driver(causes: Sequence[str]) -> str:
    """Why a new driver starts, from `driver_step`."""
    if tuple(causes) == _NONCE:
        return f"{causes[0]} asks for a new driver"
    return f"{ONLY_NEW_DRIVER} {', '.join(causes)}"


def refused_queries(verdict: Verdict, wanted: StreamingPipeline) -> tuple[RefusedQuery, ...]:
    """The refused queries of a verdict, without suspended ones and those that accept the change by `checkpoint.onChange`."""
    queries = {query.name: query for query in wanted.spec.queries}
    return tuple(
        RefusedQuery(each.query, message(each.query, refusals))
        for each in verdict.queries
        if each.effect is not Effect.REMOVED and (refusals := outcome(each, queries.get(each.query)).refusals)
    )


def message(query: str, refusals: Sequence[Change], place: Place = str) -> str:
    """Why a query must not start, without the ways out.

    Args:
        query: its name.
        refusals: the changes because of which it must not start.
        place: gives a field's path with its place in a file.
    """
    causes = "; ".join(
        f"{place(each.path)}: {each.text}{f' ({each.remedy})' if each.of_sink else ''}" for each in refusals
    )
    return f"the query {query!r} {CANNOT_CONTINUE}: {causes}"


def path_in(graph: Graph, field: str) -> Path:
    """The path of a field whose list items have names: `spec.views[daily].sql` is `("spec", "views", 0, "sql")`.

    The path ends before a name that the document does not have.
    """
    numbered = field = graph.written_path(field)
    for kind, name in re.findall(r"(?:^|\.)(\w+)\[([^\]]*[^\]\d][^\]]*)\]", field):
        names = [each.name for each in getattr(graph.spec, kind, ())]
        if name not in names:
            return parse_path(numbered.partition(f"[{name}]")[0])
        numbered = numbered.replace(f"[{name}]", f"[{names.index(name)}]", 1)
    return parse_path(numbered)
