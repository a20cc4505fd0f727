"""Makes the normal form of an aggregation: its keys, and the aggregates that it computes."""

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from mainstem.changes.expressions import (
    Canonical,
    Expression,
    Functions,
    Unsupported,
    column_name,
    conjuncts,
    either,
    named,
    short,
    with_names,
    written,
)
from mainstem.changes.relations import Aggregate, Branch, Keys, Relation, Row, StepKind, digest
from mainstem.language.sql.aggregates import is_aggregate
from mainstem.language.sql.builtins import BUILTINS, GRAMMAR
from mainstem.language.sql.event_time import called
from mainstem.language.sql.parser import unwrapped
from mainstem.language.sql.select_parts import own_expressions


if TYPE_CHECKING:
    from mainstem.changes.selects import Query

_WINDOWS: Final = ("window", "session_window")
_KNOWN: Final = BUILTINS | GRAMMAR


def aggregates(select: exp.Select, functions: Functions) -> bool:
    """Whether a SELECT aggregates; raises `Unsupported` if that is not certain."""
    if select.args.get("group") or select.args.get("having"):
        return True
    nodes = own_expressions(select, exp.Func, exp.Any)
    calls = [node for node in nodes if node.find_ancestor(exp.Window) is None]
    certain = [_is_aggregate(call, functions) for call in calls]
    return any(certain)


def _is_aggregate(node: exp.Expr, functions: Functions) -> bool:
    """Whether a node is the call of an aggregate; raises `Unsupported` for a function that may be one."""
    if is_aggregate(node, functions.aggregates):
        return True
    name = called(node)
    if isinstance(node, exp.Anonymous) and name not in _KNOWN and name not in functions.codes:
        raise Unsupported(name)
    return False


def grouped(query: "Query", select: exp.Select, rows: list[Row]) -> Relation:
    """The rows of an aggregation."""
    keys = [_keys(query, select, row) for row in rows]
    filters = tuple(row.all_filters for row in rows)
    inputs = Keys(tuple(row.leaves for row in rows), tuple(keys), filters)
    streams = any(row.streams for row in rows)
    types = [
        (name, each.type)
        for row in rows
        for entry in row.entries
        for name, each in entry.branch.columns.items()
    ]
    leaf = (
        f"#{len(query.steps)}"
        if streams
        else f"constant({digest([repr(select), repr(keys), repr(filters), repr(types)])})"
    )
    aggregates_by_name: dict[str, Aggregate] = {}
    output = _output(query, select, rows, keys, leaf, aggregates_by_name)
    if streams:
        sets = (
            [select.args["group"].args.get(key) for key in ("rollup", "cube", "grouping_sets")]
            if select.args.get("group")
            else []
        )
        more = {"sets": digest([repr(each) for each in sets])} if any(sets) else {}
        query.add(StepKind.AGGREGATE, (inputs,), aggregates=aggregates_by_name, settings=more)
        return (replace(output, leaves=frozenset({leaf}), tables=frozenset({leaf})),)
    tables = frozenset({leaf})
    return (replace(output, tables=tables),)


def _keys(query: "Query", select: exp.Select, row: Row) -> tuple[Expression, ...]:
    group = select.args.get("group")
    canonical = query.canonical(row)
    if group is None:
        return ()
    trees = list(group.expressions)
    if group.args.get("all"):
        trees = [
            each
            for each in select.expressions
            if not any(_is_aggregate(node, query.functions) for node in each.walk())
        ]
    for key in ("rollup", "cube", "grouping_sets"):
        trees += [column for clause in group.args.get(key) or () for column in clause.find_all(exp.Column)]
    return tuple(_key(canonical, select, tree, row) for tree in trees)


