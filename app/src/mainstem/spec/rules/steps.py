"""Views that are steps of their own: Python, deduplication, state."""

import keyword
from collections.abc import Iterator

from mainstem.errors import Problem
from mainstem.spec.ddl import column_names
from mainstem.spec.messages import nearest_of, show
from mainstem.spec.rules.context import Context
from mainstem.spec.views import Deduplicate, Stateful
from mainstem.spec.yamltext import Path


_OF_PROCESSORS = ("timeMode", "eventTimeColumn", "initialState")
_OF_FUNCTIONS = ("stateSchema", "timeout")


def arguments(context: Context) -> Iterator[Problem]:
    """Arguments of Python code are called as Python's are."""
    for index, view in enumerate(context.spec.views):
        kind, step = ("python", view.python) if view.python else ("state", view.state)
        for name in step.arguments if step else ():
            if not name.isidentifier() or keyword.iskeyword(name):
                message = f"{show(name)} is no name of an argument in Python"
                yield context.problem(
                    ("views", index, kind, "arguments", name), message, "InvalidName", key=True
                )


def columns(context: Context) -> Iterator[Problem]:
    """Columns by which a step tells rows apart are columns of the source that it reads."""
    for index, view in enumerate(context.spec.views):
        step = view.deduplicate or view.state
        if step is None or step.from_ not in context.graph.sources:
            continue
        known = column_names(context.graph.sources[step.from_])
        names = step.columns if isinstance(step, Deduplicate) else step.keys
        at: Path = ("deduplicate", "columns") if isinstance(step, Deduplicate) else ("state", "keys")
        for place, name in enumerate(names or ()):
            if known is None or {".", "`"} & set(name):
                continue
            if name.lower() not in {column.lower() for column in known}:
                message = f"{step.from_!r} has no column {name!r}{nearest_of(name, known)}"
                yield context.problem(("views", index, *at, place), message, "UnknownColumn")


def deduplication(context: Context) -> Iterator[Problem]:
    """Only a stream is deduplicated within the watermark."""
    for index, view in enumerate(context.spec.views):
        step = view.deduplicate
        if step and step.within_watermark and not context.graph.streams(step.from_):
            path: Path = ("views", index, "deduplicate", "withinWatermark")
            message = f"{step.from_!r} does not stream, so it has no watermark; leave withinWatermark out"
            yield context.problem(path, message, "WatermarkNotAllowed")


def growth(context: Context) -> Iterator[Problem]:
    """A lint: deduplication whose state is never dropped, for want of a watermark or of its column among `columns`."""
    for index, view in enumerate(context.spec.views):
        step = view.deduplicate
        if step and not step.within_watermark and _grows(context, step):
            message = (
                "all rows that were ever seen are kept as state; give the source a watermark, and either name its "
                "column in columns or set withinWatermark: true"
            )
            path: Path = ("views", index, "deduplicate")
            yield context.problem(path, message, "StateUnbounded", warning=True)


def _grows(context: Context, step: Deduplicate) -> bool:
    if not context.graph.streams(step.from_, certain=True):
        return False
    if not context.graph.watermarked(step.from_):
        return True
    source = context.graph.sources.get(step.from_)  # what a view calls the column is not known
    if source is None or source.watermark is None or step.columns is None:
        return False
    return source.watermark.column.lower() not in {name.lower() for name in step.columns}


def state(context: Context) -> Iterator[Problem]:
    """A stateful step has the fields of its kind, its clock has a watermark, and what it starts from does not stream."""
    for index, view in enumerate(context.spec.views):
        if view.state:
            yield from _fields(context, ("views", index, "state"), view.state)
            yield from _clock(context, ("views", index, "state"), view.state)
            yield from _initial(context, ("views", index, "state"), view.state)


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
                yield context.problem(path, message, "ProviderNotAllowed")


def _fields(context: Context, at: Path, step: Stateful) -> Iterator[Problem]:
    kind, foreign = ("function", _OF_PROCESSORS) if step.function else ("processor", _OF_FUNCTIONS)
    for field in foreign:
        if step.member(field) is not None:
            message = f"{field} does not go with a {kind}"
            yield context.problem((*at, field), message, "FieldNotAllowed", key=True)
    if step.function and step.pandas:
        message = "a function takes and gives pandas DataFrames always; pandas is for a processor"
        yield context.problem((*at, "pandas"), message, "FieldNotAllowed", key=True)
    if step.function and step.state_schema is None:
        message = "a function needs stateSchema, the columns of its state, such as 'visits INT'"
        yield context.problem(at, message, "MissingField")


def _clock(context: Context, at: Path, step: Stateful) -> Iterator[Problem]:
    field = "timeMode" if step.time_mode == "EventTime" else "timeout"
    by_event = step.time_mode == "EventTime" or step.timeout == "EventTimeTimeout"
    if by_event and not context.graph.watermarked(step.from_):
        message = f"the clock of event time is the watermark, and {step.from_!r} has none"
        yield context.problem((*at, field), message, "WatermarkNeeded")


def _initial(context: Context, at: Path, step: Stateful) -> Iterator[Problem]:
    if step.initial_state and context.graph.streams(step.initial_state.from_, certain=True):
        message = f"{step.initial_state.from_!r} streams; state starts from what does not"
        yield context.problem((*at, "initialState", "from"), message, "StreamNotAllowed")
