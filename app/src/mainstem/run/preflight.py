"""Whether everything a pipeline needs is there, asked before the first query starts and answered within seconds.

Spark and Kafka would find out as well, after minutes of retries and with a page of stack trace.
"""

import socket
from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import urlsplit

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from mainstem.errors import MainstemError, NotReady
from mainstem.run.failures import classify
from mainstem.run.hadoop import Folder
from mainstem.spec.connections import KafkaConnection
from mainstem.spec.graph import Graph


CONNECT_SECONDS: Final = 5.0
ADMIN_MILLISECONDS: Final = 15_000


def reachable(graph: Graph) -> None:
    """Ask every store and broker for a connection; needs no JVM.

    Raises:
        NotReady: `StoreUnreachable`, `BrokerUnreachable`.
    """
    for connection in graph.spec.connections:
        if connection.s3 and connection.s3.endpoint:
            url = urlsplit(connection.s3.endpoint)
            port = url.port or (443 if url.scheme == "https" else 80)
            why = _refusal(url.hostname or "", port)
            if why:
                raise NotReady(
                    f"the S3 store of connection {connection.name!r} at {connection.s3.endpoint} does not answer: {why}",
                    reason="StoreUnreachable",
                )
        if connection.kafka:
            _broker(connection.name, connection.kafka)


def present(session: SparkSession, graph: Graph) -> None:
    """Look for topics, files and the right to write checkpoints.

    Raises:
        NotReady: `TopicNotFound`, `PathNotFound`, `BucketNotFound`, `PermissionDenied`, and the like.
    """
    for name, topics in _topics(graph).items():
        _check_topics(session, name, _kafka(graph, name), topics)
    for what, path in _inputs(graph):
        if not _asked(what, path, lambda path=path: Folder(session, path).matches()):
            raise NotReady(f"{what}: nothing is at {path}", reason="PathNotFound")
    location = graph.spec.checkpoints.location
    _asked("checkpoints.location", location, lambda: _probe(Folder(session, location)))


def _broker(name: str, kafka: KafkaConnection) -> None:
    whys = []
    for server in kafka.bootstrap_servers.split(","):
        host, _, port = server.strip().rpartition(":")
        why = _refusal(host.strip("[]"), int(port)) if port.isdigit() and host else "no host:port"
        if why is None:
            return
        whys.append(f"{server.strip()}: {why}")
    raise NotReady(f"no broker of connection {name!r} answers: {'; '.join(whys)}", reason="BrokerUnreachable")


def _refusal(host: str, port: int) -> str | None:
    """Why a TCP connection cannot be made; None where it can."""
    try:
        socket.create_connection((host, port), timeout=CONNECT_SECONDS).close()
    except OSError as error:
        return (error.strerror or str(error) or type(error).__name__).lower()
    return None


def _kafka(graph: Graph, name: str) -> KafkaConnection:
    found = next(connection.kafka for connection in graph.spec.connections if connection.name == name)
    if found is None:
        raise ValueError(name)
    return found


def _topics(graph: Graph) -> dict[str, list[str]]:
    """Topics by name that the document reads or writes, per connection."""
    wanted: dict[str, list[str]] = {}
    for source in graph.spec.sources:
        if source.kafka:
            named = [*(source.kafka.subscribe or ()), *(source.kafka.assign or ())]
            wanted.setdefault(source.kafka.connection, []).extend(named)
    return wanted


def _check_topics(session: SparkSession, name: str, kafka: KafkaConnection, topics: list[str]) -> None:
    jvm: Any = session._jvm  # noqa: SLF001
    properties = jvm.java.util.Properties()
    settings = {"request.timeout.ms": "10000", "default.api.timeout.ms": str(ADMIN_MILLISECONDS)}
    for key, value in (
        settings | dict(kafka.properties) | {"bootstrap.servers": kafka.bootstrap_servers}
    ).items():
        properties.setProperty(key, value)
    what = f"connection {name!r} ({kafka.bootstrap_servers})"
    admin = _asked(what, "", lambda: jvm.org.apache.kafka.clients.admin.Admin.create(properties))
    try:
        known = _asked(what, "", lambda: set(admin.listTopics().names().get()))
    finally:
        admin.close(jvm.java.time.Duration.ofSeconds(1))
    missing = sorted(set(topics) - known)
    if missing:
        raise NotReady(f"{what}: no topic {', '.join(map(repr, missing))}", reason="TopicNotFound")


def _inputs(graph: Graph) -> Iterator[tuple[str, str]]:
    for source in graph.spec.sources:
        if source.files:
            yield f"source {source.name!r}", source.files.path
        if source.static:
            yield f"source {source.name!r}", source.static.member(source.static.choice()).path


def _probe(location: Folder) -> None:
    location.make()
    probe = location / ".mainstem-probe"
    probe.touch()
    probe.delete()


def _asked(what: str, path: str, question: Any) -> Any:
    """The answer, or the failure as `NotReady`."""
    try:
        return question()
    except MainstemError:
        raise
    except Py4JError as error:
        failure = classify(error)
        at = f" ({path})" if path else ""
        raise NotReady(f"{what}{at}: {failure.message}", reason=failure.reason) from error
