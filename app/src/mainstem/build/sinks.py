"""Sinks of the document as started writers."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.streaming.readwriter import DataStreamWriter

from mainstem.build import kafka
from mainstem.build.triggers import triggered
from mainstem.spec.connections import KafkaConnection
from mainstem.spec.queries import DeltaSink, KafkaSink, Query


def writer(
    frame: DataFrame, query: Query, checkpoint: str, connections: dict[str, KafkaConnection]
) -> DataStreamWriter:
    """The writer of a query, ready to start.

    Args:
        frame: the query's relation.
        query: the query.
        checkpoint: full path of its checkpoint.
        connections: Kafka connections by name.
    """
    sink = query.sink
    if sink.kafka:
        frame = _records(frame, sink.kafka)
    result = frame.writeStream.queryName(query.name).outputMode(query.output_mode)
    result = triggered(result, query).option("checkpointLocation", checkpoint)
    if sink.kafka:
        options = kafka.sink_options(sink.kafka, connections[sink.kafka.connection])
        return result.format("kafka").options(**options)
    if sink.delta and sink.delta.merge:
        return result.foreachBatch(merger(sink.delta, f"{query.name}/{sink.name}"))
    if target := sink.delta or sink.parquet:
        result = result.format("delta" if sink.delta else "parquet").option("path", target.path)
        result = result.options(**target.options)
        return result.partitionBy(*target.partition_by) if target.partition_by else result
    console = sink.console
    if console is None:
        raise ValueError(f"{query.name} has no sink")
    return result.format("console").option("numRows", console.num_rows).option("truncate", console.truncate)


def _records(frame: DataFrame, sink: KafkaSink) -> DataFrame:
    value = F.to_json(F.struct(*(sink.value or frame.columns))).alias("value")
    if sink.key is None:
        return frame.select(value)
    return frame.select(F.to_json(F.struct(*sink.key)).alias("key"), value)


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
