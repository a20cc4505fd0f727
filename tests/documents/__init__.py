"""Small documents for every check of documents: our own reader, the API server, the JSON Schema.

`VALID` are files, so that they can be read and applied by hand. `INVALID` are each one edit away from a valid one and
refused by both our reader and the API server; `OURS_ONLY` likewise, but the server cannot know what is wrong, so that
on a cluster the operator reports it; `MENDED` likewise, but the server makes them valid.
"""

import copy
from pathlib import Path
from typing import Any, Final, NamedTuple

from mainstem.language.yaml.yamltext import parse


VALID: Final = {
    path.stem: path.read_text(encoding="utf-8")
    for path in sorted((Path(__file__).parent / "valid").iterdir())
}
DROP: Final = object()
"""An edit to this takes the field away."""


class Edit(NamedTuple):
    """A document made invalid.

    Attributes:
        base: name of a valid document.
        path: where it is edited, below `spec` unless it starts with `metadata`; `~` stands for a slash in a key.
        value: what is put there.
        reason: the reason with which Mainstem rejects it.
        server: part of the message of the API server.
    """

    base: str
    path: str
    value: Any
    reason: str
    server: str = ""

    @property
    def id(self) -> str:
        """A name for the test's report."""
        value = "dropped" if self.value is DROP else str(self.value)[:24]
        return f"{self.base}:{self.path}:{value}"

    def document(self) -> dict[str, Any]:
        """The edited document."""
        data = document(self.base)
        pieces = [piece.replace("~", "/") for piece in self.path.split("/")]
        *above, last = [int(piece) if piece.isdigit() else piece for piece in pieces]
        place: Any = data if above[:1] == ["metadata"] else data["spec"]
        for piece in above:
            place = place[piece]
        if self.value is DROP:
            del place[last]
        elif isinstance(place, list) and last == len(place):
            place.append(self.value)
        else:
            place[last] = self.value
        return data


def document(name: str) -> dict[str, Any]:
    """A valid document as data."""
    data: dict[str, Any] = copy.deepcopy(parse(VALID[name])[0].data)
    return data


_KAFKA = {"bootstrapServers": "b:9092"}
_ONE_OF = "exactly one of"

