"""Rules between fields that the API server can check alone, in CEL.

Each is the counterpart of a rule in `mainstem.language.rules`, and only those stand here that are certain without reading
SQL or filling in parameters, which never stand in names. The bounds of lists and names keep them within the server's
cost budget.
"""

from typing import Final, NamedTuple

from mainstem.language.base import Model
from mainstem.language.model.connections import KafkaSecurity
from mainstem.language.model.delta import DeltaSource
from mainstem.language.model.deployment import DynamicAllocation, Executors, Resources
from mainstem.language.model.file_source import FilesSource
from mainstem.language.model.functions import JavaFunction
from mainstem.language.model.kafka_source import KafkaSource
from mainstem.language.model.pipeline import PipelineName, PipelineSpec, SparkSettings, StreamingPipeline
from mainstem.language.model.queries import Query
from mainstem.language.model.sinks import FILE_FORMATS, KafkaSink
from mainstem.language.model.sources import Source
from mainstem.language.model.static_sources import DeltaTable, StaticSource
from mainstem.language.model.views import Stateful
from mainstem.language.rules.connectors import kafka
from mainstem.language.rules.connectors.owned_options import OWNED_CONF, OWNED_PREFIXES


class CelRule(NamedTuple):
    """One rule: what must hold of `self`, what to say where it does not, and the field below `self` to blame."""

    rule: str
    message: str
    field: str = ""

    def render(self) -> dict[str, str]:
        """The rule as an entry of `x-kubernetes-validations`."""
        blamed = {"fieldPath": self.field} if self.field else {}
        return {"rule": self.rule, "message": self.message, **blamed}


def escaped(key: str) -> str:
    """A field's name in CEL, as Kubernetes has it for words that CEL keeps to itself: `__function__`."""
    return f"__{key}__" if key in _RESERVED else key


def exactly_one(keys: list[str]) -> CelRule:
    """A union: exactly one of the keys is given."""
    if len(keys) == 1:
        return CelRule(f"has(self.{escaped(keys[0])})", f"exactly one of {keys[0]} must be given")
    given = ", ".join(f"has(self.{escaped(key)})" for key in keys)
    return CelRule(f"[{given}].filter(x, x).size() == 1", f"exactly one of {', '.join(keys)} must be given")


_RESERVED: Final = frozenset({"true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if", "import", "let", "loop", "package", "namespace", "return", "var", "void", "while"})  # fmt: skip
"""Words that are no names in CEL."""
_NAME: Final = PipelineName.__metadata__[0]  # type: ignore[attr-defined]
_DEAD: Final = (
    "(has(s.decode) ? s.decode.onMalformedRecord == 'deadLetter' : has(s.files) && has(s.files.onMalformedRecord) && "
    "s.files.onMalformedRecord == 'deadLetter')"
)
_CHECKPOINT: Final = "(has({0}.checkpoint.id) ? {0}.checkpoint.id : {0}.name)"
_SAME_CHECKPOINT: Final = f"{_CHECKPOINT.format('q')} == {_CHECKPOINT.format('o')} && q.checkpoint.generation == o.checkpoint.generation"
_BOUNDED: Final = " || ".join(f"has(self.{key})" for key in kafka.ENDS["ending"])
_MERGE: Final = "t, has(t.delta) && has(t.delta.merge)"
_FILES: Final = " || ".join(f"has(t.{kind})" for kind in FILE_FORMATS)


