"""Queries that come to an end: those over static and bounded sources alone, and what a schedule wants."""

from collections.abc import Iterator

from mainstem.errors import Problem
from mainstem.spec.rules.context import Context


def triggers(context: Context) -> Iterator[Problem]:
    """A query over static and bounded sources alone has no trigger but `availableNow`: it runs once."""
    for index, query in enumerate(context.spec.queries):
        trigger = query.trigger
        if trigger is None or trigger.bounded or context.graph.streams(query.from_):
            continue
        message = (
            f"{query.from_!r} reads static and bounded sources only, so the query runs once and ends; "
            "leave the trigger out"
        )
        yield context.problem(("queries", index, "trigger"), message, "TriggerNotAllowed")


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
            yield context.problem(("queries", index, "trigger"), message, "ScheduleUnbounded")
