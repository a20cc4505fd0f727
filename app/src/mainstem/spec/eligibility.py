"""Which triggers a query may have, and what stands in the way of the others; what rules refuse and `explain` shows.

Only what is certain without Spark stands in the way: where the plan leaves doubt, Spark refuses at start, or for half of
real-time mode's limits, in the first batch.
"""

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from mainstem.spec.base import seconds
from mainstem.spec.graph import Graph
from mainstem.spec.queries import Query
from mainstem.spec.steps import STATEFUL, Doing, Step, steps
from mainstem.spec.triggers import LEAST_CHECKPOINT_INTERVAL


DEFAULT: Final = "default"
"""The trigger of a query that names none."""
TRIGGERS: Final = (DEFAULT, "processingTime", "availableNow", "once", "continuous", "realTime")
ASYNC: Final = "asyncProgressTracking"


class Obstacle(NamedTuple):
    """What stands in the way of a trigger: a stable reason, and in words what it is and what to do."""

    reason: str
    message: str


class _Limits(NamedTuple):
    """What a trigger can do, where it is not all.

    Attributes:
        sources: kinds of streaming sources that it reads.
        sinks: kinds of sinks that it writes.
        steps: steps of a plan that it does not run.
    """

    sources: tuple[str, ...]
    sinks: tuple[str, ...]
    steps: tuple[Doing, ...]


_CONTINUOUS: Final = _Limits(
    ("kafka", "rate", "socket"),
    ("kafka", "console", "memory", "noop"),
    tuple(doing for doing in Doing if doing not in (Doing.STATIC, Doing.UNKNOWN)),
)
_REAL_TIME: Final = _Limits(
    ("kafka",),
    ("kafka", "console", "python"),
    (*STATEFUL, Doing.WINDOW, Doing.SORT, Doing.LIMIT),
)
_WAYS_OUT: Final[Mapping[Doing, str]] = {
    Doing.CTE: "; make it a view of its own",
    Doing.DECODE: "; read it without decode, and parse in SQL: from_json(CAST(value AS STRING), ...)",
    Doing.WATERMARK: "; leave the watermark out",
}
_LIMITS: Final = ("minPartitions", "maxOffsetsPerTrigger", "minOffsetsPerTrigger")
"""Limits of a batch that Spark's Kafka source refuses in real-time mode."""
_ASYNC_SINKS: Final = ("kafka", "console", "memory", "noop")


def eligibility(graph: Graph, query: Query) -> list[tuple[str, list[Obstacle]]]:
    """Every trigger with what certainly stands in its way for this query; nothing, where the query may have it."""
    return [(trigger, obstacles(graph, query, trigger)) for trigger in TRIGGERS]


def obstacles(graph: Graph, query: Query, trigger: str) -> list[Obstacle]:
    """What stands in the way of one trigger."""
    if trigger == "continuous":
        return [*_beyond(graph, query, trigger, _CONTINUOUS), *_continuous(query)]
    if trigger == "realTime":
        return [*_beyond(graph, query, trigger, _REAL_TIME), *_real_time(graph, query)]
    return []


def of_async_progress(graph: Graph, query: Query) -> list[Obstacle]:
    """What stands in the way of progress beside the batches."""
    return list(_async(graph, query))


def named(query: Query) -> str:
    """The key of the query's trigger."""
    return query.trigger.choice() if query.trigger else DEFAULT


def _beyond(graph: Graph, query: Query, trigger: str, limits: _Limits) -> Iterator[Obstacle]:
    for name, kind in _streams(graph, query):
        if kind not in limits.sources:
            message = f"{trigger} reads {_listed(limits.sources)}, and the source {name!r} is {kind}; use another trigger"
            yield Obstacle("TriggerNotForSource", message)
    for sink in query.to:
        if sink.choice() not in limits.sinks:
            message = (
                f"{trigger} writes {_listed(limits.sinks)}, and the sink {sink.name!r} is {sink.choice()}; "
                "use another trigger, or write to Kafka and from there on in a second query"
            )
            yield Obstacle("TriggerNotForSink", message)
    if len(query.to) > 1:
        message = f"{trigger} writes one sink, and there are {len(query.to)}; make it several queries"
        yield Obstacle("TriggerNotForSink", message)
    for step in steps(graph, query.from_):
        if step.doing in limits.steps:
            yield Obstacle("TriggerNotForPlan", _misfit(trigger, step))


def _misfit(trigger: str, step: Step) -> str:
    takes = {
        "continuous": "columns, expressions and WHERE over one relation",
        "realTime": "plans that keep no state and sort nothing",
    }
    way_out = (
        _WAYS_OUT.get(step.doing, "; use another trigger")
        if trigger == "continuous"
        else "; use another trigger"
    )
    return f"{trigger} takes {takes[trigger]}, and {step.relation!r} {step.doing}{way_out}"


def _continuous(query: Query) -> Iterator[Obstacle]:
    if query.output_mode == "complete":
        message = "continuous aggregates nothing, so there is no complete result; use outputMode: append"
        yield Obstacle("TriggerNotForOutputMode", message)


def _real_time(graph: Graph, query: Query) -> Iterator[Obstacle]:
    if query.output_mode != "update":
        message = f"realTime writes in update mode only, not {query.output_mode}; use outputMode: update"
        yield Obstacle("TriggerNotForOutputMode", message)
    for source in graph.sources_of(query.from_, certain=True):
        for field in _LIMITS:
            if source.kafka and source.kafka.member(field) is not None:
                message = f"realTime reads all there is of each partition at once; leave {field} of {source.name!r} out"
                yield Obstacle("TriggerNotForSource", message)
    interval = query.trigger.real_time if query.trigger else None
    if interval is not None and seconds(interval) < LEAST_CHECKPOINT_INTERVAL:
        message = (
            f"{interval} is how long a batch lasts, not how late a row may be, and the least is 5 seconds; "
            "rows are written as they come"
        )
        yield Obstacle("TriggerInterval", message)


def _async(graph: Graph, query: Query) -> Iterator[Obstacle]:
    trigger = named(query)
    if trigger not in (DEFAULT, "processingTime"):
        message = (
            f"{ASYNC} is for the default trigger and processingTime, not for {trigger}; leave one of them out"
        )
        yield Obstacle("AsyncProgressNotAllowed", message)
    for sink in query.to:
        if sink.choice() not in _ASYNC_SINKS:
            message = f"{ASYNC} is for queries that write a topic, and the sink {sink.name!r} is {sink.choice()}; leave it out"
            yield Obstacle("AsyncProgressNotAllowed", message)
    if len(query.to) > 1:
        message = f"{ASYNC} is for one sink, and there are {len(query.to)}; leave it out, or make it several queries"
        yield Obstacle("AsyncProgressNotAllowed", message)
    for step in steps(graph, query.from_):
        if step.doing in STATEFUL:
            message = (
                f"{ASYNC} is for queries without state, and {step.relation!r} {step.doing}; leave it out"
            )
            yield Obstacle("AsyncProgressNotAllowed", message)


def _streams(graph: Graph, query: Query) -> Iterator[tuple[str, str]]:
    for source in {source.name: source for source in graph.sources_of(query.from_, certain=True)}.values():
        if source.streaming:
            yield source.name, source.choice()


def _listed(words: tuple[str, ...]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else words[0]
