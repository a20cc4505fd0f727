"""Writes the result of `mainstem diff` as text and as JSON; pure."""

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from mainstem.changes import Change, Effect, QueryVerdict
from mainstem.changes.consequences import Consequence, DriverStep, consequences, driver_step
from mainstem.changes.transition import Step, Transition
from mainstem.cli_diff.field_places import place
from mainstem.cluster.running_pipeline import RunningPipeline
from mainstem.estimates import Estimate, estimate
from mainstem.language.document import Document


_RUNS_ON: Final = "The running driver takes the change over: only the queries that it concerns restart, each at a batch's end."
_REFUSED: Final = "A running driver refuses this document, and every query continues with the previous one."
_DRIVER: Final = "Then each query stops at a batch's end and continues from its checkpoint."
_WHOLE: Final = {
    DriverStep.STOP: "The pipeline is suspended: every query stops at a batch's end, and the driver ends.",
    DriverStep.REST: "The pipeline stays suspended: the change takes effect when it is resumed.",
    DriverStep.START: "The pipeline is resumed: a driver starts with the new document.",
}
_SCHEDULED: Final = (
    "The pipeline is resumed: a driver starts with the new document at the next time of the schedule."
)
_UNLESS: Final = "unless the folder is empty, or `mainstem checkpoint` has filled the new checkpoint; this command does not look"
_NO_DRIVER: Final = "The pipeline has no driver now: the change takes effect when one starts."
_NOTHING: Final = "Nothing restarts."


@dataclass(frozen=True)
class Comparison:
    """A comparison of two documents.

    Attributes:
        way: what happens to each query.
        before: the running document.
        after: the new document.
        running: the pipeline that runs the document on a cluster; None for a document of a file.
    """

    way: Transition
    before: Document
    after: Document
    running: RunningPipeline | None = None

    @cached_property
    def outcomes(self) -> tuple[tuple[QueryVerdict, Consequence], ...]:
        """Each query with what it does."""
        return consequences(self.way, self.before.graph, self.after.graph)

    @cached_property
    def driver(self) -> tuple[DriverStep, tuple[str, ...]]:
        """What happens to the driver, and why."""
        return driver_step(self.way, self.before.graph, self.after.graph)

    @property
    def refused(self) -> tuple[str, ...]:
        """The queries that must not start, or cannot."""
        return tuple(query.query for query, consequence in self.outcomes if consequence.refused)

    @property
    def is_certain(self) -> bool:
        """Whether the documents alone show that a query must not start."""
        return any(each.refused and each.outcome.refusals for _, each in self.outcomes)

    @property
    def is_alike(self) -> bool:
        """Whether both documents have the same fields."""
        return self.before.graph.spec == self.after.graph.spec

    def state(self, query: str) -> str:
        """The state of a query on the cluster; empty if it has none."""
        status = self.running.queries.get(query) if self.running else None
        return str(status["state"]) if status else ""

    def estimate(self, query: str, consequence: Consequence) -> Estimate | None:
        """What the query has to read after the change; None without a status."""
        if self.running is None:
            return None
        return estimate(consequence, self.running.queries.get(query), self.after.graph, query)


def lines(comparison: Comparison, width: int) -> Iterator[str]:
    """The lines of the text."""
    if (running := comparison.running) is not None:
        phase = f", phase {running.phase}" if running.phase else ""
        yield f"StreamingPipeline {running.namespace}/{running.name}: revision {running.revision}{phase}"
        yield ""
    yield from _table(comparison, width)
    for query, consequence in comparison.outcomes:
        if consequence.outcome.changes:
            yield ""
            yield f"{query.query}:"
        for change in consequence.outcome.changes:
            yield from _change_lines(change, comparison, width)
    yield ""
    yield from textwrap.wrap(_conclusion(comparison), width)


