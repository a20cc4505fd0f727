"""Canonical forms of SQL expressions: two expressions of equal meaning and equal columns have the same id.

Formatting, aliases, brackets, the order of conditions and the unit of a window's length do not matter, nor does letter case
but in names that become values. A difference that does matter never leads to the same id.
"""

import hashlib
import re
from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from sqlglot import exp

from mainstem.language.analysis.source_columns import ddl_types
from mainstem.language.base import DURATION_PATTERN, seconds
from mainstem.language.sql.event_time import bare, called


LeafColumn = tuple[str, str]
"""A leaf of the plan, which is a source or a stateful step, and the name of one of its columns."""
_LONGEST: Final = 400
"""Characters of an id; a longer id is replaced by its hash, so that nested views do not multiply it."""
_WINDOWS: Final = ("window", "session_window")
_UNORDERED: Final = (exp.And, exp.Or, exp.EQ, exp.NEQ, exp.NullSafeEQ)
_NAMED: Final = (exp.Struct, exp.Tuple, exp.ArraysZip)
"""Calls that make fields of the names of their arguments."""
_UNITS: Final = ("date_trunc", "trunc")
_UNIMPORTANT: Final = ("alias", "quoted", "comments", "nested", "big_int")


class Unsupported(Exception):
    """The SQL has a part that only Spark can resolve."""


@dataclass(frozen=True)
class Expression:
    """An expression with its columns resolved down to leaves.

    Attributes:
        id: the canonical form.
        text: the expression as written, for people.
        columns: the columns of leaves that it reads.
        type: Spark's type; None if it is not certain.
        name: as a column of a relation, its name as written.
    """

    id: str
    text: str
    columns: frozenset[LeafColumn] = frozenset()
    type: str | None = None
    name: str = field(default="", compare=False)


Part = Callable[[exp.Expr], Expression | None]
"""Returns the expression that replaces a part of a tree, such as a column; None if the part stays as it is."""


@dataclass(frozen=True)
class Functions:
    """The functions of a document, in lower case.

    Attributes:
        codes: function -> a text that differs if its code may differ.
        aggregates: those that aggregate.
    """

    codes: Mapping[str, str] = field(default_factory=dict)
    aggregates: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Canonical:
    """Makes expressions.

    Attributes:
        part: resolves columns, nested queries, and aggregates that are computed before; raises `Unsupported`.
        functions: function of the document, in lower case -> a text that differs if its code may differ.
    """

    part: Part
    functions: Mapping[str, str]

    def expression(self, tree: exp.Expr) -> Expression:
        """The expression of a tree; raises `Unsupported`."""
        tree = bare(tree)
        read: list[LeafColumn] = []
        form = self._form(tree, read)
        return Expression(short(form), written(tree), frozenset(read), self.type_of(tree))

    def _form(self, node: exp.Expr, read: list[LeafColumn]) -> str:
        node = bare(node)
        if (part := self.part(node)) is not None:
            read += part.columns
            return part.id
        plain = _plain(node)
        return self._compared(node, read) if plain is None else plain

    def _compared(self, node: exp.Expr, read: list[LeafColumn]) -> str:
        """The form of a comparison or connection, in which the order of the operands may not matter."""
        if isinstance(node, exp.Dot) and isinstance(node.expression, exp.Identifier):
            return f"field({self._form(node.this, read)}, {node.expression.name})"  # of a MAP, perhaps
        if isinstance(node, exp.Between):
            bounds = ((node.args["low"], node.this), (node.this, node.args["high"]))
            parts = [f"lte({self._form(low, read)}, {self._form(high, read)})" for low, high in bounds]
            return f"and({', '.join(sorted(parts))})"
        if isinstance(node, _UNORDERED):
            operands = node.flatten() if isinstance(node, exp.Connector) else (node.this, node.expression)
            return f"{node.key}({', '.join(sorted(self._form(operand, read) for operand in operands))})"
        if isinstance(node, (exp.LT, exp.LTE, exp.GT, exp.GTE)):
            turned = isinstance(node, (exp.GT, exp.GTE))
            small, large = (node.expression, node.this) if turned else (node.this, node.expression)
            name = "lte" if isinstance(node, (exp.LTE, exp.GTE)) else "lt"
            return f"{name}({self._form(small, read)}, {self._form(large, read)})"
        return self._call(node, read)

    def _call(self, node: exp.Expr, read: list[LeafColumn]) -> str:
        name = called(node) if isinstance(node, exp.Anonymous) else node.key
        parts = []
        for key, value in sorted(node.args.items()):
            if key in _UNIMPORTANT or value is None or value is False or value == []:
                continue
            if isinstance(node, exp.Anonymous) and key == "this":
                continue
            values = value if isinstance(value, list) else [value]
            if isinstance(node, exp.Count) and isinstance(value, exp.Star) and not any(value.args.values()):
                values = ["*"]  # each row, whatever its columns
            parts += [f"{key}={self._argument(name, each, read)}" for each in values]
        if isinstance(node, _NAMED):
            parts.append(f"names={[_field_name(each) for each in node.expressions]}")
        return f"{name}{self.functions.get(name, '')}({', '.join(parts)})"

    def _argument(self, function: str, value: object, read: list[LeafColumn]) -> str:
        if not isinstance(value, exp.Expr):
            return repr(value)
        if function in _UNITS and isinstance(value, exp.Literal):
            return repr(value.name.lower())
        if (
            function in _WINDOWS
            and isinstance(value, exp.Literal)
            and re.fullmatch(DURATION_PATTERN, value.name)
        ):
            return f"{seconds(value.name)} s"
        return self._form(value, read)

    def type_of(self, node: exp.Expr) -> str | None:
        """Spark's type of a tree; None if it is not certain."""
        node = bare(node)
        if (part := self.part(node)) is not None:
            return part.type
        if (kind := _written_type(node)) is not None:
            return kind
        if isinstance(node, exp.Literal):
            return "STRING" if node.is_string else "INT" if node.is_int else None
        if isinstance(node, _STRINGS) or (isinstance(node, exp.Func) and called(node) in _STRING_CALLS):
            return "STRING"
        if isinstance(node, (exp.Add, exp.Sub, exp.Mul)):
            types = {self.type_of(node.this), self.type_of(node.expression)}
            return types.pop() if len(types) == 1 and types <= _NUMBERS else None
        return "BIGINT" if isinstance(node, exp.Count) else None


