"""Every map of options and arguments that is passed through, and what is owned in each: it has a field, or is Mainstem's."""

from collections.abc import Iterator, Mapping
from typing import Final

from mainstem.language.model.connectors.file_source import DECODED, LAYOUT
from mainstem.language.model.sinks import Sink
from mainstem.language.model.sources import Source
from mainstem.language.rules.context import Context
from mainstem.language.yaml.yamltext import Path


OptionMap = tuple[Path, Mapping[str, str], Mapping[str, str]]
"""Where a map of options stands, what it holds, and what is owned there (option -> what to use instead)."""

_KAFKA_SOURCE: Final = {
    "subscribe": "subscribe",
    "subscribepattern": "subscribePattern",
    "assign": "assign",
    "startingoffsets": "startingOffsets",
    "startingtimestamp": "startingTimestamp",
    "startingoffsetsbytimestamp": "startingOffsetsByTimestamp",
    "startingoffsetsbytimestampstrategy": "startingOffsetsByTimestampStrategy",
    "endingoffsets": "endingOffsets",
    "endingtimestamp": "endingTimestamp",
    "endingoffsetsbytimestamp": "endingOffsetsByTimestamp",
    "maxoffsetspertrigger": "maxOffsetsPerTrigger",
    "minoffsetspertrigger": "minOffsetsPerTrigger",
    "maxtriggerdelay": "maxTriggerDelay",
    "minpartitions": "minPartitions",
    "maxrecordsperpartition": "maxRecordsPerPartition",
    "failondataloss": "failOnDataLoss",
    "includeheaders": "includeHeaders",
}
_KAFKA_SINK: Final = {"topic": "topic", "checkpointlocation": "checkpoints"}
_FILES: Final = {
    "path": "path",
    "maxbytespertrigger": "maxBytesPerTrigger",
    "maxfileage": "maxFileAge",
    "filenameonly": "fileNameOnly",
    "cleansource": "cleanSource",
    "sourcearchivedir": "cleanSource.archive",
    "maxfilespertrigger": "maxFilesPerTrigger",
    "latestfirst": "latestFirst",
    "pathglobfilter": "pathGlobFilter",
    "ignoremissingfiles": "failOnDataLoss",
    "mainstemsource": "",
    "mainstemfailondataloss": "failOnDataLoss",
    "mainstemkind": "",
    "mainstemcolumns": "schema",
}
_TEXT_FILES: Final = _FILES | {"ignorecorruptfiles": "onMalformedRecord"}
_DELTA_SOURCE: Final = {
    "path": "path",
    "maxfilespertrigger": "maxFilesPerTrigger",
    "maxbytespertrigger": "maxBytesPerTrigger",
    "startingversion": "startingVersion",
    "startingtimestamp": "startingTimestamp",
    "ignoredeletes": "ignoreDeletes",
    "ignorechanges": "ignoreChanges",
    "ignorefiledeletion": "ignoreDeletes",
    "skipchangecommits": "skipChangeCommits",
    "readchangefeed": "readChangeFeed",
    "readchangedata": "readChangeFeed",
    "excluderegex": "excludeRegex",
    "failondataloss": "failOnDataLoss",
}
_TABLE: Final = {"path": "path"}
_JDBC_TABLE: Final = {"url": "the connection's url", "dbtable": "table", "query": "query", "user": "the connection's secretRef"}  # fmt: skip
_JDBC: Final = {"url": "url", "dbtable": "", "query": "", "user": "secretRef"}
_WRITER: Final = {
    "path": "path",
    "checkpointlocation": "checkpoints",
    "txnappid": "",
    "txnversion": "",
    "partitionby": "partitionBy",
}
_DELTA_SINK: Final = {"mergeschema": "mergeSchema", "overwriteschema": "overwriteSchema"}
_PARSED: Final = {"mode": "onMalformedRecord", "columnnameofcorruptrecord": "onMalformedRecord"}
_OF_FILES: Final = dict.fromkeys(sorted(LAYOUT - {"comment"}), "options of files")
_DECODED_FILES: Final = (
    _TEXT_FILES | _PARSED | {"wholetext": "multiLine", "maxcolumns": "", "inferschema": "schema"}
)
# A line that does not parse ends the query: rows of a side input are looked up, and a missing one is seen by nobody.
_DECODED_TABLE: Final = _TABLE | dict.fromkeys(
    ("mode", "columnnameofcorruptrecord", "ignorecorruptfiles", "wholetext", "maxcolumns"), ""
)
_CSV_TABLE: Final = _DECODED_TABLE | {"header": "header"}
_DECODE: Final = {
    "json": _PARSED | _OF_FILES,
    "csv": _PARSED | _OF_FILES | {"maxcolumns": ""},
    "avro": {"mode": "onMalformedRecord", "avroschema": "schema", "avroschemaurl": "schemaFile"},
}
# The sweep knows files by their endings.
FILE_WRITER: Final = _WRITER | {"extension": ""}
_JDBC_WRITER: Final = {
    "url": "the connection's url",
    "dbtable": "table",
    "user": "the connection's secretRef",
    "driver": "",
    "truncate": "",
    "isolationlevel": "",
    "createtableoptions": "",
    "createtablecolumntypes": "",
}
_CONNECTOR_WRITER: Final = {"checkpointlocation": "checkpoints"}
_SERVERS: Final = {"bootstrap.servers": "the connection's bootstrapServers"}
# Spark's source and sink set these themselves, and refuse to be told.
_CONSUMER: Final = {
    "group.id": "groupIdPrefix, among a source's options",
    "auto.offset.reset": "startingOffsets",
    "enable.auto.commit": "",
    "isolation.level": "isolationLevel of a source",
    "key.deserializer": "",
    "value.deserializer": "",
}
_PRODUCER: Final = {"key.serializer": "", "value.serializer": ""}
_KAFKA_CLIENT: Final = {"bootstrap.servers": "bootstrapServers"} | _CONSUMER | _PRODUCER


