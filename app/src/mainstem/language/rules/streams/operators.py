"""Operators on streams that Spark's UnsupportedOperationChecker rejects, as far as the plan is certain."""

from collections.abc import Iterator
from typing import Final

from mainstem import reasons
from mainstem.errors import Problem
from mainstem.language.model.queries import Query
from mainstem.language.rules.context import Context
from mainstem.language.rules.streams.findings import Finding, findings
from mainstem.language.sql import other_dialects
from mainstem.language.sql.logical_plan import Node, NodeKind


def operators(context: Context) -> Iterator[Problem]:
    """Sorting, offsets, samples, window functions, distinct aggregates, row ids and subqueries of streams are not allowed."""
    yield from findings(context, _operator, _sorted, _limited, _session, _lone_session)


def sets(context: Context) -> Iterator[Problem]:
    """UNION combines a stream only with streams; INTERSECT reads no stream, and EXCEPT subtracts none."""
    yield from findings(context, _set)


def states(context: Context) -> Iterator[Problem]:
    """Several stateful operators need append; `withinWatermark` needs a watermark; event time is declared once."""
    yield from findings(context, _chain, _deduplication, _watermark)


def keys(context: Context) -> Iterator[Problem]:
    """Append writes a group when the watermark passes it: event time must be among the keys, as a column or a window."""
    yield from findings(context, _window_end)
    for index, query in enumerate(context.spec.queries):
        for node in _timeless(context, query):
            message = (_DISTINCT if node.implied else _TIMELESS).format(view=node.view)
            yield context.problem(("queries", index, "outputMode"), message, reasons.WATERMARK_NEEDED)
            break


def window_ends(context: Context) -> Iterator[Problem]:
    """A warning: groups by the start or end of a window are kept for ever.
    Spark drops groups by the window itself once the watermark passes.
    """
    yield from findings(context, _kept_window_end, warning=True)


def _timeless(context: Context, query: Query) -> Iterator[Node]:
    """Aggregations that certainly do not group by event time, although append needs it."""
    if query.output_mode == "append" and context.graph.watermarked(query.from_):
        for node in context.graph.plan(query.from_).all():
            if node.kind is NodeKind.AGGREGATE and node.streams and not node.timed and node.end_key is None:
                yield node


def _window_end(node: Node, mode: str) -> Finding | None:
    if mode != "append" or not _groups_by_window_end(node):
        return None
    return Finding(reasons.WINDOW_KEY_NEEDED, _not_event_time("no group would ever be final"))


def _kept_window_end(node: Node, mode: str) -> Finding | None:
    if mode != "update" or not _groups_by_window_end(node):
        return None
    return Finding(reasons.STATE_UNBOUNDED, _not_event_time("every group is kept for ever"))


def _not_event_time(consequence: str) -> str:
    return f"the start or end of a window is not event time for Spark, only the window itself is, so {consequence}; {_BY_WINDOW}"


def _groups_by_window_end(node: Node) -> bool:
    aggregates = node.kind is NodeKind.AGGREGATE and node.streams is True
    return aggregates and not node.timed and node.end_key is not None


_TIMELESS: Final = (
    "no key of the aggregation in {view!r} is event time itself or a window over it, so no group would ever be final; "
    "group by window(<event time>, '1 hour') or the like, or use update or complete"
)
_DISTINCT: Final = (
    "without event time among the columns of DISTINCT or UNION in {view!r} no row would ever be final; write a `deduplicate` step, "
    "which passes on the first of equal rows at once, or use update or complete"
)
_BY_WINDOW: Final = (
    "group by the window, and take its start in a query above: "
    "SELECT w.start, n FROM (SELECT w, count(*) AS n FROM ... GROUP BY w)"
)


_REFUSED: Final = {
    NodeKind.OFFSET: Finding(reasons.LIMIT_NOT_ALLOWED, "OFFSET has no meaning in a stream; leave it out"),
    NodeKind.SAMPLE: Finding(
        reasons.SAMPLE_NOT_ALLOWED,
        "a stream cannot be sampled; filter by a column, such as hash(id) % 10 = 0",
    ),
    NodeKind.SUBQUERY: Finding(
        reasons.SUBQUERY_NOT_ALLOWED,
        "a subquery within an expression cannot read a stream; write a join, such as LEFT SEMI JOIN for IN and EXISTS",
    ),
    NodeKind.ROW_IDS: Finding(
        reasons.FUNCTION_NOT_ALLOWED,
        "monotonically_increasing_id() starts again in every batch; use uuid(), or columns that identify a row",
    ),
}


def _operator(node: Node, _: str) -> Finding | None:
    if node.kind in _REFUSED and (node.streams or node.kind is NodeKind.SUBQUERY):
        return _REFUSED[node.kind]
    if node.kind is NodeKind.OVER and node.streams:
        advice = other_dialects.OVER.get(node.function, other_dialects.GROUPED)
        message = f"a window function with OVER would sort the whole stream; {advice}"
        return Finding(reasons.WINDOW_FUNCTION_NOT_ALLOWED, message)
    if node.kind is NodeKind.AGGREGATE and node.streams and node.distinct:
        message = "an aggregate of DISTINCT values would keep all of them as state; use approx_count_distinct, or collect_set"
        return Finding(reasons.DISTINCT_NOT_ALLOWED, message)
    return None


