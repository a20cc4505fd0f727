"""Makes the normal form of joins. A join of two streams keeps state; any other join only adds columns and a condition."""

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from mainstem.changes.expressions import Expression, Unsupported, conjuncts
from mainstem.changes.relations import Branch, Entry, Keys, Relation, Row, StepKind
from mainstem.language.sql.event_time import bare


if TYPE_CHECKING:
    from mainstem.changes.selects import Query


def joined(query: "Query", tree: exp.Expr, rows: list[Row]) -> list[Row]:
    """The rows of a FROM clause after its joins."""
    for join in tree.args.get("joins") or ():
        if isinstance(join.this, exp.Lateral) or join.args.get("method"):
            raise Unsupported("join")
        rows = _join(query, join, rows, query.form(join.this))
    return rows


def _join(query: "Query", join: exp.Join, left: list[Row], right: Relation) -> list[Row]:
    from mainstem.changes.selects import pairs

    kind, side = (join.args.get("kind") or "").lower(), (join.args.get("side") or "").lower()
    type_ = kind if kind in ("semi", "anti") else side or "inner"
    using = [name.name.lower() for name in join.args.get("using") or ()]
    alias = str(join.this.alias_or_name).lower()
    if using and side in ("right", "full"):
        raise Unsupported("the merged column of an outer join")
    stateful = any(row.streams for row in left) and any(branch.leaves for branch in right)
    step = f"#{len(query.steps)}" if stateful else ""
    rows, conditions = [], []
    for row, branch in pairs(left, right):
        marked = (
            replace(row, entries=tuple(_marked(entry, f"{step}.0") for entry in row.entries)) if step else row
        )
        entry = _distinct(Entry(alias, branch), row, len(row.entries))
        entry = _marked(entry, f"{step}.1") if step else entry
        merged = replace(entry, merged=frozenset(using))
        both = replace(marked, entries=(*marked.entries, merged))
        conditions.append(_conditions(query, join, both, using, entry))
        added = () if step else (_static(type_, conditions[-1], entry.branch),)
        visible = marked.entries if type_ in ("semi", "anti") else both.entries
        more = () if visible is both.entries else branch.filters
        rows.append(replace(both, entries=visible, filters=(*both.filters, *more, *added)))
    if step:
        _step(query, type_, left, alias, right, conditions)
    return rows


def _marked(entry: Entry, leaf: str) -> Entry:
    """The relation with columns that note that the join keeps them."""
    branch = entry.branch
    columns = {
        name: replace(each, columns=each.columns | {(leaf, f"{entry.alias}.{name}")})
        for name, each in branch.columns.items()
    }
    return replace(entry, branch=replace(branch, columns=columns))


def _distinct(entry: Entry, row: Row, place: int) -> Entry:
    """The relation under other leaves, if the row has one of its leaves already: the two must not be confused."""
    branch = entry.branch
    if not branch.tables & row.tables:
        return entry
    columns = {name: replace(each, id=f"{place}:{each.id}") for name, each in branch.columns.items()}
    opens = tuple(f"{place}:{leaf}" for leaf in branch.opens)
    return replace(entry, branch=replace(branch, columns=columns, opens=opens))


def _conditions(
    query: "Query", join: exp.Join, both: Row, using: list[str], right: Entry
) -> list[tuple[Expression, Expression | None, Expression | None]]:
    """Each condition, with its left and right key if it is an equality between the sides."""
    conditions: list[tuple[Expression, Expression | None, Expression | None]] = []
    left = replace(both, entries=both.entries[:-1])
    for name in using:
        keys = left.resolve([name]), Row((replace(right, merged=frozenset()),)).resolve([name])
        conditions.append((Expression(f"eq({keys[0].id}, {keys[1].id})", name), *keys))
    whole = query.canonical(replace(both, entries=(*left.entries, replace(right, merged=frozenset()))))
    for part in conjuncts(join.args.get("on")):
        condition, (first, second) = whole.expression(part), _equal(query, part, left, right)
        conditions.append((condition, first, second))
        if first and second and isinstance(bare(part), exp.NullSafeEQ):
            conditions.append((condition, _is_null(first), _is_null(second)))
    return conditions


def _is_null(key: Expression) -> Expression:
    """The second key that Spark makes of `<=>`: a null has the key of a default value, and this one."""
    return Expression(f"isnull({key.id})", f"{key.text} IS NULL", key.columns, "BOOLEAN")


def _equal(
    query: "Query", part: exp.Expr, left: Row, right: Entry
) -> tuple[Expression, Expression] | tuple[None, None]:
    """The keys of a condition that is an equality between the two sides."""
    part = bare(part)
    if not isinstance(part, (exp.EQ, exp.NullSafeEQ)):
        return None, None
    sides = query.canonical(left), query.canonical(Row((right,)))
    for first, second in ((part.this, part.expression), (part.expression, part.this)):
        try:
            keys = sides[0].expression(first), sides[1].expression(second)
        except Unsupported:
            continue
        if keys[0].columns and keys[1].columns:
            return keys
    return None, None


def _static(
    type_: str, conditions: list[tuple[Expression, Expression | None, Expression | None]], branch: Branch
) -> Expression:
    ids = sorted(condition.id for condition, _, _ in conditions)
    columns = frozenset(column for condition, _, _ in conditions for column in condition.columns)
    return Expression(f"{type_} join({sorted(branch.tables)}, {ids})", f"{type_} join", columns)


def _step(
    query: "Query",
    type_: str,
    left: list[Row],
    alias: str,
    right: Relation,
    conditions: list[list[tuple[Expression, Expression | None, Expression | None]]],
) -> None:
    """Add the step; row by row, its inputs have as many keys as conditions, in the order of the text."""
    sides = []
    for place, rows in enumerate((left, [Row((Entry(alias, branch),)) for branch in right])):
        size = len(right)
        own = [conditions[at * size if place == 0 else at] for at in range(len(rows))]
        keys = [tuple(each[1 + place] for each in row if each[1 + place] is not None) for row in own]
        sides.append(
            Keys(
                tuple(row.leaves for row in rows),
                tuple(keys),  # type: ignore[arg-type]
                tuple(row.all_filters for row in rows),
                tuple(tuple(_columns(row)) for row in rows),
            )
        )
    others = sorted({each.id for row in conditions for each, key, _ in row if key is None})
    texts = sorted({each.text for row in conditions for each, key, _ in row if key is None})
    settings = {"type": type_, "conditions": "; ".join(others), "texts": " AND ".join(texts)}
    reads = frozenset(column for row in conditions for each, _, _ in row for column in each.columns)
    query.add(StepKind.JOIN, tuple(sides), settings=settings, reads=reads)


def _columns(row: Row) -> Iterator[tuple[str, str, Expression]]:
    for entry in row.entries:
        for name, expression in entry.branch.columns.items():
            yield entry.alias, name, replace(expression, text=name)
        for leaf in entry.branch.opens:
            yield entry.alias, "*", Expression(leaf, leaf, frozenset({(leaf, "*")}))
