"""Whether everything a pipeline needs is there, asked before the first query starts and answered within seconds.

Spark and Kafka would find out as well, after minutes of retries and with a page of stack trace.
"""

import os
import re
import socket
import ssl
import struct
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from pyspark.sql import SparkSession

from mainstem.build.kafka import connections
from mainstem.errors import NotReady
from mainstem.run.brokers import Brokers
from mainstem.run.hadoop import Folder
from mainstem.run.inputs import asked, demanded
from mainstem.run.needed import needed, running
from mainstem.spec.connections import JdbcConnection, KafkaConnection, S3Connection
from mainstem.spec.graph import Graph


ANSWER_SECONDS: Final = 5.0
# Kafka's ApiVersions, version 0, which every broker answers before it asks who we are.
_API_VERSIONS: Final = struct.pack(">ihhih", 10, 18, 0, 0, -1)
# PostgreSQL's SSLRequest, answered by S or N before anybody logs in.
_SSL_REQUEST: Final = struct.pack(">ii", 8, 80877103)
_POSTGRES: Final = re.compile(r"jdbc:postgresql://(\[[^\]/]+\]|[^:/?,]+)(?::(\d+))?(?:[/?].*)?")


def reachable(graph: Graph) -> None:
    """Ask every store and broker for an answer, and look at local folders; needs no JVM.

    Raises:
        NotReady: `StoreUnreachable`, `BrokerUnreachable`, `DatabaseUnreachable`, `PathNotFound`, `PathNotWritable`.
    """
    asks = needed(graph)
    for connection in (each for each in graph.spec.connections if each.name in asks):
        if connection.s3 and connection.s3.endpoint:
            _store(connection.name, connection.s3, connection.s3.endpoint)
        if connection.kafka:
            _broker(connection.name, connection.kafka)
        if connection.jdbc:
            _database(connection.name, connection.jdbc)
    for what, path in (*demanded(graph), *_jars(graph)):
        if (local := _local(path)) and not local.exists():
            raise _absent(what, path)
    for what, path in (*_outputs(graph), ("checkpoints.location", graph.spec.checkpoints.location)):
        if (local := _local(path)) and (why := _unwritable(local)):
            raise NotReady(f"{what}: nothing can be written at {path}: {why}", reason="PathNotWritable")


def present(session: SparkSession, graph: Graph) -> None:
    """Look for what no query waits for, ask for every sink's topic and folder, and try the right to write checkpoints.

    Raises:
        NotReady: `PathNotFound`, `TopicNotFound`, `BucketNotFound`, `StoreAccessDenied`, and the like.
    """
    brokers = connections(graph, session)
    for name in (each for each in needed(graph) if each in brokers):
        _check_topics(session, name, brokers[name], _topics(graph, name))
    for what, path in demanded(graph):
        if not asked(what, path, partial(_matches, session, path)):
            raise _absent(what, path)
    for what, path in _outputs(graph):
        asked(what, path, partial(_exists, session, path))
    location = graph.spec.checkpoints.location
    asked("checkpoints.location", location, lambda: _probe(Folder(session, location)))


def _store(name: str, s3: S3Connection, endpoint: str) -> None:
    url = urlsplit(endpoint)
    tls = url.scheme == "https"
    host = url.hostname or ""
    question = f"HEAD / HTTP/1.1\r\nHost: {url.netloc}\r\nConnection: close\r\n\r\n".encode()
    if why := _silence(host, url.port or (443 if tls else 80), question, tls=tls):
        buckets = ", ".join(s3.buckets)
        raise NotReady(
            f"the S3 store of connection {name!r} ({buckets}) at {endpoint} does not answer: {why}",
            reason="StoreUnreachable",
        )


