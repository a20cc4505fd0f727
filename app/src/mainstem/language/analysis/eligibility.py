"""Finds the triggers that a query may have, and the obstacles to the others, for rules and `mainstem explain`.

Only facts that are certain without Spark are obstacles. In doubtful cases Spark rejects the query at its start, or for
half of the limits of real-time mode in the first batch.
"""

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from mainstem import reasons
from mainstem.language.analysis.graph import Graph
from mainstem.language.analysis.steps import STATEFUL, Doing, QueryStep, steps
from mainstem.language.base import seconds
from mainstem.language.model.queries import Query
from mainstem.language.model.sinks import SINKS, Sink
from mainstem.language.model.sources import SOURCES
from mainstem.language.model.triggers import LEAST_CHECKPOINT_INTERVAL


DEFAULT: Final = "default"
"""The trigger of a query without `trigger`."""
TRIGGERS: Final = (DEFAULT, "processingTime", "availableNow", "once", "continuous", "realTime")
_STREAMING: Final = ("processingTime", "continuous", "realTime")
"""Triggers of queries that do not end on their own."""
ASYNC: Final = "asyncProgressTracking"


class Obstacle(NamedTuple):
    """A fact because of which a query cannot have a trigger.

    Attributes:
        reason: a stable name.
        conflict: the part of the query that the trigger does not allow.
        limit: the limit of the trigger.
        way_out: the correction.
    """

    reason: reasons.Reason
    conflict: str
    limit: str
    way_out: str

    @property
    def message(self) -> str:
        """Limit, conflict and correction as one text."""
        return f"{self.limit}, and {self.conflict}; {self.way_out}"


class _Limits(NamedTuple):
    """The limits of a trigger.

    Attributes:
        sources: kinds of streaming sources that the trigger can read.
        sinks: kinds of sinks that the trigger can write.
        steps: steps of a plan that the trigger cannot run.
    """

    sources: tuple[str, ...]
    sinks: tuple[str, ...]
    steps: tuple[Doing, ...]


def _label(kind: str, alternative: str) -> str:
    """A kind of sink, with the alternative that a trigger needs."""
    return f"{kind}.{alternative}" if alternative else kind


_CONTINUOUS: Final = _Limits(
    tuple(key for key, kind in SOURCES.items() if kind.continuous),
    tuple(key for key, kind in SINKS.items() if kind.continuous),
    tuple(
        doing for doing in Doing if doing not in (Doing.STATIC, Doing.UNKNOWN, Doing.PYTHON, Doing.JOIN_ALL)
    ),
)
_REAL_TIME: Final = _Limits(
    tuple(key for key, kind in SOURCES.items() if kind.real_time),
    tuple(_label(key, kind.real_time_alternative) for key, kind in SINKS.items() if kind.real_time),
    (*STATEFUL, Doing.JOIN_ALL, Doing.PYTHON, Doing.WINDOW, Doing.SORT, Doing.LIMIT),
)
_WAYS_OUT: Final[Mapping[Doing, str]] = {
    Doing.COUNT: "put the condition into the view's WHERE",
    Doing.CTE: "make it a view of its own",
    Doing.DECODE: "read it without decode, and parse in SQL: from_json(CAST(value AS STRING), ...)",
    Doing.WATERMARK: "leave the watermark out",
}
_PLANS: Final = {
    "continuous": "continuous takes columns, expressions and WHERE over one relation",
    "realTime": "realTime takes plans that keep no state, sort nothing, join by an equality and call no Python",
}
_ANOTHER: Final = "use another trigger"


def eligibility(graph: Graph, query: Query) -> list[tuple[str, list[Obstacle]]]:
    """Every trigger with its certain obstacles for a query; without obstacles the query may have the trigger."""
    return [(trigger, obstacles(graph, query, trigger)) for trigger in TRIGGERS]


def obstacles(graph: Graph, query: Query, trigger: str) -> list[Obstacle]:
    """The obstacles to one trigger."""
    if trigger in _STREAMING and not graph.streams(query.from_):
        way_out = "leave the trigger out: the query runs once and ends"
        return [Obstacle(reasons.TRIGGER_NOT_ALLOWED, _ends(query), f"{trigger} is for streams", way_out)]
    if trigger == "continuous":
        return [*_beyond(graph, query, trigger, _CONTINUOUS), *_continuous(query)]
    if trigger == "realTime":
        return [*_beyond(graph, query, trigger, _REAL_TIME), *_real_time(graph, query)]
    return []


def async_progress_obstacles(graph: Graph, query: Query) -> list[Obstacle]:
    """The obstacles to `asyncProgressTracking`."""
    return list(_async(graph, query))


def named(query: Query) -> str:
    """The key of the query's trigger."""
    return query.trigger.choice() if query.trigger else DEFAULT


