"""Checks whether the inputs of queries exist: a query without an end waits for a missing input, a bounded query fails."""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import singledispatch
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from mainstem import reasons
from mainstem.dataframes.options import connector
from mainstem.dataframes.options.connections import Connections, connections
from mainstem.dataframes.sources import static
from mainstem.errors import MainstemError, NotReady
from mainstem.filesystem import Directory, as_glob
from mainstem.language.analysis.graph import Graph
from mainstem.language.analysis.writers import writers
from mainstem.language.model.connectors.custom import SparkSource, SparkTable
from mainstem.language.model.connectors.delta import DeltaSource
from mainstem.language.model.connectors.file_source import FilesSource
from mainstem.language.model.connectors.generated_sources import UnkeptSource
from mainstem.language.model.connectors.kafka_source import KafkaSource
from mainstem.language.model.connectors.kinds import SourceKind, TableKind
from mainstem.language.model.connectors.static_sources import (
    CatalogTable,
    CsvTable,
    DeltaTable,
    JdbcTable,
    JsonTable,
    SchemalessTable,
)
from mainstem.language.model.queries import Query
from mainstem.language.model.sources import Source
from mainstem.language.model.status.states import OUTAGES
from mainstem.language.requirements import path_of, used
from mainstem.log_entries import SINK_LOG
from mainstem.runtime.clients.kafka_admin import KafkaAdmin
from mainstem.runtime.clients.reachability import connection_error
from mainstem.runtime.failures.classification import classify


NONE_MADE: Final[Mapping[str, Collection[str]]] = MappingProxyType({})


@dataclass(frozen=True)
class Absent:
    """A missing input, a server that does not answer, or an input that another query still writes.

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


def waits(graph: Graph, query: Query) -> bool:
    """Whether the query waits for a missing input; a bounded query whose inputs no query writes does not wait."""
    return not graph.ends(query) or bool(writers(graph, query))


class RequiredPath(NamedTuple):
    """An input path that must exist at the start of a query.

    Attributes:
        subject: the source that reads it.
        path: the path in the document.
        is_glob: whether the reader takes `*`, `[` and the like for a glob; Delta takes a path as it stands.
    """

    subject: str
    path: str
    is_glob: bool


def required_paths(graph: Graph, query: Query) -> Iterator[RequiredPath]:
    """The input paths that must exist at the start of the query, because it does not wait."""
    if waits(graph, query):
        return
    for source in graph.sources_of(query.from_):
        if path := path_of(source):
            is_glob = not isinstance(source.connector, DeltaSource | DeltaTable)
            yield RequiredPath(f"source {source.name!r}", path, is_glob)


class Inputs:
    """Looks for the inputs of queries in stores and brokers; may be used from any thread, because answers take time.

    Args:
        session: any session.
        graph: the graph of the document.
        made: connection -> topics that a start of the document makes, and that exist for this look.
    """

    def __init__(
        self, session: SparkSession, graph: Graph, made: Mapping[str, Collection[str]] = NONE_MADE
    ) -> None:
        self._session = session
        self._graph = graph
        self._connections = connections(graph)
        self._made = made

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
                known[source.name] = missing_input(
                    source.connector,
                    InputContext(self._session, self._graph, self._connections, source, self._made),
                )
            if absent := known[source.name]:
                return absent
        return None


class InputContext(NamedTuple):
    """What the check of an input needs beside the settings of the source.

    Attributes:
        session: the session of the check.
        graph: the graph of the document.
        connections: the connections of the document.
        source: the source.
        made: connection -> topics that a start of the document makes.
    """

    session: SparkSession
    graph: Graph
    connections: Connections
    source: Source
    made: Mapping[str, Collection[str]] = NONE_MADE

    @property
    def subject(self) -> str:
        """The source, as messages name it."""
        return f"source {self.source.name!r}"


@singledispatch
def missing_input(settings: SourceKind | TableKind, _context: InputContext) -> Absent | None:
    """The missing input of a source, by the kind of the source or table; None if nothing is missing."""
    raise NotImplementedError(f"no check of the input of {type(settings).__name__}")


@missing_input.register
def _unchecked(_source: UnkeptSource | SparkSource, _context: InputContext) -> Absent | None:
    """Such a source has no input that exists beforehand, or only its connector knows it."""
    return None


@missing_input.register
def _topics(kafka: KafkaSource, context: InputContext) -> Absent | None:
    topics = {*(kafka.subscribe or ()), *(kafka.assign or ())}
    connection = context.connections.kafka[kafka.connection]
    subject = f"connection {kafka.connection!r} ({connection.bootstrap_servers})"
    admin = KafkaAdmin(context.session._jvm, connection)  # noqa: SLF001
    known = ask(subject, "", admin.topics) if topics else set()
    missing = sorted(topics - known - {*context.made.get(kafka.connection, ())})
    if not missing:
        return None
    return Absent(reasons.TOPIC_NOT_FOUND, f"{subject}: Kafka has no topic {', '.join(map(repr, missing))}")


@missing_input.register
def _files(files: FilesSource, context: InputContext) -> Absent | None:
    return _missing_path(files.path, context)


@missing_input.register
def _table_of_files(table: CsvTable | JsonTable | SchemalessTable, context: InputContext) -> Absent | None:
    """The missing files, or the missing first batch of a sink: Spark reads only what the sink's log names."""
    if absent := _missing_path(table.path, context):
        return absent
    log = Directory(context.session, table.path) / SINK_LOG
    if ask(context.subject, table.path, lambda: log.matches() and not (log / "[0-9]*").matches()):
        return Absent(reasons.PATH_NOT_FOUND, f"{context.subject}: no batch was written to {table.path}")
    return None


