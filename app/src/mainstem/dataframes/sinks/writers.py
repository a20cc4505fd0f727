"""Settings of Spark's streaming writers for the document's sinks.

A query with one sink uses Spark's streaming writer, if Spark has one for the sink. `batches` writes all other queries,
with the same sinks of Spark where these exist. So a table or folder knows the batches that it has, even if the query
gets or loses other sinks.
"""

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.readwriter import DataStreamWriter

from mainstem.dataframes.options import connector, delta, jdbc, kafka
from mainstem.dataframes.options.connections import Connections
from mainstem.dataframes.sinks.kafka_records import TIME_FORMATS, records
from mainstem.language.model.connections import JdbcConnection
from mainstem.language.model.sinks import Sink


BatchWriter = Callable[[DataFrame, int], None]
"""Writes one batch with the given number; at most once, if the sink supports that."""


@dataclass(frozen=True)
class Native:
    """The format, options and partitions of a sink that Spark itself writes streams to.

    Attributes:
        format: Spark's name of the format.
        options: the options of Spark's writer.
        partition_by: columns that partition the sink.
    """

    format: str
    options: dict[str, str]
    partition_by: tuple[str, ...] = ()

    def apply(self, writer: DataStreamWriter) -> DataStreamWriter:
        """The writer, set up for this sink."""
        writer = writer.format(self.format).options(**self.options)
        return writer.partitionBy(*self.partition_by) if self.partition_by else writer


def native(session: SparkSession, sink: Sink, connections: Connections) -> Native | None:
    """The settings of Spark's streaming writer for a sink; None if Spark has no exact writer for the sink.

    Raises:
        NotReady: a secret or the Python class of a connector is missing.
    """
    if sink.kafka or sink.spark or sink.jdbc:
        return _with_connection(session, sink, connections)
    if sink.delta and sink.delta.merge:
        return None
    if target := sink.folder:
        options = dict(target.options) | {"path": target.path}
        if sink.choice() in {"csv", "json"}:
            options = _with_time_formats(options)
        if sink.delta:
            options |= delta.sink_options(sink.delta)
        return Native(sink.choice(), options, target.partition_by or ())
    if sink.console:
        console_options = {
            "numRows": str(sink.console.num_rows),
            "truncate": str(sink.console.truncate).lower(),
        }
        return Native("console", console_options)
    return Native("noop", {}) if sink.noop else None


def _with_connection(session: SparkSession, sink: Sink, connections: Connections) -> Native:
    """The settings of Spark's streaming writer for a sink that has a connection."""
    if sink.kafka:
        return Native("kafka", kafka.sink_options(sink.kafka, connections.kafka[sink.kafka.connection]))
    if sink.jdbc:
        return Native(
            "jdbc", jdbc.sink_options(sink.jdbc, connections.get(JdbcConnection, sink.jdbc.connection))
        )
    if sink.spark is None:
        raise ValueError(f"{sink.name} has no connection")
    return Native(connector.format_of(session, sink.spark), connector.options(sink.spark, connections.spark))


def _with_time_formats(options: dict[str, str]) -> dict[str, str]:
    """The options, with formats that keep microseconds unless the document sets formats; Spark ignores the case of keys."""
    keys = {key.lower() for key in options}
    return {key: value for key, value in TIME_FORMATS.items() if key.lower() not in keys} | options


def shape(frame: DataFrame, sink: Sink) -> DataFrame:
    """The rows in the shape that the sink takes: Kafka records for Kafka, unchanged for all others."""
    return records(frame, sink.kafka) if sink.kafka else frame
