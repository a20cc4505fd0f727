"""Checks within seconds, before the first query starts, that everything that the whole run needs exists.

Spark and Kafka would report the same after minutes of retries, with a page of stack trace. `readiness` checks what only
some of the queries need.
"""

import os
import re
from functools import partial
from pathlib import Path
from uuid import uuid4

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from mainstem import logs, reasons
from mainstem.errors import NotReady
from mainstem.filesystem import Directory, local_path
from mainstem.language.analysis.graph import Graph
from mainstem.language.requirements import required_connections, running, used
from mainstem.runtime.clients.exclusive_files import S3Object
from mainstem.runtime.clients.reachability import unreachable_connections
from mainstem.runtime.preflight.inputs import ask


def check_servers(graph: Graph) -> frozenset[str]:
    """Check, without a JVM, that every store, broker and database answers, and that a local checkpoint folder is writable.

    Returns:
        names of the connections that do not answer: brokers and databases that at least one query does not use.

    Raises:
        NotReady: `StoreUnreachable`; `BrokerUnreachable` or `DatabaseUnreachable` if every query needs a missing server;
            `PathNotWritable`.
    """
    names = required_connections(graph)
    connections = {each.name: each for each in graph.spec.connections if each.name in names}
    silent = unreachable_connections(connections.values())
    queries = running(graph)
    for name, error in silent.items():
        if connections[name].s3 or all(used(graph, [query]) & silent.keys() for query in queries):
            raise error
    for error in silent.values():
        logs.get("mainstem").warning("a connection does not answer", reason=error.reason, error=error.message)
    check_writable("checkpoints.location", graph.spec.checkpoints.location)
    return frozenset(silent)


def check_checkpoint_store(session: SparkSession, graph: Graph) -> None:
    """Check that the location of checkpoints is writable, and on S3 that the store supports conditional writes.

    Raises:
        NotReady: `BucketNotFound`, `StoreAccessDenied`, `CheckpointStoreNotConditional`, and the like.
    """
    location = graph.spec.checkpoints.location
    ask("checkpoints.location", location, lambda: _probe(Directory(session, location)))
    if location.startswith("s3a://") and graph.spec.checkpoints.require_conditional_writes:
        ask("checkpoints.location", location, partial(_refuse_unconditional, session, location))


def local_folder(path: str) -> Path | None:
    """The folder or file on this machine; None for a path in a store or a glob."""
    local = local_path(path)
    return None if local is None or re.search(r"[*?\[{\\]", local) else Path(local)


def check_writable(subject: str, path: str) -> None:
    """Check that a local folder is writable, or the existing folder in which it will be created.

    Raises:
        NotReady: `PathNotWritable`.
    """
    if (local := local_folder(path)) and (why := _unwritable(local)):
        raise NotReady(f"{subject}: {path} is not writable: {why}", reason=reasons.PATH_NOT_WRITABLE)


def _unwritable(folder: Path) -> str | None:
    """Why a folder can be neither written nor created; None if it can."""
    existing = next((place for place in (folder, *folder.absolute().parents) if place.exists()), folder)
    if not existing.is_dir():
        return f"{existing} is not a folder"
    return None if os.access(existing, os.W_OK | os.X_OK) else f"no permission to write in {existing}"


def _probe(location: Directory) -> None:
    location.make()
    probe = location / ".mainstem-probe"
    probe.touch()
    probe.delete()


def _refuse_unconditional(session: SparkSession, location: str) -> None:
    """Create an object twice: a store that allows this cannot keep two drivers apart."""
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
            f"the object store of checkpoints.location, {location}, does not support conditional writes (If-None-Match): "
            "two writers can create the same object",
            reason=reasons.CHECKPOINT_STORE_NOT_CONDITIONAL,
            remedy="keep checkpoints in a store with conditional writes; or set checkpoints.requireConditionalWrites: "
            "false and accept that two drivers at once may lose or repeat rows",
        )
