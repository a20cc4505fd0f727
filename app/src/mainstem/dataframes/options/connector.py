"""Opens connectors, and registers catalogs, that are not part of Mainstem."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource

from mainstem import logs, reasons, secrets
from mainstem.dataframes.user_code import code
from mainstem.errors import NotReady
from mainstem.language.analysis.graph import Graph
from mainstem.language.model.connections import ConnectorOptions, SparkConnection
from mainstem.language.model.connectors.custom import CustomConnector, SparkSource, SparkTable
from mainstem.language.requirements import required_connections


def stream(
    session: SparkSession, source: SparkSource, occurrence: str, connections: Mapping[str, SparkConnection]
) -> DataFrame:
    """The rows of a connector as a stream; `occurrence` is its name in the query.

    Raises:
        NotReady: the secret or the Python class does not exist; `FunctionNotUsable`.
    """
    reader = session.readStream.format(format_of(session, source)).options(**options(source, connections))
    if source.schema_:
        reader = reader.schema(source.schema_)
    return reader.name(occurrence).load()


def table(session: SparkSession, source: SparkTable, connections: Mapping[str, SparkConnection]) -> DataFrame:
    """The rows of a connector's table; raises as `stream` does."""
    reader = session.read.format(format_of(session, source)).options(**options(source, connections))
    if source.schema_:
        reader = reader.schema(source.schema_)
    return reader.load()


def format_of(session: SparkSession, connector: CustomConnector) -> str:
    """The name of a connector in Spark; a Python class is first registered with the session.

    Raises:
        NotReady: the Python class does not exist, or is not a DataSource.
    """
    if connector.python is None:
        return connector.format or ""
    where = f"connector {connector.python!r}"
    source: Any = code.load(where, connector.python)
    if not _is_connector(source):
        message = f"{where} is not a class derived from pyspark.sql.datasource.DataSource"
        raise NotReady(message, reason=reasons.FUNCTION_NOT_USABLE)
    session.dataSource.register(source)
    return str(source.name())


@contextmanager
def active(session: SparkSession) -> Iterator[None]:
    """A context in which the session is the active one of the thread.

    To write with a Python connector, Spark looks the connector up in the active session only.
    """
    sessions: Any = SparkSession._get_j_spark_session_class(session._jvm)  # noqa: SLF001
    previous = sessions.getActiveSession()
    sessions.setActiveSession(session._jsparkSession)  # noqa: SLF001
    try:
        yield
    finally:
        if previous.isDefined():
            sessions.setActiveSession(previous.get())
        else:
            sessions.clearActiveSession()


def _is_connector(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, DataSource)


def options(connector: CustomConnector, connections: Mapping[str, SparkConnection]) -> dict[str, str]:
    """The options of a connector and its connection; the connector's own override the connection's.

    Raises:
        NotReady: `SecretNotFound`.
    """
    shared = connection_options(connections[connector.connection]) if connector.connection else {}
    own = {key.lower() for key in connector.options}
    return {key: value for key, value in shared.items() if key.lower() not in own} | dict(connector.options)


def connection_options(connection: ConnectorOptions) -> dict[str, str]:
    """The options of a connection with the values of its secrets; from then on no log line shows these values.

    Raises:
        NotReady: `SecretNotFound`.
    """
    secret_values = {key: secrets.value(ref.name, ref.key) for key, ref in connection.secret_options.items()}
    logs.hide(secret_values.values())
    return dict(connection.options) | secret_values


def catalogs(session: SparkSession, graph: Graph, names: Collection[str] | None = None) -> None:
    """Register the document's catalogs in a session; Spark loads a catalog when a query names one of its tables.

    Args:
        session: the session.
        graph: the graph of the document.
        names: catalogs whose secrets must exist; by default the catalogs that any running query may read.

    Raises:
        NotReady: `SecretNotFound`.
    """
    names = required_connections(graph) if names is None else names
    for connection in graph.spec.connections:
        if connection.catalog is None:
            continue
        try:
            options = connection_options(connection.catalog)
        except NotReady:
            if connection.name in names:
                raise
            continue  # a missing secret of an unused catalog must not stop the run
        prefix = f"spark.sql.catalog.{connection.name}"
        session.conf.set(prefix, connection.catalog.class_)
        for key, value in options.items():
            session.conf.set(f"{prefix}.{key}", value)
