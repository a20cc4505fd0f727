"""Finds how long a join of two streams keeps the rows of each side, as Spark derives it from the join's condition.

It follows StreamingSymmetricHashJoinHelper and StreamingJoinHelper of Spark 4.2. An event-time column in an equality
bounds both sides. Otherwise a comparison bounds a side if it limits the age of its rows: a column of the side is greater
than the event time of the other side, plus or minus constants. Spark accepts any column of the side there, but then drops
rows by the side's event time. If the text leaves doubt, the answer is None.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from sqlglot import exp

from mainstem.language.sql.event_time import WINDOWS, bare, called, mentions
from mainstem.language.sql.logical_plan import Bounds, EarlyDrop, EventTimeColumns


@dataclass(frozen=True)
class Side:
    """One side of a join: the names of its relations in the text, and the columns that may be event time."""

    names: frozenset[str]
    events: EventTimeColumns


class _ColumnUse(NamedTuple):
    """A column in a condition.

    Attributes:
        side: 0 for the left side, 1 for the right side.
        event: whether the column is event time; a field of a column is not.
        whole: False for a field of a column.
        path: the names of the column and the field, in lower case.
        text: the column as written.
    """

    side: int
    event: bool
    whole: bool
    path: tuple[str, ...]
    text: str


class _Range(NamedTuple):
    """Whether Spark derives a bound of a side from a comparison, and by which column."""

    answer: bool | None
    column: _ColumnUse | None = None


_UNKNOWN: Final = _Range(answer=None)
_NO: Final = _Range(answer=False)
_SMALLER: Final = (exp.LT, exp.LTE)
_GREATER: Final = (exp.GT, exp.GTE)
_EQUAL: Final = (exp.EQ, exp.NullSafeEQ)
_SPANS: Final = ("WEEK", "DAY", "HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND")
"""Units of intervals with a fixed length; months have none, and Spark derives no bound from them."""


def bounds(
    conditions: Iterable[exp.Expr], using: Iterable[str], left: Side, right: Side, *, inner: bool
) -> Bounds:
    """The bounds that Spark derives for both sides.

    Args:
        conditions: the join's conditions; for an inner join also the filters that Spark moves there.
        using: the columns of USING, in lower case.
        left: the left side.
        right: the right side.
        inner: whether it is an inner join; Spark moves its conditions of one side below the join.
    """
    sides = (left, right)
    parts = [part for condition in conditions for part in _parts(condition)]
    keys = [_is_event_key(part, sides) for part in parts if isinstance(part, _EQUAL)]
    keys += [None if side.events is None else name in side.events for name in using for side in sides]
    event_key = _any(keys)
    pairs = [pair for part in parts for pair in _comparisons(part)]
    doubt = [_UNKNOWN] if any(_doubtful(part, sides) for part in parts) else []
    of_left, of_right = ([_range(*pair, own, sides, inner=inner) for pair in pairs] + doubt for own in (0, 1))
    begins = [any(_begins(*pair, own, sides) for pair in pairs) for own in (0, 1)]
    drops = (
        _early(event_key, of_left, left, certain=begins[0]),
        _early(event_key, of_right, right, certain=begins[1]),
    )
    return Bounds(
        event_key,
        by_range=(_any(range_.answer for range_ in of_left), _any(range_.answer for range_ in of_right)),
        is_bounded=(_is_bounded(event_key, of_left, left), _is_bounded(event_key, of_right, right)),
        early_drops=tuple(drop for drop in drops if drop is not None),
    )


def _is_bounded(event_key: bool | None, ranges: Sequence[_Range], side: Side) -> bool | None:
    """Whether Spark drops the rows of a side at some time."""
    if event_key is not False:
        return event_key
    if side.events == frozenset():
        return False
    if any(range_.answer and range_.column and range_.column.event for range_ in ranges):
        return True
    # By another column Spark bounds the side only if a step above the join also reads the event time.
    return None if any(range_.answer is not False for range_ in ranges) else False


def _early(
    event_key: bool | None, ranges: Sequence[_Range], side: Side, *, certain: bool
) -> EarlyDrop | None:
    """Rows that Spark drops by event time although another column allows matches for longer."""
    columns = [range_.column for range_ in ranges if range_.answer and range_.column]
    known = event_key is False and not any(range_.answer is None for range_ in ranges)
    if not known or not side.events or not columns or any(column.event for column in columns):
        return None
    return EarlyDrop(columns[0].text, min(side.events), certain)


def _begins(low: exp.Expr, high: exp.Expr, own: int, sides: tuple[Side, Side]) -> bool:
    """Whether by `low < high` a side's row matches only rows from its own event time on, as in `b.time >= a.time`.

    Then every matching row comes while or after the watermark passes the row. The condition also keeps the event time above
    the join's input, so Spark bounds the side by it.
    """
    uses = [
        _resolve(column, sides) if isinstance(column, (exp.Column, exp.Dot)) else None
        for column in (bare(low), bare(high))
    ]
    return [use and (use.side, use.event) for use in uses] == [(own, True), (1 - own, True)]


def _parts(condition: exp.Expr) -> Iterator[exp.Expr]:
    condition = bare(condition)
    if isinstance(condition, exp.And):
        yield from _parts(condition.left)
        yield from _parts(condition.right)
    else:
        yield condition


def _comparisons(part: exp.Expr) -> Iterator[tuple[exp.Expr, exp.Expr]]:
    """The smaller and the greater side of each comparison."""
    if isinstance(part, _SMALLER):
        yield part.left, part.right
    elif isinstance(part, _GREATER):
        yield part.right, part.left
    elif isinstance(part, exp.Between) and not part.args.get("symmetric"):
        yield part.args["low"], part.this
        yield part.this, part.args["high"]


def _doubtful(part: exp.Expr, sides: tuple[Side, Side]) -> bool:
    """Whether Spark may turn a condition into a comparison or an equality of event time."""
    if isinstance(part, (*_EQUAL, *_SMALLER, *_GREATER)):
        return False
    if isinstance(part, exp.Between) and not part.args.get("symmetric"):
        return False
    return any(mentions(part, side.events) for side in sides)


def _is_event_key(part: exp.Expr, sides: tuple[Side, Side]) -> bool | None:
    return _any(_is_event(operand, sides) for operand in (part.this, part.expression))


def _is_event(operand: exp.Expr, sides: tuple[Side, Side]) -> bool | None:
    operand = bare(operand)
    if isinstance(operand, (exp.Column, exp.Dot)):
        column = _resolve(operand, sides)
        if column is not None:
            return column.event
        return None if any(mentions(operand.parts[-1], side.events) for side in sides) else False
    return None if called(operand) in WINDOWS or any(side.events is None for side in sides) else False


def _range(low: exp.Expr, high: exp.Expr, own: int, sides: tuple[Side, Side], *, inner: bool) -> _Range:
    """The bound of a side's rows by `low < high`."""
    terms = [*_terms(low, negative=False), *_terms(high, negative=True)]
    if any(side.events is None for side in sides):
        return _UNKNOWN
    columns = [column for term, _ in terms for column in _columns(term)]
    if not any(mentions(column.parts[-1], sides[1 - own].events) for column in columns):
        mixed = len({column.sql().lower() for column in columns}) > 1
        return _NO if mixed or inner else _UNKNOWN
    uses = [_resolve(column, sides) for column in columns]
    if None in uses:
        return _UNKNOWN
    owns, others = (
        {use.path for use in uses if use and (use.side == own) is is_own} for is_own in (True, False)
    )
    if len(owns) == 1 and not others:  # bounded by a constant: Spark decides
        return _NO if inner else _UNKNOWN
    if len(owns) != 1 or len(others) != 1:
        return _NO
    return _solved(terms, own, sides)


