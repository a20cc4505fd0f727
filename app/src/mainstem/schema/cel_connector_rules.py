"""The CEL rules of connections, sources and sinks."""

from typing import Final

from mainstem.language.model.connections import KafkaSecurity
from mainstem.language.model.connectors.delta import DeltaSource
from mainstem.language.model.connectors.file_source import FilesSource
from mainstem.language.model.connectors.kafka_sink import KafkaSink
from mainstem.language.model.connectors.kafka_source import KafkaSource
from mainstem.language.model.connectors.static_sources import DeltaTable, StaticSource
from mainstem.language.model.sources import Source
from mainstem.language.rules.connectors import kafka
from mainstem.schema.cel import CelRule, CelRules


_BOUNDED: Final = " || ".join(f"has(self.{key})" for key in kafka.ENDS["ending"])


CONNECTOR_RULES: Final[CelRules] = {
    KafkaSecurity: (CelRule("has(self.sasl) || has(self.tls)", "at least one of sasl, tls must be given"),),
    Source: (
        CelRule(
            "!has(self.decode) || has(self.kafka) || has(self.files)",
            "only kafka and files take decode; other sources already have columns",
            ".decode",
        ),
        CelRule(
            "!has(self.decode) || !has(self.files) || self.files.format == 'text'",
            "decode needs files with format: text; files of another format already have columns",
            ".decode",
        ),
        CelRule(
            "!has(self.decode) || !has(self.files) || self.decode.keep.size() == 0",
            "decode.keep needs a Kafka source; only Kafka records have these columns",
            ".decode.keep",
        ),
        CelRule(
            "!has(self.decode) || !has(self.files) || self.decode.onTombstone != 'skip'",
            "decode.onTombstone needs a Kafka source; only Kafka has records without a value",
            ".decode.onTombstone",
        ),
        CelRule(
            "!has(self.decode) || !has(self.files) || !has(self.decode.avro)",
            "decode.avro needs a Kafka source; lines of text cannot hold Avro records",
            ".decode.avro",
        ),
        CelRule(
            "!has(self.watermark) || !has(self.static)",
            "a static source cannot have a watermark",
            ".watermark",
        ),
    ),
    KafkaSource: (
        *(
            CelRule(f"[{given}].filter(x, x).size() <= 1", f"at most one of {', '.join(keys)} may be given")
            for keys in kafka.ENDS.values()
            for given in [", ".join(f"has(self.{key})" for key in keys)]
        ),
        CelRule(
            f"!({_BOUNDED}) || !({' || '.join(f'has(self.{key})' for key in kafka.STREAMS_ONLY)})",
            "a source with an end is read in one batch; remove the limits of batches",
        ),
        CelRule(
            "!has(self.maxTriggerDelay) || has(self.minOffsetsPerTrigger)",
            "maxTriggerDelay needs minOffsetsPerTrigger",
            ".maxTriggerDelay",
        ),
        CelRule(
            "!has(self.minOffsetsPerTrigger) || !has(self.maxOffsetsPerTrigger) || "
            "self.minOffsetsPerTrigger <= self.maxOffsetsPerTrigger",
            "minOffsetsPerTrigger is greater than maxOffsetsPerTrigger",
            ".minOffsetsPerTrigger",
        ),
    ),
    FilesSource: (
        CelRule(
            "(self.format == 'text') != (has(self.schema) || has(self.schemaFile))",
            "csv, json, orc and parquet need a schema; text has only the column value and takes no schema",
            ".schema",
        ),
        CelRule(
            "!has(self.schema) || !has(self.schemaFile)",
            "set only one of schema and schemaFile",
            ".schemaFile",
        ),
        CelRule(
            "!has(self.onMalformedRecord) || self.format in ['csv', 'json']",
            "files.onMalformedRecord needs csv or json; for lines of text set it in decode",
            ".onMalformedRecord",
        ),
        CelRule(
            "!self.allowRecordsWithoutColumns || self.format == 'json'",
            "files.allowRecordsWithoutColumns needs json; for lines of text set it in decode.json",
            ".allowRecordsWithoutColumns",
        ),
        CelRule(
            "!has(self.maxFilesPerTrigger) || !has(self.maxBytesPerTrigger)",
            "set only one of maxFilesPerTrigger and maxBytesPerTrigger",
            ".maxBytesPerTrigger",
        ),
    ),
    DeltaSource: (
        CelRule(
            "!has(self.startingVersion) || !has(self.startingTimestamp)",
            "startingVersion and startingTimestamp both set the start of the stream; set only one of them",
            ".startingTimestamp",
        ),
        CelRule(
            "[self.readChangeFeed, self.skipChangeCommits, self.ignoreChanges, self.ignoreDeletes].filter(x, x).size() <= 1",
            "set only one of readChangeFeed, skipChangeCommits, ignoreChanges and ignoreDeletes",
        ),
    ),
    StaticSource: (
        CelRule(
            "!has(self.refresh) || !has(self.delta) || (!has(self.delta.version) && !has(self.delta.timestamp))",
            "a fixed version of a table never changes; remove refresh or the version",
            ".refresh",
        ),
    ),
    DeltaTable: (
        CelRule(
            "!has(self.version) || !has(self.timestamp)",
            "version and timestamp both choose the version of the table; set only one of them",
            ".timestamp",
        ),
    ),
    KafkaSink: (
        CelRule(
            "!(has(self.key) && has(self.keyColumn)) && !(has(self.value) && has(self.valueColumn)) && "
            "!(has(self.headers) && has(self.headersColumn))",
            "key, value and headers may each have only one of the two fields, for example key or keyColumn",
        ),
    ),
}
"""Model -> the rules that the API server checks on each object of this model."""