def _sorted(node: Node, mode: str) -> Finding | None:
    if node.kind is not NodeKind.SORT or not node.streams:
        return None
    written, implied = node.groups
    if mode == "complete" and (not node.known or written):
        return None
    message = "ORDER BY cannot sort a stream, only the result of an aggregation in complete mode"
    if mode == "complete" and implied:
        message += "; write GROUP BY in place of DISTINCT or UNION, which are no aggregations for Spark"
    return Finding(reasons.SORT_NOT_ALLOWED, message)


def _limited(node: Node, mode: str) -> Finding | None:
    if node.kind is not NodeKind.LIMIT or not node.streams or mode != "update":
        return None
    message = f"update mode does not allow LIMIT, and {node.view!r} has one; use append or complete, or leave LIMIT out"
    return Finding(reasons.LIMIT_NOT_ALLOWED, message, mode=True)


def _session(node: Node, mode: str) -> Finding | None:
    if not (node.kind is NodeKind.AGGREGATE and node.streams and node.session and mode == "update"):
        return None
    message = f"session windows can merge, so {node.view!r} cannot be written in update mode; use append or complete"
    return Finding(reasons.OUTPUT_MODE_NOT_ALLOWED, message, mode=True)


def _lone_session(node: Node, _: str) -> Finding | None:
    if not (node.kind is NodeKind.AGGREGATE and node.streams and node.lone):
        return None
    message = (
        "the session window is the only grouping key, and Spark needs another one; group by another column too, "
        "for example a constant: FROM (SELECT *, 1 AS one FROM ...)"
    )
    return Finding(reasons.KEY_NEEDED, message)


def _set(node: Node, mode: str) -> Finding | None:
    if node.kind is NodeKind.UNION and set(node.sides) == {True, False}:
        message = "UNION cannot combine a stream with a table; read the table as a stream, or write the table in a query of its own"
    elif node.kind is NodeKind.INTERSECT and True in node.sides:
        message = "INTERSECT cannot read a stream; write LEFT SEMI JOIN"
    elif node.kind is NodeKind.EXCEPT and node.sides[1]:
        message = "EXCEPT cannot subtract a stream, because its later rows are not known yet; only a table may stand on its right side"
    elif node.kind is NodeKind.EXCEPT and node.streams and not node.distinct:
        message = "EXCEPT ALL would subtract the table's rows again in every batch; write LEFT ANTI JOIN"
    elif node.kind is NodeKind.EXCEPT and node.streams and mode == "append" and not node.timed:
        message = (
            "EXCEPT returns each row once, and without event time among its columns no row would ever be final; "
            "write LEFT ANTI JOIN, which keeps duplicates and needs no state, or use update"
        )
        return Finding(reasons.WATERMARK_NEEDED, message)
    else:
        return None
    return Finding(reasons.SET_OPERATION_NOT_ALLOWED, message)


def _chain(node: Node, mode: str) -> Finding | None:
    stateful = (node.kind is NodeKind.AGGREGATE and node.streams) or node.stream_join
    if mode == "append" or not stateful:
        return None
    below = [inner.aggregation for inner in node.inputs]
    aggregation = next((inner for inner in below if inner), None)
    if aggregation is None:
        return None
    verb = "aggregates" if node.kind is NodeKind.AGGREGATE else "joins"
    message = (
        f"{node.view!r} {verb} the aggregated rows of {aggregation.view!r}; several stateful operators in a row need "
        "append mode, in which each operator passes on only final rows"
    )
    return Finding(reasons.OUTPUT_MODE_NOT_ALLOWED, message, mode=True)


def _deduplication(node: Node, _: str) -> Finding | None:
    if node.kind is not NodeKind.DEDUPLICATE or not node.within or node.events != frozenset():
        return None
    message = (
        "withinWatermark needs a watermark, and no source or view below has one; give one of them a watermark"
    )
    return Finding(reasons.WATERMARK_NEEDED, message)


def _watermark(node: Node, _: str) -> Finding | None:
    if node.kind is not NodeKind.WATERMARK or not node.view:
        return None
    if not any(
        inner.kind is NodeKind.WATERMARK and inner.streams for inner in node.inputs[0].all(until=_begins_anew)
    ):
        return None
    message = (
        "a relation below has a watermark already, and Spark allows only one; keep one of the two watermarks"
    )
    return Finding(reasons.WATERMARK_TWICE, message)


def _begins_anew(node: Node) -> bool:
    """Whether no watermark passes this node: a function that keeps state, or a step by the machine's clock, passes none."""
    step = node.step
    return node.kind is NodeKind.UNKNOWN or bool(
        step and (step.function or step.time_mode == "ProcessingTime")
    )
