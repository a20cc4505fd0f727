"""Builds the document's views, once for each occurrence.

Spark's source evolution requires a name for every occurrence of a stream in a plan. So a view that is read twice is two
DataFrames over two named readers. The SQL text changes only if it reads one relation twice.
"""

import itertools
import re
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Protocol

from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import DataFrame, SparkSession

from mainstem.dataframes.options.connections import connections
from mainstem.dataframes.sources import streaming
from mainstem.dataframes.sources.streaming import Reader
from mainstem.dataframes.views import expectations, steps
from mainstem.language.analysis.graph import Graph
from mainstem.language.analysis.occurrences import next_name
from mainstem.language.model.views import View
from mainstem.language.sql.facts import Reference
from mainstem.language.sql.text import unended
from mainstem.language.yaml.yamltext import Path


class Guard(Protocol):
    """Makes the context in which a part of the document is built; it may turn Spark's error into a problem of that part."""

    def __call__(
        self, path: Path, sql: str = ..., written: Callable[[int], int] = ...
    ) -> AbstractContextManager[None]:
        """The context for the part at the path; `written` maps an offset in `sql` to an offset in the document's text."""


def no_guard(path: Path, sql: str = "", written: Callable[[int], int] = int) -> AbstractContextManager[None]:
    """A guard that does nothing."""
    del path, sql, written
    return nullcontext()


class Builder:
    """Builds the relation of one query in the query's own session, which keeps its temporary views private.

    Args:
        session: the query's session.
        graph: the relations of the pipeline.
        reader: opens sources; by default in their real systems.
        output_mode: the query's output mode, which stateful steps use too.
        guard: makes the context in which each part is built.
    """

    def __init__(
        self,
        session: SparkSession,
        graph: Graph,
        reader: Reader | None = None,
        output_mode: str = "append",
        guard: Guard = no_guard,
    ) -> None:
        self._guard = guard
        self._places = {view.name: index for index, view in enumerate(graph.spec.views)}
        self._session = session
        self._output_mode = output_mode
        self._graph = graph
        self._counts: Counter[str] = Counter()
        self._occurrences: Counter[str] = Counter()
        self._counted_views: set[str] = set()
        self._reader = reader or Reader(connections(graph))

    def relation(self, name: str) -> DataFrame:
        """A new occurrence of a source, a source's dead letters, a view, or a view's quarantine.

        Raises:
            AnalysisException: Spark refuses a view's SQL.
        """
        if view := self._graph.views.get(name):
            rows = self._view(name)
            self._occurrences[name] += 1
            occurrence = f"{name}/{self._occurrences[name]}"
            if view.expectations:
                rows = expectations.keep(self._with_verdicts(rows, view, occurrence, fails=True), view)
            with self._guard(self._place(name, "watermark")):
                return streaming.with_watermark(rows, view.watermark, occurrence)
        if view := self._graph.quarantines.get(name):
            rows = self._with_verdicts(self._view(view.name), view, name, fails=False)
            return expectations.quarantine_rows(rows, view)
        if source := self._graph.dead_letters.get(name):
            return streaming.dead_letters(self._reader, self._session, source, next_name(self._counts, name))
        source = self._graph.sources[name]
        return streaming.relation(self._reader, self._session, source, next_name(self._counts, name))

    def _with_verdicts(self, rows: DataFrame, view: View, occurrence: str, *, fails: bool) -> DataFrame:
        """The rows with verdicts; counted at the first occurrence of a stream. Each batch reads a table again, so no count."""
        is_counted = view.name not in self._counted_views and self._graph.streams(view.name)
        self._counted_views.add(view.name)
        try:
            return expectations.with_verdicts(rows, view, occurrence, is_counted=is_counted, fails=fails)
        except (AnalysisException, ParseException):
            for index, expectation in enumerate(view.expectations):
                with self._guard(self._place(view.name, "expectations", index, "expect"), expectation.expect):
                    expectations.check_expectation(rows, expectation)
            raise

    def _place(self, view: str, *path: str | int) -> Path:
        return ("spec", "views", self._places[view], *path)

    def _view(self, name: str) -> DataFrame:
        view = self._graph.views[name]
        if view.sql is not None:
            return self._select(name, view.sql)
        inputs = [self.relation(below) for _, below in view.inputs]
        with self._guard(self._place(name, view.choice())):
            if view.python:
                return steps.transform(name, view.python, inputs)
            if view.state:
                return steps.stateful(name, view.state, inputs, self._output_mode)
            if view.deduplicate:
                return steps.deduplicate(inputs[0], view.deduplicate)
        raise ValueError(f"{name} is no view")

    def _select(self, name: str, sql: str) -> DataFrame:
        references = self._graph.facts[name].references
        written: Callable[[int], int] = int
        if references is None:
            frames = [(below, self.relation(below)) for below in self._graph.reads(name)]
        else:
            known = [reference for reference in references if reference.name in self._graph.names]
            sql, names = distinct(sql, known)
            written = partial(original_offset, known, names)
            frames = [(alias, self.relation(ref.name)) for alias, ref in zip(names, known, strict=True)]
        # Registered last, because building a relation registers names too.
        for alias, frame in frames:
            frame.createOrReplaceTempView(alias)
        with self._guard(self._place(name, "sql"), sql, written):
            return self._query(sql)

    def _query(self, sql: str) -> DataFrame:
        sql = unended(sql)
        # session.sql() would run a command; parseQuery refuses everything but a query.
        self._session._jsparkSession.sessionState().sqlParser().parseQuery(sql)  # noqa: SLF001
        return self._session.sql(sql)


def distinct(sql: str, references: list[Reference]) -> tuple[str, list[str]]:
    """The SQL text with an own name for every repeated occurrence of a relation, and all names in order.

    >>> distinct("SELECT * FROM a JOIN a AS b", [Reference("a", 14, 15, False), Reference("a", 21, 22, True)])
    ('SELECT * FROM a JOIN a__2 AS b', ['a', 'a__2'])
    """
    used_names = set(re.findall(r"\w+", sql.lower()))
    names: list[str] = []
    for reference in references:
        name = reference.name
        if name in names:
            further = (f"{name}__{count}" for count in itertools.count(2))
            name = next(spelling for spelling in further if spelling not in used_names)
        used_names.add(name)
        names.append(name)
    for reference, name in reversed(list(zip(references, names, strict=True))):
        if name != reference.name:
            sql = f"{sql[: reference.start]}{_replacement(reference, name)}{sql[reference.end :]}"
    return sql, names


def original_offset(references: list[Reference], names: list[str], offset: int) -> int:
    """The offset in the original text for an offset in the text that `distinct` returns.

    >>> original_offset([Reference("a", 14, 15, False), Reference("a", 21, 22, True)], ["a", "a__2"], 29)
    26
    """
    growth = 0
    for reference, name in zip(references, names, strict=True):
        if name == reference.name:
            continue
        length = len(_replacement(reference, name))
        if offset < reference.start + growth + length:
            return min(offset - growth, reference.start)
        growth += length - (reference.end - reference.start)
    return offset - growth


def _replacement(reference: Reference, name: str) -> str:
    return name if reference.aliased else f"{name} AS {reference.name}"
