"""Triggers that a source, sink, output mode or plan does not allow, after `mainstem.language.analysis.eligibility`."""

from collections import defaultdict
from collections.abc import Iterator

from mainstem import reasons
from mainstem.errors import Problem
from mainstem.language.analysis.eligibility import ASYNC, Obstacle, async_progress_obstacles, named, obstacles
from mainstem.language.analysis.writers import awaited
from mainstem.language.base import seconds
from mainstem.language.model.queries import Query
from mainstem.language.model.sources import Source
from mainstem.language.model.triggers import Trigger
from mainstem.language.rules.context import Context


def eligible(context: Context) -> Iterator[Problem]:
    """`continuous` and `realTime` allow few sources, sinks and plans; `realTime` needs `outputMode: update` and 5 seconds.
    A query that reads only static and bounded sources runs once and ends, with `availableNow`, `once` or no trigger.
    """
    shared: dict[reasons.Reason, list[tuple[Query, Obstacle]]] = defaultdict(list)
    for index, query in enumerate(context.spec.queries):
        trigger = named(query)
        for obstacle in obstacles(context.graph, query, trigger):
            if query.name in context.graph.inherited:
                shared[obstacle.reason].append((query, obstacle))
            else:
                path = ("queries", index, "trigger", trigger)
                yield context.problem(path, obstacle.message, obstacle.reason)
    for refused in shared.values():
        yield _problem_of_all(context, refused)


def _problem_of_all(context: Context, refused: list[tuple[Query, Obstacle]]) -> Problem:
    """One problem of the pipeline's trigger for all queries that have an obstacle of one reason."""
    query, obstacle = refused[0]
    others = len({each.name for each, _ in refused}) - 1
    more = f" and {others} other{'s' if others > 1 else ''}" if others else ""
    message = f"query {query.name!r}{more}: {obstacle.message}"
    return context.problem(("trigger", named(query)), message, obstacle.reason)


def unused(context: Context) -> Iterator[Problem]:
    """A warning: no query has the trigger of the pipeline, for each has its own or reads no stream."""
    if context.graph.given.spec.trigger and not context.graph.inherited:
        message = (
            "no query has this trigger: each has its own, or reads only static and bounded sources; remove it"
        )
        yield context.problem(("trigger",), message, reasons.TRIGGER_UNUSED, key=True, warning=True)


def async_progress(context: Context) -> Iterator[Problem]:
    """`asyncProgressTracking` is for queries without state that write no table and no files, and do not end."""
    for index, query in enumerate(context.spec.queries):
        if query.async_progress_tracking is not None:
            for obstacle in async_progress_obstacles(context.graph, query):
                yield context.problem(("queries", index, ASYNC), obstacle.message, obstacle.reason)


def deprecated(context: Context) -> Iterator[Problem]:
    """A warning: Spark deprecates `once`, which ignores rate limits; use `availableNow`."""
    for path, trigger in _triggers(context):
        if trigger.once:
            message = "once is deprecated: it reads all available data in one batch and ignores rate limits; use availableNow"
            yield context.problem((*path, "once"), message, reasons.TRIGGER_DEPRECATED, warning=True)


def drained_in_time(context: Context) -> Iterator[Problem]:
    """A warning: `drain.timeout` is shorter than a real-time batch, whose end a drain waits for."""
    if context.spec.drain.on_timeout == "wait":
        return
    timeout = context.spec.drain.timeout
    for path, trigger in _triggers(context):
        interval = trigger.real_time
        if interval is not None and seconds(timeout) <= seconds(interval):
            message = (
                f"drain.timeout is {timeout}: each stop would interrupt the batch of {interval}, and the next start would "
                "write its rows again; raise drain.timeout above it, or checkpoint more often"
            )
            yield context.problem((*path, "realTime"), message, reasons.DRAIN_TOO_SHORT, warning=True)


def _triggers(context: Context) -> Iterator[tuple[tuple[str | int, ...], Trigger]]:
    """Each trigger that the document has, with its path."""
    given = context.graph.given.spec
    if given.trigger and context.graph.inherited:
        yield ("trigger",), given.trigger
    for index, query in enumerate(given.queries):
        if query.trigger:
            yield ("queries", index, "trigger"), query.trigger


def schedule(context: Context) -> Iterator[Problem]:
    """A schedule needs a pipeline that ends: a query over a stream needs `trigger: {availableNow: true}`."""
    if context.spec.schedule is None:
        return
    trigger = context.graph.given.spec.trigger
    if trigger and not trigger.bounded:
        message = "a schedule needs queries that end, and this trigger does not end; use trigger: {availableNow: true}"
        yield context.problem(("trigger",), message, reasons.SCHEDULE_UNBOUNDED)
    for index, query in enumerate(context.spec.queries):
        if query.name not in context.graph.inherited and context.graph.ends(query) is False:
            message = (
                f"the query {query.name!r} never ends, and a schedule needs queries that end; "
                "give it trigger: {availableNow: true}, or leave spec.schedule out"
            )
            yield context.problem(("queries", index, "trigger"), message, reasons.SCHEDULE_UNBOUNDED)


def starts(context: Context) -> Iterator[Problem]:
    """A warning: a query waits for the writer of a source, and then begins at the newest row, behind all that was written."""
    spec = context.spec
    writers = {writer.source: writer.query for each in awaited(context.graph).values() for writer in each}
    for index, source in enumerate(spec.sources):
        remedy = _earlier_start(source)
        if remedy and source.name in writers:
            message = (
                f"the query {writers[source.name]!r} writes it, and ends before it is read; the first run would begin at "
                f"the newest row, and read none of these rows; {remedy}"
            )
            path = ("sources", index, source.choice())
            yield context.problem(path, message, reasons.STARTS_BEHIND_WRITER, warning=True)


def _earlier_start(source: Source) -> str | None:
    """What to do so that a new checkpoint begins with the first row of the source; None if it does not begin at the newest."""
    if not source.connector.starts_at_newest:
        return None
    return "remove startingVersion" if source.delta else "set startingOffsets: earliest"


def something_runs(context: Context) -> Iterator[Problem]:
    """At least one query is not suspended."""
    if all(query.suspend for query in context.spec.queries):
        message = "every query is suspended, so nothing would run; on a cluster use spec.suspend: true"
        yield context.problem(("queries",), message, reasons.NOTHING_RUNS)
