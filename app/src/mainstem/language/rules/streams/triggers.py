"""Triggers against sources, sinks, output modes and plans, by `mainstem.language.analysis.eligibility`."""

from collections.abc import Iterator

from mainstem import reasons
from mainstem.errors import Problem
from mainstem.language.analysis.eligibility import ASYNC, async_progress_obstacles, named, obstacles
from mainstem.language.base import seconds
from mainstem.language.rules.context import Context


def eligible(context: Context) -> Iterator[Problem]:
    """`continuous` and `realTime` take few sources, sinks and plans; `realTime` wants `outputMode: update` and 5 seconds;
    a query over static and bounded sources alone runs once and ends, with `availableNow`, `once` or none of them.
    """
    for index, query in enumerate(context.spec.queries):
        trigger = named(query)
        for found in obstacles(context.graph, query, trigger):
            path = ("queries", index, "trigger", trigger)
            yield context.problem(path, found.message, found.reason)


def async_progress(context: Context) -> Iterator[Problem]:
    """`asyncProgressTracking` is for queries without state that write no table and no files, and do not end by themselves."""
    for index, query in enumerate(context.spec.queries):
        if query.async_progress_tracking is not None:
            for found in async_progress_obstacles(context.graph, query):
                yield context.problem(("queries", index, ASYNC), found.message, found.reason)


def deprecated(context: Context) -> Iterator[Problem]:
    """A warning: Spark deprecates `once`, which ignores rate limits; use `availableNow`."""
    for index, query in enumerate(context.spec.queries):
        if query.trigger and query.trigger.once:
            message = "once is deprecated: it reads all there is in one batch, whatever the rate limits; use availableNow"
            yield context.problem(
                ("queries", index, "trigger", "once"), message, reasons.TRIGGER_DEPRECATED, warning=True
            )


def drained_in_time(context: Context) -> Iterator[Problem]:
    """A warning: `drain.timeout` is shorter than a real-time batch, whose end a drain waits for."""
    timeout = context.spec.drain.timeout
    for index, query in enumerate(context.spec.queries):
        interval = query.trigger.real_time if query.trigger else None
        if interval is not None and seconds(timeout) <= seconds(interval):
            message = (
                f"drain.timeout is {timeout}: each stop would cut the batch of {interval}, and its rows be written "
                "again at the next start; raise drain.timeout above it, or checkpoint more often"
            )
            path = ("queries", index, "trigger", "realTime")
            yield context.problem(path, message, reasons.DRAIN_TOO_SHORT, warning=True)


def schedule(context: Context) -> Iterator[Problem]:
    """A schedule is for pipelines that come to an end: a query over a stream has `trigger: {availableNow: true}`."""
    if context.spec.schedule is None:
        return
    for index, query in enumerate(context.spec.queries):
        if context.graph.ends(query) is False:
            message = (
                f"the query {query.name!r} never ends, and a schedule wants all to; "
                "give it trigger: {availableNow: true}, or leave spec.schedule out"
            )
            yield context.problem(("queries", index, "trigger"), message, reasons.SCHEDULE_UNBOUNDED)


def something_runs(context: Context) -> Iterator[Problem]:
    """At least one query is not suspended."""
    if all(query.suspend for query in context.spec.queries):
        message = "every query is suspended, so nothing would run; on a cluster use spec.suspend: true"
        yield context.problem(("queries",), message, reasons.NOTHING_RUNS)
