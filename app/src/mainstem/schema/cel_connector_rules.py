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
            "decode is for kafka and files; other sources have columns already",
            ".decode",
        ),
        CelRule(
            "!has(self.decode) || !has(self.files) || self.files.format == 'text'",
            "decode reads lines: format: text; files of another format have columns already",
            ".decode",
        ),
        CelRule(
            "!has(self.decode) || !has(self.files) || self.decode.keep.size() == 0",
            "only Kafka records have the columns of decode.keep",
            ".decode.keep",
        ),
        CelRule(
            "!has(self.decode) || !has(self.files) || !has(self.decode.avro)",
            "Avro records are bytes, which lines of text are not; they come from Kafka",
            ".decode.avro",
        ),
        CelRule(
            "!has(self.watermark) || !has(self.static)", "a static source has no watermark", ".watermark"
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
            "a source with an end is read at once, without batches to limit",
        ),
        CelRule(
            "!has(self.maxTriggerDelay) || has(self.minOffsetsPerTrigger)",
            "nothing is waited for without minOffsetsPerTrigger",
            ".maxTriggerDelay",
        ),
        CelRule(
            "!has(self.minOffsetsPerTrigger) || !has(self.maxOffsetsPerTrigger) || "
            "self.minOffsetsPerTrigger <= self.maxOffsetsPerTrigger",
            "minOffsetsPerTrigger is above maxOffsetsPerTrigger",
            ".minOffsetsPerTrigger",
        ),
    ),
    FilesSource: (
        CelRule(
            "(self.format == 'text') != (has(self.schema) || has(self.schemaFile))",
            "csv, json, orc and parquet need a schema; text has the one column value and takes none",
            ".schema",
        ),
        CelRule(
            "!has(self.schema) || !has(self.schemaFile)", "give one of schema and schemaFile", ".schemaFile"
        ),
        CelRule(
            "!has(self.onMalformedRecord) || self.format in ['csv', 'json']",
            "onMalformedRecord is for csv and json; lines of text have it in decode",
            ".onMalformedRecord",
        ),
        CelRule(
            "!has(self.maxFilesPerTrigger) || !has(self.maxBytesPerTrigger)",
            "give one of maxFilesPerTrigger and maxBytesPerTrigger",
            ".maxBytesPerTrigger",
        ),
    ),
    DeltaSource: (
        CelRule(
            "!has(self.startingVersion) || !has(self.startingTimestamp)",
            "startingVersion and startingTimestamp both say where the stream starts; give one",
            ".startingTimestamp",
        ),
        CelRule(
            "[self.readChangeFeed, self.skipChangeCommits, self.ignoreChanges, self.ignoreDeletes].filter(x, x).size() <= 1",
            "of readChangeFeed, skipChangeCommits, ignoreChanges and ignoreDeletes one is given",
        ),
    ),
    StaticSource: (
        CelRule(
            "!has(self.refresh) || !has(self.delta) || (!has(self.delta.version) && !has(self.delta.timestamp))",
            "a fixed version of a table never changes; leave refresh or the version out",
            ".refresh",
        ),
    ),
    DeltaTable: (
        CelRule(
            "!has(self.version) || !has(self.timestamp)",
            "a Delta table is read at a version or at a time, not at both",
            ".timestamp",
        ),
    ),
    KafkaSink: (
        CelRule(
            "!(has(self.key) && has(self.keyColumn)) && !(has(self.value) && has(self.valueColumn)) && "
            "!(has(self.headers) && has(self.headersColumn))",
            "key, value and headers each come from one field",
        ),
    ),
}
"""Model -> the rules that the API server checks on each object of this model."""