INVALID: Final = [
    Edit("smallest", "sources/0/rate", DROP, "NotExactlyOne", f"{_ONE_OF} kafka, files, delta, rate, rateMicroBatch, socket, spark, static"),
    Edit("smallest", "queries/0/to/0/delta", {"path": "/x"}, "NotExactlyOne", f"{_ONE_OF} kafka, delta, parquet, orc"),
    Edit("s3-of-the-cloud", "connections/0/kafka", _KAFKA, "NotExactlyOne", f"{_ONE_OF} kafka, s3, jdbc"),
    Edit("kafka-to-parquet", "sources/0/kafka/subscribePattern", "d.*", "NotExactlyOne", f"{_ONE_OF} subscribe, "),
    Edit("static-csv", "sources/1/static/csv", DROP, "NotExactlyOne", f"{_ONE_OF} csv, json, orc, parquet, text, delta"),
    Edit("files-cleaned", "sources/0/files/schema", "a INT", "FieldsConflict", "set only one of schema and schemaFile"),
    Edit("files-cleaned", "sources/0/files/schemaFile", DROP, "SchemaNeeded", "csv, json, orc and parquet need a schema"),
    Edit("files-cleaned", "sources/0/files/maxFilesPerTrigger", 1, "FieldsConflict", "set only one of maxFilesPerTrigger and"),
    Edit("files-cleaned", "sources/1/files/cleanSource/archive", "/x", "NotExactlyOne", f"{_ONE_OF} archive, delete"),
    Edit("files-cleaned", "sources/1/files/cleanSource/delete", False, "InvalidValue", "Unsupported value: false"),
    Edit("generated", "sources/1/rateMicroBatch/rowsPerBatch", DROP, "MissingField", "rowsPerBatch: Required value"),
    Edit("generated", "sources/2/socket/port", 0, "OutOfRange", "should be greater than or equal to 1"),
    Edit("static-tables", "sources/4/static/jdbc/query", "SELECT 1", "NotExactlyOne", f"{_ONE_OF} table, query"),
    Edit("static-tables", "sources/2/static/delta/version", 3, "FieldsConflict", "version and timestamp both choose the version"),
    Edit("static-tables", "sources/2/static/refresh", "1 hour", "RefreshNotAllowed", "a fixed version of a table never changes"),
    Edit("static-tables", "sources/4/static/jdbc/connection", "shops", "UnknownConnection", "each JDBC table must name a JDBC connection"),
    Edit("static-tables", "connections/0", {"name": "shop", "kafka": _KAFKA}, "WrongConnection", "each JDBC table must name a JDBC connection"),
    Edit("files-decoded", "sources/0/decode/json", DROP, "NotExactlyOne", f"{_ONE_OF} json, csv, avro, text"),
    Edit("decode-formats", "sources/0/decode/avro/schemaFile", "/x.avsc", "NotExactlyOne", f"{_ONE_OF} schema, schemaFile"),
    Edit("decode-formats", "sources/1/decode/csv/schemaFile", DROP, "NotExactlyOne", f"{_ONE_OF} schema, schemaFile"),
    Edit("files-decoded", "sources/0/decode", {"avro": {"schemaFile": "/x.avsc"}}, "DecodeNotAllowed", "decode.avro needs a Kafka source"),
    Edit("kafka-to-kafka", "queries/0/trigger", {}, "NotExactlyOne", f"{_ONE_OF} processingTime, availableNow"),
    Edit("low-latency", "queries/0/outputMode", "append", "TriggerNotForOutputMode", "the trigger realTime supports only update mode"),
    Edit("low-latency", "queries/2/trigger", {"availableNow": True}, "AsyncProgressNotAllowed", "asyncProgressTracking supports only the default trigger"),
    Edit("smallest", "sources/0/rate/rows", 5, "UnknownField", 'unknown field "spec.sources[0].rate.rows"'),
    Edit("smallest", "checkpoints", DROP, "MissingField", "spec.checkpoints: Required value"),
    Edit("kafka-to-kafka", "queries/0/to/0/kafka/topic", DROP, "NotExactlyOne", f"{_ONE_OF} topic, topicColumn"),
    Edit("smallest", "sources/0/rate/rowsPerSecond", "5", "InvalidType", "must be of type integer"),
    Edit("kafka-assign", "queries/0/to/0/console/truncate", "no", "InvalidType", "must be of type boolean"),
    Edit("runtime", "spark/conf/spark.locality.wait", 3, "InvalidType", "must be of type string"),
    Edit("smallest", "sources/0/name", "${x}", "InvalidName", "sources[0].name in body should match"),
    Edit("smallest", "queries/0/name", "Show_it", "InvalidName", "queries[0].name in body should match"),
    Edit("checkpoints", "queries/0/checkpoint/id", "a" * 64, "OutOfRange", "Too long: may not be more than 63"),
    Edit("s3-of-the-cloud", "connections/0/s3/buckets/0", "s3a://lake", "InvalidName", "buckets[0] in body should match"),
    Edit("pools", "queries/1/pool/weight", 0, "OutOfRange", "should be greater than or equal to 1"),
    Edit("kafka-assign", "sources/0/kafka/assign/flights/0", -1, "OutOfRange", "should be greater than or equal to 0"),
    Edit("restart-never", "restart/maxRetries", 1001, "OutOfRange", "should be less than or equal to 1000"),
    Edit("complete", "queries/0/outputMode", "replace", "InvalidValue", 'Unsupported value: "replace"'),
    Edit("files-csv", "queries/0/trigger/availableNow", False, "InvalidValue", "Unsupported value: false"),
    Edit("runtime", "drain/timeout", "soon", "InvalidDuration", "drain.timeout in body should match"),
    Edit("smallest", "queries/0/to", [{"name": f"n{n}", "console": {}} for n in range(9)], "OutOfRange", "must have at most 8 items"),
    Edit("several-sinks", "queries/1/outputMode", "complete", "OutputModeNotAllowed", "upsert writes new and changed rows"),
    Edit("complete", "sources/0/files/onMalformedRecord", "drop", "FieldNotAllowed", "files.onMalformedRecord needs csv or json"),
    Edit("files-csv", "sources/0/files/allowRecordsWithoutColumns", True, "FieldNotAllowed", "files.allowRecordsWithoutColumns needs json"),
    Edit("several-sinks", "queries/1/to/2/jdbc/upsert", DROP, "UpsertNeeded", "in the JDBC sink"),
    Edit("connectors", "queries/0/to/0/spark/mode", "stream", "SinkModeNotAllowed", "with several sinks a connector must write batches"),
    Edit("connectors", "queries/0/outputMode", "update", "OutputModeNotAllowed", "delivery: atLeastOnce only appends rows"),
    Edit("connectors", "sources/0/spark/python", "shop:Changes", "NotExactlyOne", f"{_ONE_OF} format, python"),
    Edit("connectors", "connections/0/spark/secretOptions/connection.uri/key", "../uri", "InvalidName", "should match"),
    Edit("several-sinks", "queries/1/to/2/jdbc/connection", "events", "WrongConnection", "each JDBC sink must name a JDBC connection"),
    Edit("several-sinks", "queries/1/to/1/kafka/value", ["text"], "FieldsConflict", "key, value and headers may each have only one"),
    Edit("python-sinks", "queries/0/to/0/python/foreach", "acme.sinks.Rows", "InvalidName", "foreach in body should match"),
    Edit("several-sinks", "queries/0/to/1/name", "table", "DuplicateName", "spec.queries[0].to[1]: Duplicate value"),
    Edit("smallest", "sources", [], "OutOfRange", "spec.sources in body should have at least 1 items"),
    Edit("smallest", "checkpoints/location", "", "OutOfRange", "should be at least 1 chars long"),
    Edit("runtime", "spark/conf", {f"spark.a{n}": "" for n in range(65)}, "OutOfRange", "must have at most 64 item"),
    Edit("complete", "views/0/sql", "SELECT 1" + " " * 16384, "OutOfRange", "may not be more than 16384"),
    Edit("pools", "queries/1/name", "light", "DuplicateName", "spec.queries[1]: Duplicate value"),
    Edit("smallest", "queries/0/from", "tick", "UnknownRelation", "onMalformedRecord: deadLetter (`mainstem validate` shows which one)"),
    Edit("dead-letters", "sources/0/decode/onMalformedRecord", "fail", "UnknownRelation", "each `from` must name a source, a view"),
    Edit("kafka-to-parquet", "sources/0/kafka/connection", "event", "UnknownConnection", "each Kafka source must name"),
    Edit("kafka-to-parquet", "connections/0", {"name": "events", "s3": {"buckets": ["lake"]}}, "WrongConnection", "each Kafka source must name"),
    Edit("kafka-to-kafka", "queries/0/to/0/kafka/connection", "afar", "UnknownConnection", "each Kafka sink must name"),
    Edit("static-csv", "views/0/name", "airports", "DuplicateRelation", "a view and a source have the same name"),
    Edit("dead-letters", "views", [{"name": "departures_dead_letters", "sql": "SELECT 1"}], "DuplicateRelation", "rename the other source or view"),
    Edit("checkpoints", "queries/2/checkpoint/generation", 2, "CheckpointShared", "two queries have the same checkpoint"),
    Edit("checkpoints", "queries/1/checkpoint/onChange", "newGeneration", "CheckpointShared", "two queries have the same checkpoint"),
    Edit("smallest", "sources/0/decode", {"json": {"schema": "a INT"}}, "DecodeNotAllowed", "only kafka and files take decode"),
    Edit("files-csv", "sources/0/decode", {"json": {"schema": "a INT"}}, "DecodeNotAllowed", "decode needs files with format: text"),
    Edit("files-decoded", "sources/0/decode/keep", ["topic"], "DecodeNotAllowed", "decode.keep needs a Kafka source"),
    Edit("files-decoded", "sources/0/decode/onTombstone", "skip", "DecodeNotAllowed", "decode.onTombstone needs a Kafka source"),
    Edit("static-csv", "sources/1/watermark", {"column": "faa", "delay": "1s"}, "WatermarkNotAllowed", "a static source cannot have a watermark"),
    Edit("files-csv", "sources/0/files/schema", DROP, "SchemaNeeded", "csv, json, orc and parquet need a schema"),
    Edit("complete", "sources/0/files/schema", "a INT", "SchemaNotAllowed", "text has only the column value"),
    Edit("files-csv", "queries/0/outputMode", "update", "OutputModeNotAllowed", "a file sink supports only append mode"),
    Edit("merge-by-key", "queries/0/to/0/delta/merge", DROP, "MergeNeeded", "a Delta sink without merge has no update mode"),
    Edit("merge-by-key", "queries/0/outputMode", "complete", "OutputModeNotAllowed", "merge upserts new and changed rows"),
    Edit("merge-by-key", "queries/0/to/0/delta/options", {"a": "b"}, "OptionsNotAllowed", "which a merge does not use"),
    Edit("delta-stream", "sources/0/delta/startingTimestamp", "2026-01-01", "FieldsConflict", "both set the start of the stream"),
    Edit("delta-stream", "sources/0/delta/ignoreDeletes", True, "FieldsConflict", "set only one of readChangeFeed, skipChangeCommits"),
    Edit("delta-stream", "sources/0/delta/startingVersion", -1, "InvalidValue", "should be greater than or equal to 0"),
    Edit("delta-stream", "sources/0/delta/maxBytesPerTrigger", "1 GB", "InvalidQuantity", "maxBytesPerTrigger in body should match"),
    Edit("runtime", "spark/conf/sql.ansi.enabled", "true", "InvalidConf", "each Spark property must start with spark."),
    Edit("runtime", "spark/conf/spark.scheduler.mode", "FIFO", "OwnedConf", "a property that Mainstem sets itself"),
    Edit("runtime", "spark/conf/spark.hadoop.fs.s3a.endpoint", "x", "OwnedConf", "a property that Mainstem sets itself"),
    Edit("runtime", "spark/conf/spark.sql.parquet.outputTimestampType", "INT96", "OwnedConf", "a property that Mainstem sets itself"),
    Edit("runtime", "spark/conf/spark.sql.parquet.datetimeRebaseModeInWrite", "LEGACY", "OwnedConf", "a property that Mainstem sets itself"),
    Edit("smallest", "metadata/name", "a" * 46, "OutOfRange", "metadata.name must be a DNS label of at most 45"),
    Edit("smallest", "metadata/name", "a.b", "InvalidName", "metadata.name must be a DNS label of at most 45"),
    Edit("scheduled", "queries/0/trigger", {"processingTime": "1s"}, "ScheduleUnbounded", "a schedule needs queries that end"),
    Edit("pipeline-trigger", "trigger", {"processingTime": "1s"}, "ScheduleUnbounded", "a schedule needs queries that end"),
    Edit("pipeline-trigger", "trigger", {"once": True, "availableNow": True}, "NotExactlyOne", _ONE_OF),
    Edit("kafka-secured", "sources/0/kafka/startingOffsets", "earliest", "AmbiguousOffsets", "at most one of startingOffsets"),
    Edit("kafka-bounded", "sources/0/kafka/endingTimestamp", "0", "AmbiguousOffsets", "at most one of endingOffsets"),
    Edit("kafka-bounded", "sources/0/kafka/maxOffsetsPerTrigger", 5, "FieldsConflict", "remove the limits of batches"),
    Edit("kafka-secured", "sources/0/kafka/minOffsetsPerTrigger", DROP, "FieldsConflict", "maxTriggerDelay needs minOffsetsPerTrigger"),
    Edit("kafka-secured", "sources/0/kafka/maxOffsetsPerTrigger", 99, "FieldsConflict", "is greater than maxOffsetsPerTrigger"),
    Edit("kafka-secured", "connections/0/kafka/security", {}, "SecurityEmpty", "at least one of sasl, tls"),
    Edit("kafka-secured", "connections/0/kafka/security/sasl/mechanism", "SCRAM", "InvalidValue", 'Unsupported value: "SCRAM"'),
    Edit("kafka-secured", "connections/0/kafka/security/sasl/secretRef", DROP, "MissingField", "secretRef: Required value"),
    Edit("scheduled", "schedule/cron", "@daily", "InvalidCron", "schedule.cron in body should match"),
    Edit("scheduled", "schedule/every", "1 day", "UnknownField", 'unknown field "spec.schedule.every"'),
    Edit("scheduled", "suspend", "yes", "InvalidType", "must be of type boolean"),
    Edit("scheduled", "image", "", "OutOfRange", "should be at least 1 chars long"),
    Edit("scheduled", "imagePullPolicy", "always", "InvalidValue", 'Unsupported value: "always"'),
    Edit("scheduled", "imagePullSecrets/1", {"name": "registry.example"}, "DuplicateName", "spec.imagePullSecrets[1]: Duplicate value"),
    Edit("scheduled", "imagePullSecrets/0/name", "registry/mine", "InvalidName", "imagePullSecrets[0].name in body should match"),
    Edit("small-driver", "driver/serviceAccount", "lake", "UnknownField", 'unknown field "spec.driver.serviceAccount"'),
    Edit("small-driver", "driver/cores", "500m", "InvalidType", "must be of type integer"),
    Edit("small-driver", "driver/heap", "512Mi", "InvalidQuantity", "driver.heap in body should match"),
    Edit("small-driver", "driver/resources/limits/memory", DROP, "MemoryUnlimited", "limits.memory is missing"),
    Edit("small-driver", "driver/resources/limits", DROP, "MemoryUnlimited", "limits.memory is missing"),
    Edit("small-driver", "driver/resources/limits/memory", "2g", "InvalidQuantity", "limits.memory in body should match"),
    Edit("small-driver", "driver/resources/requests/cpu", 0.5, "InvalidType", "must be of type integer"),
    Edit("small-driver", "driver/resources/requests/cpu", -1, "InvalidQuantity", "should be greater than or equal to 0"),
    Edit("small-driver", "driver/podDisruptionBudget/maxUnavailable", 2, "OutOfRange", "should be less than or equal to 1"),
    Edit("executors-by-demand", "executors/replicas", 2, "UnknownField", 'unknown field "spec.executors.replicas"'),
    Edit("executors-by-demand", "executors/instances", 5, "ExecutorBounds", "instances is greater than dynamicAllocation.maxExecutors"),
    Edit("executors-by-demand", "executors/dynamicAllocation/minExecutors", 5, "ExecutorBounds", "minExecutors is greater than maxExecutors"),
    Edit("executors-by-demand", "executors/dynamicAllocation/maxExecutors", DROP, "MissingField", "maxExecutors: Required value"),
    Edit("executors-templates", "executors/template", "small", "InvalidType", "must be of type object"),
    Edit("python", "functions/0/python/function", "parse", "InvalidName", "should match"),
    Edit("python", "functions/0/java", {"class": "A"}, "NotExactlyOne", f"{_ONE_OF} python, java"),
    Edit("python", "functions/3/java/class", "com/example/Shout", "InvalidName", "should match"),
    Edit("python", "functions/4/java/returns", "STRING", "FieldNotAllowed", "the class of an aggregate defines the type"),
    Edit("python", "views/0/deduplicate", {"from": "events"}, "NotExactlyOne", f"{_ONE_OF} sql, python, deduplicate, state"),
    Edit("python", "views/4/state/function", "visits:counted", "NotExactlyOne", f"{_ONE_OF} processor, function"),
    Edit("python", "views/4/state/timeout", "NoTimeout", "FieldNotAllowed", "timeout needs a function"),
    Edit("python", "views/6/state/stateSchema", DROP, "MissingField", "function and stateSchema need each other"),
    Edit("python", "views/6/state/timeMode", "EventTime", "FieldNotAllowed", "timeMode, eventTimeColumn, initialState and pandas"),
    Edit("runtime", "spark/conf/spark.executor.instances", "2", "OwnedConf", "a property that Mainstem sets itself"),
    Edit("runtime", "spark/conf/spark.sql.files.ignoreCorruptFiles", "true", "OwnedConf", "a property that Mainstem sets itself"),
    Edit("runtime", "spark/conf/spark.sql.files.ignoreMissingFiles", "true", "OwnedConf", "a property that Mainstem sets itself"),
    Edit("runtime", "spark/conf/spark.hive.exec.orc.skip.corrupt.data", "true", "OwnedConf", "a property that Mainstem sets itself"),
    Edit("runtime", "spark/conf/spark.hadoop.mapreduce.input.linerecordreader.line.maxlength", "8", "OwnedConf", "a property that Mainstem sets itself"),
    Edit("runtime", "spark/conf/spark.executorEnv.TOKEN", "x", "OwnedConf", "a property that Mainstem sets itself"),
]  # fmt: skip

