"""Sinks of the document as started writers.

A query with one sink that Spark has a streaming writer for uses that one. Any other query runs batch by batch, see
`batches`, with the very same sinks of Spark's where there are such: so a table or folder knows the batches that it has,
however many sinks stand beside it today.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.readwriter import DataStreamWriter

from mainstem.build import kafka
from mainstem.build.records import records
from mainstem.spec.connections import KafkaConnection
from mainstem.spec.sinks import DeltaSink, Sink


Connections = Mapping[str, KafkaConnection]
"""Kafka connections by name."""


@dataclass(frozen=True)
class Native:
    """A sink that Spark itself writes streams to.

    Attributes:
        format: its name.
        options: what it is told.
        partition_by: columns that partition it.
    """

    format: str
    options: dict[str, str]
    partition_by: tuple[str, ...] = ()

    def apply(self, writer: DataStreamWriter) -> DataStreamWriter:
        """The writer, told of this sink."""
        writer = writer.format(self.format).options(**self.options)
        return writer.partitionBy(*self.partition_by) if self.partition_by else writer


def native(sink: Sink, connections: Connections) -> Native | None:
    """What Spark's streaming writer is told of a sink; None for one that it has no exact writer for."""
    if sink.kafka:
        return Native("kafka", kafka.sink_options(sink.kafka, connections[sink.kafka.connection]))
    if sink.delta and sink.delta.merge:
        return None
    if target := sink.folder:
        return Native(sink.choice(), dict(target.options) | {"path": target.path}, target.partition_by or ())
    if sink.console:
        shown = {"numRows": str(sink.console.num_rows), "truncate": str(sink.console.truncate).lower()}
        return Native("console", shown)
    return Native("noop", {}) if sink.noop else None


def shaped(frame: DataFrame, sink: Sink) -> DataFrame:
    """The rows as the sink takes them: for Kafka records, for all others as they are."""
    return records(frame, sink.kafka) if sink.kafka else frame


def merger(sink: DeltaSink, name: str) -> Callable[[DataFrame, int], None]:
    """Upsert of one batch by the sink's keys, at most once per batch.

    Delta skips a transaction whose version it has seen for the same application id. The id is that of the checkpoint
    (Spark's query id), the query and the sink, so a new checkpoint never has its first batches skipped.
    """

    def merge(batch: DataFrame, batch_id: int) -> None:
        session = batch.sparkSession
        checkpoint = session.sparkContext.getLocalProperty("sql.streaming.queryId")
        path = located(sink.path)
        try:
            _ensure_table(session, sink, path, batch)
            session.conf.set("spark.databricks.delta.write.txnAppId", f"{checkpoint}/{name}")
            session.conf.set("spark.databricks.delta.write.txnVersion", str(batch_id))
            _merge(session, sink, path, batch)
        finally:
            session.conf.unset("spark.databricks.delta.write.txnAppId")
            session.conf.unset("spark.databricks.delta.write.txnVersion")

    return merge


def located(path: str) -> str:
    """The path with a relative one made absolute: Delta's table API takes it for the name of a table."""
    return path if re.match(r"^[A-Za-z][A-Za-z0-9+.-]*:/", path) else str(Path(path).absolute())


def _ensure_table(session: SparkSession, sink: DeltaSink, path: str, batch: DataFrame) -> None:
    from delta.tables import DeltaTable

    if not DeltaTable.isDeltaTable(session, path):
        table = DeltaTable.createIfNotExists(session).location(path).addColumns(batch.schema)
        (table.partitionedBy(*sink.partition_by) if sink.partition_by else table).execute()


def _merge(session: SparkSession, sink: DeltaSink, path: str, batch: DataFrame) -> None:
    from delta.tables import DeltaTable

    keys: Any = sink.merge.keys if sink.merge else ()
    same = " AND ".join(f"target.`{key}` <=> source.`{key}`" for key in keys)
    table = DeltaTable.forPath(session, path).alias("target")
    table.merge(batch.alias("source"), same).whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()
