"""What is certain of a query's plan, without Spark: the steps on the way from its sources to its sink.

Only the spine of a SQL text is read: what its outermost SELECT does, and the SELECTs in its FROM and UNION. What stands
in a subquery of an expression may or may not become part of the stream's plan, and is left to Spark.
"""

from collections.abc import Iterator
from enum import StrEnum
from typing import Final, NamedTuple

from sqlglot import exp

from mainstem.spec.graph import Graph
from mainstem.spec.sql import is_cte


class Kind(StrEnum):
    """What a step does, in words that follow the relation's name."""

    AGGREGATE = "aggregates"
    CLOCK = "asks for the current time"
    CTE = "has a WITH clause"
    DECODE = "is decoded, and its records counted"
    DEDUPLICATE = "drops duplicates"
    GENERATE = "makes several rows of one"
    JOIN = "joins"
    LIMIT = "has a LIMIT"
    SORT = "sorts"
    STATE = "keeps state of its own"
    STATIC = "does not stream"
    STREAM_JOIN = "joins two streams"
    UNION = "combines several relations"
    UNKNOWN = "is known to Spark alone"
    WATERMARK = "has a watermark"
    WINDOW = "has a window function"


STATEFUL: Final = (Kind.AGGREGATE, Kind.DEDUPLICATE, Kind.STATE, Kind.STREAM_JOIN)
"""Steps that keep state between batches."""

_OF_VIEWS: Final = {"deduplicate": Kind.DEDUPLICATE, "state": Kind.STATE}
"""What a view that is no SQL does, by its key."""
_CLAUSES: Final = {
    "with_": Kind.CTE,
    "laterals": Kind.GENERATE,
    "order": Kind.SORT,
    "limit": Kind.LIMIT,
}
_EXPRESSIONS: Final[dict[Kind, tuple[type[exp.Expr], ...]]] = {
    Kind.WINDOW: (exp.Window,),
    Kind.GENERATE: (exp.Explode, exp.Posexplode, exp.Inline),
    Kind.CLOCK: (exp.CurrentDate, exp.CurrentTime, exp.CurrentTimestamp, exp.Localtimestamp),
}


class Step(NamedTuple):
    """One step: what it does, and the source or view in which it stands."""

    kind: Kind
    relation: str


def steps(graph: Graph, relation: str) -> list[Step]:
    """The steps of a relation, from its outermost inward, each kind once for each relation that has it.

    A view whose SQL cannot be read is a step of the kind `UNKNOWN`; it hides what it reads.
    """
    found: dict[Step, None] = {}
    for name in graph.closure(relation, certain=True):
        found |= dict.fromkeys(Step(kind, name) for kind in _kinds(graph, name))
    return list(found)


def _kinds(graph: Graph, name: str) -> Iterator[Kind]:
    view = graph.views.get(name)
    if view is None:
        yield from _of_source(graph, name)
        return
    if view.sql is None:
        yield _OF_VIEWS.get(view.choice(), Kind.UNKNOWN)
    elif (tree := graph.facts[name].tree) is None or graph.facts[name].references is None:
        yield Kind.UNKNOWN
    else:
        yield from _of_sql(graph, tree)
    if view.watermark is not None:
        yield Kind.WATERMARK


def _of_source(graph: Graph, name: str) -> Iterator[Kind]:
    source = graph.sources.get(name) or graph.dead_letters.get(name)
    if source is None:
        return
    if not source.streaming:
        yield Kind.STATIC
    if source.decode is not None:
        yield Kind.DECODE
    if source.watermark is not None and name in graph.sources:
        yield Kind.WATERMARK


def _of_sql(graph: Graph, tree: exp.Expr) -> Iterator[Kind]:
    if isinstance(tree, exp.Subquery):
        yield from _of_sql(graph, tree.this)
    elif isinstance(tree, exp.SetOperation):
        yield Kind.UNION
        yield from _of_sql(graph, tree.left)
        yield from _of_sql(graph, tree.right)
    elif isinstance(tree, exp.Select):
        yield from _of_select(graph, tree)


def _of_select(graph: Graph, select: exp.Select) -> Iterator[Kind]:
    read = _read(select)
    streams = sum(_streams(graph, table) for table in read)
    if len(read) > 1:
        yield Kind.STREAM_JOIN if streams > 1 else Kind.JOIN
    if streams and select.args.get("distinct"):
        yield Kind.DEDUPLICATE
    if streams and (select.args.get("group") or _own(select, exp.AggFunc, within=exp.Window)):
        yield Kind.AGGREGATE
    yield from (kind for key, kind in _CLAUSES.items() if select.args.get(key))
    yield from (kind for kind, nodes in _EXPRESSIONS.items() if _own(select, *nodes))
    for table in read:
        if isinstance(table, exp.Subquery):
            yield from _of_sql(graph, table.this)


def _read(select: exp.Select) -> list[exp.Expr]:
    """What stands in FROM and JOIN."""
    clause = select.args.get("from_") or select.args.get("from")
    return [part.this for part in ([clause] if clause else []) + (select.args.get("joins") or [])]


def _own(select: exp.Select, *kinds: type[exp.Expr], within: type[exp.Expr] = exp.Query) -> bool:
    """Whether a projection or the condition of this very SELECT has such an expression, but for those in a `within`."""
    parts = [*select.expressions, select.args.get("where")]
    return any(
        isinstance(node, kinds) and node.find_ancestor(exp.Query, within) is select
        for part in parts
        if part is not None
        for node in part.walk()
    )


def _streams(graph: Graph, table: exp.Expr) -> bool:
    """Whether what stands in FROM or JOIN is certainly a stream."""
    if isinstance(table, exp.Subquery) and isinstance(table.this, exp.Select):
        return any(_streams(graph, below) for below in _read(table.this))
    name = table.name.lower()
    if not isinstance(table, exp.Table) or table.db or is_cte(table):
        return False
    return name in graph.names and graph.streams(name, certain=True)
