"""Finds the expressions of a SQL text that are event time for Spark: event-time columns, and windows over them.

Spark keeps the watermark in the metadata of a column. Any other expression over the column loses it: arithmetic, a
cast, a function, and the start or end of a window.
"""

from typing import Final

from sqlglot import exp

from mainstem.language.sql.logical_plan import EventTimeColumns


WINDOWS: Final = frozenset({"window", "session_window", "window_time"})
"""Functions whose result is event time if their first argument is."""
_ENDS: Final = frozenset({"start", "end"})
"""Fields of a window."""


def carries(expression: exp.Expr, events: EventTimeColumns) -> bool:
    """Whether an expression may be event time; false if it certainly is not.

    Args:
        expression: a projection or a grouping key.
        events: the columns of the relation that may be event time.
    """
    expression = bare(expression)
    if isinstance(expression, exp.Func):
        return called(expression) in WINDOWS and carries(_argument(expression), events)
    if isinstance(expression, (exp.Column, exp.Dot)):
        name = expression.parts[-1]
        return events is None or isinstance(name, exp.Star) or name.name.lower() in events
    if isinstance(expression, (exp.Binary, exp.Unary, exp.Literal, exp.Bracket)):
        return False
    return mentions(expression, events)


def is_window_end(expression: exp.Expr, events: EventTimeColumns, ends: frozenset[str]) -> bool:
    """Whether an expression certainly is the start or the end of a window over event time.

    Args:
        expression: a projection or a grouping key.
        events: the columns of the relation that may be event time, including windows.
        ends: the columns of the relation that are the start or the end of such a window.
    """
    expression = bare(expression)
    if isinstance(expression, exp.Bracket):
        [field, *_] = expression.expressions or [exp.null()]
        return field.name.lower() in _ENDS and _is_window(expression.this, events)
    if isinstance(expression, exp.Dot) and not isinstance(expression.this, (exp.Column, exp.Dot)):
        return expression.name.lower() in _ENDS and _is_window(expression.this, events)
    if not isinstance(expression, (exp.Column, exp.Dot)):
        return False
    *above, name = (part.name.lower() for part in expression.parts)
    if not above or name in ends:
        return name in ends
    return name in _ENDS and events is not None and above[-1] in events and name not in events


def bare(expression: exp.Expr) -> exp.Expr:
    """The expression without its alias and its brackets."""
    while isinstance(expression, (exp.Alias, exp.Paren)):
        expression = expression.this
    return expression


def mentions(expression: exp.Expr, events: EventTimeColumns) -> bool:
    """Whether an expression contains a name that may be event time, or a star."""
    names = {identifier.name.lower() for identifier in expression.find_all(exp.Identifier)}
    return events is None or bool(names & events) or expression.find(exp.Star) is not None


def called(expression: exp.Expr) -> str:
    """The name of a function, in lower case; empty for anything else."""
    if isinstance(expression, exp.Anonymous):
        return str(expression.name).lower()
    return expression.sql_name().lower() if isinstance(expression, exp.Func) else ""


def _is_window(expression: exp.Expr, events: EventTimeColumns) -> bool:
    return events is not None and carries(expression, events)


def _argument(call: exp.Func) -> exp.Expr:
    """The first argument of a function; NULL for a function without arguments."""
    arguments = call.expressions or [call.this]
    return arguments[0] if isinstance(arguments[0], exp.Expr) else exp.null()