def _broker(name: str, kafka: KafkaConnection) -> None:
    own = kafka.security.protocol if kafka.security else kafka.properties.get("security.protocol", "")
    tls = own.upper().endswith("SSL")
    whys = []
    for server in kafka.bootstrap_servers.split(","):
        host, _, port = server.strip().rpartition("://")[2].rpartition(":")
        why = _silence(host.strip("[]"), int(port), _API_VERSIONS, tls=tls)
        if why is None:
            return
        whys.append(f"{server.strip()}: {why}")
    raise NotReady(f"no broker of connection {name!r} answers: {'; '.join(whys)}", reason="BrokerUnreachable")


def _database(name: str, jdbc: JdbcConnection) -> None:
    """Only PostgreSQL's address is understood here, and one with several hosts is not; Spark asks the others."""
    match = _POSTGRES.fullmatch(jdbc.url)
    if match and (why := _silence(match[1].strip("[]"), int(match[2] or 5432), _SSL_REQUEST, tls=False)):
        raise NotReady(
            f"the database of connection {name!r} at {match[1]}:{match[2] or 5432} does not answer: {why}",
            reason="DatabaseUnreachable",
        )


def _silence(host: str, port: int, question: bytes, *, tls: bool) -> str | None:
    """Why nobody is there; None where somebody is, even one that answers by hanging up."""
    try:
        plain = socket.create_connection((host, port), timeout=ANSWER_SECONDS)
    except (OSError, OverflowError, UnicodeError) as error:
        return _why(error)
    try:
        with plain:
            if tls:
                _shake_hands(plain, host)
            else:
                plain.sendall(question)
                plain.recv(1)
    except TimeoutError as error:
        return _why(error)
    except OSError:
        return None
    return None


def _shake_hands(plain: socket.socket, host: str) -> None:
    # Whom to trust is for the clients to judge, with the document's own settings.
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.wrap_socket(plain, server_hostname=host).close()


def _why(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return f"no answer within {ANSWER_SECONDS:g} s"
    return (getattr(error, "strerror", None) or str(error) or type(error).__name__).lower()


def _absent(what: str, path: str) -> NotReady:
    return NotReady(f"{what}: nothing is at {path}", reason="PathNotFound")


def _local(path: str) -> Path | None:
    """The path, where it is one of this machine and no glob."""
    plain = re.sub(r"^file:/+", "/", path)
    return None if re.search(r"^\w[\w+.-]*:|[*?\[{\\]", plain) else Path(plain)


def _unwritable(folder: Path) -> str | None:
    """Why a folder can neither be written nor made; None where it can."""
    there = next((place for place in (folder, *folder.absolute().parents) if place.exists()), folder)
    if not there.is_dir():
        return f"{there} is not a folder"
    return None if os.access(there, os.W_OK | os.X_OK) else f"no permission to write in {there}"


def _topics(graph: Graph, connection: str) -> set[str]:
    """Topics by name that are written through a connection."""
    sinks = [sink.kafka for query in running(graph) for sink in query.to if sink.kafka]
    return {sink.topic for sink in sinks if sink.topic and sink.connection == connection}


def _check_topics(session: SparkSession, name: str, kafka: KafkaConnection, written: set[str]) -> None:
    what, brokers = f"connection {name!r} ({kafka.bootstrap_servers})", Brokers(session, kafka)
    known = asked(what, "", brokers.topics)
    for topic in sorted(written - known):
        asked(what, topic, partial(brokers.make, topic))


def _jars(graph: Graph) -> Iterator[tuple[str, str]]:
    for function in graph.spec.functions:
        if function.java and function.java.jar:
            yield f"function {function.name!r}", function.java.jar


def _outputs(graph: Graph) -> Iterator[tuple[str, str]]:
    for query in running(graph):
        for sink in query.to:
            if sink.folder:
                yield f"sink {sink.name!r} of query {query.name!r}", sink.folder.path


def _matches(session: SparkSession, path: str) -> bool:
    return Folder(session, path).matches()


def _exists(session: SparkSession, path: str) -> bool:
    return Folder(session, path).exists()


def _probe(location: Folder) -> None:
    location.make()
    probe = location / ".mainstem-probe"
    probe.touch()
    probe.delete()
