"""Finds the facts about joins of a SQL text: type, equality, and how long they keep the rows of streams."""

from collections.abc import Sequence
from typing import Final

from sqlglot import exp

from mainstem.language.sql.join_bounds import Side, bounds
from mainstem.language.sql.logical_plan import DOUBTFUL, Joined


_ORDERINGS: Final = (
    *(exp.And, exp.Not, exp.Paren, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between, exp.Is, exp.Null),
    *(exp.Column, exp.Identifier, exp.Literal, exp.Interval, exp.Var, exp.Add, exp.Sub, exp.Cast, exp.DataType),
)  # fmt: skip
"""Expressions of conditions that order columns and certainly do not compare them for equality."""


def names(tree: exp.Expr) -> frozenset[str]:
    """The names that can qualify columns of a relation in FROM."""
    inner = tree.this if isinstance(tree, exp.Subquery) and not tree.alias else None
    own = names(inner) if isinstance(inner, exp.Table) else frozenset({tree.alias_or_name.lower()})
    return own.union(*(names(join.this) for join in tree.args.get("joins") or ()))


def moved(tree: exp.Expr, later: Sequence[exp.Join]) -> list[exp.Expr]:
    """The conditions that Spark moves down to an inner join: the filter, and the conditions of later inner joins."""
    where = [tree.args["where"].this] if tree.args.get("where") else []
    return where + [join.args["on"] for join in later if join.args.get("on") and _type(join) == "inner"]


def _type(join: exp.Join) -> str:
    kind, side = (join.args.get("kind") or "").lower(), (join.args.get("side") or "").lower()
    return kind if kind in ("semi", "anti") else side or "inner"


def joined(join: exp.Join, left: Side, right: Side, above: list[exp.Expr]) -> Joined:
    """The certain facts about a join.

    Args:
        join: the join in sqlglot's tree.
        left: the left side.
        right: the right side.
        above: conditions that Spark moves to the join if it is an inner join.
    """
    type_ = _type(join)
    if join.args.get("method"):  # NATURAL: only Spark knows which columns are equal
        return Joined(type_, equal=True, bounds=DOUBTFUL)
    using = [name.name.lower() for name in join.args.get("using") or ()]
    on = [join.args["on"]] if join.args.get("on") else []
    inner = type_ == "inner"
    return Joined(
        type_,
        equal=bool(using) or any(map(may_equate, on)),
        bounds=bounds(on + above if inner else on, using, left, right, inner=inner),
    )


def may_equate(condition: exp.Expr) -> bool:
    """Whether Spark may derive an equality from a condition, such as `IN (x)`, `NOT (a <> b)` or a function."""
    return any(not isinstance(node, _ORDERINGS) for node in condition.walk())
