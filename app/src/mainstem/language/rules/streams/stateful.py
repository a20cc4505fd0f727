"""Views that keep state of their own, by transformWithState or applyInPandasWithState."""

from collections.abc import Iterator

from mainstem import reasons
from mainstem.errors import Problem
from mainstem.language.model.queries import Query
from mainstem.language.model.views import Stateful
from mainstem.language.rules.context import Context
from mainstem.language.rules.streams.findings import place
from mainstem.language.sql.logical_plan import Node, beneath
from mainstem.language.yaml.yamltext import Path


_OF_PROCESSORS = ("timeMode", "eventTimeColumn", "initialState")
_OF_FUNCTIONS = ("stateSchema", "timeout")


def fields(context: Context) -> Iterator[Problem]:
    """A stateful step has the fields of its kind, its clock has a watermark, and what it starts from does not stream."""
    for index, view in enumerate(context.spec.views):
        if view.state:
            yield from _of_kind(context, ("views", index, "state"), view.state)
            yield from _clock(context, ("views", index, "state"), view.state)
            yield from _initial(context, ("views", index, "state"), view.state)


def modes(context: Context) -> Iterator[Problem]:
    """A function is the only one of its query, stands above no aggregation, and gives rows in a mode that goes with the rest."""
    said: set[tuple[Path, str]] = set()
    for query in context.spec.queries:
        root = context.graph.plan(query.from_)
        functions = [node for node in root.all() if node.streams and node.step and node.step.function]
        for node in functions:
            message = _several(query) if len(functions) > 1 else _unfit(query, root, node)
            path = place(context, node)
            if message and (path, message) not in said:
                said.add((path, message))
                yield context.problem(path, message, reasons.STATE_NOT_ALLOWED)


def stores(context: Context) -> Iterator[Problem]:
    """What a processor keeps over a stream, Spark keeps in RocksDB alone."""
    for index, query in enumerate(context.spec.queries):
        if query.state.provider == "rocksdb":
            continue
        for name in context.graph.closure(query.from_, certain=True):
            step = context.graph.views[name].state if name in context.graph.views else None
            if step and step.processor and context.graph.streams(step.from_, certain=True):
                message = f"the processor of {name!r} keeps its state in RocksDB alone; leave provider out"
                path: Path = ("queries", index, "state", "provider")
                yield context.problem(path, message, reasons.PROVIDER_NOT_ALLOWED)


def _several(query: Query) -> str:
    return f"{query.name!r} has several functions that keep state, of which a query takes one; make them processors"


def _unfit(query: Query, root: Node, node: Node) -> str | None:
    """What stands in a function's way, after Spark's UnsupportedOperationChecker; None where nothing certainly does."""
    step, mode = node.step, query.output_mode
    own = (step and step.output_mode) or ("update" if mode == "update" else "append")
    if node.inputs[0].aggregated:
        return "a function does not stand above an aggregation; make it a processor"
    if own == "update" and (root.aggregated or mode == "complete"):
        return "a function in update mode goes with no aggregation; set its outputMode: append"
    if root.aggregated is False and mode not in (own, "complete"):
        return f"its outputMode is {own}, and that of {query.name!r} is {mode}; leave it out"
    joins = (inner for inner in root.all() if inner.stream_join)
    if step and step.timeout == "EventTimeTimeout" and node in beneath(joins):
        return (
            "what a function gives at a time-out by event time may be late for a join of two streams above it; "
            "make it a processor, or write to a topic between two queries"
        )
    return None


def _of_kind(context: Context, at: Path, step: Stateful) -> Iterator[Problem]:
    kind, foreign = ("function", _OF_PROCESSORS) if step.function else ("processor", _OF_FUNCTIONS)
    for field in foreign:
        if step.member(field) is not None:
            message = f"{field} does not go with a {kind}"
            yield context.problem((*at, field), message, reasons.FIELD_NOT_ALLOWED, key=True)
    if step.function and step.pandas:
        message = "a function takes and gives pandas DataFrames always; pandas is for a processor"
        yield context.problem((*at, "pandas"), message, reasons.FIELD_NOT_ALLOWED, key=True)
    if step.function and step.state_schema is None:
        message = "a function needs stateSchema, the columns of its state, such as 'visits INT'"
        yield context.problem(at, message, reasons.MISSING_FIELD)


def _clock(context: Context, at: Path, step: Stateful) -> Iterator[Problem]:
    field = "timeMode" if step.time_mode == "EventTime" else "timeout"
    by_event = step.time_mode == "EventTime" or step.timeout == "EventTimeTimeout"
    if by_event and not context.graph.watermarked(step.from_):
        message = f"the clock of event time is the watermark, and {step.from_!r} has none"
        yield context.problem((*at, field), message, reasons.WATERMARK_NEEDED)


def _initial(context: Context, at: Path, step: Stateful) -> Iterator[Problem]:
    if step.initial_state and context.graph.streams(step.initial_state.from_, certain=True):
        message = f"{step.initial_state.from_!r} streams; state starts from what does not"
        yield context.problem((*at, "initialState", "from"), message, reasons.STREAM_NOT_ALLOWED)