RULES: Final[dict[type[Model], tuple[CelRule, ...]]] = {
    StreamingPipeline: (
        CelRule(
            f"self.metadata.name.size() <= {_NAME.max_length} && self.metadata.name.matches('{_NAME.pattern}')",
            f"metadata.name must be a DNS label of at most {_NAME.max_length} characters, a letter first",
        ),
    ),
    PipelineSpec: (
        CelRule(
            "self.queries.all(q, self.sources.exists(s, s.name == q.from) || self.views.exists(v, v.name == q.from || v.name + '_quarantine' == q.from) || "
            f"self.sources.exists(s, {_DEAD} && s.name + '_dead_letters' == q.from))",
            "each `from` names a source, a view, a view's quarantine, or dead letters of a source (onMalformedRecord: deadLetter)",
            ".queries",
        ),
        CelRule(
            "self.sources.all(s, !has(s.kafka) || "
            "self.connections.exists(c, c.name == s.kafka.connection && has(c.kafka)))",
            "each Kafka source names a Kafka connection",
            ".sources",
        ),
        CelRule(
            "self.sources.all(s, !has(s.static) || !has(s.static.jdbc) || "
            "self.connections.exists(c, c.name == s.static.jdbc.connection && has(c.jdbc)))",
            "each JDBC table names a JDBC connection",
            ".sources",
        ),
        CelRule(
            "self.queries.all(q, q.to.all(t, !has(t.jdbc) || "
            "self.connections.exists(c, c.name == t.jdbc.connection && has(c.jdbc))))",
            "each JDBC sink names a JDBC connection",
            ".queries",
        ),
        CelRule(
            "self.queries.all(q, q.to.all(t, !has(t.kafka) || "
            "self.connections.exists(c, c.name == t.kafka.connection && has(c.kafka))))",
            "each Kafka sink names a Kafka connection",
            ".queries",
        ),
        CelRule(
            "self.views.all(v, !self.sources.exists(s, s.name == v.name))",
            "a view and a source have the same name; SQL could not tell them apart",
            ".views",
        ),
        CelRule(
            f"self.sources.all(s, !({_DEAD}) || (!self.sources.exists(o, o.name == s.name + '_dead_letters') && "
            "!self.views.exists(v, v.name == s.name + '_dead_letters')))",
            "<source>_dead_letters is the relation of a source's dead letters, and the name is taken",
            ".sources",
        ),
        CelRule(
            f"self.queries.all(q, self.queries.exists_one(o, {_SAME_CHECKPOINT}))",
            "two queries share a checkpoint; give each its own checkpoint.id",
            ".queries",
        ),
        CelRule(
            "!has(self.schedule) || self.queries.all(q, !has(q.trigger) || has(q.trigger.availableNow) || has(q.trigger.once))",
            "a schedule is for pipelines that come to an end: give a query over a stream trigger: {availableNow: true}",
            ".schedule",
        ),
    ),
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
    KafkaSecurity: (CelRule("has(self.sasl) || has(self.tls)", "at least one of sasl, tls must be given"),),
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
    Query: (
        CelRule(
            "!has(self.trigger) || !has(self.trigger.realTime) || self.outputMode == 'update'",
            "realTime writes in update mode only; use outputMode: update",
            ".outputMode",
        ),
        CelRule(
            "!has(self.asyncProgressTracking) || !has(self.trigger) || has(self.trigger.processingTime)",
            "asyncProgressTracking is for the default trigger and processingTime",
            ".asyncProgressTracking",
        ),
        CelRule(
            "self.outputMode != 'update' || self.to.all(t, !has(t.jdbc) || has(t.jdbc.upsert))",
            "rows that changed replace those of their keys; give the JDBC sink upsert: {keys: [...]}",
            ".outputMode",
        ),
        CelRule(
            "self.outputMode == 'append' || !self.to.exists(t, has(t.jdbc) && t.jdbc.delivery == 'atLeastOnce')",
            "delivery: atLeastOnce appends rows; use append",
            ".outputMode",
        ),
        CelRule(
            "self.to.size() == 1 || !self.to.exists(t, has(t.spark) && t.spark.mode == 'stream')",
            "beside other sinks a connector writes batches; use mode: batch",
            ".to",
        ),
        CelRule(
            "self.outputMode != 'complete' || !self.to.exists(t, has(t.jdbc) && has(t.jdbc.upsert))",
            "upsert writes rows that are new or changed; complete replaces all rows",
            ".outputMode",
        ),
        CelRule(
            f"self.outputMode == 'append' || !self.to.exists(t, {_FILES})",
            "a folder of files can only be appended to; use delta",
            ".outputMode",
        ),
        CelRule(
            "self.outputMode != 'update' || self.to.all(t, !has(t.delta) || has(t.delta.merge))",
            "Delta has no update mode; give the sink merge: {keys: [...]} to upsert",
            ".outputMode",
        ),
        CelRule(
            f"self.outputMode != 'complete' || !self.to.exists({_MERGE})",
            "merge upserts rows that are new or changed; complete replaces the table",
            ".outputMode",
        ),
        CelRule(
            f"!self.to.exists({_MERGE} && t.delta.options.size() > 0)",
            "options go to Delta's streaming writer, which a merge does not use",
            ".to",
        ),
    ),
    JavaFunction: (
        CelRule(
            "!self.aggregate || !has(self.returns)",
            "the class of an aggregate says its type itself",
            ".returns",
        ),
    ),
    Stateful: (
        CelRule(
            "has(self.__function__) == has(self.stateSchema)",
            "stateSchema goes with a function, and a function needs it",
            ".stateSchema",
        ),
        CelRule(
            "!has(self.__function__) || !(has(self.timeMode) || has(self.eventTimeColumn) || has(self.initialState) || self.pandas)",
            "timeMode, eventTimeColumn, initialState and pandas go with a processor",
            ".function",
        ),
        CelRule("!has(self.processor) || !has(self.timeout)", "timeout goes with a function", ".timeout"),
    ),
    Resources: (
        CelRule(
            "'memory' in self.limits",
            "limits.memory is missing; the Java heap is derived from it, and resources are replaced as a whole",
            ".limits",
        ),
    ),
    Executors: (
        CelRule(
            "!has(self.dynamicAllocation) || self.instances <= self.dynamicAllocation.maxExecutors",
            "instances is above dynamicAllocation.maxExecutors",
            ".instances",
        ),
    ),
    DynamicAllocation: (
        CelRule(
            "self.minExecutors <= self.maxExecutors", "minExecutors is above maxExecutors", ".minExecutors"
        ),
    ),
    SparkSettings: (
        CelRule("self.conf.all(k, k.startsWith('spark.'))", "Spark properties start with spark.", ".conf"),
        CelRule(
            f"!self.conf.exists(k, k in {sorted(OWNED_CONF)} || {sorted(OWNED_PREFIXES)}.exists(p, k.startsWith(p)))",
            "a property that Mainstem owns cannot be set here",
            ".conf",
        ),
    ),
}
"""Model -> the rules that the server checks on each object of it."""
