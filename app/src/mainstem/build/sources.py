"""Sources of the document as DataFrames."""

from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from mainstem.build import decode
from mainstem.spec.base import interval
from mainstem.spec.connections import KafkaConnection
from mainstem.spec.sources import FilesSource, KafkaSource, Source, StaticSource


# Kafka's own defaults keep a query waiting for minutes before an unreachable broker is an error.
CONSUMER_PATIENCE = {"kafka.default.api.timeout.ms": "20000", "kafka.request.timeout.ms": "15000"}


def relation(
    session: SparkSession, source: Source, occurrence: str, connections: Mapping[str, KafkaConnection]
) -> DataFrame:
    """What SQL reads under the source's name: decoded, without bad records, with its watermark.

    Args:
        session: the query's session.
        source: the source.
        occurrence: its name within the query, under which Spark keeps its offsets.
        connections: Kafka connections by name.
    """
    if source.static:
        return _static(session, source.static)
    frame = _raw(session, source, occurrence, connections)
    if source.decode and source.decode.json_:
        frame = decode.good(decode.parsed(frame, source.decode.json_, occurrence), source.decode)
    elif source.files:
        frame = frame.drop("file")
    if source.watermark:
        frame = frame.withWatermark(source.watermark.column, interval(source.watermark.delay))
    return frame


def dead_letters(
    session: SparkSession, source: Source, occurrence: str, connections: Mapping[str, KafkaConnection]
) -> DataFrame:
    """The records of a source that do not parse."""
    if source.decode is None or source.decode.json_ is None:
        raise ValueError(f"{source.name} decodes nothing")
    return decode.bad(
        decode.parsed(_raw(session, source, occurrence, connections), source.decode.json_, occurrence)
    )


def _raw(
    session: SparkSession, source: Source, occurrence: str, connections: Mapping[str, KafkaConnection]
) -> DataFrame:
    if source.kafka:
        return _kafka(session, source.kafka, occurrence, connections[source.kafka.connection])
    if source.files:
        return _files(session, source.files, occurrence)
    rate = source.rate
    if rate is None:
        raise ValueError(f"{source.name} does not stream")
    reader = session.readStream.format("rate").option("rowsPerSecond", rate.rows_per_second)
    return reader.name(occurrence).load()


def kafka_options(source: KafkaSource, connection: KafkaConnection) -> dict[str, str]:
    """The options of Spark's Kafka source; pure."""
    import json

    options = CONSUMER_PATIENCE | {f"kafka.{key}": value for key, value in connection.properties.items()}
    options |= dict(source.options)
    options["kafka.bootstrap.servers"] = connection.bootstrap_servers
    if source.subscribe:
        options["subscribe"] = ",".join(source.subscribe)
    elif source.subscribe_pattern:
        options["subscribePattern"] = source.subscribe_pattern
    elif source.assign:
        options["assign"] = json.dumps({topic: list(parts) for topic, parts in source.assign.items()})
    options["startingOffsets"] = source.starting_offsets
    options["failOnDataLoss"] = str(source.fail_on_data_loss).lower()
    options["includeHeaders"] = str(source.include_headers).lower()
    if source.max_offsets_per_trigger:
        options["maxOffsetsPerTrigger"] = str(source.max_offsets_per_trigger)
    if source.min_partitions:
        options["minPartitions"] = str(source.min_partitions)
    return options


def _kafka(
    session: SparkSession, source: KafkaSource, occurrence: str, connection: KafkaConnection
) -> DataFrame:
    options = kafka_options(source, connection)
    return session.readStream.format("kafka").options(**options).name(occurrence).load()


def _files(session: SparkSession, source: FilesSource, occurrence: str) -> DataFrame:
    reader = session.readStream.format(source.format).options(**source.options)
    if source.schema_ is not None:
        reader = reader.schema(source.schema_)
    if source.max_files_per_trigger:
        reader = reader.option("maxFilesPerTrigger", source.max_files_per_trigger)
    if source.path_glob_filter:
        reader = reader.option("pathGlobFilter", source.path_glob_filter)
    if source.latest_first:
        reader = reader.option("latestFirst", value=True)
    return reader.name(occurrence).load(source.path).withColumn("file", F.col("_metadata.file_path"))


def _static(session: SparkSession, source: StaticSource) -> DataFrame:
    if source.delta:
        reader = session.read.format("delta")
        if source.delta.version is not None:
            reader = reader.option("versionAsOf", source.delta.version)
        return reader.load(source.delta.path)
    kind = source.choice()
    table = source.member(kind)
    reader = session.read.format(kind).options(**table.options)
    if source.csv:
        reader = reader.option("header", source.csv.header)
    if getattr(table, "schema_", None) is not None:
        reader = reader.schema(table.schema_)
    return reader.load(table.path)