OURS_ONLY: Final = [
    Edit("complete", "views/1/sql", "SELECT word, count(*) AS n FROM word GROUP BY word", "UnknownRelation"),
    Edit("complete", "views/0/sql", "SELECT word FROM counts", "CyclicViews"),
    Edit("complete", "views/0/sql", "DROP TABLE lines", "NotAQuery"),
    Edit("complete", "views/0/sql", "SELECT java_method('java.lang.System', 'exit') FROM lines", "ForbiddenFunction"),
    Edit("complete", "queries/1/outputMode", "append", "WatermarkNeeded"),
    Edit("complete", "queries/0/from", "lines", "AggregationNeeded"),
    Edit("complete", "views/1/sql", "SELECT word, count(*) AS n FROM words GROUP BY word ORDER BY n", "SortNotAllowed"),
    Edit("python", "functions/0/name", "upper", "FunctionNameTaken"),
    Edit("python", "views/2/python/inputs/0", "absent", "UnknownRelation"),
    Edit("python", "views/2/python/arguments/at least", "2", "InvalidName"),
    Edit("python", "views/4/state/initialState/from", "events", "StreamNotAllowed"),
    Edit("python", "views/4/state/keys/0", "usr", "UnknownColumn"),
    Edit("deduplicate", "sources/0/watermark", DROP, "WatermarkNeeded"),
    Edit("runtime", "timeZone", "Europe/Zuerich", "UnknownTimeZone"),
    Edit("static-csv", "checkpoints/location", "${store}/checkpoints", "UnknownParameter"),
    Edit("static-csv", "checkpoints/location", "${EMPTY}", "OutOfRange"),
    Edit("kafka-properties", "sources/0/kafka/options/includeHeaders", "true", "OwnedOption"),
    Edit("kafka-properties", "connections/0/kafka/properties/ssl.key.password", "x", "SecretInDocument"),
    Edit("s3-own-endpoint", "connections/0/s3/endpoint", "http://me:secret@s3:7070", "SecretInDocument"),
    Edit("files-cleaned", "queries/2", {"name": "again", "from": "landed", "to": [{"name": "out", "console": {}}]}, "CleanSourceShared"),
    Edit("files-cleaned", "sources/0/files/cleanSource/archive", "/data/landed/old", "FolderShared"),
    Edit("files-cleaned", "sources/0/files/cleanSource/archive", "/data", "FolderShared"),
    Edit("files-cleaned", "sources/0/files/options", {"cleanSource": "off"}, "OwnedOption"),
    Edit("files-cleaned", "sources/0/files/options", {"ignoreCorruptFiles": "true"}, "OwnedOption"),
    Edit("files-cleaned", "sources/0/files/options", {"ignoreMissingFiles": "true"}, "OwnedOption"),
    Edit("files-cleaned", "sources/0/files/options", {"hive.exec.orc.skip.corrupt.data": "true"}, "OwnedOption"),
    Edit("files-cleaned", "sources/0/files/options", {"mapreduce.input.linerecordreader.line.maxlength": "8"}, "OwnedOption"),
    Edit("static-others", "sources/3/static/parquet/options/ignoreCorruptFiles", "true", "OwnedOption"),
    Edit("files-cleaned", "sources/1/files/options", {"ignoreInvalidPartitionPaths": "true"}, "OwnedOption"),
    Edit("decode-formats", "sources/0/decode/avro/schema", '"string"', "SchemaInvalid"),
    Edit("decode-formats", "sources/0/decode/avro/options", {"avroSchema": "{}"}, "OwnedOption"),
    Edit("decode-formats", "sources/1/decode/csv/options/mode", "FAILFAST", "OwnedOption"),
    Edit("decode-formats", "sources/2/decode/keep", ["offset", "headers"], "UnknownColumn"),
    Edit("static-tables", "connections/0/jdbc/url", "jdbc:postgresql://shop/orders?user=me&password=x", "SecretInDocument"),
    Edit("static-tables", "connections/0/jdbc/url", "postgresql://shop/orders", "InvalidAddress"),
    Edit("static-tables", "connections/0/jdbc/properties/user", "me", "OwnedOption"),
    Edit("static-tables", "connections/0/jdbc/properties/sslpassword", "x", "SecretInDocument"),
    Edit("static-tables", "sources/4/static/jdbc/options/dbtable", "x", "OwnedOption"),
    Edit("static-tables", "sources/4/static/jdbc/options/password", "x", "SecretInDocument"),
    Edit("s3-of-the-cloud", "checkpoints/location", "s3://lake.example/c", "UnknownScheme"),
    Edit("s3-of-the-cloud", "checkpoints/location", "s3a:///c", "BucketMissing"),
    Edit("s3-own-endpoint", "connections/1", {"name": "b", "s3": {"buckets": ["lake"]}}, "BucketShared"),
    Edit("files-decoded", "sources/0/watermark/column", "time", "UnknownColumn"),
    Edit("dead-letters", "queries/1/from", "departures", "DeadLettersUnread"),
    Edit("dead-letters", "queries/0/from", "departures_dead_letters", "DeadLettersReadTwice"),
    Edit("scheduled", "queries/0/trigger", DROP, "ScheduleUnbounded"),
    Edit("pipeline-trigger", "trigger", DROP, "ScheduleUnbounded"),
    Edit("static-csv", "queries/1", {"name": "b", "from": "airports", "to": [{"name": "out", "console": {}}], "trigger": {"processingTime": "1s"}}, "TriggerNotAllowed"),
    Edit("kafka-bounded", "sources/0/kafka/startingOffsets", "latest", "EmptyRange"),
    Edit("kafka-secured", "connections/0/kafka/properties/sasl.mechanism", "PLAIN", "OwnedOption"),
    Edit("kafka-to-parquet", "queries/1", {"name": "b", "from": "departures", "to": [{"name": "f", "parquet": {"path": "s3a://lake/archive/"}}]}, "FolderShared"),
    Edit("files-csv", "queries/0/to/0/parquet/path", "/ckpt/weather/out", "FolderInCheckpoints"),
    Edit("files-csv", "queries/0/to/0/parquet/path", "/data/weather", "SinkIsSource"),
    Edit("scheduled", "schedule/cron", "0 3 30 2 *", "InvalidCron"),
    Edit("scheduled", "schedule/timeZone", "Europe/Zuerich", "UnknownTimeZone"),
    Edit("scheduled", "image", "registry.example/mainstem:${relase}", "UnknownParameter"),
    Edit("small-driver", "driver/resources/limits/memory", "512Mi", "MemoryTooSmall"),
    Edit("small-driver", "driver/resources/requests/cpu", 3, "RequestAboveLimit"),
    Edit("small-driver", "driver/resources/limits/gpu", 1, "UnknownResource"),
    Edit("small-driver", "driver/heap", "1g", "HeapTooLarge"),
    Edit("executors-templates", "driver/template/nodeSelector", {"disk": "ssd"}, "InvalidPodTemplate"),
    Edit("executors-templates", "driver/template/spec/containers/1/name", "driver", "InvalidPodTemplate"),
    Edit("executors-templates", "driver/template/metadata/labels/mainstem.dev~pipeline", "other", "OwnedPodField"),
    Edit("executors-templates", "driver/template/spec/restartPolicy", "Always", "OwnedPodField"),
    Edit("executors-templates", "driver/template/spec/containers/0/image", "registry.example/other:1", "OwnedPodField"),
    Edit("executors-templates", "driver/template/spec/containers/0/env/1/name", "SPARK_HOME", "OwnedPodField"),
    Edit("executors-templates", "driver/template/spec/containers/0/volumeMounts/0/mountPath", "/tmp", "OwnedPodField"),
    Edit("executors-templates", "executors/template/spec/volumes/0/name", "mainstem-ckpt", "OwnedPodField"),
]  # fmt: skip
MENDED: Final = [
    Edit("runtime", "drain", None, "InvalidType"),
]
"""The server takes the default for null."""
