"""One pipeline writes a Delta table on S3: the first one claims it, in an object beside the table's folder.

Delta's log store for S3 keeps writers apart within one JVM only: of two drivers that commit the same version one would
overwrite the other, and its rows would be gone. The claim is made by a conditional PUT, so that of any number of
pipelines that try at once exactly one succeeds, and it stays when the pipeline stops.
"""

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from mainstem import logs
from mainstem.errors import NotReady
from mainstem.run.inputs import asked
from mainstem.run.needed import running
from mainstem.spec.graph import Graph


_CLAIM: Final = "mainstem-writer.json"
_NOT_FOUND: Final = 404
_CONFLICT: Final = 409
_PRECONDITION_FAILED: Final = 412


@dataclass(frozen=True)
class Claim:
    """Who writes a table.

    Attributes:
        pipeline: `namespace/name`, or the name alone of one that runs on a machine.
        since: when it was claimed, ISO 8601.
    """

    pipeline: str
    since: str

    def text(self) -> str:
        """The claim as it is kept."""
        return json.dumps({"pipeline": self.pipeline, "since": self.since})


def take(session: SparkSession, graph: Graph, pipeline: str) -> None:
    """Claim every Delta table on S3 that running queries write, for as long as nobody removes the claims.

    Raises:
        NotReady: `TableClaimed`: another pipeline writes one of them; `ClaimNotReadable`; or the store does not answer.
    """
    tables = {
        sink.delta.path.rstrip("/")
        for query in running(graph)
        for sink in query.to
        if sink.delta and sink.delta.path.startswith("s3a://")
    }
    for table in sorted(tables):
        asked("the Delta table", table, partial(_take, session, table, pipeline))


def _take(session: SparkSession, table: str, pipeline: str) -> None:
    file = claim_of(table)
    holder = read(session, file)
    if holder is None:
        mine = Claim(pipeline, datetime.now(UTC).isoformat(timespec="seconds"))
        if create(session, file, mine):
            if create(session, file, mine):
                logs.get("mainstem").warning(
                    "the store knows no conditional writes, so other pipelines are not kept from this table",
                    table=table,
                )
            return
        holder = read(session, file)
    if holder is None or holder.pipeline != pipeline:
        whose = (
            f"of the pipeline {holder.pipeline!r}, since {holder.since}" if holder else "of another writer"
        )
        raise NotReady(
            f"the Delta table {table} is {whose}; S3 keeps the writers of one driver apart, not those of two",
            reason="TableClaimed",
            remedy=f"write a table of your own; or, once that pipeline writes this one no more, remove {file}",
        )


def claim_of(table: str) -> str:
    """Where the claim of a table lies: `s3a://lake/_orders.mainstem-writer.json` for `s3a://lake/orders`.

    Delta makes a new table in an empty folder only, so the claim is not within; whoever reads the folder above passes
    over names that begin with `_`.
    """
    above, _, name = table.rpartition("/")
    return f"{above}/_{name}.{_CLAIM}" if above not in ("", "s3a:/") else f"{table}/_{_CLAIM}"


def create(session: SparkSession, file: str, claim: Claim) -> bool:
    """Write a claim where there is none; False where there is one already, or another writer is at it."""
    store, bucket, key = _store(session, file)
    jvm: Any = session._jvm  # noqa: SLF001
    model = jvm.software.amazon.awssdk.services.s3.model
    request = model.PutObjectRequest.builder().bucket(bucket).key(key).ifNoneMatch("*").build()
    try:
        store.putObject(request, jvm.software.amazon.awssdk.core.sync.RequestBody.fromString(claim.text()))
    except Py4JJavaError as error:
        if _status(error) in (_CONFLICT, _PRECONDITION_FAILED):
            return False
        raise
    return True


def read(session: SparkSession, file: str) -> Claim | None:
    """The claim that is kept in a file; None where there is no file."""
    store, bucket, key = _store(session, file)
    jvm: Any = session._jvm  # noqa: SLF001
    model = jvm.software.amazon.awssdk.services.s3.model
    request = model.GetObjectRequest.builder().bucket(bucket).key(key).build()
    try:
        text = store.getObjectAsBytes(request).asUtf8String()
    except Py4JJavaError as error:
        if _status(error) == _NOT_FOUND:
            return None
        raise
    try:
        found = json.loads(text)
        return Claim(str(found["pipeline"]), str(found["since"]))
    except (ValueError, KeyError, TypeError) as error:
        message = f"{file} does not say which pipeline writes the table"
        raise NotReady(message, reason="ClaimNotReadable", remedy="once none does, remove it") from error


def _status(error: Py4JJavaError) -> int:
    java = error.java_exception
    kind = str(java.getClass().getName())
    return int(java.statusCode()) if kind.startswith("software.amazon.awssdk.services.s3.model.") else 0


def _store(session: SparkSession, file: str) -> tuple[Any, str, str]:
    """The client of S3A's own, with its credentials and endpoint; Hadoop's create() overwrites in a race."""
    jvm: Any = session._jvm  # noqa: SLF001
    path = jvm.org.apache.hadoop.fs.Path(file)
    system = path.getFileSystem(session._jsparkSession.sessionState().newHadoopConf())  # noqa: SLF001
    client = system.getS3AInternals().getAmazonS3Client("claim a table")
    return client, str(path.toUri().getHost()), str(path.toUri().getPath()).lstrip("/")
