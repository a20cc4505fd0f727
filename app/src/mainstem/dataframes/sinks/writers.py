"""Settings of Spark's streaming writers for the document's sinks.

A query with one sink uses Spark's streaming writer, if Spark has one for the sink. `batches` writes all other queries,
with the same sinks of Spark where these exist. So a table or folder knows the batches that it has, even if the query
gets or loses other sinks.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import singledispatch
from typing import Final, NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.readwriter import DataStreamWriter

from mainstem.dataframes.options import connector, delta, jdbc, kafka
from mainstem.dataframes.options.connections import Connections
from mainstem.dataframes.sinks.delta_table import metadata
from mainstem.dataframes.sinks.folder_types import in_folder
from mainstem.dataframes.sinks.kafka_records import TIME_FORMATS, records
from mainstem.dataframes.sinks.partition_values import exact_in_folder, exact_in_table
from mainstem.dataframes.sinks.stored_values import as_stored
from mainstem.language.model.connections import JdbcConnection
from mainstem.language.model.connectors.custom import SparkSink
from mainstem.language.model.connectors.delta import DeltaSink
from mainstem.language.model.connectors.file_sink import FileSink
from mainstem.language.model.connectors.inspection_sinks import ConsoleSink, NoopSink
from mainstem.language.model.connectors.jdbc_sink import JdbcSink
from mainstem.language.model.connectors.kafka_sink import KafkaSink
from mainstem.language.model.connectors.kinds import SinkKind
from mainstem.language.model.sinks import Sink


_CHECKED_DELTA: Final = "dev.mainstem.delta.CheckedDelta"
"""Delta's sink, with a check of the types before each batch."""
_EXACT: Final = {
    "json": TIME_FORMATS,
    # Spark's writer would strip blanks from both ends of a text, though not its reader.
    "csv": TIME_FORMATS | dict.fromkeys(("ignoreLeadingWhiteSpace", "ignoreTrailingWhiteSpace"), "false"),
}
"""Options with which a format keeps each value that it can."""
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


class SinkContext(NamedTuple):
    """What Spark's writer needs beside the settings of the sink.

    Attributes:
        session: the query's session.
        key: key of the sink's kind, such as `csv`.
        connections: the connections of the document.
    """

    session: SparkSession
    key: str
    connections: Connections


def native(session: SparkSession, sink: Sink, connections: Connections) -> Native | None:
    """The settings of Spark's streaming writer for a sink; None if Spark has no exact writer for the sink.

    Raises:
        NotReady: a secret or the Python class of a connector is missing.
    """
    return native_sink(sink.connector, SinkContext(session, sink.choice(), connections))


@singledispatch
def native_sink(_sink: SinkKind, _context: SinkContext) -> Native | None:
    """The settings of Spark's streaming writer, by the kind of sink; None for a kind that only Mainstem writes."""
    return None


@native_sink.register
def _kafka(sink: KafkaSink, context: SinkContext) -> Native | None:
    return Native("kafka", kafka.sink_options(sink, context.connections.kafka[sink.connection]))


@native_sink.register
def _delta(sink: DeltaSink, _context: SinkContext) -> Native | None:
    if sink.merge:
        return None
    options = dict(sink.options) | {"path": sink.path} | delta.sink_options(sink)
    return Native(_CHECKED_DELTA, options, sink.partition_by or ())


@native_sink.register
def _files(sink: FileSink, context: SinkContext) -> Native | None:
    options = _exact(context.key, sink.options) | {"path": sink.path}
    return Native(context.key, options, sink.partition_by or ())


@native_sink.register
def _jdbc(sink: JdbcSink, context: SinkContext) -> Native | None:
    connection = context.connections.get(JdbcConnection, sink.connection)
    return Native("jdbc", jdbc.sink_options(sink, connection))


@native_sink.register
def _custom(sink: SparkSink, context: SinkContext) -> Native | None:
    options = connector.options(sink, context.connections.spark)
    return Native(connector.format_of(context.session, sink), options)


@native_sink.register
def _console(sink: ConsoleSink, _context: SinkContext) -> Native | None:
    return Native("console", {"numRows": str(sink.num_rows), "truncate": str(sink.truncate).lower()})


@native_sink.register
def _noop(_sink: NoopSink, _context: SinkContext) -> Native | None:
    return Native("noop", {})


def _exact(key: str, options: Mapping[str, str]) -> dict[str, str]:
    """The options, with those that keep each value unless the document sets them; Spark ignores the case of keys."""
    keys = {name.lower() for name in options}
    exact = _EXACT.get(key, {})
    return {name: value for name, value in exact.items() if name.lower() not in keys} | dict(options)


def shape(frame: DataFrame, sink: Sink) -> DataFrame:
    """The rows in the shape that the sink takes, as `shaper` makes it."""
    return shaper(frame.sparkSession, sink)(frame)


def shaper(session: SparkSession, sink: Sink) -> Callable[[DataFrame], DataFrame]:
    """Gives rows the shape that the sink takes: Kafka records for Kafka; for all others the rows, with checked partitions,
    and with the types of the table or folder. A table's types are read for each batch, those of a folder here.

    Raises:
        TypeTooNarrowError: the table or folder may alter values.
    """
    if kafka_sink := sink.kafka:
        return lambda frame: records(frame, kafka_sink)
    if delta_sink := sink.delta:
        return lambda frame: _as_table(frame, delta_sink)
    if files := sink.files:
        folder = in_folder(session, files, sink.choice())
        return lambda frame: exact_in_folder(folder.converted(frame) if folder else frame, files)
    return lambda frame: frame


def _as_table(frame: DataFrame, sink: DeltaSink) -> DataFrame:
    table = metadata(frame.sparkSession, sink.path)
    return as_stored(exact_in_table(frame, sink, table), sink, table)
