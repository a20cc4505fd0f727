"""Rules for views that keep their own state with transformWithState or applyInPandasWithState."""

from collections.abc import Iterator

from mainstem import reasons
from mainstem.errors import Problem
from mainstem.language.analysis.stateful_columns import unsupported
from mainstem.language.model.queries import Query
from mainstem.language.model.views import Stateful
from mainstem.language.rules.context import Context
from mainstem.language.rules.streams.findings import place
from mainstem.language.sql.logical_plan import Node, beneath
from mainstem.language.yaml.yamltext import Path


_OF_PROCESSORS = ("timeMode", "eventTimeColumn", "initialState")
_OF_FUNCTIONS = ("stateSchema", "timeout")


def fields(context: Context) -> Iterator[Problem]:
    """A stateful step has only fields of its kind, event time has a watermark, and the initial state is static."""
    for index, view in enumerate(context.spec.views):
        if view.state:
            yield from _of_kind(context, ("views", index, "state"), view.state)
            yield from _clock(context, ("views", index, "state"), view.state)
            yield from _initial(context, ("views", index, "state"), view.state)


def modes(context: Context) -> Iterator[Problem]:
    """A query has at most one function that keeps state; it reads no aggregation, and its output mode fits the query."""
    reported: set[tuple[Path, str]] = set()
    for query in context.spec.queries:
        root = context.graph.plan(query.from_)
        functions = [node for node in root.all() if node.streams and node.step and node.step.function]
        for node in functions:
            message = _several(query) if len(functions) > 1 else _unfit(query, root, node)
            path = place(context, node)
            if message and (path, message) not in reported:
                reported.add((path, message))
                yield context.problem(path, message, reasons.STATE_NOT_ALLOWED)


def stores(context: Context) -> Iterator[Problem]:
    """Spark keeps the state of a processor over a stream only in RocksDB."""
    for index, query in enumerate(context.spec.queries):
        if query.state.provider == "rocksdb":
            continue
        for name in context.graph.closure(query.from_, certain=True):
            step = context.graph.views[name].state if name in context.graph.views else None
            if step and step.processor and context.graph.streams(step.from_, certain=True):
                message = f"the processor of {name!r} can keep its state only in RocksDB; leave provider out"
                path: Path = ("queries", index, "state", "provider")
                yield context.problem(path, message, reasons.PROVIDER_NOT_ALLOWED)


def _several(query: Query) -> str:
    return f"{query.name!r} has several functions that keep state, and a query can have only one; make them processors"


def _unfit(query: Query, root: Node, node: Node) -> str | None:
    """Why the query cannot run a function, after Spark's UnsupportedOperationChecker; None where no reason is certain."""
    step, mode = node.step, query.output_mode
    own = (step and step.output_mode) or ("update" if mode == "update" else "append")
    if node.inputs[0].aggregated:
        return "a function cannot read an aggregation; make it a processor"
    if own == "update" and (root.aggregated or mode == "complete"):
        return "a function in update mode cannot be combined with an aggregation; set its outputMode: append"
    if root.aggregated is False and mode not in (own, "complete"):
        return f"the outputMode of the function is {own}, and that of {query.name!r} is {mode}; leave it out of the function"
    joins = (inner for inner in root.all() if inner.stream_join)
    if step and step.timeout == "EventTimeTimeout" and node in beneath(joins):
        return (
            "the rows that a function returns at an event-time timeout may be late for the join of two streams that "
            "reads them; make it a processor, or split the query in two with a topic between them"
        )
    return None


def names(context: Context) -> Iterator[Problem]:
    """No column that a stateful step reads has a dot in its name."""
    for index, view in enumerate(context.spec.views):
        if view.state and (message := unsupported(context.columns.columns_of(view.state.from_).names)):
            yield context.problem(("views", index, "state", "from"), message, reasons.STATE_NOT_ALLOWED)


def _of_kind(context: Context, at: Path, step: Stateful) -> Iterator[Problem]:
    kind, foreign = ("function", _OF_PROCESSORS) if step.function else ("processor", _OF_FUNCTIONS)
    for field in foreign:
        if step.member(field) is not None:
            message = f"{field} is not a field of a {kind}; leave it out"
            yield context.problem((*at, field), message, reasons.FIELD_NOT_ALLOWED, key=True)
    if step.function and step.pandas:
        message = (
            "a function always takes and returns pandas DataFrames; leave pandas out, which is for processors"
        )
        yield context.problem((*at, "pandas"), message, reasons.FIELD_NOT_ALLOWED, key=True)
    if step.function and step.state_schema is None:
        message = "a function needs stateSchema, the columns of its state, such as 'visits INT'"
        yield context.problem(at, message, reasons.MISSING_FIELD)


def _clock(context: Context, at: Path, step: Stateful) -> Iterator[Problem]:
    field = "timeMode" if step.time_mode == "EventTime" else "timeout"
    by_event = step.time_mode == "EventTime" or step.timeout == "EventTimeTimeout"
    if by_event and not context.graph.watermarked(step.from_):
        message = f"event time needs a watermark, and {step.from_!r} has none; declare one"
        yield context.problem((*at, field), message, reasons.WATERMARK_NEEDED)


def _initial(context: Context, at: Path, step: Stateful) -> Iterator[Problem]:
    if step.initial_state and context.graph.streams(step.initial_state.from_, certain=True):
        message = (
            f"{step.initial_state.from_!r} is a stream; the initial state must come from a static relation"
        )
        yield context.problem((*at, "initialState", "from"), message, reasons.STREAM_NOT_ALLOWED)