def _prefixed(properties: Mapping[str, str]) -> dict[str, str]:
    return {f"kafka.{key}": instead for key, instead in properties.items()}


_OF_CONSUMER: Final = _prefixed(_SERVERS | _CONSUMER | {"interceptor.classes": ""})
_OF_PRODUCER: Final = _prefixed(_SERVERS | _PRODUCER)


def maps(context: Context) -> Iterator[OptionMap]:
    """Every map of options and arguments that is passed through: where, what is given, what is owned there."""
    yield from _connection_maps(context)
    for at, connector in context.spec.connectors():
        yield (*at, "options"), connector.options, _CONNECTOR_WRITER if at[0] == "queries" else {}
    for index, source in enumerate(context.spec.sources):
        yield from _source_maps(("sources", index), source)
    for index, view in enumerate(context.spec.views):
        if view.python:
            yield ("views", index, "python", "arguments"), view.python.arguments, {}
        if view.state:
            yield ("views", index, "state", "arguments"), view.state.arguments, {}
    for index, query in enumerate(context.spec.queries):
        for place, sink in enumerate(query.to):
            yield from _sink_maps(("queries", index, "to", place), sink)


def _connection_maps(context: Context) -> Iterator[OptionMap]:
    for index, connection in enumerate(context.spec.connections):
        if connection.kafka:
            yield ("connections", index, "kafka", "properties"), connection.kafka.properties, _KAFKA_CLIENT
        if connection.jdbc:
            yield ("connections", index, "jdbc", "properties"), connection.jdbc.properties, _JDBC
        if told := connection.spark or connection.catalog:
            yield ("connections", index, connection.choice(), "options"), told.options, {}


def _source_maps(at: Path, source: Source) -> Iterator[OptionMap]:
    if source.kafka:
        yield (*at, "kafka", "options"), source.kafka.options, _KAFKA_SOURCE | _OF_CONSUMER
    if source.files:
        yield (*at, "files", "options"), source.files.options, _of_files(source)
    if source.delta:
        yield (*at, "delta", "options"), source.delta.options, _DELTA_SOURCE
    if source.decode and (kind := source.decode.choice()) in _DECODE:
        yield (*at, "decode", kind, "options"), source.decode.member(kind).options, _DECODE[kind]
    if source.static and not source.static.spark:
        kind = source.static.choice()
        owned = {"csv": _CSV_TABLE, "json": _DECODED_TABLE, "jdbc": _JDBC_TABLE}.get(kind, _TABLE)
        yield (*at, "static", kind, "options"), getattr(source.static.member(kind), "options", {}), owned


def _of_files(source: Source) -> Mapping[str, str]:
    if source.files and source.files.format in DECODED:
        return _DECODED_FILES
    return _FILES if source.decode is None else _TEXT_FILES


def _sink_maps(at: Path, sink: Sink) -> Iterator[OptionMap]:
    if sink.kafka:
        yield (*at, "kafka", "options"), sink.kafka.options, _KAFKA_SINK | _OF_PRODUCER
    if sink.delta:
        yield (*at, "delta", "options"), sink.delta.options, _WRITER | _DELTA_SINK
    if sink.files:
        yield (*at, sink.choice(), "options"), sink.files.options, FILE_WRITER
    if sink.jdbc:
        yield (*at, "jdbc", "options"), sink.jdbc.options, _JDBC_WRITER
    if sink.python:
        yield (*at, "python", "arguments"), sink.python.arguments, {}
