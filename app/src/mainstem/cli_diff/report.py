"""Writes the result of `mainstem diff` as text and as JSON; pure."""

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from mainstem.changes import Change, Effect, QueryVerdict, Verdict
from mainstem.changes.consequences import Consequence, consequences
from mainstem.cli_diff.field_places import place
from mainstem.cluster.running_pipeline import RunningPipeline
from mainstem.estimates import Estimate, estimate
from mainstem.language.document import Document


_RUNS_ON: Final = "The running driver takes the change over: only the queries that it concerns restart, each at a batch's end."
_REFUSED: Final = "A running driver refuses this document, and every query continues with the previous one."
_DRIVER: Final = "Then each query stops at a batch's end and continues from its checkpoint."
_NO_DRIVER: Final = "The pipeline has no driver now: the change takes effect when one starts."
_NOTHING: Final = "Nothing restarts."


@dataclass(frozen=True)
class Comparison:
    """A comparison of two documents.

    Attributes:
        verdict: its result.
        before: the running document.
        after: the new document.
        running: the pipeline that runs the document on a cluster; None for a document of a file.
    """

    verdict: Verdict
    before: Document
    after: Document
    running: RunningPipeline | None = None

    @property
    def outcomes(self) -> tuple[tuple[QueryVerdict, Consequence], ...]:
        """Each query with what it does."""
        return consequences(self.verdict, self.after.graph.pipeline)

    @property
    def refused(self) -> tuple[str, ...]:
        """The queries that must not start."""
        return tuple(query.query for query, outcome in self.outcomes if outcome.refused)

    def state(self, query: str) -> str:
        """The state of a query on the cluster; empty if it has none."""
        status = self.running.queries.get(query) if self.running else None
        return str(status["state"]) if status else ""

    def estimate(self, query: str, outcome: Consequence) -> Estimate | None:
        """What the query has to read after the change; None without a status."""
        if self.running is None:
            return None
        return estimate(outcome, self.running.queries.get(query), self.after.graph, query)


def lines(comparison: Comparison, width: int) -> Iterator[str]:
    """The lines of the text."""
    if (running := comparison.running) is not None:
        phase = f", phase {running.phase}" if running.phase else ""
        yield f"StreamingPipeline {running.namespace}/{running.name}: revision {running.revision}{phase}"
        yield ""
    yield from _table(comparison, width)
    for query in comparison.verdict.queries:
        if query.changes:
            yield ""
            yield f"{query.query}:"
        for change in query.changes:
            yield from _change_lines(change, comparison, width)
    yield ""
    yield from textwrap.wrap(_conclusion(comparison), width)


def _table(comparison: Comparison, width: int) -> Iterator[str]:
    rows = [("QUERY", "STATE", "EFFECT", "CONSEQUENCE")]
    for query, outcome in comparison.outcomes:
        words = outcome.words
        if (known := comparison.estimate(query.query, outcome)) and (more := known.words()):
            words = f"{words}: {more}"
        rows.append((query.query, comparison.state(query.query) or "-", outcome.effect, words))
    names, states = (max(len(row[column]) for row in rows) for column in (0, 1))
    effects = max(map(len, Effect))
    for name, state, effect, words in rows:
        middle = "" if comparison.running is None else f"{state:{states}}  "
        start = f"{name:{names}}  {middle}{effect:{effects}}  "
        yield from textwrap.wrap(start + words, width, subsequent_indent=" " * len(start))


def _conclusion(comparison: Comparison) -> str:
    verdict = comparison.verdict
    if comparison.refused:
        return _REFUSED
    silent = (Effect.UNCHANGED, Effect.LIVE)
    if not verdict.driver and all(query.effect in silent for query in verdict.queries):
        return _NOTHING
    if comparison.running is not None and not comparison.running.has_driver:
        return _NO_DRIVER
    return f"The driver restarts for {', '.join(verdict.driver)}. {_DRIVER}" if verdict.driver else _RUNS_ON


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
        "driver": list(comparison.verdict.driver),
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


def _query_json(query: QueryVerdict, outcome: Consequence, comparison: Comparison) -> dict[str, Any]:
    result: dict[str, Any] = {
        "query": query.query,
        "effect": outcome.effect,
        "consequence": outcome.words,
        "changes": [_change_json(change, comparison) for change in query.changes],
    }
    if comparison.running is not None:
        known = comparison.estimate(query.query, outcome)
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
