"""Relations in a normal form: without views, projections and unions, which only differ in how a document is written."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

from sqlglot import exp

from mainstem.changes.expressions import Expression, LeafColumn, Unsupported, field_of, fields_of, short


MOST_ROWS: Final = 64
"""Branches of one relation; a relation with more is opaque."""


@dataclass(frozen=True)
class Branch:
    """One way in which rows reach a relation; a relation has one for each side of its unions.

    Attributes:
        columns: column -> its expression over leaves, in order.
        opens: leaves whose further columns, which only Spark knows, are columns too.
        leaves: the sources and steps that stream and that the rows come from.
        filters: the conditions that the rows meet, and the joins with static relations.
        tables: every leaf, with those that do not stream.
    """

    columns: Mapping[str, Expression]
    opens: tuple[str, ...] = ()
    leaves: frozenset[str] = frozenset()
    filters: tuple[Expression, ...] = ()
    tables: frozenset[str] = frozenset()

    def column(self, name: str) -> Expression | None:
        """The expression of a column; None if the branch certainly does not have it."""
        if name in self.columns:
            return self.columns[name]
        if not self.opens:
            return None
        leaf = "|".join(self.opens)
        return Expression(f"{leaf}.{name}", name, frozenset((each, name) for each in self.opens))

    @property
    def id(self) -> str:
        """A text that is equal for branches with the same columns and conditions."""
        columns = [f"{name}={each.id}" for name, each in self.columns.items()]
        return digest([*columns, *self.opens, *sorted({each.id for each in self.filters})])


Relation = tuple[Branch, ...]


@dataclass(frozen=True)
class Entry:
    """One relation of a FROM clause: its name there, its rows, and the columns that USING has merged into another one."""

    alias: str
    branch: Branch
    merged: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Row:
    """The relations of a FROM clause side by side."""

    entries: tuple[Entry, ...]
    filters: tuple[Expression, ...] = ()

    @property
    def streams(self) -> bool:
        """Whether one of the relations streams."""
        return any(entry.branch.leaves for entry in self.entries)

    @property
    def leaves(self) -> frozenset[str]:
        """The streaming leaves of all relations."""
        return frozenset(leaf for entry in self.entries for leaf in entry.branch.leaves)

    @property
    def tables(self) -> frozenset[str]:
        """The leaves of all relations."""
        return frozenset(leaf for entry in self.entries for leaf in entry.branch.tables)

    @property
    def names(self) -> set[str]:
        """The columns that are certain."""
        return {name for entry in self.entries for name in entry.branch.columns}

    @property
    def all_filters(self) -> tuple[Expression, ...]:
        """The conditions of the row and of its relations."""
        return (*(each for entry in self.entries for each in entry.branch.filters), *self.filters)

    def resolve(self, parts: list[str]) -> Expression:
        """The expression of a column by its name, which a relation may qualify and fields of a struct may follow."""
        match = self._found([part.lower() for part in parts])
        if match is None:
            raise Unsupported(".".join(parts))
        expression, place = match
        for name in parts[place:]:
            expression = field_of(expression, name)
        return replace(expression, text=".".join(parts))

    def _found(self, parts: list[str]) -> tuple[Expression, int] | None:
        """The column, and the place of the first field after it."""
        if len(parts) > 1:
            for entry in self.entries:
                column = entry.branch.column(parts[1]) if entry.alias == parts[0] else None
                if column is not None:
                    return column, 2
        name = parts[0]
        certain = [
            e.branch.columns[name] for e in self.entries if name in e.branch.columns and name not in e.merged
        ]
        if len(certain) == 1:
            return certain[0], 1
        opens = [leaf for entry in self.entries for leaf in entry.branch.opens]
        if certain or not opens:
            return None
        column = Expression(f"{'|'.join(opens)}.{name}", name, frozenset((leaf, name) for leaf in opens))
        return column, 1


class StepKind(StrEnum):
    """What keeps state; the value follows "the" in a message."""

    AGGREGATE = "aggregation"
    DEDUPLICATE = "deduplication"
    JOIN = "join of streams"
    STATE = "state step"
    LIMIT = "LIMIT"
    UNKNOWN = "part that only Spark or Python can read"


@dataclass(frozen=True)
class Keys:
    """The keys by which a step distinguishes the rows of one input.

    Attributes:
        rows: the streaming leaves of each branch of the input.
        keys: the keys of each branch.
        filters: the conditions of each branch.
        kept: the columns of each branch that a join keeps: name of the relation, of the column, and its expression.
    """

    rows: tuple[frozenset[str], ...]
    keys: tuple[tuple[Expression, ...], ...]
    filters: tuple[tuple[Expression, ...], ...] = ()
    kept: tuple[tuple[tuple[str, str, Expression], ...], ...] = ()


@dataclass(frozen=True)
class Aggregate:
    """An aggregate function of an aggregation.

    Attributes:
        function: name of the function.
        written: the call as written, without letter case and layout, over the columns of the view's own FROM.
        text: the call for people.
        rows: the call of each branch, over leaves.
        arguments: types of its arguments; None for one that is not certain.
    """

    function: str
    written: str
    text: str
    rows: tuple[Expression, ...]
    arguments: tuple[str | None, ...]


@dataclass(frozen=True)
class Step:
    """A step that keeps state.

    Attributes:
        name: the leaf of its columns.
        kind: what it is.
        path: field of the document that has it.
        inputs: its keys, by input: two for a join of streams.
        aggregates: column of the step -> the aggregate.
        settings: everything else that is fixed, by its name: the type of a join, its further conditions, fields of a state
            step.
        reads: further columns that it needs.
    """

    name: str
    kind: StepKind
    path: str
    inputs: tuple[Keys, ...] = ()
    aggregates: Mapping[str, Aggregate] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    reads: frozenset[LeafColumn] = frozenset()


@dataclass(frozen=True)
class EventTime:
    """A watermark.

    Attributes:
        path: field of the document.
        columns: the ids of its column, one for each branch.
        leaves: the streaming leaves below it.
        delay: how late a row may be.
    """

    path: str
    columns: frozenset[str]
    leaves: frozenset[str]
    delay: str


@dataclass(frozen=True)
class NormalForm:
    """All that a query computes.

    Attributes:
        rows: the rows that it writes.
        steps: the steps that keep state, in the order in which the plan has them.
        watermarks: its watermarks.
    """

    rows: Relation
    steps: tuple[Step, ...]
    watermarks: tuple[EventTime, ...]


def digest(parts: Iterable[str]) -> str:
    """A short text that is equal for equal parts."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


