"""What a query does on the way from its sources to its sinks, as far as triggers ask for it; of the certain plan."""

from collections.abc import Iterator
from enum import StrEnum
from typing import Final, NamedTuple

from sqlglot import exp

from mainstem.language.analysis.graph import Graph
from mainstem.language.sql import logical_plan
from mainstem.language.sql.logical_plan import Node, NodeKind


class Doing(StrEnum):
    """What a relation does, in words that follow its name."""

    AGGREGATE = "aggregates"
    CLOCK = "asks for the current time"
    COUNT = "has expectations, and its rows counted"
    CTE = "has a WITH clause"
    DECODE = "is decoded, and its records counted"
    DEDUPLICATE = "drops duplicates"
    GENERATE = "makes several rows of one"
    JOIN = "joins"
    JOIN_ALL = "joins without an equality"
    LIMIT = "has a LIMIT"
    PYTHON = "calls a function in Python"
    SORT = "sorts"
    STATE = "keeps state of its own"
    STATIC = "does not stream"
    STREAM_JOIN = "joins two streams"
    UNION = "combines several relations"
    UNKNOWN = "is known to Spark alone"
    WATERMARK = "has a watermark"
    WINDOW = "has a window function"


STATEFUL: Final = (Doing.AGGREGATE, Doing.DEDUPLICATE, Doing.STATE, Doing.STREAM_JOIN)
"""What keeps state between batches."""

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
    """One thing that is done, and the source or view that does it."""

    doing: Doing
    relation: str


def steps(graph: Graph, relation: str) -> list[QueryStep]:
    """What a relation and all that it reads do, each once, from the outermost inward.

    A view that cannot be read without Spark is `UNKNOWN`, and what it reads may be missing.
    """
    root = graph.plan(relation)
    found = {
        QueryStep(Doing.JOIN_ALL, node.view): None for node in logical_plan.unequal(root) if node.streams
    }
    for node in root.all():
        if doing := _of_node(node):
            found[QueryStep(doing, node.view or relation)] = None
    if _calls_python(graph, relation):
        found[QueryStep(Doing.PYTHON, relation)] = None
    for name in graph.closure(relation, certain=True):
        found |= dict.fromkeys(QueryStep(doing, name) for doing in _of_relation(graph, name))
    return list(found)


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
    source = graph.sources.get(name) or graph.dead_letters.get(name)
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
    """Whether one of the document's functions in Python makes a column of the relation, or filters it; of what lies below
    Spark leaves out what is not asked for.
    """
    tree = graph.facts[relation].tree if relation in graph.views else None
    if not isinstance(tree, exp.Select) or not graph.streams(relation, certain=True):
        return False
    wanted = {function.name.lower() for function in graph.spec.functions if function.python}
    return any(call.name.lower() in wanted for call in _expressions(tree, exp.Anonymous))


def _has(select: exp.Select, *kinds: type[exp.Expr]) -> bool:
    return any(True for _ in _expressions(select, *kinds))


def _expressions(select: exp.Select, *kinds: type[exp.Expr]) -> Iterator[exp.Expr]:
    """Such expressions of the projections and the condition of this very SELECT."""
    parts = [*select.expressions, select.args.get("where")]
    nodes = (node for part in parts if part is not None for node in part.walk())
    return (node for node in nodes if isinstance(node, kinds) and node.find_ancestor(exp.Query) is select)