def _table(comparison: Comparison, width: int) -> Iterator[str]:
    rows = [("QUERY", "STATE", "EFFECT", "CONSEQUENCE")]
    for query, consequence in comparison.outcomes:
        words = consequence.words
        if (known := comparison.estimate(query.query, consequence)) and (more := known.words()):
            words = f"{words}: {more}"
        state = comparison.state(query.query) or "-"
        rows.append((query.query, state, consequence.outcome.effect, words))
    names, states = (max(len(row[column]) for row in rows) for column in (0, 1))
    effects = max(map(len, Effect))
    for name, state, effect, words in rows:
        middle = "" if comparison.running is None else f"{state:{states}}  "
        start = f"{name:{names}}  {middle}{effect:{effects}}  "
        yield from textwrap.wrap(start + words, width, subsequent_indent=" " * len(start))


def _conclusion(comparison: Comparison) -> str:
    driver, causes = comparison.driver
    if driver is DriverStep.START and comparison.after.graph.spec.schedule:
        return _SCHEDULED
    if driver in _WHOLE:
        return _WHOLE[driver]
    if comparison.running is not None and not comparison.running.has_driver:
        return _NOTHING if comparison.is_alike else _NO_DRIVER
    if driver is DriverStep.REPLACE:
        return _replacing(comparison, causes)
    if comparison.refused:
        return _REFUSED if comparison.is_certain else f"{_REFUSED[:-1]}, {_UNLESS}."
    return _NOTHING if all(step is Step.KEEP for step in comparison.way.steps.values()) else _RUNS_ON


def _replacing(comparison: Comparison, causes: Sequence[str]) -> str:
    """The conclusion if a new driver starts."""
    if not comparison.is_certain:
        fails = f" {', '.join(comparison.refused)} cannot start, {_UNLESS}." if comparison.refused else ""
        return f"The driver restarts for {', '.join(causes)}. {_DRIVER}{fails}"
    if comparison.way.driver == causes:
        return _REFUSED
    return f"{_REFUSED} The driver restarts with that one for {causes[-1]}."


def _change_lines(change: Change, comparison: Comparison, width: int) -> Iterator[str]:
    file, line = place(change.path, comparison.after, comparison.before)
    yield f"  {file}:{line}: {change.path} [{change.effect}]"
    indent = " " * 4
    texts = [change.text, *([f"to do: {change.remedy}"] if change.remedy else [])]
    for text in texts:
        yield from textwrap.wrap(text, width, initial_indent=indent, subsequent_indent=indent)


def json_of(comparison: Comparison) -> dict[str, Any]:
    """The same for a program."""
    result: dict[str, Any] = {
        "queries": [_query_json(*each, comparison) for each in comparison.outcomes],
        "driver": list(comparison.driver[1]) if comparison.driver[0] is DriverStep.REPLACE else [],
        "driverStep": comparison.driver[0],
        "refused": list(comparison.refused),
    }
    if (running := comparison.running) is not None:
        result["running"] = {
            "namespace": running.namespace,
            "name": running.name,
            "revision": running.revision,
            "phase": running.phase,
            "hasDriver": running.has_driver,
        }
    return result


def _query_json(query: QueryVerdict, consequence: Consequence, comparison: Comparison) -> dict[str, Any]:
    result: dict[str, Any] = {
        "query": query.query,
        "effect": consequence.outcome.effect,
        "consequence": consequence.words,
        "restarts": consequence.restarts,
        "changes": [_change_json(change, comparison) for change in consequence.outcome.changes],
    }
    if comparison.running is not None:
        known = comparison.estimate(query.query, consequence)
        result["state"] = comparison.state(query.query) or None
        result["estimate"] = known.json() if known else None
    return result


def _change_json(change: Change, comparison: Comparison) -> dict[str, Any]:
    file, line = place(change.path, comparison.after, comparison.before)
    return {
        "path": change.path,
        "effect": change.effect,
        "text": change.text,
        "remedy": change.remedy,
        "file": file,
        "line": line,
    }
