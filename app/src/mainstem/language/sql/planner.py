"""Makes a logical plan of sqlglot's tree of a view. A name that Spark may resolve differently makes the plan unknown."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from sqlglot import exp

from mainstem.language.sql import join_shapes
from mainstem.language.sql.aggregates import is_aggregate
from mainstem.language.sql.event_time import WINDOWS, called, carries, is_window_end
from mainstem.language.sql.join_bounds import Side
from mainstem.language.sql.logical_plan import EventTimeColumns, Node, NodeKind, all_events, either, unknown
from mainstem.language.sql.parser import unwrapped
from mainstem.language.sql.select_parts import (
    distinct_values,
    first_name_offset,
    grouping_keys,
    is_session_window,
    may_equate_columns,
    may_order_columns,
    nested_queries,
    own_expressions,
    projected_ends,
    projected_events,
    start_offset,
)


Relations = Callable[[str], Node | None]
"""Returns the plan of a source or view; None if the document does not have the relation."""

_ROW_IDS: Final = "monotonically_increasing_id"
_PLAIN: Final = WINDOWS | {_ROW_IDS, "uuid"}
"""Functions without a class in sqlglot that certainly do not aggregate."""
_SETS: Final = {exp.Union: NodeKind.UNION, exp.Intersect: NodeKind.INTERSECT, exp.Except: NodeKind.EXCEPT}


@dataclass(frozen=True)
class _Scope:
    view: str
    relations: Relations
    ctes: Mapping[str, Node]

    def node(self, kind: NodeKind, below: Node, at: exp.Expr) -> Node:
        """A step over one input."""
        return Node(
            kind, below.streams, below.events, (below,), self.view, first_name_offset(at), ends=below.ends
        )


def plan(tree: exp.Expr, view: str, relations: Relations) -> Node:
    """The plan of a view's text.

    Args:
        tree: sqlglot's tree of the text.
        view: name of the view.
        relations: the plans of the relations that it reads.
    """
    try:
        return _query(tree, _Scope(view, relations, {}))
    except RecursionError:  # for example a text with a thousand unions
        return unknown()


def _query(tree: exp.Expr, scope: _Scope) -> Node:
    clause = tree.args.get("with_")
    if isinstance(clause, exp.With):
        scope = _with(clause, scope)
    if isinstance(tree, exp.Select):
        node = _select(tree, scope)
    elif isinstance(tree, exp.SetOperation):
        node = _set(tree, scope)
    elif isinstance(tree, exp.Subquery):
        node = _pivoted(tree, _renamed(tree, _query(tree.this, scope)))
    elif isinstance(tree, exp.Table):
        node = _table(tree, scope)
    elif isinstance(tree, exp.Values):
        node = Node(NodeKind.SOURCE, streams=False, events=frozenset())
    else:
        return unknown()
    return _ordered(tree, node, scope)


def _with(clause: exp.With, scope: _Scope) -> _Scope:
    for cte in clause.expressions:
        node = unknown() if clause.args.get("recursive") else _renamed(cte, _query(cte.this, scope))
        scope = replace(scope, ctes={**scope.ctes, cte.alias.lower(): node})
    return scope


def _renamed(tree: exp.Expr, node: Node) -> Node:
    """A relation whose alias may rename its columns."""
    alias = tree.args.get("alias")
    renamed = isinstance(alias, exp.TableAlias) and alias.columns
    return replace(node, events=None, ends=frozenset()) if renamed else node


def _pivoted(tree: exp.Expr, node: Node) -> Node:
    return unknown(node, streams=node.streams) if tree.args.get("pivots") else node


def _ordered(tree: exp.Expr, node: Node, scope: _Scope) -> Node:
    """The steps at the end of a query: its order, then its limit."""
    for key in ("order", "sort", "cluster"):
        if clause := tree.args.get(key):
            node = scope.node(NodeKind.SORT, node, clause)
    if clause := tree.args.get("offset"):
        node = scope.node(NodeKind.OFFSET, node, clause)
    if clause := tree.args.get("limit"):
        node = scope.node(NodeKind.LIMIT, node, clause)
    return node


def _table(table: exp.Table, scope: _Scope) -> Node:
    name = table.name.lower()
    relation = None
    if isinstance(table.this, exp.Identifier) and not table.db:
        relation = scope.ctes.get(name) or scope.relations(name)
    node = _renamed(table, relation or unknown())
    if sample := table.args.get("sample"):
        node = scope.node(NodeKind.LIMIT if sample.args.get("size") else NodeKind.SAMPLE, node, table)
    return _joins(table, _pivoted(table, node), scope)


def _set(tree: exp.SetOperation, scope: _Scope) -> Node:
    kind = next((kind for known, kind in _SETS.items() if isinstance(tree, known)), NodeKind.UNKNOWN)
    # Not tree.left: sqlglot raises TypeError there if a side is no query, as in LEFT UNION SELECT.
    left, right = tree.this, tree.expression
    sides = (_query(left, scope), _query(right, scope))
    # The result has the names of the left side, so the names of the right side do not matter.
    events = sides[0].events if sides[1].events == frozenset() else None
    once, timed = bool(tree.args.get("distinct")), _may_carry_time(sides[0].events)
    node = Node(
        kind,
        either(*sides),
        events,
        sides,
        scope.view,
        first_name_offset(right),
        timed=timed,
        distinct=once,
    )
    return _once(node, right, scope) if once and kind is NodeKind.UNION else node


def _once(node: Node, at: exp.Expr, scope: _Scope) -> Node:
    """The plan without duplicate rows, which for Spark is an aggregation by all columns."""
    key = next((p for p in at.expressions if p.alias_or_name.lower() in node.ends), None)
    return replace(
        scope.node(NodeKind.AGGREGATE, node, at),
        timed=_may_carry_time(node.events),
        implied=True,
        end_key=None if key is None else start_offset(key),
    )


def _select(select: exp.Select, scope: _Scope) -> Node:
    clause = select.args.get("from_") or select.args.get("from")
    if clause is None:
        return Node(NodeKind.SOURCE, streams=False, events=frozenset())
    node = _joins(select, _query(clause.this, scope), scope)
    node = _subqueries(select, node, scope)
    node = _grouped(select, node, scope)
    if over := next(own_expressions(select, exp.Window), None):
        node = replace(scope.node(NodeKind.OVER, node, over), function=_windowed(over))
    if any(called(call) == _ROW_IDS for call in own_expressions(select, exp.Func)):
        node = scope.node(NodeKind.ROW_IDS, node, select)
    node = Node(
        NodeKind.SELECT,
        node.streams,
        projected_events(select, node.events),
        (node,),
        scope.view,
        ends=projected_ends(select, node),
        equates=may_equate_columns(select),
        orders=not select.args.get("joins") and may_order_columns(select),
    )
    return _once(node, select, scope) if select.args.get("distinct") else node


def _windowed(over: exp.Expr) -> str:
    """The name of the function OVER a window."""
    return called(unwrapped(over.this))


def _subqueries(select: exp.Select, node: Node, scope: _Scope) -> Node:
    for query in nested_queries(select):
        if _query(query, scope).streams:
            node = scope.node(NodeKind.SUBQUERY, node, query)
    return node


def _grouped(select: exp.Select, below: Node, scope: _Scope) -> Node:
    group = select.args.get("group")
    calls = [call for call in own_expressions(select, exp.Func) if call.find_ancestor(exp.Window) is None]
    if group is None and not any(map(is_aggregate, calls)):
        doubtful = any(isinstance(call, exp.Anonymous) and called(call) not in _PLAIN for call in calls)
        doubtful = doubtful or select.args.get("having") is not None
        doubtful = doubtful or any(map(is_aggregate, own_expressions(select, exp.Any)))
        return unknown(below, streams=below.streams, events=below.events) if doubtful else below
    keys = [] if group is None else list(grouping_keys(select, group))
    end = next((key for key in keys if is_window_end(key, below.events, below.ends)), None)
    return replace(
        scope.node(NodeKind.AGGREGATE, below, group or select),
        timed=any(carries(key, below.events) for key in keys),
        end_key=None if end is None else start_offset(end),
        session=any(called(call) == "session_window" for key in keys for call in key.find_all(exp.Func)),
        lone=any(map(is_session_window, keys))
        and all(is_session_window(k) or isinstance(k, exp.Literal) for k in keys),
        distinct=any(True for call in calls for _ in distinct_values(call)),
    )


def _joins(tree: exp.Expr, left: Node, scope: _Scope) -> Node:
    clause = tree.args.get("from_") or tree.args.get("from")
    names = join_shapes.names(clause.this) if clause else frozenset({tree.alias_or_name.lower()})
    joins = tree.args.get("joins") or ()
    for place, join in enumerate(joins):
        right = unknown() if isinstance(join.this, exp.Lateral) else _query(join.this, scope)
        sides = Side(names, left.events), Side(join_shapes.names(join.this), right.events)
        facts = join_shapes.joined(join, *sides, join_shapes.moved(tree, joins[place + 1 :]))
        kept = facts.type in ("semi", "anti")
        left = Node(
            NodeKind.JOIN,
            either(left, right),
            left.events if kept else all_events(left, right),
            (left, right),
            scope.view,
            first_name_offset(join),
            join=facts,
            ends=left.ends if kept else left.ends | right.ends,
        )
        names |= sides[1].names
    return left


def _may_carry_time(events: EventTimeColumns) -> bool:
    """Whether any column may carry event time."""
    return events is None or bool(events)
