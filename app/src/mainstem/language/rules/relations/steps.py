"""Rules for views that are not SQL: arguments of Python code, and columns of deduplication and of state."""

import keyword
from collections.abc import Iterator

from mainstem import reasons
from mainstem.errors import Problem
from mainstem.language.analysis.source_columns import complete_names
from mainstem.language.loading.shape_validation import nearest_of, show
from mainstem.language.model.views import Deduplicate
from mainstem.language.rules.context import Context
from mainstem.language.sql.logical_plan import NodeKind, unbounded_state
from mainstem.language.yaml.yamltext import Path


def arguments(context: Context) -> Iterator[Problem]:
    """Arguments of Python code have names that Python accepts."""
    for index, view in enumerate(context.spec.views):
        kind, step = ("python", view.python) if view.python else ("state", view.state)
        for name in step.arguments if step else ():
            if not name.isidentifier() or keyword.iskeyword(name):
                message = f"{show(name)} is not a valid name of a Python argument; use an identifier that is not a keyword"
                yield context.problem(
                    ("views", index, kind, "arguments", name), message, reasons.INVALID_NAME, key=True
                )


def columns(context: Context) -> Iterator[Problem]:
    """The columns that identify a row in a step are columns of the source that it reads."""
    for index, view in enumerate(context.spec.views):
        step = view.deduplicate or view.state
        if step is None or step.from_ not in context.graph.sources:
            continue
        known = complete_names(context.graph.sources[step.from_])
        names = step.columns if isinstance(step, Deduplicate) else step.keys
        at: Path = ("deduplicate", "columns") if isinstance(step, Deduplicate) else ("state", "keys")
        for place, name in enumerate(names or ()):
            if known is None or {".", "`"} & set(name):
                continue
            if name.lower() not in {column.lower() for column in known}:
                message = f"{step.from_!r} has no column {name!r}{nearest_of(name, known)}"
                yield context.problem(("views", index, *at, place), message, reasons.UNKNOWN_COLUMN)


def deduplication(context: Context) -> Iterator[Problem]:
    """Only a stream is deduplicated within the watermark."""
    for index, view in enumerate(context.spec.views):
        step = view.deduplicate
        if step and step.within_watermark and not context.graph.streams(step.from_):
            path: Path = ("views", index, "deduplicate", "withinWatermark")
            message = f"{step.from_!r} is not a stream, so it has no watermark; leave withinWatermark out"
            yield context.problem(path, message, reasons.WATERMARK_NOT_ALLOWED)


def growth(context: Context) -> Iterator[Problem]:
    """A warning: deduplication without a watermark, or without the watermark's column in `columns`, never drops its state."""
    for index, view in enumerate(context.spec.views):
        if view.deduplicate and _keeps_all(context, view.name):
            message = (
                "the query keeps every row as state for ever; give the source a watermark, and either name its "
                "column in columns or set withinWatermark: true"
            )
            path: Path = ("views", index, "deduplicate")
            yield context.problem(path, message, reasons.STATE_UNBOUNDED, warning=True)


def _keeps_all(context: Context, view: str) -> bool:
    steps = unbounded_state(context.graph.plan(view))
    return any(node.kind is NodeKind.DEDUPLICATE and node.view == view for node, _ in steps)
