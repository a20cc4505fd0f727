"""Checks whether the inputs of queries exist: a query without an end waits for a missing input, a bounded query fails."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from mainstem import reasons
from mainstem.dataframes.options import connector
from mainstem.dataframes.options.connections import connections
from mainstem.dataframes.sources import static
from mainstem.errors import MainstemError, NotReady
from mainstem.filesystem import Directory
from mainstem.language.analysis.graph import Graph
from mainstem.language.model.connectors.static_sources import StaticSource
from mainstem.language.model.queries import Query
from mainstem.language.model.sources import Source
from mainstem.language.model.status.states import OUTAGES
from mainstem.language.requirements import path_of, running, used
from mainstem.language.rules.connectors.paths import normal
from mainstem.runtime.clients.kafka_admin import KafkaAdmin
from mainstem.runtime.clients.reachability import connection_error
from mainstem.runtime.failures.classification import classify


@dataclass(frozen=True)
class Absent:
    """A missing input, or a server that does not answer.

    Attributes:
        reason: why the query cannot start, such as `TopicNotFound`.
        message: what is missing.
    """

    reason: reasons.Reason
    message: str

    @property
    def outage(self) -> bool:
        """Whether a server does not answer; false if an input does not exist."""
        return self.reason in OUTAGES


def input_writers(graph: Graph, query: Query) -> set[str]:
    """The names of the other running queries that write an input of the query."""
    read = {normal(path) for source in graph.sources_of(query.from_) if (path := path_of(source))}
    return {
        other.name
        for other in running(graph)
        if other.name != query.name and any(normal(path) in read for path in _output_paths(other))
    }


def waits(graph: Graph, query: Query) -> bool:
    """Whether the query waits for a missing input; a bounded query whose inputs no query writes does not wait."""
    return not graph.ends(query) or bool(input_writers(graph, query))


def required_paths(graph: Graph, query: Query) -> Iterator[tuple[str, str]]:
    """The input paths that must exist at the start of the query, because it does not wait; each with its source."""
    if waits(graph, query):
        return
    for source in graph.sources_of(query.from_):
        if path := path_of(source):
            yield f"source {source.name!r}", path


class Inputs:
    """Looks for the inputs of queries in stores and brokers; may be used from any thread, because answers take time."""

    def __init__(self, session: SparkSession, graph: Graph) -> None:
        self._session = session
        self._graph = graph
        self._connections = connections(graph, session)

    def absent(self, query: Query, known: dict[str, Absent | None]) -> Absent | None:
        """The first server of the query that does not answer, or its first missing input; None if nothing is missing.

        Args:
            query: the query.
            known: earlier results by the name of a source, or by `connection <name>`; gets the new results.

        Raises:
            NotReady: a broker or store refuses the request.
        """
        needs = used(self._graph, [query])
        for connection in (each for each in self._graph.spec.connections if each.name in needs):
            key = f"connection {connection.name}"
            if key not in known:
                error = connection_error(connection)
                known[key] = Absent(error.reason, error.message) if error else None
            if absent := known[key]:
                return absent
        for source in self._graph.sources_of(query.from_):
            if source.name not in known:
                known[source.name] = self._missing(source)
            if absent := known[source.name]:
                return absent
        return None

    def _missing(self, source: Source) -> Absent | None:
        subject = f"source {source.name!r}"
        if source.kafka:
            return self._missing_topics(
                source.kafka.connection, {*(source.kafka.subscribe or ()), *(source.kafka.assign or ())}
            )
        path = path_of(source)
        if path is None:
            return self._missing_table(subject, source.static) if source.static else None
        if not ask(subject, path, lambda: Directory(self._session, path).matches()):
            return Absent(reasons.PATH_NOT_FOUND, f"{subject}: nothing exists at {path}")
        table = source.delta or (source.static and source.static.delta)
        if table and not ask(subject, path, lambda: self._is_table(path)):
            return Absent(reasons.PATH_NOT_FOUND, f"{subject}: no Delta table exists at {path}")
        return None

    def _missing_topics(self, connection: str, topics: set[str]) -> Absent | None:
        kafka = self._connections.kafka[connection]
        subject = f"connection {connection!r} ({kafka.bootstrap_servers})"
        missing = sorted(topics - ask(subject, "", KafkaAdmin(self._session, kafka).topics)) if topics else []
        if not missing:
            return None
        return Absent(
            reasons.TOPIC_NOT_FOUND, f"{subject}: Kafka has no topic {', '.join(map(repr, missing))}"
        )

    def _missing_table(self, subject: str, source: StaticSource) -> Absent | None:
        """The missing table of a source without a path: it is opened as the query will read it, but no row is read."""
        if source.table:
            words = source.table.name.lower().replace("`", "").split(".")
            catalogs = [each.name for each in self._graph.spec.connections if each.name.lower() in words]
            connector.catalogs(self._session, self._graph, catalogs)
        name = source.table.name if source.table else None
        if name and not ask(subject, "", lambda: self._session.catalog.tableExists(name)):
            return Absent(reasons.TABLE_NOT_FOUND, f"{subject}: the table {name!r} does not exist")
        try:
            ask(subject, "", lambda: static.table(self._session, subject, source, self._connections))
        except NotReady as error:
            if error.reason != reasons.TABLE_NOT_FOUND:
                raise
            return Absent(error.reason, error.message)
        return None

    def _is_table(self, path: str) -> bool:
        """Whether the Delta table has a first version; without one the folder may contain any files."""
        return (Directory(self._session, path) / "_delta_log/[0-9]*").matches()


def ask(subject: str, path: str, question: Callable[[], Any]) -> Any:
    """Call a function that asks a server; raises its failure as `NotReady`."""
    try:
        return question()
    except (MainstemError, Py4JNetworkError):
        raise
    except (PySparkException, Py4JError) as error:  # pyspark converts a few of Java's exceptions
        failure = classify(error)
        at = f" ({path})" if path else ""
        transient = not failure.permanent
        raise NotReady(
            f"{subject}{at}: {failure.message}", reason=failure.reason, transient=transient
        ) from error


def _output_paths(query: Query) -> Iterator[str]:
    for sink in query.to:
        if path := sink.connector.main_path:
            yield path
