"""Builds all parts of a document, so that one run reports every problem that Spark's analysis finds."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING

from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark.errors import AnalysisException, ParseException, PySparkException
from pyspark.sql import SparkSession

from mainstem.dataframes.options import connector
from mainstem.dataframes.user_code import functions
from mainstem.dataframes.views.builder import Builder
from mainstem.errors import MainstemError, Problem, SpecInvalid
from mainstem.language.analysis.graph import Graph
from mainstem.language.loading.problems import Locate, without_text
from mainstem.language.yaml.yamltext import Path, parse_path
from mainstem.runtime.failures.classification import classify
from mainstem.runtime.query.error_positions import offset_of, without_place
from mainstem.runtime.query.refusals import Refusals


if TYPE_CHECKING:
    from mainstem.language.model.status.query_progress import QueryProgress
    from mainstem.runtime.query.starting import BuiltQuery, Starter
    from mainstem.runtime.query.supervised_query import SupervisedQuery


class Analysis:
    """Builds the views and queries of a document, and collects the problems that Spark finds, each part's once.

    Args:
        graph: the graph of the document.
        locate: makes a problem of a place in the document.

    Attributes:
        refusals: the queries that cannot start, each with its error.
    """

    def __init__(self, graph: Graph, locate: Locate = without_text) -> None:
        self.refusals = Refusals()
        self._graph = graph
        self._locate = locate
        self._problems: dict[tuple[str, str], Problem] = {}
        self._views: dict[Path, Problem | None] = {}

    @property
    def problems(self) -> list[Problem]:
        """All problems that Spark finds, in the order of the file."""
        return sorted(self._problems.values())

    @contextmanager
    def part(
        self, path: Path, sql: str = "", written: Callable[[int], int] = lambda offset: offset
    ) -> Iterator[None]:
        """A context in which one part of the document is built; Spark's refusal becomes a problem of that part.

        Args:
            path: the part, from the document's root.
            sql: the SQL text that Spark gets, if the part is SQL.
            written: maps an offset in that text to the offset in the document's text.

        Raises:
            SpecInvalid: Spark refuses the part, or refused it before.
        """
        if known := self._views.get(path):
            raise SpecInvalid([known])
        try:
            yield
        except (AnalysisException, ParseException) as error:
            failure = classify(error)
            if not failure.permanent:
                raise
            offset = offset_of(error, sql) if sql else None
            message = f"Spark refuses it: {without_place(failure.message) if sql else failure.message}"
            at = written(offset) if offset is not None else None
            problem = self._locate(path, message, failure.reason, offset=at)
            self._views[path] = problem
            raise self.noted(SpecInvalid([problem])) from error
        self._views[path] = None

    def document(
        self, starter: "Starter", queries: "Sequence[SupervisedQuery]", *, some: bool, strict: bool
    ) -> "list[tuple[SupervisedQuery, BuiltQuery]]":
        """Build queries, and the views that none of them reads; returns the queries that can start.

        Args:
            starter: builds a query.
            queries: the queries to start.
            some: whether other queries may run.
            strict: whether one refusal refuses the whole document.

        Raises:
            SpecInvalid: no query can run, or with `strict` one cannot; with all problems.
            NotReady: the same, without a problem of Spark's.
        """
        built = self.queries(starter, queries)
        for supervised in queries[:1]:
            self.others(supervised.session)
        self.refusals.check(self.problems, some=bool(built) or some, strict=strict)
        return built

    def queries(
        self, starter: "Starter", queries: "Sequence[SupervisedQuery]"
    ) -> "list[tuple[SupervisedQuery, BuiltQuery]]":
        """Build queries, each in its own session, and return those that can start."""
        built = []
        for supervised in queries:
            with self.guarded(supervised):
                built.append(
                    (
                        supervised,
                        starter.first(supervised.query, partial(starter.checked, supervised, self.part)),
                    )
                )
        return built

    @contextmanager
    def guarded(self, supervised: "SupervisedQuery") -> Iterator[None]:
        """A context in which a query is prepared; an error refuses the query and gets its line in the document."""
        with self.refusals.collecting(supervised):
            try:
                yield
            except SpecInvalid as refused:
                raise self.noted(refused) from refused

    def final(self, failures: "Sequence[QueryProgress]") -> MainstemError | None:
        """The error of a run whose failed queries all could not start; None if another query failed."""
        return self.refusals.final(failures, self.problems)

    def others(self, session: SparkSession) -> None:
        """Build the views that no query reads, if their inputs exist; reads no rows."""
        waiting = [
            name for name in self._graph.views if self._own(name) not in self._views and self._plain(name)
        ]
        if not waiting:
            return
        own = session.newSession()
        with suppress(MainstemError, PySparkException, Py4JError):
            functions.register(own, self._graph)
            connector.catalogs(own, self._graph)
            for name in waiting:
                self._other(own, name)

    def _other(self, session: SparkSession, name: str) -> None:
        try:
            Builder(session, self._graph, guard=self.part).relation(name)
        except Py4JNetworkError:
            raise
        except (MainstemError, PySparkException, Py4JError):
            pass  # `part` keeps a problem of Spark's; for a missing input the query that reads it waits

    def _own(self, name: str) -> Path:
        index = next(index for index, view in enumerate(self._graph.spec.views) if view.name == name)
        return ("spec", "views", index, self._graph.spec.views[index].choice())

    def _plain(self, name: str) -> bool:
        """Whether neither the view nor a query that reads it runs user code, which may create functions."""
        relations = set(self._graph.closure(name))
        for query in self._graph.spec.queries:
            read = self._graph.closure(query.from_)
            relations |= set(read) if name in read else set()
        views = [self._graph.views[name] for name in relations if name in self._graph.views]
        return not any(view.python or view.state for view in views)

    def noted(self, refused: SpecInvalid) -> SpecInvalid:
        """The refusal with the lines of its problems; keeps each problem once."""
        located = [
            problem
            if problem.line
            else self._locate(parse_path(problem.path), problem.message, problem.reason)
            for problem in refused.problems
        ]
        for problem in located:
            self._problems.setdefault((problem.path, problem.message), problem)
        return SpecInvalid(located)
