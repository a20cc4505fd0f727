"""Which queries of two documents can be compared on one checkpoint; pure."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import singledispatch
from itertools import chain

from mainstem import reasons
from mainstem.changes import Effect, QueryVerdict, compare
from mainstem.changes.consequences import WAYS_OUT, message
from mainstem.changes.verdict import REFUSED
from mainstem.language.analysis.graph import Graph
from mainstem.language.model.connectors.custom import SparkSource
from mainstem.language.model.connectors.generated_sources import SocketSource
from mainstem.language.model.connectors.kinds import SourceKind
from mainstem.language.model.queries import Query
from mainstem.trial.outcome import Outcome, QueryTrial


@dataclass(frozen=True)
class Candidate:
    """A query of both documents that continues from its checkpoint.

    Attributes:
        old: the query of the old document.
        new: the query of the new document, on the same checkpoint.
        notes: what the comparison does not show.
    """

    old: Query
    new: Query
    notes: tuple[str, ...] = ()


def chosen(before: Graph, after: Graph, names: Collection[str] = ()) -> list[Candidate | QueryTrial]:
    """The queries to compare, and the outcome of each query that cannot be compared, in the order of the new document.

    Args:
        before: the old document.
        after: the new document.
        names: only these queries of the new document; all if empty.
    """
    by_checkpoint = {query.checkpoint_path: query for query in before.spec.queries}
    queries = {query.name: query for query in after.spec.queries}
    result: list[Candidate | QueryTrial] = []
    for verdict in compare(before, after).queries:
        new = queries.get(verdict.query)
        if names and verdict.query not in names:
            continue
        if new is None or Effect.EMPTY in {change.effect for change in verdict.changes}:
            result.append(_skipped(verdict.query, verdict.changes[0].text))
        elif new.suspend:
            result.append(_skipped(new.name, "the query is suspended in the new document"))
        elif verdict.effect in REFUSED and new.checkpoint.on_change != "keep":
            result.append(_refused(verdict, new))
        elif new.checkpoint_path not in by_checkpoint:
            result.append(
                _skipped(new.name, "the query continues from a checkpoint that the old document does not use")
            )
        else:
            result.append(_paired(before, after, by_checkpoint[new.checkpoint_path], new))
    return result


def _skipped(query: str, why: str) -> QueryTrial:
    return QueryTrial(query, Outcome.NOT_COMPARED, why)


def _refused(verdict: QueryVerdict, query: Query) -> QueryTrial:
    problem = message(query.name, verdict.refusals)
    if query.checkpoint.on_change == "newGeneration":
        return _skipped(
            query.name,
            f"{problem}; by checkpoint.onChange it starts with the next generation, which is empty",
        )
    return QueryTrial(
        query.name,
        Outcome.REFUSED,
        f"{problem}; {WAYS_OUT}",
        reasons.CHECKPOINT_INCOMPATIBLE,
    )


def _paired(before: Graph, after: Graph, old: Query, new: Query) -> Candidate | QueryTrial:
    for graph, query in ((before, old), (after, new)):
        if not graph.streams(query.from_):
            return _skipped(new.name, "the query runs once and has no batches")
        if query.trigger and query.trigger.continuous:
            return _skipped(new.name, "a query with a continuous trigger has no batches")
        for source in graph.sources_of(query.from_):
            if source.stream and (why := read_once(source.stream)):
                return _skipped(new.name, f"the source {source.name!r} cannot be read a second time: {why}")
    return Candidate(old, new, tuple(_notes(before, after, old, new)))


def _notes(before: Graph, after: Graph, old: Query, new: Query) -> Iterator[str]:
    known = {source.name for source in before.sources_of(old.from_)}
    sources = list(after.sources_of(new.from_))
    for source in sources:
        if source.streaming and source.name not in known:
            yield f"the source {source.name!r} is new: the batches of the old document have no rows of it"
    if static := sorted({source.name for source in sources if not source.streaming}):
        yield f"both documents read the tables {', '.join(static)} as they are now"
    views = {
        view.name: view
        for graph, query in ((before, old), (after, new))
        for name in graph.closure(query.from_)
        if (view := graph.views.get(name) or graph.quarantines.get(name))
    }
    if code := sorted(name for name, view in views.items() if view.python or view.state):
        yield f"your code of the views {', '.join(code)} ran for each document; its effects elsewhere are real"
    if any(sink.python for sink in chain(old.to, new.to)):
        yield "your code of python sinks did not run"


@singledispatch
def read_once(_source: SourceKind) -> str:
    """Why another query must not read the rows of a source, by its kind; empty if it may."""
    return ""


@read_once.register
def _socket(source: SocketSource) -> str:
    return source.not_kept


@read_once.register
def _connector(_source: SparkSource) -> str:
    return "a connector may remove records from its system once a batch has read them"