@missing_input.register
def _delta_table(table: DeltaSource | DeltaTable, context: InputContext) -> Absent | None:
    """The missing folder, or the missing first version; without one the folder may contain any files."""
    if why := why_missing(context.session, context.subject, table.path, is_glob=False):
        return Absent(reasons.PATH_NOT_FOUND, why)
    log = Directory(context.session, table.path) / "_delta_log"
    if not ask(context.subject, table.path, lambda: _has_version(log)):
        return Absent(reasons.PATH_NOT_FOUND, f"{context.subject}: no Delta table exists at {table.path}")
    return None


@missing_input.register
def _catalog_table(table: CatalogTable, context: InputContext) -> Absent | None:
    words = table.name.lower().replace("`", "").split(".")
    catalogs = [each.name for each in context.graph.spec.connections if each.name.lower() in words]
    connector.catalogs(context.session, context.graph, catalogs)
    if not ask(context.subject, "", lambda: context.session.catalog.tableExists(table.name)):
        return Absent(reasons.TABLE_NOT_FOUND, f"{context.subject}: the table {table.name!r} does not exist")
    return _opened(context)


@missing_input.register
def _opened_table(_table: JdbcTable | SparkTable, context: InputContext) -> Absent | None:
    return _opened(context)


def _missing_path(path: str, context: InputContext) -> Absent | None:
    why = why_missing(context.session, context.subject, path, is_glob=True)
    return Absent(reasons.PATH_NOT_FOUND, why) if why else None


def why_missing(session: SparkSession, subject: str, path: str, *, is_glob: bool) -> str | None:
    """What to report for an input path that its reader would not find; None if it finds it.

    A folder whose name has the characters of a glob may exist and not match it: the reader would find nothing, or other folders.
    """
    folder = Directory(session, path)
    is_there = ask(subject, path, folder.exists)
    if is_there and is_glob and not ask(subject, path, folder.matches_itself):
        return f"{subject}: {path} is read as a glob, which does not match the folder of this name; write {as_glob(path)} for it"
    if is_there or (is_glob and ask(subject, path, folder.matches)):
        return None
    return f"{subject}: nothing exists at {path}"


def _has_version(log: Directory) -> bool:
    return log.exists() and any(name[0].isdigit() for name in log.names())


def _opened(context: InputContext) -> Absent | None:
    """The missing table, if it cannot be opened as the query will read it; no row is read."""
    table = context.source.static
    if table is None:
        raise ValueError(f"{context.subject} is no table")
    try:
        ask(
            context.subject,
            "",
            lambda: static.table(
                context.session, context.subject, context.subject, table, context.connections
            ),
        )
    except NotReady as error:
        if error.reason != reasons.TABLE_NOT_FOUND:
            raise
        return Absent(error.reason, error.message)
    return None


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
