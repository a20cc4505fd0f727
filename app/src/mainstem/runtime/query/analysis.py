"""Builds all parts of a document, so that every problem that Spark's analysis finds is known at once."""

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
    """Builds the views and queries of a document, and collects what Spark refuses of them; each part is refused once.

    Args:
        graph: the document's.
        locate: makes a problem of a place in the document.

    Attributes:
        refusals: the queries that cannot start, each with why.
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
            sql: the text that Spark is given, where it is one.
            written: what an offset in that text is in the document's.

        Raises:
            SpecInvalid: Spark refuses the part, now or before.
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
        """Build queries, and the views that none of them reads; gives the queries that Spark takes and that are ready.

        Args:
            starter: builds.
            queries: the queries that shall start.
            some: whether others than these may run.
            strict: whether any refusal is one of the whole document.

        Raises:
            SpecInvalid: nothing could run, or with `strict` not all; with all problems.
            NotReady: the same, and Spark refuses nothing.
        """
        built = self.queries(starter, queries)
        for supervised in queries[:1]:
            self.others(supervised.session)
        self.refusals.check(self.problems, some=bool(built) or some, strict=strict)
        return built

    def queries(
        self, starter: "Starter", queries: "Sequence[SupervisedQuery]"
    ) -> "list[tuple[SupervisedQuery, BuiltQuery]]":
        """Build queries, each in its own session, and give those that Spark takes and that are ready."""
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
        """The error of a run in which the failed queries are those that could not start; None where others failed."""
        return self.refusals.final(failures, self.problems)

    def others(self, session: SparkSession) -> None:
        """Build the views that no query reads, as far as their inputs are there; reads no rows."""
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
            pass  # it is noted, or it is of something that is not there, which the query that reads it waits for

    def _own(self, name: str) -> Path:
        index = next(index for index, view in enumerate(self._graph.spec.views) if view.name == name)
        return ("spec", "views", index, self._graph.spec.views[index].choice())

    def _plain(self, name: str) -> bool:
        """Whether no code of the user's is run to build the view, nor by a query that reads it: it may make functions."""
        relations = set(self._graph.closure(name))
        for query in self._graph.spec.queries:
            read = self._graph.closure(query.from_)
            relations |= set(read) if name in read else set()
        views = [self._graph.views[one] for one in relations if one in self._graph.views]
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
