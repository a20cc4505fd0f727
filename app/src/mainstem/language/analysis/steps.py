"""Finds the steps of a query between its sources and sinks that decide which triggers it may have."""

from collections.abc import Iterator
from enum import StrEnum
from typing import Final, NamedTuple

from sqlglot import exp

from mainstem.language.analysis.graph import Graph
from mainstem.language.sql import logical_plan
from mainstem.language.sql.logical_plan import Node, NodeKind


class Doing(StrEnum):
    """What a relation does; the value follows the relation's name in a message."""

    AGGREGATE = "aggregates"
    CLOCK = "reads the current time"
    COUNT = "has expectations, which count rows"
    CTE = "has a WITH clause"
    DECODE = "has decode, which counts records"
    DEDUPLICATE = "drops duplicates"
    GENERATE = "returns several rows for one row"
    JOIN = "joins"
    JOIN_ALL = "joins without an equality"
    LIMIT = "has a LIMIT"
    PYTHON = "calls a Python function"
    SORT = "sorts"
    STATE = "keeps its own state"
    STATIC = "does not stream"
    STREAM_JOIN = "joins two streams"
    UNION = "combines several relations"
    UNKNOWN = "is known only to Spark"
    WATERMARK = "has a watermark"
    WINDOW = "has a window function"


STATEFUL: Final = (Doing.AGGREGATE, Doing.DEDUPLICATE, Doing.STATE, Doing.STREAM_JOIN)
"""Steps that keep state between batches."""

_NODES: Final = {
    NodeKind.AGGREGATE: Doing.AGGREGATE,
    NodeKind.DEDUPLICATE: Doing.DEDUPLICATE,
    NodeKind.STATE: Doing.STATE,
    NodeKind.JOIN: Doing.JOIN,
    NodeKind.UNION: Doing.UNION,
    NodeKind.INTERSECT: Doing.UNION,
    NodeKind.EXCEPT: Doing.DEDUPLICATE,
    NodeKind.SORT: Doing.SORT,
    NodeKind.LIMIT: Doing.LIMIT,
    NodeKind.OVER: Doing.WINDOW,
}
_CLOCKS: Final = (exp.CurrentDate, exp.CurrentTime, exp.CurrentTimestamp, exp.Localtimestamp)
_GENERATORS: Final = (exp.Explode, exp.Posexplode, exp.Inline)


class QueryStep(NamedTuple):
    """One step, and the source or view that does it."""

    doing: Doing
    relation: str


def steps(graph: Graph, relation: str) -> list[QueryStep]:
    """The steps of a relation and of all relations that it reads, each once, from the outermost inward.

    A view that only Spark can read is `UNKNOWN`, and the steps of the relations that it reads may be missing.
    """
    root = graph.plan(relation)
    query_steps = {
        QueryStep(Doing.JOIN_ALL, node.view): None for node in logical_plan.unequal(root) if node.streams
    }
    for node in root.all():
        if doing := _of_node(node):
            query_steps[QueryStep(doing, node.view or relation)] = None
    if _calls_python(graph, relation):
        query_steps[QueryStep(Doing.PYTHON, relation)] = None
    for name in graph.closure(relation, certain=True):
        query_steps |= dict.fromkeys(QueryStep(doing, name) for doing in _of_relation(graph, name))
    return list(query_steps)


def _of_node(node: Node) -> Doing | None:
    if node.kind is NodeKind.UNKNOWN:
        return Doing.UNKNOWN
    if not node.streams:
        return None
    if node.stream_join:
        return Doing.STREAM_JOIN
    return _NODES.get(node.kind)


def _of_relation(graph: Graph, name: str) -> Iterator[Doing]:
    view = graph.views.get(name)
    if view is not None:
        tree = graph.facts[name].tree
        if isinstance(tree, exp.Select):
            yield from _of_select(tree)
        if view.expectations:
            yield Doing.COUNT
        if view.watermark is not None:
            yield Doing.WATERMARK
        return
    source = graph.source_of(name)
    if source is None:
        return
    if not source.streaming:
        yield Doing.STATIC
    if source.decoding is not None:
        yield Doing.DECODE
    if source.watermark is not None and name in graph.sources:
        yield Doing.WATERMARK


def _of_select(select: exp.Select) -> Iterator[Doing]:
    if select.ctes:
        yield Doing.CTE
    if select.args.get("laterals") or _has(select, *_GENERATORS):
        yield Doing.GENERATE
    if _has(select, *_CLOCKS):
        yield Doing.CLOCK


def _calls_python(graph: Graph, relation: str) -> bool:
    """Whether a Python function of the document computes a column of the relation, or filters it.

    Relations below do not count, because Spark leaves out columns that nobody reads.
    """
    tree = graph.facts[relation].tree if relation in graph.views else None
    if not isinstance(tree, exp.Select) or not graph.streams(relation, certain=True):
        return False
    wanted = {function.name.lower() for function in graph.spec.functions if function.python}
    return any(call.name.lower() in wanted for call in _expressions(tree, exp.Anonymous))


def _has(select: exp.Select, *kinds: type[exp.Expr]) -> bool:
    return any(True for _ in _expressions(select, *kinds))


def _expressions(select: exp.Select, *kinds: type[exp.Expr]) -> Iterator[exp.Expr]:
    """The expressions of the given kinds in the projections and the filter of a SELECT, without its subqueries."""
    parts = [*select.expressions, select.args.get("where")]
    nodes = (node for part in parts if part is not None for node in part.walk())
    return (node for node in nodes if isinstance(node, kinds) and node.find_ancestor(exp.Query) is select)
