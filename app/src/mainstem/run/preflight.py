"""Whether everything a pipeline needs is there, asked before the first query starts and answered within seconds.

Spark and Kafka would find out as well, after minutes of retries and with a page of stack trace.
"""

import os
import re
from collections.abc import Collection, Iterator
from functools import partial
from pathlib import Path
from uuid import uuid4

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from mainstem import logs
from mainstem.build.kafka import connections
from mainstem.errors import NotReady
from mainstem.run.brokers import Brokers
from mainstem.run.hadoop import Folder
from mainstem.run.inputs import asked, demanded
from mainstem.run.objects import S3Object
from mainstem.run.reachability import unreachable
from mainstem.spec.connections import KafkaConnection
from mainstem.spec.graph import Graph
from mainstem.spec.needed import needed, running, used


def reachable(graph: Graph) -> frozenset[str]:
    """Ask every store, broker and database for an answer, and look at local folders; needs no JVM.

    Returns:
        names of the connections that do not answer: brokers and databases that some queries do without.

    Raises:
        NotReady: `StoreUnreachable`, and `BrokerUnreachable` or `DatabaseUnreachable` where no query can start without;
            `PathNotFound`, `PathNotWritable`.
    """
    names = needed(graph)
    connections = {each.name: each for each in graph.spec.connections if each.name in names}
    silent = unreachable(connections.values())
    queries = running(graph)
    for name, error in silent.items():
        if connections[name].s3 or all(used(graph, [query]) & silent.keys() for query in queries):
            raise error
    for error in silent.values():
        logs.get("mainstem").warning("a connection does not answer", reason=error.reason, error=error.message)
    for what, path in (*demanded(graph), *_jars(graph)):
        if (local := _local(path)) and not local.exists():
            raise _absent(what, path)
    for what, path in (*_outputs(graph), ("checkpoints.location", graph.spec.checkpoints.location)):
        if (local := _local(path)) and (why := _unwritable(local)):
            raise NotReady(f"{what}: nothing can be written at {path}: {why}", reason="PathNotWritable")
    return frozenset(silent)


def present(session: SparkSession, graph: Graph, silent: Collection[str] = ()) -> None:
    """Look for what no query waits for, ask for every sink's topic and folder, and try the right to write checkpoints.

    Args:
        session: any session.
        graph: the document's.
        silent: names of connections that do not answer; they are not asked.

    Raises:
        NotReady: `PathNotFound`, `TopicNotFound`, `BucketNotFound`, `StoreAccessDenied`, `CheckpointStoreNotConditional`,
            and the like.
    """
    brokers = connections(graph, session)
    for name in (each for each in needed(graph) if each in brokers and each not in silent):
        _check_topics(session, name, brokers[name], _topics(graph, name))
    for what, path in demanded(graph):
        if not asked(what, path, partial(_matches, session, path)):
            raise _absent(what, path)
    for what, path in _outputs(graph):
        asked(what, path, partial(_exists, session, path))
    location = graph.spec.checkpoints.location
    asked("checkpoints.location", location, lambda: _probe(Folder(session, location)))
    if location.startswith("s3a://") and graph.spec.checkpoints.require_conditional_writes:
        asked("checkpoints.location", location, partial(_refuse_unconditional, session, location))


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


def _refuse_unconditional(session: SparkSession, location: str) -> None:
    """Create an object twice: a store that lets it happen keeps no two drivers apart."""
    probe = S3Object(session, f"{location.rstrip('/')}/.mainstem-probe-{uuid4()}")
    try:
        probe.create("")
        conditional = not probe.create("")
    except Py4JJavaError as error:
        if "Status Code: 501" not in str(error.java_exception):
            raise
        conditional = False
    finally:
        probe.delete()
    if not conditional:
        raise NotReady(
            f"the object store of checkpoints.location, {location}, lets an object be created twice: it does not support "
            "conditional writes (If-None-Match)",
            reason="CheckpointStoreNotConditional",
            remedy="keep checkpoints in a store that does; or set checkpoints.requireConditionalWrites: false, which "
            "accepts that two drivers that run at once may lose or repeat rows",
        )