def _beyond(graph: Graph, query: Query, trigger: str, limits: _Limits) -> Iterator[Obstacle]:
    reads, writes = f"{trigger} reads {_listed(limits.sources)}", f"{trigger} writes {_listed(limits.sinks)}"
    for name, kind in _streams(graph, query):
        if kind not in limits.sources:
            yield Obstacle(reasons.TRIGGER_NOT_FOR_SOURCE, f"the source {name!r} is {kind}", reads, _ANOTHER)
    for sink in query.to:
        if (kind := _kind(sink)) not in limits.sinks:
            way_out = f"{_ANOTHER}, or write to Kafka, and from Kafka in a second query"
            yield Obstacle(reasons.TRIGGER_NOT_FOR_SINK, f"the sink {sink.name!r} is {kind}", writes, way_out)
    if len(query.to) > 1:
        yield Obstacle(reasons.TRIGGER_NOT_FOR_SINK, *_several(trigger, query))
    for step in steps(graph, query.from_):
        if step.doing in limits.steps:
            way_out = _WAYS_OUT.get(step.doing, _ANOTHER) if trigger == "continuous" else _ANOTHER
            yield Obstacle(reasons.TRIGGER_NOT_FOR_PLAN, _done(step), _PLANS[trigger], way_out)


def _continuous(query: Query) -> Iterator[Obstacle]:
    if query.output_mode == "complete":
        limit, conflict = "continuous does not aggregate", "complete mode needs an aggregation"
        yield Obstacle(reasons.TRIGGER_NOT_FOR_OUTPUT_MODE, conflict, limit, "use outputMode: append")


def _real_time(graph: Graph, query: Query) -> Iterator[Obstacle]:
    if query.output_mode != "update":
        limit, conflict = "realTime writes in update mode only", f"the mode is {query.output_mode}"
        yield Obstacle(reasons.TRIGGER_NOT_FOR_OUTPUT_MODE, conflict, limit, "use outputMode: update")
    for source in graph.sources_of(query.from_, certain=True):
        for field in source.stream.real_time_refuses if source.stream else ():
            if source.stream and source.stream.member(field) is not None:
                limit = "realTime reads all available data of each partition at once"
                conflict = f"the source {source.name!r} has {field}"
                yield Obstacle(reasons.TRIGGER_NOT_FOR_SOURCE, conflict, limit, "leave it out")
    interval = query.trigger.real_time if query.trigger else None
    if interval is not None and seconds(interval) < LEAST_CHECKPOINT_INTERVAL:
        limit = "the value of realTime is the duration of a batch, at least 5 seconds"
        way_out = "use a longer duration; rows do not wait for the end of a batch"
        yield Obstacle(reasons.TRIGGER_INTERVAL, f"{interval} is less", limit, way_out)


def _async(graph: Graph, query: Query) -> Iterator[Obstacle]:
    trigger, leave = named(query), "leave it out"
    if not graph.streams(query.from_):
        yield Obstacle(reasons.ASYNC_PROGRESS_NOT_ALLOWED, _ends(query), f"{ASYNC} is for streams", leave)
    if trigger not in (DEFAULT, "processingTime"):
        limit = f"{ASYNC} is for the default trigger and processingTime"
        yield Obstacle(
            reasons.ASYNC_PROGRESS_NOT_ALLOWED, f"the trigger is {trigger}", limit, "leave one of them out"
        )
    for sink in query.to:
        if not sink.connector.async_progress:
            limit, conflict = (
                f"{ASYNC} is for queries that write a topic",
                f"the sink {sink.name!r} is {sink.choice()}",
            )
            yield Obstacle(reasons.ASYNC_PROGRESS_NOT_ALLOWED, conflict, limit, leave)
    if len(query.to) > 1:
        yield Obstacle(reasons.ASYNC_PROGRESS_NOT_ALLOWED, *_several(ASYNC, query))
    for step in steps(graph, query.from_):
        if step.doing in (*STATEFUL, Doing.LIMIT):
            yield Obstacle(
                reasons.ASYNC_PROGRESS_NOT_ALLOWED,
                _done(step),
                f"{ASYNC} is for queries without state",
                leave,
            )


def _several(feature: str, query: Query) -> tuple[str, str, str]:
    return f"the query has {len(query.to)}", f"{feature} is for one sink", "split it into several queries"


def _ends(query: Query) -> str:
    return f"{query.from_!r} reads static and bounded sources only"


def _done(step: QueryStep) -> str:
    return f"{step.relation!r} {step.doing}"


def _streams(graph: Graph, query: Query) -> Iterator[tuple[str, str]]:
    for source in {source.name: source for source in graph.sources_of(query.from_, certain=True)}.values():
        if source.streaming:
            yield source.name, source.choice()


def _kind(sink: Sink) -> str:
    """The kind of the sink; for a Python sink also the alternative that it implements."""
    connector = sink.connector
    return _label(sink.choice(), connector.choice() if connector.real_time_alternative else "")


def _listed(words: tuple[str, ...]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else words[0]