def _solved(terms: list[tuple[exp.Expr, bool]], own: int, sides: tuple[Side, Side]) -> _Range:
    """The bound by terms over one column of each side: the other side's event time limits the own column from below."""
    answer: bool | None = True
    bounded: _ColumnUse | None = None
    for term, negative in terms:
        columns = [_resolve(column, sides) for column in _columns(term)]
        own_term = any(column is not None and column.side == own for column in columns)
        if not columns:
            answer = answer if _is_constant(term) else None
        elif own_term and not negative:
            return _UNKNOWN if term.find(exp.Neg) else _NO
        elif not isinstance(term, (exp.Column, exp.Dot)) or columns[0] is None:
            return _UNKNOWN
        elif own_term:
            bounded = columns[0]
            if not bounded.whole:  # Spark reads the field below the join, perhaps without the column
                answer = None
        elif not columns[0].event:
            return _NO
    return _Range(answer, bounded)


def _terms(expression: exp.Expr, *, negative: bool) -> Iterator[tuple[exp.Expr, bool]]:
    """The terms of a sum, each with whether it is subtracted."""
    expression = bare(expression)
    if isinstance(expression, (exp.Add, exp.Sub)) and not _is_time_between(expression):
        yield from _terms(expression.left, negative=negative)
        yield from _terms(expression.right, negative=negative is not isinstance(expression, exp.Sub))
    elif isinstance(expression, exp.Neg):
        yield from _terms(expression.this, negative=not negative)
    elif isinstance(expression, exp.Cast) and expression.to.this in _NUMBERS_AND_TIMES:
        yield from _terms(expression.this, negative=negative)
    else:
        yield expression, negative


_NUMBERS_AND_TIMES: Final = (
    exp.DataType.Type.DOUBLE,
    exp.DataType.Type.BIGINT,
    exp.DataType.Type.TIMESTAMP,
    exp.DataType.Type.TIMESTAMPTZ,
    exp.DataType.Type.TIMESTAMPLTZ,
)


def _is_time_between(expression: exp.Binary) -> bool:
    """Whether an expression subtracts two times, which is one term for Spark; two numbers are two terms."""
    sides = (bare(expression.left), bare(expression.right))
    return isinstance(expression, exp.Sub) and all(isinstance(side, (exp.Column, exp.Dot)) for side in sides)


def _is_constant(term: exp.Expr) -> bool:
    if isinstance(term, exp.Interval):
        return str(term.args.get("unit")).upper().removesuffix("S") in _SPANS
    return isinstance(term, exp.Literal)


def _columns(expression: exp.Expr) -> list[exp.Column | exp.Dot]:
    nodes = expression.walk(prune=lambda node: isinstance(node, (exp.Column, exp.Dot)))
    return [node for node in nodes if isinstance(node, (exp.Column, exp.Dot))]


def _resolve(column: exp.Column | exp.Dot, sides: tuple[Side, Side]) -> _ColumnUse | None:
    """The column that a name refers to; None if only Spark knows."""
    first, *rest = (part.name.lower() for part in column.parts)
    if not isinstance(column.parts[0], exp.Identifier):
        return None
    for side, relation in enumerate(sides):
        if rest and first in relation.names and relation.events is not None:
            whole = len(rest) == 1
            event = whole and rest[0] in relation.events
            return _ColumnUse(side, event, whole, tuple(rest), column.sql())
    return None


def _any(answers: Iterable[bool | None]) -> bool | None:
    known = list(answers)
    return True if True in known else None if None in known else False
