"""Reads the document's streaming sources as DataFrames."""

from functools import singledispatch
from typing import Final, NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from mainstem.dataframes import column_names, positions
from mainstem.dataframes.decode import decoding, file_records, schemas
from mainstem.dataframes.options import connector, delta, kafka, source_options
from mainstem.dataframes.options.connections import Connections
from mainstem.dataframes.sources import static
from mainstem.language.base import interval
from mainstem.language.model.connectors.custom import SparkSource
from mainstem.language.model.connectors.delta import DeltaSource
from mainstem.language.model.connectors.file_source import FilesSource
from mainstem.language.model.connectors.generated_sources import (
    RateMicroBatchSource,
    RateSource,
    SocketSource,
)
from mainstem.language.model.connectors.kafka_source import KafkaSource
from mainstem.language.model.connectors.kinds import SourceKind
from mainstem.language.model.decode import Decode
from mainstem.language.model.sources import Source, Watermark


OBSERVED: Final = "mainstem-watermark."
"""Prefix of the names of Spark's metrics in `with_watermark`; the relation's name follows. Nobody reads these metrics."""


class StreamContext(NamedTuple):
    """What the reader of a stream needs beside the settings of the source.

    Attributes:
        session: the query's session.
        occurrence: name of the source's occurrence in the query.
        connections: the connections of the document.
        decoding: how records become columns; None for a source without records.
    """

    session: SparkSession
    occurrence: str
    connections: Connections
    decoding: Decode | None

    def load(self, spark_format: str, options: dict[str, str], path: str | None = None) -> DataFrame:
        """The stream of one of Spark's formats."""
        return (
            self.session.readStream.format(spark_format).options(**options).name(self.occurrence).load(path)
        )


class Reader:
    """Opens sources in their real systems. Tests of a document replace it with a reader of test rows.

    Args:
        connections: the connections of the document.
    """

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def stream(self, session: SparkSession, source: Source, occurrence: str) -> DataFrame:
        """The rows of a streaming source; of a source with a decoder the undecoded records. They may have a `POSITION`.

        `occurrence` is the name of the source's occurrence in the query.
        """
        if source.stream is None:
            raise ValueError(f"{source.name} does not stream")
        return open_stream(
            source.stream, StreamContext(session, occurrence, self._connections, source.decoding)
        )

    def table(self, session: SparkSession, source: Source, occurrence: str) -> DataFrame:
        """The rows of a static source; `occurrence` as for `stream`."""
        if source.static is None:
            raise ValueError(f"{source.name} is no table")
        return static.table(session, source.name, occurrence, source.static, self._connections)


def relation(reader: Reader, session: SparkSession, source: Source, occurrence: str) -> DataFrame:
    """The rows that SQL reads under the source's name: decoded, without malformed records, with the watermark.

    Args:
        reader: opens the source.
        session: the query's session.
        source: the source.
        occurrence: name of the source's occurrence in the query; Spark stores the offsets under this name.
    """
    if source.static:
        return reader.table(session, source, occurrence)
    frame = reader.stream(session, source, occurrence)
    if source.decoding:
        frame = _decode(frame, source, source.decoding, occurrence).rows()
    frame = frame.drop(positions.POSITION)
    return with_watermark(frame, source.watermark, occurrence)


def with_watermark(frame: DataFrame, watermark: Watermark | None, occurrence: str) -> DataFrame:
    """The rows with their watermark, if the document declares one; every row moves the watermark.

    Spark's optimizer pushes filters below a watermark, and then only rows that pass the filter move the watermark. It
    pushes no filter through `observe`, so an `observe` stands above the watermark.

    Args:
        frame: the rows of a source or a view.
        watermark: the watermark in the document.
        occurrence: the relation's name, with a number if a query reads the relation several times.
    """
    if watermark is None:
        return frame
    frame = frame.withWatermark(column_names.quote(watermark.column), interval(watermark.delay))
    return (
        frame.observe(f"{OBSERVED}{occurrence}", F.count(F.lit(1)).alias("rows"))
        if frame.isStreaming
        else frame
    )