def relation_id(relation: Relation) -> str:
    """A text that is equal for relations with the same branches."""
    return digest(sorted(branch.id for branch in relation))


def is_star(node: exp.Expr) -> bool:
    """Whether a node is `*` or `a.*`."""
    return isinstance(node, exp.Star) or (isinstance(node, exp.Column) and isinstance(node.this, exp.Star))


def starred(projection: exp.Expr, below: Row) -> tuple[dict[str, Expression], list[str]]:
    """The columns for which a star stands, and the leaves whose columns only Spark knows; raises `Unsupported`."""
    star = projection.this if isinstance(projection, exp.Column) else projection
    if any(value for key, value in star.args.items() if key not in ("except_", "except")):
        raise Unsupported("*")
    left_out = _left_out(star)
    qualifier = [name.name for name in projection.parts[:-1]] if isinstance(projection, exp.Column) else []
    columns: dict[str, Expression] = {}
    opens: list[str] = []
    for entry in below.entries if len(qualifier) < 2 else ():
        if not qualifier or entry.alias == qualifier[0].lower():
            hidden = left_out | (frozenset() if qualifier else entry.merged)
            added(columns, {name: each for name, each in entry.branch.columns.items() if name not in hidden})
            opens += entry.branch.opens
    if qualifier and not columns and not opens:
        struct = below.resolve(qualifier)
        fields = {name.lower(): field_of(struct, name) for name in fields_of(struct.type or "")}
        columns = {name: each for name, each in fields.items() if name not in left_out}
    if not columns and not opens:
        raise Unsupported("*")
    if left_out and opens:
        raise Unsupported("* EXCEPT")
    return columns, opens


def _left_out(star: exp.Expr) -> set[str]:
    names = star.args.get("except_") or star.args.get("except") or ()
    if any(
        (isinstance(name, exp.Column) and len(name.parts) > 1) or isinstance(name, exp.Dot) for name in names
    ):
        raise Unsupported("* EXCEPT")
    return {name.name.lower() for name in names}


def added(columns: dict[str, Expression], more: Mapping[str, Expression]) -> None:
    """Add columns to others; raises `Unsupported` for two unlike ones of one name: which of them is read is not certain."""
    if any(name in columns and columns[name].id != each.id for name, each in more.items()):
        raise Unsupported("two columns of one name")
    columns |= more


def every(star: exp.Expr, below: Row) -> Expression:
    """All columns as the arguments of a call, such as `struct(*)`, which makes fields of their names."""
    columns, opens = starred(star, below)
    fields = [f"{each.name or name}={each.id}" for name, each in columns.items()]
    read = {column for each in columns.values() for column in each.columns} | {(leaf, "*") for leaf in opens}
    return Expression(short(f"*({', '.join([*fields, *opens])})"), "*", frozenset(read))