def _key(canonical: Canonical, select: exp.Select, tree: exp.Expr, row: Row) -> Expression:
    if isinstance(tree, exp.Literal) and tree.is_int:
        if not 0 < int(tree.name) <= len(select.expressions):
            raise Unsupported(tree.name)
        return canonical.expression(select.expressions[int(tree.name) - 1])
    bare_name = isinstance(tree, exp.Column) and not tree.table
    aliased = [each for each in select.expressions if bare_name and each.alias.lower() == tree.name.lower()]
    try:
        key = canonical.expression(tree)
    except Unsupported:
        if aliased:
            return canonical.expression(aliased[0])
        raise
    # A column that only Spark knows may be the column of the input or the name of a projection.
    if aliased and tree.name.lower() not in row.names:
        return either(key, canonical.expression(aliased[0]))
    return key


def _output(
    query: "Query",
    select: exp.Select,
    rows: list[Row],
    keys: list[tuple[Expression, ...]],
    leaf: str,
    aggregates_by_name: dict[str, Aggregate],
) -> Branch:
    canonicals = [query.canonical(row) for row in rows]
    first = canonicals[0]
    places = {key.id: place for place, key in reversed(list(enumerate(keys[0])))}

    def part(node: exp.Expr) -> Expression | None:
        if _is_aggregate(node, query.functions):
            return _aggregate(canonicals, node, leaf, aggregates_by_name)
        if isinstance(node, (exp.Literal, exp.Identifier)):
            return None
        try:
            whole = first.expression(node)
        except Unsupported:
            return _of_window(node, keys[0], leaf)
        if whole.id in places:
            name = f"key{places[whole.id]}"
            return Expression(f"{leaf}.{name}", whole.text, frozenset({(leaf, name)}), whole.type)
        return first.part(node)

    canonical = Canonical(part, query.functions.codes)
    columns = {column_name(each): named(each, canonical) for each in select.expressions}
    having = select.args.get("having")
    filters = [
        with_names(canonical, columns, ()).expression(each)
        for each in conjuncts(having.this if having else None)
    ]
    return Branch(columns, filters=tuple(filters))


def _aggregate(
    canonicals: list[Canonical], node: exp.Expr, leaf: str, aggregates_by_name: dict[str, Aggregate]
) -> Expression:
    calls = tuple(canonical.expression(node) for canonical in canonicals)
    call = unwrapped(node)
    plain = Canonical(_as_written, {}).expression(node)
    name = short(calls[0].id if len({each.id for each in calls}) == 1 else plain.id)
    values = [each for arg in call.args.values() for each in (arg if isinstance(arg, list) else [arg])]
    arguments = tuple(canonicals[0].type_of(each) for each in values if isinstance(each, exp.Expr))
    aggregates_by_name[name] = Aggregate(_function(call), plain.id, written(node), calls, arguments)
    kind = "BIGINT" if isinstance(call, exp.Count) else None
    return Expression(f"{leaf}.{name}", written(node), frozenset({(leaf, name)}), kind)


def _function(call: exp.Expr) -> str:
    return called(call) or call.key


def _as_written(node: exp.Expr) -> Expression | None:
    """A column with all that stands before it, which may be the column of a field or the name of a relation."""
    if isinstance(node, exp.Column):
        name = ".".join(part.name or "*" for part in node.parts)
        return Expression(name.lower(), name)
    return Expression(written(node), written(node)) if isinstance(node, exp.Query) else None


def _of_window(node: exp.Expr, keys: tuple[Expression, ...], leaf: str) -> Expression | None:
    """A column that a window among the keys brings, such as `window.start`; raises `Unsupported` for any other column."""
    if not isinstance(node, exp.Column):
        return None
    parts = [part.name.lower() for part in node.parts]
    for place, key in enumerate(keys):
        if parts[0] in _WINDOWS and key.id.startswith(f"{parts[0]}("):
            column = Expression(f"{leaf}.key{place}", key.text, frozenset({(leaf, f"key{place}")}))
            for name in parts[1:]:
                column = replace(column, id=f"field({column.id}, {name})")
            return column
    raise Unsupported(".".join(parts))