def dead_letters(reader: Reader, session: SparkSession, source: Source, occurrence: str) -> DataFrame:
    """The malformed records of a source."""
    if source.decoding is None:
        raise ValueError(f"{source.name} decodes nothing")
    return _decode(
        reader.stream(session, source, occurrence), source, source.decoding, occurrence
    ).dead_letters()


def _decode(raw: DataFrame, source: Source, decode: Decode, occurrence: str) -> decoding.DecodedRecords:
    field = "decode" if source.decode else "files"
    return decoding.DecodedRecords(
        raw,
        decode,
        occurrence,
        source.watermark,
        many=bool(decode.json_ and source.files and file_records.is_many(source.files.options)),
        remedy=f"set {field}.onMalformedRecord to drop or deadLetter",
    )


@singledispatch
def open_stream(source: SourceKind, _context: StreamContext) -> DataFrame:
    """The rows of a streaming source, by its kind; a bounded source gives a DataFrame that does not stream."""
    raise NotImplementedError(f"no reader for {type(source).__name__}")


@open_stream.register
def _kafka(source: KafkaSource, context: StreamContext) -> DataFrame:
    options = kafka.source_options(source, context.connections.kafka[source.connection])
    if source.bounded:
        records = context.session.read.format("kafka").options(**options).load()
    else:
        records = context.load("kafka", options)
    return positions.with_kafka_position(records, context.occurrence)


@open_stream.register
def _files(source: FilesSource, context: StreamContext) -> DataFrame:
    session, occurrence = context.session, context.occurrence
    options = source_options.files(source, occurrence)
    if context.decoding:
        return file_records.stream(session, source.path, occurrence, context.decoding, options)
    reader = session.readStream.format(source.format).options(**options).name(occurrence)
    declared: list[str] = []
    if source.format != "text":
        schema = schemas.columns(source.schema_, source.schema_file)
        reader, declared = reader.schema(schema), schema.fieldNames()
    known = file_records.known_folders(_folder_columns(reader.load(source.path)))
    rows = _in_order(reader.options(**known).load(source.path), declared)
    index = rows.metadataColumn("_metadata")["row_index"] if source.format == "parquet" else None
    return positions.with_file_position(rows, occurrence, index)


def _folder_columns(stream: DataFrame) -> list[str]:
    """The columns that the folders `k=v` below the path of a stream give now."""
    relation = stream._jdf.queryExecution().analyzed().collectLeaves().head()  # noqa: SLF001
    names: str = relation.dataSource().sourceInfo().partitionColumns().mkString("\n")
    return names.split("\n")


def _in_order(rows: DataFrame, declared: list[str]) -> DataFrame:
    """The columns of a schema in its order, then those of other folders: Spark moves the columns of folders to the end."""
    known = {name.lower() for name in declared}
    names = [*declared, *(name for name in rows.columns if name.lower() not in known)]
    return rows.select(*(F.col(column_names.quote(name)) for name in names))


@open_stream.register
def _delta(source: DeltaSource, context: StreamContext) -> DataFrame:
    return context.load("delta", delta.source_options(source), source.path)


@open_stream.register
def _custom(source: SparkSource, context: StreamContext) -> DataFrame:
    return connector.stream(context.session, source, context.occurrence, context.connections.spark)


@open_stream.register
def _rate(source: RateSource, context: StreamContext) -> DataFrame:
    return context.load("rate", source_options.rate(source))


@open_stream.register
def _rate_micro_batch(source: RateMicroBatchSource, context: StreamContext) -> DataFrame:
    return context.load("rate-micro-batch", source_options.rate_micro_batch(source))


@open_stream.register
def _socket(source: SocketSource, context: StreamContext) -> DataFrame:
    return context.load("socket", source_options.socket(source))
