"""sqlglot's tree of a view as a plan. Names that Spark would resolve otherwise only ever make the answer less certain."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from sqlglot import exp

from mainstem.language.sql import join_shapes
from mainstem.language.sql.event_time import WINDOWS, called, carries, is_window_end
from mainstem.language.sql.join_bounds import Side
from mainstem.language.sql.join_shapes import may_equate
from mainstem.language.sql.logical_plan import EventTimeColumns, Node, NodeKind, all_events, either, unknown


Relations = Callable[[str], Node | None]
"""The plan of a source or view; None where the document has no such relation."""

_ROW_IDS: Final = "monotonically_increasing_id"
_PLAIN: Final = WINDOWS | {_ROW_IDS, "uuid"}
"""Functions that sqlglot has no class for, and that certainly aggregate nothing."""
_EQUALITIES: Final = (
    *(
        exp.EQ,
        exp.NullSafeEQ,
        exp.NEQ,
        exp.In,
        exp.EqualNull,
        exp.Case,
        exp.If,
        exp.DecodeCase,
        exp.Anonymous,
    ),
)
_SETS: Final = {exp.Union: NodeKind.UNION, exp.Intersect: NodeKind.INTERSECT, exp.Except: NodeKind.EXCEPT}


@dataclass(frozen=True)
class _Scope:
    view: str
    relations: Relations
    ctes: Mapping[str, Node]

    def node(self, kind: NodeKind, below: Node, at: exp.Expr) -> Node:
        """A step over one input."""
        return Node(kind, below.streams, below.events, (below,), self.view, _offset(at), ends=below.ends)


def plan(tree: exp.Expr, view: str, relations: Relations) -> Node:
    """The plan of a view's text.

    Args:
        tree: sqlglot's tree of the text.
        view: name of the view.
        relations: plans of what it reads.
    """
    try:
        return _query(tree, _Scope(view, relations, {}))
    except RecursionError:  # a text of a thousand unions
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
    """What stands behind a query: its order, then its limit."""
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
    found = None
    if isinstance(table.this, exp.Identifier) and not table.db:
        found = scope.ctes.get(name) or scope.relations(name)
    node = _renamed(table, found or unknown())
    if sample := table.args.get("sample"):
        node = scope.node(NodeKind.LIMIT if sample.args.get("size") else NodeKind.SAMPLE, node, table)
    return _joins(table, _pivoted(table, node), scope)


def _set(tree: exp.SetOperation, scope: _Scope) -> Node:
    kind = next((kind for known, kind in _SETS.items() if isinstance(tree, known)), NodeKind.UNKNOWN)
    sides = (_query(tree.left, scope), _query(tree.right, scope))
    # The names are those of the left side, so a name of the right one says nothing.
    events = sides[0].events if sides[1].events == frozenset() else None
    once, timed = bool(tree.args.get("distinct")), _any(sides[0].events)
    node = Node(
        kind, either(*sides), events, sides, scope.view, _offset(tree.right), timed=timed, distinct=once
    )
    return _once(node, tree.right, scope) if once and kind is NodeKind.UNION else node


def _once(node: Node, at: exp.Expr, scope: _Scope) -> Node:
    """Each row once, which for Spark is a group of all columns."""
    key = next((p for p in at.expressions if p.alias_or_name.lower() in node.ends), None)
    return replace(
        scope.node(NodeKind.AGGREGATE, node, at),
        timed=_any(node.events),
        implied=True,
        end_key=None if key is None else _start(key),
    )


def _select(select: exp.Select, scope: _Scope) -> Node:
    clause = select.args.get("from_") or select.args.get("from")
    if clause is None:
        return Node(NodeKind.SOURCE, streams=False, events=frozenset())
    node = _joins(select, _query(clause.this, scope), scope)
    node = _subqueries(select, node, scope)
    node = _grouped(select, node, scope)
    if over := next(_own(select, exp.Window), None):
        node = scope.node(NodeKind.OVER, node, over)
    if any(called(call) == _ROW_IDS for call in _own(select, exp.Func)):
        node = scope.node(NodeKind.ROW_IDS, node, select)
    node = Node(
        NodeKind.SELECT,
        node.streams,
        _projected(select, node.events),
        (node,),
        scope.view,
        ends=_projected_ends(select, node),
        equates=_equates(select),
        orders=not select.args.get("joins") and _orders(select),
    )
    return _once(node, select, scope) if select.args.get("distinct") else node


def _subqueries(select: exp.Select, node: Node, scope: _Scope) -> Node:
    for query in _nested(select):
        if _query(query, scope).streams:
            node = scope.node(NodeKind.SUBQUERY, node, query)
    return node


def _grouped(select: exp.Select, below: Node, scope: _Scope) -> Node:
    group = select.args.get("group")
    calls = [call for call in _own(select, exp.Func) if call.find_ancestor(exp.Window) is None]
    if group is None and not any(isinstance(call, exp.AggFunc) for call in calls):
        doubtful = any(isinstance(call, exp.Anonymous) and called(call) not in _PLAIN for call in calls)
        doubtful = doubtful or select.args.get("having") is not None or any(_own(select, exp.Any))
        return unknown(below, streams=below.streams, events=below.events) if doubtful else below
    keys = [] if group is None else list(_keys(select, group))
    end = next((key for key in keys if is_window_end(key, below.events, below.ends)), None)
    return replace(
        scope.node(NodeKind.AGGREGATE, below, group or select),
        timed=any(carries(key, below.events) for key in keys),
        end_key=None if end is None else _start(end),
        session=any(called(call) == "session_window" for key in keys for call in key.find_all(exp.Func)),
        lone=any(map(_is_session, keys)) and all(_is_session(k) or isinstance(k, exp.Literal) for k in keys),
        distinct=any(True for call in calls for _ in _distinct_values(call)),
    )


def _is_session(key: exp.Expr) -> bool:
    return called(key.unalias()) == "session_window"


def _distinct_values(call: exp.Expr) -> Iterator[exp.Expr]:
    return (node for node in (call.this, *call.expressions) if isinstance(node, exp.Distinct))


def _keys(select: exp.Select, group: exp.Group) -> Iterator[exp.Expr]:
    """What a group is told apart by: positions and names of projections stand for these."""
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
        # Behind |> AGGREGATE a key is the bare name of its projection.
        bare = isinstance(key, exp.Identifier) or (isinstance(key, exp.Column) and not key.table)
        if bare and key.name.lower() in projections:
            yield projections[key.name.lower()]
    for sets in ("rollup", "cube", "grouping_sets"):
        for clause in group.args.get(sets) or ():
            yield from clause.find_all(exp.Column, exp.Func)


def _projected(select: exp.Select, below: EventTimeColumns) -> EventTimeColumns:
    if below is None:
        return None
    found: set[str] = set()
    for projection in select.expressions:
        if projection.is_star:
            found |= below
        elif isinstance(projection, exp.Aliases):
            return None
        elif carries(projection, below):
            found |= {projection.alias_or_name.lower(), called(projection)} - {""}
    return frozenset(found)


def _projected_ends(select: exp.Select, below: Node) -> frozenset[str]:
    ends = {
        projection.alias_or_name.lower()
        for projection in select.expressions
        if is_window_end(projection, below.events, below.ends)
    }
    return below.ends.union(ends) if any(p.is_star for p in select.expressions) else frozenset(ends)


def _any(events: EventTimeColumns) -> bool:
    return events is None or bool(events)


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
            _offset(join),
            join=facts,
            ends=left.ends if kept else left.ends | right.ends,
        )
        names |= sides[1].names
    return left


def _equates(select: exp.Select) -> bool:
    """Whether its filter may, or a column of it that a filter above may ask for."""
    filters = [select.args[key].this for key in ("where", "having") if select.args.get(key)]
    return any(map(may_equate, filters)) or any(p.find(*_EQUALITIES) for p in select.expressions)


def _orders(select: exp.Select) -> bool:
    """Whether its filter may ask one column to be less than another."""
    where = select.args.get("where")
    parts = where.this.flatten() if where and isinstance(where.this, exp.And) else [where] if where else []
    return any(len(list(part.find_all(exp.Column))) > 1 for part in parts)


def _own(select: exp.Select, *kinds: type[exp.Expr]) -> Iterator[exp.Expr]:
    """Expressions of a query's own projections and conditions, not of the queries nested in it."""
    for key in ("expressions", "having", "qualify"):
        for part in _listed(select.args.get(key)):
            for node in part.walk(prune=lambda inner: isinstance(inner, exp.Query)):
                if isinstance(node, kinds) and not isinstance(node, exp.Query):
                    yield node


def _nested(select: exp.Select) -> Iterator[exp.Expr]:
    """Queries within a query's expressions."""
    for key in ("expressions", "where", "having", "qualify"):
        for part in _listed(select.args.get(key)):
            for node in part.walk(prune=lambda inner: isinstance(inner, exp.Query)):
                if isinstance(node, exp.Query):
                    yield node


def _listed(value: object) -> list[exp.Expr]:
    if value is None:
        return []
    return list(value) if isinstance(value, (list, tuple)) else [value]  # type: ignore[list-item]


def _offset(tree: exp.Expr) -> int:
    """Where the first name below stands in the text."""
    names = tree.find_all(exp.Identifier, bfs=False)
    return next((name.meta["start"] for name in names if "start" in name.meta), 0)


def _start(tree: exp.Expr) -> int:
    """Where an expression begins in the text."""
    return min(
        (name.meta["start"] for name in tree.find_all(exp.Identifier) if "start" in name.meta), default=0
    )
