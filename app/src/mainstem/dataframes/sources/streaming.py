"""Reads the document's streaming sources as DataFrames."""

from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from mainstem.dataframes.decode import decoding, file_records, schemas
from mainstem.dataframes.options import connector, delta, kafka, source_options
from mainstem.dataframes.options.connections import Connections
from mainstem.dataframes.sources import static
from mainstem.language.base import interval
from mainstem.language.model.connections import KafkaConnection
from mainstem.language.model.connectors.file_source import FilesSource
from mainstem.language.model.connectors.kafka_source import KafkaSource
from mainstem.language.model.decode import Decode
from mainstem.language.model.sources import Source, Watermark


OBSERVED: Final = "mainstem-watermark."
"""Prefix of the names of Spark's metrics in `with_watermark`; the relation's name follows. Nobody reads these metrics."""


class Reader:
    """Opens sources in their real systems. Tests of a document replace it with a reader of test rows.

    Args:
        connections: the connections of the document.
    """

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def stream(self, session: SparkSession, source: Source, occurrence: str) -> DataFrame:
        """The rows of a streaming source; of a source with a decoder the undecoded records.

        `occurrence` is the name of the source's occurrence in the query.
        """
        if source.kafka:
            return _kafka(session, source.kafka, occurrence, self._connections.kafka[source.kafka.connection])
        if source.files:
            return _files(session, source, source.files, occurrence)
        if source.delta:
            delta_reader = session.readStream.format("delta").options(**delta.source_options(source.delta))
            return delta_reader.name(occurrence).load(source.delta.path)
        if source.spark:
            return connector.stream(session, source.spark, occurrence, self._connections.spark)
        kind, options = _transient(source)
        return session.readStream.format(kind).options(**options).name(occurrence).load()

    def table(self, session: SparkSession, source: Source) -> DataFrame:
        """The rows of a static source."""
        if source.static is None:
            raise ValueError(f"{source.name} is no table")
        return static.table(session, source.name, source.static, self._connections)


def relation(reader: Reader, session: SparkSession, source: Source, occurrence: str) -> DataFrame:
    """The rows that SQL reads under the source's name: decoded, without malformed records, with the watermark.

    Args:
        reader: opens the source.
        session: the query's session.
        source: the source.
        occurrence: name of the source's occurrence in the query; Spark stores the offsets under this name.
    """
    if source.static:
        return reader.table(session, source)
    frame = reader.stream(session, source, occurrence)
    if source.decoding:
        frame = _decode(frame, source, source.decoding, occurrence).rows()
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
    frame = frame.withWatermark(watermark.column, interval(watermark.delay))
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


def _kafka(
    session: SparkSession, source: KafkaSource, occurrence: str, connection: KafkaConnection
) -> DataFrame:
    options = kafka.source_options(source, connection)
    if source.bounded:
        return session.read.format("kafka").options(**options).load()
    return session.readStream.format("kafka").options(**options).name(occurrence).load()


def _files(session: SparkSession, source: Source, files: FilesSource, occurrence: str) -> DataFrame:
    options = source_options.files(files, occurrence)
    if source.decoding:
        return file_records.stream(session, files.path, occurrence, source.decoding, options)
    reader = session.readStream.format(files.format).options(**options)
    if files.format != "text":
        reader = reader.schema(schemas.columns(files.schema_, files.schema_file))
    return reader.name(occurrence).load(files.path)


def _transient(source: Source) -> tuple[str, dict[str, str]]:
    """Spark's format and options of a source that cannot be read again: generated rows or a socket."""
    if source.rate:
        return "rate", source_options.rate(source.rate)
    if source.rate_micro_batch:
        return "rate-micro-batch", source_options.rate_micro_batch(source.rate_micro_batch)
    if source.socket:
        return "socket", source_options.socket(source.socket)
    raise ValueError(f"{source.name} does not stream")
