"""Joins of a SQL text: their type, whether they have an equality, and up to when they keep the rows of streams."""

from collections.abc import Sequence
from typing import Final

from sqlglot import exp

from mainstem.language.sql.join_bounds import Side, bounds
from mainstem.language.sql.logical_plan import DOUBTFUL, Joined


_ORDERINGS: Final = (
    *(exp.And, exp.Not, exp.Paren, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between, exp.Is, exp.Null),
    *(exp.Column, exp.Identifier, exp.Literal, exp.Interval, exp.Var, exp.Add, exp.Sub, exp.Cast, exp.DataType),
)  # fmt: skip
"""What conditions are made of that order columns, and certainly do not equate them."""


def names(tree: exp.Expr) -> frozenset[str]:
    """Names under which columns of a relation of FROM can be asked for."""
    inner = tree.this if isinstance(tree, exp.Subquery) and not tree.alias else None
    found = names(inner) if isinstance(inner, exp.Table) else frozenset({tree.alias_or_name.lower()})
    return found.union(*(names(join.this) for join in tree.args.get("joins") or ()))


def moved(tree: exp.Expr, later: Sequence[exp.Join]) -> list[exp.Expr]:
    """What Spark moves to an inner join from above: the filter, and the conditions of inner joins that follow."""
    where = [tree.args["where"].this] if tree.args.get("where") else []
    return where + [join.args["on"] for join in later if join.args.get("on") and _type(join) == "inner"]


def _type(join: exp.Join) -> str:
    kind, side = (join.args.get("kind") or "").lower(), (join.args.get("side") or "").lower()
    return kind if kind in ("semi", "anti") else side or "inner"


def joined(join: exp.Join, left: Side, right: Side, above: list[exp.Expr]) -> Joined:
    """What is certain of a join.

    Args:
        join: of the text.
        left: the left side.
        right: the right side.
        above: conditions that Spark moves there, if it is an inner join.
    """
    type_ = _type(join)
    if join.args.get("method"):  # NATURAL: which columns are equal, only Spark knows
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
    """Whether Spark may make an equality of a condition: `IN (x)` is one, so is NOT (a <> b), or what a function hides."""
    return any(not isinstance(node, _ORDERINGS) for node in condition.walk())
