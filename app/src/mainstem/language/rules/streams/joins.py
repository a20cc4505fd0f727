"""Joins of streams that Spark does not support: by the sides that stream, type, watermark and output mode."""

from collections.abc import Iterator
from functools import partial
from typing import Final

from mainstem import reasons
from mainstem.errors import Problem
from mainstem.language.rules.context import Context
from mainstem.language.rules.streams.findings import Finding, findings
from mainstem.language.sql.logical_plan import Node, unbounded_state, unequal


def joins(context: Context) -> Iterator[Problem]:
    """Joins of streams with tables and with streams must fit type, watermark and output mode."""
    yield from findings(context, _static_join, _stream_join, _outer_join)


def equalities(context: Context) -> Iterator[Problem]:
    """A join of two streams has an equality: its columns are the keys of the state."""
    yield from findings(context, _unequal_join, among=unequal)


def unbounded(context: Context) -> Iterator[Problem]:
    """A warning: a join of two streams keeps every row of a side for ever if its condition does not limit the age of a match."""
    for_ever: dict[int, tuple[bool, ...]] = {}

    def kept(root: Node) -> Iterator[Node]:
        refused = {id(node) for node in unequal(root)}
        for node, sides in unbounded_state(root):
            if sides and id(node) not in refused and _outer_join(node, "") is None:
                for_ever[id(node)] = sides
                yield node

    yield from findings(context, lambda node, _: _unbounded(for_ever[id(node)]), among=kept, warning=True)


def early(context: Context) -> Iterator[Problem]:
    """The condition of a join of two streams bounds event time. Spark drops rows by event time, which is too early for a bound
    on another column.

    If all matches may be older than a row's event time, possibly no row is lost: then it is a warning.
    """
    yield from findings(context, partial(_early, certain=True))
    yield from findings(context, partial(_early, certain=False), warning=True)


def _static_join(node: Node, _: str) -> Finding | None:
    """A row of the table without a match may get a match later, so Spark can never write it as unmatched."""
    if node.join is None or True not in node.sides or False not in node.sides:
        return None
    type_, left = node.join.type, node.sides[0]
    refused = {"left": not left, "semi": not left, "anti": not left, "right": left, "full": True}
    if not refused.get(type_):
        return None
    way = {
        "left": "start from the stream, or use an inner join",
        "semi": "start from the stream",
        "anti": "start from the stream",
        "right": "start from the table, or use an inner join",
        "full": "use an outer join that keeps the rows of the stream",
    }
    message = (
        f"{_NAMES[type_]} of a stream and a table must not keep unmatched rows of the table; {way[type_]}"
    )
    return Finding(reasons.JOIN_NOT_ALLOWED, message)


_NAMES: Final = {
    "inner": "an inner join",
    "left": "a left outer join",
    "right": "a right outer join",
    "full": "a full outer join",
    "semi": "a left semi join",
    "anti": "a left anti join",
}


def _unequal_join(node: Node, _: str) -> Finding | None:
    if node.stream_join is None:
        return None
    message = (
        "a join of two streams needs an equality in its condition, and this join has none; add one, "
        "such as ON a.id = b.id, beside the time range"
    )
    return Finding(reasons.EQUALITY_NEEDED, message)


def _stream_join(node: Node, mode: str) -> Finding | None:
    join = node.stream_join
    if join is None:
        return None
    type_ = join.type
    if type_ == "anti":
        message = "Spark has no left anti join of two streams; use LEFT JOIN with a time range, and keep the rows whose right side is null"
        return Finding(reasons.JOIN_NOT_ALLOWED, message)
    allowed = ("append", "update") if type_ in ("inner", "semi") else ("append",)
    if mode not in allowed:
        message = f"{node.view!r} has {_NAMES[type_]} of two streams, which allows {' or '.join(allowed)} mode, not {mode}"
        return Finding(reasons.OUTPUT_MODE_NOT_ALLOWED, message, mode=True)
    return None


def _outer_join(node: Node, _: str) -> Finding | None:
    """Spark writes an unmatched row once no match can arrive any more, which only event time can show."""
    join = node.stream_join
    if join is None or join.bounds.event_key is not False:
        return None
    left, right = (answer is not False for answer in join.bounds.by_range)
    bounded = {"left": left, "semi": left, "right": right, "full": left or right}
    if bounded.get(join.type, True):
        return None
    side = {
        "left": "the right side",
        "semi": "the right side",
        "right": "the left side",
        "full": "both sides",
    }
    message = (
        f"{_NAMES[join.type]} of two streams must know when no match can arrive any more; give {side[join.type]} "
        "a watermark, and the condition a time range (b.time BETWEEN a.time AND a.time + INTERVAL 1 HOUR) or an equal window"
    )
    return Finding(reasons.WATERMARK_NEEDED, message)


def _unbounded(kept: tuple[bool, ...]) -> Finding:
    sides = "both sides" if all(kept) else "its left side" if kept[0] else "its right side"
    message = (
        f"this join of two streams keeps every row of {sides} for ever: give both streams a watermark, and the condition "
        "a range of their event times (b.time BETWEEN a.time AND a.time + INTERVAL 1 HOUR) or an equal window; the lower "
        "end bounds b, and the upper end bounds a"
    )
    return Finding(reasons.STATE_UNBOUNDED, message)


def _early(node: Node, _: str, *, certain: bool) -> Finding | None:
    drops = node.stream_join.bounds.early_drops if node.stream_join else ()
    drop = next((drop for drop in drops if drop.certain is certain), None)
    if drop is None:
        return None
    loses = (
        f"the matches that arrive after its {drop.event!r} and before its {drop.column} are lost"
        if certain
        else f"a row whose {drop.column} is later than its {drop.event!r} loses the matches that arrive in between"
    )
    message = (
        f"the condition compares {drop.column}, and Spark drops rows of that side by their event time {drop.event!r}: "
        f"{loses}; declare the watermark of "
        f"that side on that column, or add a bound by event time, such as b.time <= a.time + INTERVAL 1 DAY"
    )
    return Finding(reasons.JOIN_ROWS_LOST, message)
