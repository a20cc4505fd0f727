"""Rules for the addresses of brokers, stores and databases, with all parameters replaced."""

import re
from collections.abc import Iterator
from typing import Final
from urllib.parse import urlsplit

from mainstem import reasons
from mainstem.errors import Problem
from mainstem.language.loading.shape_validation import show
from mainstem.language.rules.context import Context


# Kafka's own pattern: ClientUtils and Utils.HOST_PORT_PATTERN.
_SERVER: Final = re.compile(r"(?:[0-9A-Za-z\-%._]*://)?\[?[0-9A-Za-z\-%._:]+\]?:([0-9]+)")
_PORTS: Final = range(1, 2**16)


def servers(context: Context) -> Iterator[Problem]:
    """Bootstrap servers are a comma-separated list of `host:port`."""
    for index, connection in enumerate(context.spec.connections):
        for server in connection.kafka.bootstrap_servers.split(",") if connection.kafka else ():
            match = _SERVER.fullmatch(server.strip())
            if match is None or int(match[1]) not in _PORTS:
                path = ("connections", index, "kafka", "bootstrapServers")
                message = f"{show(server.strip())} is not host:port, such as kafka:9092"
                yield context.problem(path, message, reasons.INVALID_ADDRESS)


def endpoints(context: Context) -> Iterator[Problem]:
    """The endpoint of a store is an http or https URL with a host and without a path."""
    for index, connection in enumerate(context.spec.connections):
        endpoint = connection.s3.endpoint if connection.s3 else None
        if endpoint is not None and not _is_endpoint(endpoint):
            path = ("connections", index, "s3", "endpoint")
            hint = f"; did you mean http://{endpoint}?" if _is_endpoint(f"http://{endpoint}") else ""
            message = f"{show(endpoint)} is not a URL such as https://minio:9000{hint}"
            yield context.problem(path, message, reasons.INVALID_ADDRESS)


def databases(context: Context) -> Iterator[Problem]:
    """The address of a database is a JDBC URL, but not `jdbc:mariadb:`: Spark has no dialect for it."""
    for index, connection in enumerate(context.spec.connections):
        if connection.jdbc and not connection.jdbc.url.startswith("jdbc:"):
            message = f"{show(connection.jdbc.url)} is not a JDBC URL; write for example jdbc:postgresql://host/database"
            yield context.problem(("connections", index, "jdbc", "url"), message, reasons.INVALID_ADDRESS)
        elif connection.jdbc and connection.jdbc.url.startswith("jdbc:mariadb:"):
            message = (
                "Spark has no dialect for jdbc:mariadb: and would read column names in place of values; use "
                "jdbc:mysql://host/database?permitMysqlScheme, which MariaDB's driver also accepts"
            )
            yield context.problem(
                ("connections", index, "jdbc", "url"), message, reasons.DATABASE_NOT_SUPPORTED
            )


def _is_endpoint(text: str) -> bool:
    try:
        url = urlsplit(text)
        port = url.port
    except ValueError:
        return False
    plain = not (url.path.strip("/") or url.query or url.fragment)
    return (
        url.scheme in ("http", "https") and bool(url.hostname) and (port is None or port in _PORTS) and plain
    )
