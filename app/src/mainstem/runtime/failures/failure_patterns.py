"""The texts by which known failures of Spark, Kafka, stores and databases are recognized; pure."""

import re
from typing import Final

from mainstem import reasons
from mainstem.dataframes.decode.decoding import MALFORMED_RECORD
from mainstem.dataframes.sinks.database import STAGED_ROWS_LOST, TABLE_CHANGED
from mainstem.dataframes.sinks.keys import KEY_IS_NULL
from mainstem.dataframes.sinks.merge import MERGE_KEY_REPEATED
from mainstem.dataframes.sinks.partition_values import PARTITION_VALUE_NOT_SUPPORTED
from mainstem.dataframes.sinks.stored_values import CAST_OR_WIDEN, TYPE_TOO_NARROW, VALUE_OUT_OF_RANGE
from mainstem.dataframes.views.expectations import EXPECTATION_FAILED
from mainstem.runtime.failures.pattern import pattern, raised


_TOO_LONG: Final = "has a text that is too long for it in the table; shorten it in a view, or make the column wider in the table"
FAILURE_PATTERNS: Final = (
    pattern(
        # Where Spark prints the plan, it also prints the message in two separate parts.
        re.escape(MALFORMED_RECORD) + r"(?!,)(?P<detail>[^\n]*?)(?P<advice>; [^;\n]*)?(?=\n|\Z)",
        reasons.MALFORMED_RECORD,
        "{detail}{advice}",
    ),
    raised(
        EXPECTATION_FAILED,
        reasons.EXPECTATION_FAILED,
        "correct the data, or set onViolation to warn, drop or quarantine",
    ),
    raised(
        PARTITION_VALUE_NOT_SUPPORTED,
        reasons.PARTITION_VALUE_NOT_SUPPORTED,
        "replace or shorten such values in a view",
    ),
    raised(VALUE_OUT_OF_RANGE, reasons.VALUE_OUT_OF_RANGE),
    pattern(
        # Delta shows the value, which may be any text, and then its own check.
        r'DELTA_EXCEED_CHAR_VARCHAR_LIMIT\] Value ".*" exceeds char/varchar type length limitation\.\s+Failed check: '
        r"\(+(?:map_\w+\()?(?P<detail>[^\n`()]{1,300}?)(?:\.`[^\n]{0,300}?)?\)? IS NULL\)",
        reasons.VALUE_OUT_OF_RANGE,
        f"{{detail!r}} {_TOO_LONG}",
    ),
    pattern(r"DELTA_EXCEED_CHAR_VARCHAR_LIMIT\]", reasons.VALUE_OUT_OF_RANGE, f"a column {_TOO_LONG}"),
    raised(KEY_IS_NULL, reasons.KEY_IS_NULL),
    raised(TYPE_TOO_NARROW, reasons.TYPE_TOO_NARROW, CAST_OR_WIDEN),
    pattern(
        # From the Java class CheckedDelta, or a database's writer.
        rf"{TABLE_CHANGED} (?P<detail>[^\n]*)",
        reasons.TABLE_CHANGED,
        "the table has changed since the query started: {detail}",
    ),
    raised(
        MERGE_KEY_REPEATED,
        reasons.MERGE_KEY_REPEATED,
        "add a column to merge.sequenceBy that orders them, or aggregate by the keys",
    ),
    pattern(
        r"mainstem:FilesExpired:(?P<detail>[^\n]*)",
        reasons.FILES_EXPIRED,
        "files disappeared before their batch read them: {detail}; set failOnDataLoss: false to continue without them",
    ),
    pattern(
        r"mainstem:FolderColumnAppeared: (?P<detail>[^\n]*)",
        reasons.FOLDER_COLUMN_APPEARED,
        "folders give a column that the source had not when the query started: {detail}",
    ),
    pattern(
        r"Conflicting (partition column names|directory structures) detected.{0,4000}?(paths:|column names:)(?P<detail>(\s*[a-z0-9]+:/[^\n]*)+)",
        reasons.FOLDERS_CONFLICT,
        "the folders do not agree: {detail}; set options: "
        '{{recursiveFileLookup: "true"}} to read all files without columns of folders, or move files that were not read',
    ),
    pattern(
        r"\[INVALID_PARTITION_VALUE\] Failed to cast value (?P<detail>[^\n]*? for partition column [^.\n]*)",
        reasons.FOLDERS_CONFLICT,
        "the value of a folder does not fit its column: {detail}; declare the column as STRING in the schema",
    ),
    pattern(
        r"Relative path in absolute URI: \.?(?P<detail>[^\n]*?:[^\n]*?)(\.crc)?\s*(\n|$)",
        reasons.FILE_NAME_NOT_SUPPORTED,
        "on a local file system Hadoop cannot open a file whose name contains a colon: {detail}; rename it",
    ),
    pattern(
        # From the Java class Fence, with the owner record.
        r'MAINSTEM_CHECKPOINT_OWNER [^\n]*"description": "(?P<detail>[^"]*)"',
        reasons.FENCED,
        "a newer driver has taken over the checkpoint: {detail}",
    ),
    pattern(
        r"CONCURRENT_STREAM_LOG_UPDATE|Race while writing batch|Multiple streaming queries are concurrently using|query with same id is already active",
        reasons.CHECKPOINT_IN_USE,
        "another run is using this checkpoint",
    ),
    pattern(
        r"UnknownTopicOrPartition|topic '?[\w.-]+'? not present in metadata",
        reasons.TOPIC_NOT_FOUND,
        "the topic{topic} does not exist",
    ),
    pattern(
        r"RecordTooLargeException: The message is (?P<detail>\d+ bytes[^\n]*? larger than \d+), which is the value of the max\.request\.size",
        reasons.RECORD_TOO_LARGE,
        "a record does not fit into a request: {detail}; raise max.request.size in properties of the connection, and the topic's "
        "max.message.bytes with it",
    ),
    pattern(
        r"RecordTooLargeException: The message is (?P<detail>\d+ bytes[^\n]*?) the total memory buffer",
        reasons.RECORD_TOO_LARGE,
        "a record does not fit into the producer's buffer: {detail} it; raise buffer.memory in properties of the connection",
    ),
    pattern(
        r"RecordTooLargeException",
        reasons.RECORD_TOO_LARGE,
        "the broker refuses a record, or a batch of records, as too large; raise the topic's max.message.bytes, which the broker "
        "limits by message.max.bytes",
    ),
    pattern(
        r"OffsetOutOfRange|Some data may have been lost|KAFKA_DATA_LOSS",
        reasons.KAFKA_DATA_LOST,
        "records that the checkpoint points to have expired{gap}; set failOnDataLoss: false to continue after the gap",
    ),
    pattern(
        r"Timed? ?out.{0,80}(node assignment|metadata)|TimeoutException.{0,200}(listOffsets|describeTopics|fetch)|No resolvable bootstrap urls|"
        r"TimeoutException: (Expiring \d+ record|Timeout of \d+ ?ms expired before)",
        reasons.BROKER_UNREACHABLE,
        "the Kafka broker does not answer",
    ),
    pattern(
        r"Failed to (create new KafkaAdminClient|construct kafka)|kafka\.common\.config\.ConfigException",
        reasons.KAFKA_CONFIG_INVALID,
        "Kafka's client refuses its properties: {root}",
    ),
    pattern(
        r"No offset matched from request of topic-partition (?P<detail>\S+)",
        reasons.NO_RECORD_OF_TIME,
        "{detail} has no record at the start time or later; "
        "set startingOffsetsByTimestampStrategy: latest to read only new records",
    ),
    pattern(
        r"SslAuthenticationException|SSLHandshakeException",
        reasons.KAFKA_TLS_FAILED,
        "Kafka and its client do not trust each other: {root}",
    ),
    pattern(
        r"SaslAuthentication|(Topic|Group|Cluster|TransactionalId|DelegationToken)Authorization",
        reasons.KAFKA_NOT_AUTHORIZED,
        "Kafka refuses the credentials or denies access: {root}",
    ),
    pattern(
        r"[Dd]ata source (?P<detail>[\w.$-]+) does not support streamed writing",
        reasons.CONNECTOR_WRITES_NO_STREAMS,
        "the connector {detail} does not write streams; set mode: batch",
    ),
    pattern(
        r"DATA_SOURCE_NOT_FOUND\][^\n]*data source: (?P<detail>[^\s.]+(?:\.[^\s.]+)*)",
        reasons.CONNECTOR_NOT_FOUND,
        "no connector called {detail} is on the class path; name its jar in spec.packages",
    ),
    pattern(
        r"DELTA_SOURCE_(?:TABLE_IGNORE_CHANGES|IGNORE_DELETE)\].{0,600}? version (?P<detail>\d+)\b",
        reasons.SOURCE_CHANGED,
        "version {detail} of the Delta table{table} changes or removes rows that were read; set skipChangeCommits to skip such "
        "commits, or ignoreChanges to read the files that they rewrite, or read its changes with readChangeFeed and a new checkpoint",
    ),
    pattern(
        r"DIFFERENT_DELTA_TABLE_READ_BY_STREAMING_SOURCE",
        reasons.SOURCE_REPLACED,
        "the path of the source now holds another Delta table; raise checkpoint.generation to read it from its beginning",
    ),
    pattern(
        r"StreamingQueryException: [^\n]*Wrong basePath (?P<detail>\S+)",
        reasons.SOURCE_PATH_CHANGED,
        "the files of the last batch are not in {detail}, where the source reads now; restore the old path, "
        "or raise checkpoint.generation",
    ),
    pattern(
        r"StreamingQueryException: [^\n]*No usable value for (log)?offset|DELTA_INVALID_SOURCE_(VERSION|OFFSET_FORMAT)",
        reasons.SOURCE_KIND_CHANGED,
        "the checkpoint has the offsets of another kind of source; give the new source another name, "
        "or raise checkpoint.generation",
    ),
    pattern(
        r"UnknownStoreException|NoSuchBucket|bucket does not exist",
        reasons.BUCKET_NOT_FOUND,
        "the bucket{bucket} does not exist",
    ),
    pattern(
        r"NoAuthWithAWSException|Unable to load credentials",
        reasons.STORE_CREDENTIALS_MISSING,
        "no credentials for the object store; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or secretRef in the connection",
    ),
    pattern(
        r"Service: (S3|Sts), Status Code: (401|403)|InvalidAccessKeyId|SignatureDoesNotMatch|provided access key|"
        r":(ExpiredToken|InvalidToken|TokenRefreshRequired)\b",
        reasons.STORE_ACCESS_DENIED,
        "the object store refuses access{to}{answer}",
    ),
    pattern(
        r"Unable to execute HTTP request|ConnectTimeoutException|AWSClientIOException|ApiCallTimeoutException|Connection refused.{0,200}s3a|"
        r"Service: S3, Status Code: 5\d\d|AWSStatus500Exception|AWSServiceThrottledException",
        reasons.STORE_UNREACHABLE,
        "the object store does not answer{answer}",
    ),
    pattern(
        r"PSQLException: (FATAL: (\w+ authentication failed|no pg_hba\.conf entry|role |permission denied)|The server requested)|"
        r"(PSQL|BatchUpdate)Exception: (?:[^\n]*aborted: )?ERROR: permission denied for |"
        r"SQLInvalidAuthorizationSpecException|\bSQL\w*Exception: (ORA-01017|ORA-28000|Access denied for user|Login failed for user)",
        reasons.DATABASE_NOT_AUTHORIZED,
        "the database refuses the credentials or denies access: {root}",
    ),
    pattern(
        r"PSQLException: ERROR: (?P<detail>relation [^\n]* does not exist)",
        reasons.TABLE_NOT_FOUND,
        "{detail}",
    ),
    pattern(
        # PostgreSQL puts the value behind a colon, and the driver puts advice for programmers behind the message.
        r"(PSQL|BatchUpdate)Exception: (?:[^\n]*aborted: )?ERROR: (?P<detail>[^\n]*?)(?:: \"|  Call getNextException|\n|\Z)",
        reasons.DATABASE_REFUSED,
        "the database refuses: {detail}",
    ),
    pattern(
        r"PSQLException: (Connection to \S+ refused|The connection attempt failed|An I/O error occurred|"
        r"This connection has been closed|FATAL: (the database system is|terminating connection))",
        reasons.DATABASE_UNREACHABLE,
        "the database does not answer: {root}",
    ),
    pattern(
        r"(ParentNotDirectoryException|FileAlreadyExistsException): (?P<detail>[^\n]*)|Mkdirs failed to create (?P<folder>\S+)",
        reasons.PATH_NOT_WRITABLE,
        "",
    ),
    pattern(
        r"Permission denied|Read-only file system|AccessControlException|AccessDeniedException",
        reasons.PERMISSION_DENIED,
        "",
    ),
    pattern(
        r"Offset(Map|Seq) cannot be cast to class \S+Offset(Seq|Map)|watermarkTracker\(\)\" is null",
        reasons.TRIGGER_CHANGED,
        "a continuous trigger and other triggers cannot use each other's checkpoint; raise checkpoint.generation",
    ),
    pattern(
        r"batch \d+ doesn't exist",
        reasons.ASYNC_PROGRESS_LEFT,
        "asyncProgressTracking left gaps in the checkpoint; set its checkpointInterval to 0 seconds until two batches have run, then leave it out",
    ),
    pattern(
        r"BATCH_METADATA_NOT_FOUND\][^\n]*?(?P<detail>\S+_spark_metadata/\S+)",
        reasons.SINK_LOG_DAMAGED,
        "the log of a sink's folder lacks the file {detail}; restore it from a copy, or give the sink a new path",
    ),
    pattern(rf"{STAGED_ROWS_LOST}: (?P<detail>[^\n]*)", reasons.STAGED_ROWS_LOST, "{detail}"),
    pattern(r"No space left on device", reasons.DISK_FULL, "no space is left on the device"),
    pattern(
        r"Python worker failed to connect back",
        reasons.PYTHON_WORKER_LOST,
        "a Python worker did not start in time, or ended while it started: the machine is too busy, or its Python is damaged",
    ),
    pattern(
        r"Python worker exited unexpectedly",
        reasons.PYTHON_WORKER_LOST,
        "a Python worker ended in the middle of its work: the document's code, or a library that it calls, ended the process "
        "or crashed, or the kernel killed it for lack of memory",
    ),
    pattern(
        r"OutOfMemoryError",
        reasons.OUT_OF_MEMORY,
        "Java's heap is full; raise `--heap`, or on a cluster resources.limits.memory of driver or executors",
    ),
)
"""The patterns in search order. They are matched with the text of all causes, without plans and stack frames."""
