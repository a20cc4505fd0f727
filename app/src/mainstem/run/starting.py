"""A query from the document to a started one: built, its folders made fit, started in its pool."""

from collections.abc import Callable
from typing import Any

from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark.errors import AnalysisException, ParseException, PySparkException
from pyspark.sql.streaming import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from mainstem import logs
from mainstem.build import query as build
from mainstem.errors import NotReady, Problem, SpecInvalid
from mainstem.run import pinned, slots, sweep
from mainstem.run.failures import classify
from mainstem.run.running import Run
from mainstem.spec.graph import Graph
from mainstem.spec.queries import Query


class Starter:
    """Starts queries of one document; what goes wrong is raised as Spark has it."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._log = logs.get("mainstem")

    def built(self, run: Run) -> DataStreamWriter:
        """The query's writer, its DataFrames built anew."""
        return build.build(run.session, self._graph, run.query)

    def prepare(self, run: Run) -> None:
        """Make checkpoint and folders fit, and see that there are cores for tasks that never end.

        Raises:
            NotReady: a sink's folder is another's, the state is kept otherwise, or cores are missing.
        """
        if run.resident:
            slots.enough(run.session, self._graph)
        checkpoint = build.checkpoint(self._graph, run.query)
        sweep.clear_stillborn(run.session, checkpoint)
        pinned.refuse_change(run.session, checkpoint, run.query.state)
        for sink in run.query.to:
            if sink.files is None:
                continue
            if removed := sweep.prepare(run.session, sink.files.path, checkpoint, sink.choice()):
                self._log.info(
                    "removed files of an unfinished batch",
                    query=run.query.name,
                    sink=sink.name,
                    files=len(removed),
                )

    def started(self, run: Run, writer: DataStreamWriter) -> StreamingQuery:
        """The query, running."""
        return build.start(run.session, writer, run.query)

    def first(self, query: Query, act: Callable[[], Any]) -> Any:
        """What a step of the first start gives; what goes wrong there ends the run, in the document's terms.

        Raises:
            SpecInvalid: Spark's analysis refuses the query; with Spark's own condition as reason.
            NotReady: it cannot start for what is around it.
        """
        try:
            return act()
        except Py4JNetworkError:
            raise
        except (PySparkException, Py4JError) as error:
            failure = classify(error)
            if not isinstance(error, (AnalysisException, ParseException)):
                message = f"the query {query.name!r} cannot start: {failure.message}"
                raise NotReady(message, reason=failure.reason) from error
            path = f"spec.queries[{self._graph.spec.queries.index(query)}]"
            message = f"Spark refuses the query {query.name!r}: {failure.message}"
            raise SpecInvalid([Problem(0, 0, path, message, failure.reason)]) from error
