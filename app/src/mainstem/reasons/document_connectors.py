"""Reasons of problems in connections, sources and sinks: options, paths, credentials."""

from typing import Final

from mainstem.reasons.reason import document_problem


VERSION_NOT_PINNED: Final = document_problem(
    "VersionNotPinned",
    "An artifact of `packages.maven` has a version that changes with time.",
    "Name one release.",
)
SCALA_MISMATCH: Final = document_problem(
    "ScalaMismatch",
    "An artifact of `packages.maven` is built for another Scala version than Spark's 2.13.",
    "Use the artifact that ends in `_2.13`, in a version for Spark 4.",
)
INVALID_ADDRESS: Final = document_problem(
    "InvalidAddress",
    "An address has the wrong form.",
    "Write a bootstrap server as `host:port`, an endpoint or repository as a URL, a database URL with "
    "`jdbc:` at its start.",
)
REFRESH_NOT_ALLOWED: Final = document_problem(
    "RefreshNotAllowed",
    "`refresh` has no effect here: the table has a fixed version, or all queries that read it come to an "
    "end.",
    "Leave it out.",
)
AMBIGUOUS_OFFSETS: Final = document_problem(
    "AmbiguousOffsets",
    "A Kafka source has two starts, or two ends.",
    "Give one: offsets, a time, or times for each partition.",
)
EMPTY_RANGE: Final = document_problem(
    "EmptyRange",
    "A bounded Kafka source starts at the latest or ends at the earliest offset, so it would read nothing.",
    "Choose another start or end.",
)
SECURITY_EMPTY: Final = document_problem(
    "SecurityEmpty",
    "`security` has neither `sasl` nor `tls`.",
    "Give one, or leave `security` out.",
)
PASSWORD_IN_CLEAR: Final = document_problem(
    "PasswordInClear",
    "*Warning*: SASL `PLAIN` without `tls` sends the password unencrypted over the network.",
    "Add `tls`.",
)
ENCODING_NOT_SUPPORTED: Final = document_problem(
    "EncodingNotSupported",
    "Text files are in UTF-16 or UTF-32. Mainstem finds lines by their bytes, which these encodings do "
    "not allow.",
    "Convert the files to UTF-8.",
)
SCHEMA_NEEDED: Final = document_problem(
    "SchemaNeeded",
    "A stream of structured files has no schema.",
    "Write `schema`, or name a file in `schemaFile`.",
)
CLEAN_SOURCE_SHARED: Final = document_problem(
    "CleanSourceShared",
    "Files that `cleanSource` cleans up have several readers: two queries, one query twice, or a query of"
    " the dead letters too. Each reader reads by itself, so files can disappear before another one reads "
    "them.",
    "Leave `cleanSource` out, or give each reader a folder of its own.",
)
SCHEMA_NOT_ALLOWED: Final = document_problem(
    "SchemaNotAllowed",
    "Text files have a schema.",
    "Put the schema under `decode`.",
)
INVALID_CONDITION: Final = document_problem(
    "InvalidCondition",
    "`merge.deleteWhen` is not a condition over the query's rows. The message quotes Spark.",
    "Correct the condition.",
)
MAINTENANCE_EMPTY: Final = document_problem(
    "MaintenanceEmpty",
    "`maintenance` has neither `optimize` nor `vacuum`.",
    "Give one.",
)
MAINTENANCE_NOT_ALLOWED: Final = document_problem(
    "MaintenanceNotAllowed",
    "`optimize` has nothing to do: each batch replaces the table, or `zOrderBy` names a partition column.",
    "Leave it out.",
)
TEXT_NEEDS_ONE_COLUMN: Final = document_problem(
    "TextNeedsOneColumn",
    "A line of text is one string column, and the relation has other columns.",
    "Choose one column in a view, for example with `concat_ws` or `to_json`.",
)
PARTITION_TYPE_NOT_SUPPORTED: Final = document_problem(
    "PartitionTypeNotSupported",
    "A column of `partitionBy` has a type whose values a partition does not keep: BINARY, ARRAY, MAP, STRUCT, VARIANT, or TIMESTAMP "
    "in a time zone that has an hour twice.",
    "Set `timeZone: UTC`, or partition by a DATE or STRING that a view makes of the column.",
)
TYPE_TOO_NARROW: Final = document_problem(
    "TypeTooNarrow",
    "A table or a folder of files exists, and a column's type there would alter values of the query without an error: DOUBLE becomes INT, or a"
    " DECIMAL loses digits. Or a merge would compare text with a number. See [Types of a table](delta.md#types-of-an-existing-table).",
    "CAST the column in a view to the table's type, if the loss is meant, or change the type in the table.",
)
TYPE_NOT_SUPPORTED: Final = document_problem(
    "TypeNotSupported",
    "A sink does not store a type that the query has: an ARRAY in CSV, an INTERVAL in Delta. Or a merge would compare MAPs. Or a "
    "column of a PostgreSQL table does not take the type: a STRUCT, or a number for a `uuid`. See "
    "[Types of a PostgreSQL table](connectors.md#types-of-a-postgresql-table).",
    "Convert the column in a view: `to_json(v)`, or a CAST.",
)
TIME_NEEDS_OFFSET: Final = document_problem(
    "TimeNeedsOffset",
    "A sink writes a TIMESTAMP as a string without its offset: Kafka as key, value, topic or header, and files of JSON and CSV by a"
    " `timestampFormat` of the document. In a time zone that has an hour twice, two times become one string.",
    "Write the time with its offset: in a view with `date_format` or `to_json`, in a format with `XXX`. Or set `timeZone: UTC`.",
)
TABLE_SHARED: Final = document_problem(
    "TableShared",
    "Two sinks of one query write the same database table.",
    "Use two queries, or a view that unites the rows.",
)
DATABASE_NOT_SUPPORTED: Final = document_problem(
    "DatabaseNotSupported",
    "A JDBC sink writes a database that is not PostgreSQL. Or a URL begins with `jdbc:mariadb:`, for "
    "which Spark has no dialect: it would read the column names in place of their values.",
    "Set `delivery: atLeastOnce`, or use a `python` sink. For MariaDB write "
    "`jdbc:mysql://...?permitMysqlScheme`.",
)
FORMAT_OWNED: Final = document_problem(
    "FormatOwned",
    "`spark` names a connector that is part of Mainstem or Spark.",
    "Use the field that the message names. A connector that reads files by their path has no field, or "
    "the fields `files` and `static`.",
)
SINK_MODE_NOT_ALLOWED: Final = document_problem(
    "SinkModeNotAllowed",
    "A query has a `spark` sink of `mode: stream` and other sinks.",
    "Set `mode: batch` if the connector writes batches; otherwise give it a query of its own.",
)
NOT_DURABLE: Final = document_problem(
    "NotDurable",
    "*Warning*: the rows are in the driver's memory and are lost with it.",
    "Use it only for tests.",
)
UNKNOWN_OPTION: Final = document_problem(
    "UnknownOption",
    "*Warning*: Spark's writer of this file format has no such option, and ignores it.",
    "Use the option that the message suggests, or leave it out.",
)
INVALID_PATTERN: Final = document_problem(
    "InvalidPattern",
    "Spark rejects a pattern of dates or times, such as `YYYY-MM-dd`. The message shows which character "
    "and what to write.",
    "Correct it: [Spark's pattern "
    "letters](https://spark.apache.org/docs/4.2.0/sql-ref-datetime-pattern.html).",
)
UNLIKELY_PATTERN: Final = document_problem(
    "UnlikelyPattern",
    "*Warning*: Spark accepts the pattern, but probably reads it differently than you expect. Examples: "
    "the day of the year beside a month; a 12-hour clock without am or pm.",
    "Write what the message suggests.",
)
OWNED_OPTION: Final = document_problem(
    "OwnedOption",
    "The document has a field for this option, or Mainstem sets the option.",
    "Use the field that the message names, or leave the option out.",
)
OWNED_CONF: Final = document_problem(
    "OwnedConf",
    "The document has a field for this Spark property, or Mainstem sets the property.",
    "Use the field that the message names, or leave the property out.",
)
KAFKA_PREFIX: Final = document_problem(
    "KafkaPrefix",
    "A client property of a connection has Spark's prefix `kafka.`.",
    "Leave the prefix out.",
)
INVALID_CONF: Final = document_problem(
    "InvalidConf",
    "A key of `spark.conf` is not a Spark property, or `spark.memory.offHeap.size` is not a size.",
    "Correct it; Spark properties start with `spark.`.",
)
SECRET_IN_DOCUMENT: Final = document_problem(
    "SecretInDocument",
    "The document has a credential, or an address with a password.",
    "Use `secretRef`, or the environment.",
)
UNKNOWN_SCHEME: Final = document_problem(
    "UnknownScheme",
    "A path is neither local nor begins with `file:` or `s3a:`.",
    "Write `s3a://` in place of `s3://`.",
)
BUCKET_MISSING: Final = document_problem(
    "BucketMissing",
    "A path begins with `s3a://` and has no bucket.",
    "Write `s3a://bucket/path`.",
)
BUCKET_SHARED: Final = document_problem(
    "BucketShared",
    "Two connections list the same bucket.",
    "Remove it from one.",
)
BUCKET_UNLISTED: Final = document_problem(
    "BucketUnlisted",
    "*Warning*: no S3 connection lists the bucket, so Mainstem uses AWS's own endpoint.",
    "If that is not what you want, add the bucket to `buckets`.",
)
CHECKPOINT_SHARED: Final = document_problem(
    "CheckpointShared",
    "Two queries have the same checkpoint.",
    "Give one of them its own `checkpoint.id`.",
)
FOLDER_SHARED: Final = document_problem(
    "FolderShared",
    "Two queries write one folder of files, two sinks of a query one folder or table, or one sink's "
    "folder is inside another's.",
    "Give each sink a folder of its own, side by side.",
)
FOLDER_IN_CHECKPOINTS: Final = document_problem(
    "FolderInCheckpoints",
    "A sink's folder is inside `checkpoints.location`, or the other way round.",
    "Keep them apart. Inside a table's folder a name that starts with `_` hides checkpoints.",
)
SINK_IS_SOURCE: Final = document_problem(
    "SinkIsSource",
    "A query reads the folder that it writes.",
    "Write to another folder.",
)
