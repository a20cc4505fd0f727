"""Parts of a SELECT: its own expressions, nested queries, grouping keys, and the event time that its columns carry."""

from collections.abc import Iterator
from typing import Final

from sqlglot import exp

from mainstem.language.sql.event_time import called, carries, is_window_end
from mainstem.language.sql.join_shapes import may_equate
from mainstem.language.sql.logical_plan import EventTimeColumns, Node


_EQUALITIES: Final = (
    exp.EQ,
    exp.NullSafeEQ,
    exp.NEQ,
    exp.In,
    exp.EqualNull,
    exp.Case,
    exp.If,
    exp.DecodeCase,
    exp.Anonymous,
)
"""Expressions that may compare two columns for equality."""


def own_expressions(select: exp.Select, *kinds: type[exp.Expr]) -> Iterator[exp.Expr]:
    """Expressions of the given kinds in a query's own projections and conditions, without those of nested queries."""
    for key in ("expressions", "having", "qualify"):
        for part in _listed(select.args.get(key)):
            for node in part.walk(prune=lambda inner: isinstance(inner, exp.Query)):
                if isinstance(node, kinds) and not isinstance(node, exp.Query):
                    yield node


def nested_queries(select: exp.Select) -> Iterator[exp.Expr]:
    """Queries within the expressions of a query."""
    for key in ("expressions", "where", "having", "qualify"):
        for part in _listed(select.args.get(key)):
            for node in part.walk(prune=lambda inner: isinstance(inner, exp.Query)):
                if isinstance(node, exp.Query):
                    yield node


def grouping_keys(select: exp.Select, group: exp.Group) -> Iterator[exp.Expr]:
    """The grouping keys; a position or a name of a projection stands for that projection."""
    projections = {p.alias_or_name.lower(): p for p in select.expressions}
    if group.args.get("all"):
        yield from select.expressions
    for key in group.expressions:
        if isinstance(key, exp.Literal) and key.is_int and 0 < int(key.name) <= len(select.expressions):
            yield select.expressions[int(key.name) - 1]
            continue
        if isinstance(key, (exp.Rollup, exp.Cube, exp.GroupingSets)):
            yield from key.find_all(exp.Column, exp.Func)
        yield key
        # After |> AGGREGATE a key is the bare name of its projection.
        bare = isinstance(key, exp.Identifier) or (isinstance(key, exp.Column) and not key.table)
        if bare and key.name.lower() in projections:
            yield projections[key.name.lower()]
    for sets in ("rollup", "cube", "grouping_sets"):
        for clause in group.args.get(sets) or ():
            yield from clause.find_all(exp.Column, exp.Func)


def is_session_window(key: exp.Expr) -> bool:
    """Whether a grouping key is a session window."""
    return called(key.unalias()) == "session_window"


def distinct_values(call: exp.Expr) -> Iterator[exp.Expr]:
    """The DISTINCT arguments of a function call."""
    return (node for node in (call.this, *call.expressions) if isinstance(node, exp.Distinct))


def projected_events(select: exp.Select, below: EventTimeColumns) -> EventTimeColumns:
    """The columns of a SELECT that may carry event time, by those of the relation below it."""
    if below is None:
        return None
    events: set[str] = set()
    for projection in select.expressions:
        if projection.is_star:
            events |= below
        elif isinstance(projection, exp.Aliases):
            return None
        elif carries(projection, below):
            events |= {projection.alias_or_name.lower(), called(projection)} - {""}
    return frozenset(events)


def projected_ends(select: exp.Select, below: Node) -> frozenset[str]:
    """The columns of a SELECT that certainly are the start or the end of a window over event time."""
    ends = {
        projection.alias_or_name.lower()
        for projection in select.expressions
        if is_window_end(projection, below.events, below.ends)
    }
    return below.ends.union(ends) if any(p.is_star for p in select.expressions) else frozenset(ends)


def may_equate_columns(select: exp.Select) -> bool:
    """Whether the filter may compare two columns for equality, or a filter above may do so through a projection."""
    filters = [select.args[key].this for key in ("where", "having") if select.args.get(key)]
    return any(map(may_equate, filters)) or any(p.find(*_EQUALITIES) for p in select.expressions)


def may_order_columns(select: exp.Select) -> bool:
    """Whether the filter may require one column to be less than another column."""
    where = select.args.get("where")
    parts = where.this.flatten() if where and isinstance(where.this, exp.And) else [where] if where else []
    return any(len(list(part.find_all(exp.Column))) > 1 for part in parts)


def first_name_offset(tree: exp.Expr) -> int:
    """The offset of the first name of a tree in the text."""
    names = tree.find_all(exp.Identifier, bfs=False)
    return next((name.meta["start"] for name in names if "start" in name.meta), 0)


def start_offset(tree: exp.Expr) -> int:
    """The offset at which an expression begins in the text."""
    return min(
        (name.meta["start"] for name in tree.find_all(exp.Identifier) if "start" in name.meta), default=0
    )


def _listed(value: object) -> list[exp.Expr]:
    if value is None:
        return []
    return list(value) if isinstance(value, (list, tuple)) else [value]  # type: ignore[list-item]
