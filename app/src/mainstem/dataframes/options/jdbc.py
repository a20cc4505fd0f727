"""Options of Spark's JDBC reader and writer."""

from typing import Final

from mainstem import secrets
from mainstem.language.model.connections import JdbcConnection
from mainstem.language.model.connectors.jdbc_sink import JdbcSink
from mainstem.language.model.connectors.static_sources import JdbcTable


# By default PostgreSQL's driver waits forever: a database that hangs would block a query, or at the start all queries.
_PATIENCE: Final = {"connectTimeout": "10", "socketTimeout": "600", "tcpKeepAlive": "true"}


def options(connection: JdbcConnection) -> dict[str, str]:
    """The options of a connection to the database: URL, properties of the driver, credentials from the secret.

    Raises:
        NotReady: `SecretNotFound`.
    """
    patience = _PATIENCE if connection.url.startswith("jdbc:postgresql:") else {}
    known = patience | dict(connection.properties) | {"url": connection.url}
    if connection.secret_ref is None:
        return known
    name = connection.secret_ref.name
    return known | {"user": secrets.value(name, "username"), "password": secrets.value(name, "password")}


def source_options(table: JdbcTable, connection: JdbcConnection) -> dict[str, str]:
    """The options of Spark's JDBC reader.

    Raises:
        NotReady: `SecretNotFound`.
    """
    selection = {"dbtable": table.table} if table.table is not None else {"query": table.query or ""}
    return dict(table.options) | options(connection) | selection


def sink_options(sink: JdbcSink, connection: JdbcConnection) -> dict[str, str]:
    """The options of Spark's JDBC writer.

    Raises:
        NotReady: `SecretNotFound`.
    """
    return dict(sink.options) | options(connection) | {"dbtable": sink.table}
