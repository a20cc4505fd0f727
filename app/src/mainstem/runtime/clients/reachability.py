"""Checks within seconds, without a JVM, whether the server of a connection answers a request on a plain socket."""

import re
import socket
import ssl
import struct
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import singledispatch
from typing import Final
from urllib.parse import urlsplit

from mainstem import reasons
from mainstem.errors import NotReady
from mainstem.language.model.connections import (
    Connection,
    ConnectorOptions,
    JdbcConnection,
    KafkaConnection,
    S3Connection,
)
from mainstem.language.model.connectors.kinds import ConnectionKind


ANSWER_SECONDS: Final = 5.0
# Kafka's ApiVersions request, version 0, which every broker answers before authentication.
_API_VERSIONS: Final = struct.pack(">ihhih", 10, 18, 0, 0, -1)
# PostgreSQL's SSLRequest, which the server answers with S or N before authentication.
_SSL_REQUEST: Final = struct.pack(">ii", 8, 80877103)
_POSTGRES: Final = re.compile(r"jdbc:postgresql://(\[[^\]/]+\]|[^:/?,]+)(?::(\d+))?(?:[/?].*)?")


def unreachable_connections(connections: Iterable[Connection]) -> dict[str, NotReady]:
    """Name of each connection whose server does not answer -> the error; asks all servers at once."""
    targets = list(connections)
    if not targets:
        return {}
    with ThreadPoolExecutor(len(targets), thread_name_prefix="reachability") as pool:
        errors = list(pool.map(connection_error, targets))
    return {connection.name: error for connection, error in zip(targets, errors, strict=True) if error}


def connection_error(connection: Connection) -> NotReady | None:
    """The error of a server that does not answer; None if it answers or its address is not known.

    The reason is `BrokerUnreachable`, `StoreUnreachable` or `DatabaseUnreachable`. The addresses of AWS's own stores and
    of databases other than PostgreSQL are not known.
    """
    return server_error(connection.settings, connection.name)


@singledispatch
def server_error(settings: ConnectionKind, _name: str) -> NotReady | None:
    """The error of the server of a connection with this name, by the connection's kind."""
    raise NotImplementedError(f"no check of the server of {type(settings).__name__}")


@server_error.register
def _connector(_settings: ConnectorOptions, _name: str) -> NotReady | None:
    """Only the connector or the catalog knows the address of its server."""
    return None


@server_error.register
def _store(s3: S3Connection, name: str) -> NotReady | None:
    endpoint = s3.endpoint
    if not endpoint:
        return None
    url = urlsplit(endpoint)
    tls = url.scheme == "https"
    host = url.hostname or ""
    request = f"HEAD / HTTP/1.1\r\nHost: {url.netloc}\r\nConnection: close\r\n\r\n".encode()
    why = _socket_error(host, url.port or (443 if tls else 80), request, tls=tls)
    buckets = ", ".join(s3.buckets)
    message = f"the S3 store of connection {name!r} ({buckets}) at {endpoint} does not answer: {why}"
    return NotReady(message, reason=reasons.STORE_UNREACHABLE) if why else None


@server_error.register
def _broker(kafka: KafkaConnection, name: str) -> NotReady | None:
    protocol = kafka.security.protocol if kafka.security else kafka.properties.get("security.protocol", "")
    tls = protocol.upper().endswith("SSL")
    errors = []
    for server in kafka.bootstrap_servers.split(","):
        host, _, port = server.strip().rpartition("://")[2].rpartition(":")
        why = _socket_error(host.strip("[]"), int(port), _API_VERSIONS, tls=tls)
        if why is None:
            return None
        errors.append(f"{server.strip()}: {why}")
    return NotReady(
        f"no broker of connection {name!r} answers: {'; '.join(errors)}", reason=reasons.BROKER_UNREACHABLE
    )


@server_error.register
def _database(jdbc: JdbcConnection, name: str) -> NotReady | None:
    """The error of a PostgreSQL server; None for other databases and URLs with several hosts, which Spark checks."""
    match = _POSTGRES.fullmatch(jdbc.url)
    if match and (why := _socket_error(match[1].strip("[]"), int(match[2] or 5432), _SSL_REQUEST, tls=False)):
        message = (
            f"the database of connection {name!r} at {match[1]}:{match[2] or 5432} does not answer: {why}"
        )
        return NotReady(message, reason=reasons.DATABASE_UNREACHABLE)
    return None


def _socket_error(host: str, port: int, request: bytes, *, tls: bool) -> str | None:
    """Why the server does not answer; None if it answers, or closes the connection."""
    try:
        plain = socket.create_connection((host, port), timeout=ANSWER_SECONDS)
    except (OSError, OverflowError, UnicodeError) as error:
        return _error_text(error)
    try:
        with plain:
            if tls:
                _tls_handshake(plain, host)
            else:
                plain.sendall(request)
                plain.recv(1)
    except TimeoutError as error:
        return _error_text(error)
    except OSError:
        return None
    return None


def _tls_handshake(plain: socket.socket, host: str) -> None:
    # The clients verify certificates later, with the settings of the document.
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.wrap_socket(plain, server_hostname=host).close()


def _error_text(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return f"no answer within {ANSWER_SECONDS:g} s"
    return (getattr(error, "strerror", None) or str(error) or type(error).__name__).lower()