_STRINGS: Final = (exp.Upper, exp.Lower, exp.Concat, exp.Substring, exp.Trim, exp.TimeToStr)
_STRING_CALLS: Final = ("upper", "lower", "concat", "substring", "trim", "date_format")
_NUMBERS: Final = {"INT", "BIGINT", "DOUBLE", "FLOAT"}


def _plain(node: exp.Expr) -> str | None:
    """The form of a node without operands; None for any other node."""
    if isinstance(node, (exp.Identifier, exp.Var)):
        return node.name.lower()
    if isinstance(node, exp.Literal):
        return repr(node.name) if node.is_string else node.name
    # The names of a STRUCT in their letter case, which JSON has, and sqlglot's own spelling, which has every argument.
    return node.sql(comments=False) if isinstance(node, exp.DataType) else None


def _field_name(field: exp.Expr) -> str:
    """The name of a field of `struct(...)`, in its letter case: JSON of the struct has it."""
    return field.this.name if isinstance(field, exp.PropertyEQ) else field.output_name


def field_of(expression: Expression, name: str) -> Expression:
    """A field of a STRUCT, or the value of a key of a MAP, for which the letter case matters."""
    types = {field.lower(): kind for field, kind in fields_of(expression.type or "").items()}
    known = name.lower() if types else name
    text = f"{expression.text}.{name}"
    return Expression(f"field({expression.id}, {known})", text, expression.columns, types.get(known), name)


def fields_of(type_: str) -> dict[str, str]:
    """Field of a STRUCT -> its type; empty for another type."""
    return (ddl_types(type_) or {}) if type_.startswith("STRUCT<") else {}


def either(column: Expression, earlier: Expression) -> Expression:
    """A name that only Spark knows to be a column or an earlier projection."""
    return replace(column, id=f"{column.id} or {earlier.id}", columns=column.columns | earlier.columns)


def column_name(projection: exp.Expr) -> str:
    """The name of a projection, in lower case."""
    return _name(projection).lower()


def named(projection: exp.Expr, canonical: Canonical) -> Expression:
    """The expression of a projection, with its name as written."""
    return replace(canonical.expression(projection), name=_name(projection))


def _name(projection: exp.Expr) -> str:
    return projection.alias_or_name or _sql(projection)


def short(form: str) -> str:
    """The id of a canonical form: the form itself, or its hash if it is long."""
    return form if len(form) <= _LONGEST else f"sha256:{hashlib.sha256(form.encode()).hexdigest()[:32]}"


def written(tree: exp.Expr) -> str:
    """The text of an expression for people, on one line."""
    text = _sql(tree)
    return text if len(text) <= 80 else f"{text[:77]}..."


def _sql(tree: exp.Expr) -> str:
    return " ".join(bare(tree).sql(dialect="spark", comments=False).split())


def _written_type(call: exp.Expr) -> str | None:
    """The type that a text has for the result of CAST, or for that of `from_json`; None for any other call."""
    if isinstance(call, exp.Cast):
        return type_name(call.to)
    schema = call.args.get("expression") if called(call) == "from_json" else None
    types = ddl_types(schema.name) if isinstance(schema, exp.Literal) else None
    return f"STRUCT<{', '.join(f'{name}: {kind}' for name, kind in types.items())}>" if types else None


def type_name(tree: exp.Expr) -> str:
    """The name of a type, as Spark writes it."""
    return tree.sql(dialect="spark", comments=False)


def conjuncts(tree: exp.Expr | None) -> Iterator[exp.Expr]:
    """The conditions that a condition requires all; none without a condition."""
    if tree is None:
        return
    tree = bare(tree)
    if isinstance(tree, exp.And):
        for part in (tree.this, tree.expression):
            yield from conjuncts(part)
    else:
        yield tree


def with_names(canonical: Canonical, columns: Mapping[str, Expression], certain: Container[str]) -> Canonical:
    """The same expressions, which may also use the names of earlier projections; a column that is `certain` comes first."""

    def part(node: exp.Expr) -> Expression | None:
        name = node.name.lower() if isinstance(node, exp.Column) and not node.table else ""
        earlier = columns.get(name)
        if earlier is None or name in certain:
            return canonical.part(node)
        try:
            column = canonical.part(node)
        except Unsupported:
            return earlier
        return earlier if column is None else either(column, earlier)

    return replace(canonical, part=part)
