"""The columns of a SELECT list, of a relation under another name, and of a LATERAL VIEW, by the names that Spark gives them."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from sqlglot import exp

from mainstem.language.sql.builtins import CASTS, GENERATORS
from mainstem.language.sql.event_time import called
from mainstem.language.sql.scope import UNKNOWN, ColumnSet, Relation, Scope, star


_UNNAMED: Final = (exp.Func, exp.Binary, exp.Not, exp.Neg, exp.Between, exp.In, exp.Is)
"""Expressions to which Spark gives a name that is not a plain word, if the text does not name them."""
_NAMED: Final = GENERATORS | CASTS | {"window", "session_window"}
"""Functions whose results have column names of their own."""


def renamed(tree: exp.Expr, columns: ColumnSet) -> ColumnSet:
    """The columns of a relation under the names of its alias, if the alias names columns: `t (a, b)`."""
    alias = tree.args.get("alias")
    if isinstance(alias, exp.TableAlias) and alias.columns:
        return ColumnSet(tuple(name.name for name in alias.columns), open=False)
    return columns


def lateral_view(lateral: exp.Expr) -> Relation:
    """The relation of a LATERAL VIEW."""
    alias = lateral.args.get("alias")
    name = alias.name.lower() if isinstance(alias, exp.TableAlias) else ""
    return Relation(name, renamed(lateral, UNKNOWN) if name else UNKNOWN)


def aliases(projections: Iterable[exp.Expr]) -> Iterator[str]:
    """The names that a SELECT list gives, in lower case."""
    for projection in projections:
        if isinstance(projection, exp.Aliases):
            yield from (name.name.lower() for name in projection.expressions)
        elif isinstance(projection, exp.Alias):
            yield projection.alias.lower()


def projected(projections: Iterable[exp.Expr], scope: Scope) -> ColumnSet:
    """The columns of a SELECT list."""
    return star(Relation("", _projection(projection, scope)) for projection in projections)


def _projection(projection: exp.Expr, scope: Scope) -> ColumnSet:
    if isinstance(projection, exp.Star):
        return _excepted(projection, scope.starred())
    if isinstance(projection, exp.Column) and isinstance(projection.this, exp.Star):
        wanted = projection.table.lower()
        owners = [relation for relation in scope.relations if relation.alias == wanted]
        columns = owners[0].columns if len(owners) == 1 and len(projection.parts) == 2 else UNKNOWN
        return _excepted(projection.this, columns)
    names = _names(projection)
    if names is not None:
        return ColumnSet(names, open=False)
    return ColumnSet((), open=not _is_unnamed(projection))


def _is_unnamed(projection: exp.Expr) -> bool:
    """Whether the name of an expression is certainly no plain word."""
    expression = projection.unnest()
    while isinstance(expression, exp.Cast):  # which has the name of a column or field that it casts
        expression = expression.this.unnest()
    if isinstance(expression, (exp.Dot, exp.JSONExtract, exp.UDTF)):
        return False
    return isinstance(expression, _UNNAMED) and called(expression) not in _NAMED


def _names(projection: exp.Expr) -> tuple[str, ...] | None:
    """The names that a text certainly gives to an expression; None if only Spark names it."""
    if isinstance(projection, exp.Alias):
        return (projection.alias,)
    if isinstance(projection, exp.Aliases):
        return tuple(name.name for name in projection.expressions)
    if isinstance(projection, exp.Column) and isinstance(projection.this, exp.Identifier):
        return (projection.name,)
    if isinstance(projection, exp.Paren):
        return _names(projection.this)
    cast = projection.this.unnest() if isinstance(projection, exp.Cast) else None
    # With two parts it may be a field, and Spark makes a name of the whole cast.
    if isinstance(cast, exp.Column) and len(cast.parts) == 1:
        return _names(cast)
    return None


def _excepted(star: exp.Expr, columns: ColumnSet) -> ColumnSet:
    """The columns of a star without those of EXCEPT; unknown for a star that renames or replaces columns."""
    if star.args.get("rename") or star.args.get("replace"):
        return ColumnSet(open=True)
    left_out = star.args.get("except_") or star.args.get("except") or ()
    out = {name.name.lower() for name in left_out}
    names = tuple(name for name in columns.names if name.lower() not in out)
    if any(map(_is_qualified, left_out)):  # only Spark knows which column it leaves out
        return ColumnSet(names, open=True)
    return replace(columns, names=names, repeated=columns.repeated - out)


def _is_qualified(name: exp.Expr) -> bool:
    return isinstance(name, exp.Dot) or (isinstance(name, exp.Column) and len(name.parts) > 1)
