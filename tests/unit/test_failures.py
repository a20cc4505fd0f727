"""What failed, by the text of the chain of causes. The texts are Spark's, Kafka's, Hadoop's and Delta's own, cut short."""

from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from mainstem.dataframes.decode.decoding import MALFORMED_RECORD
from mainstem.dataframes.sinks.batches import SINK_NOTE
from mainstem.runtime.failures.classification import classify, classify_text
from py4j.protocol import Py4JJavaError


PLAN = """
=== Streaming Query ===
Identifier: copy [id = 829f892d-91ac-4004-8df8-f38e50c0e38f, runId = 42512cbe-6ce8-4dea-b2a0-ebd8a3e624f2]
Current Committed Offsets: {}
Current Available Offsets: {FileStreamSource[file:/data/in]: {"logOffset":0}}

Current State: ACTIVE
Thread State: RUNNABLE

Logical Plan:
WriteToMicroBatchDataSource console
+- ~Project [__mainstem_record#5.a AS a#11]
   +- ~Filter isnull(assert_true(__mainstem_good#6, concat(mainstem:MalformedRecord:, a record does not parse:, concat( file , cast(file#2 as string)))))
      +- ~Project [value#0, StartsWith(trim(cast(value#0 as string), Some(
)), {)) AND is_valid_utf8(cast(value#0 as string))), false) AS __mainstem_good#6]
         +- ~StreamingExecutionRelation FileStreamSource[file:/data/in], [value#0, _metadata#1], name="src"
"""
STREAM = (
    "org.apache.spark.sql.streaming.StreamingQueryException: [STREAM_FAILED] Query [id = 829f892d-91ac-4004-8df8-"
    "f38e50c0e38f, runId = 42512cbe-6ce8-4dea-b2a0-ebd8a3e624f2] terminated with exception: "
)
ABORTED = (
    "Job aborted due to stage failure: Task 0 in stage 0.0 failed 4 times, most recent failure: Lost task 0.3 in "
    "stage 0.0 (TID 3) (localhost executor driver): "
)
FRAMES = """
	at org.apache.hadoop.fs.RawLocalFileSystem.mkdirs(RawLocalFileSystem.java:873)
	at java.base/java.lang.Thread.run(Thread.java:840)
	... 12 more
"""
IDS = "Request ID: 50TKX0DLCEN34O9K, Extended Request ID: bnYEkCfrFb6b=) (SDK Attempt Count: 1)"


def stream(text: str, *causes: str) -> str:
    """The chain of a query that ended: Spark's exception with the plan, then the causes."""
    return "\n".join([f"{STREAM}{text} SQLSTATE: XXKST{PLAN}", *causes])


class Case(NamedTuple):
    """A text and what it comes to."""

    name: str
    text: str
    reason: str
    message: str
    permanent: bool = True


CASES = [
    Case(
        "a malformed record",
        stream(
            "[USER_RAISED_EXCEPTION] mainstem:MalformedRecord:a record does not parse: topic t partition 0 offset 1; set decode.onMalformedRecord to drop or deadLetter SQLSTATE: P0001",
            "org.apache.spark.SparkRuntimeException: [USER_RAISED_EXCEPTION] mainstem:MalformedRecord:a record does not parse: topic t partition 0 offset 1; set decode.onMalformedRecord to drop or deadLetter SQLSTATE: P0001",
        ),
        "MalformedRecord",
        "a record does not parse: topic t partition 0 offset 1; set decode.onMalformedRecord to drop or deadLetter",
    ),
    Case(
        "a value that the type of the table cannot have",
        stream("[USER_RAISED_EXCEPTION] mainstem:ValueOutOfRange: 'n' is BIGINT, with a value that INT in the table cannot have; correct them SQLSTATE: P0001"),
        "ValueOutOfRange",
        "'n' is BIGINT, with a value that INT in the table cannot have; correct them",
    ),
    Case(
        "a table that was made anew with another type",
        stream("mainstem:TableChanged: 'n' is INT in the table, and DOUBLE in the query"),
        "TableChanged",
        "the table has changed since the query started: 'n' is INT in the table, and DOUBLE in the query",
        permanent=False,
    ),
    Case(
        "the user's own assertion",
        stream("[USER_RAISED_EXCEPTION] no flight without a carrier SQLSTATE: P0001"),
        "USER_RAISED_EXCEPTION",
        "no flight without a carrier",
        permanent=False,
    ),
    Case(
        "another failure in a query that asserts its records",
        stream("[DIVIDE_BY_ZERO] Division by zero. Use `try_divide`. SQLSTATE: 22012\n== SQL (line 1, position 8) ==\nSELECT 1 / 0\n       ^^^^^\n"),
        "DIVIDE_BY_ZERO",
        "Division by zero. Use `try_divide`",
        permanent=False,
    ),
    Case(
        "a column that is not there",
        "org.apache.spark.sql.catalyst.ExtendedAnalysisException: [UNRESOLVED_COLUMN.WITH_SUGGESTION] A column with name `aa` "
        "cannot be resolved. Did you mean one of the following? [`a`]. SQLSTATE: 42703; line 1 pos 7;\n'Project ['aa]\n"
        "+- ~SubqueryAlias src\n   +- ~Filter isnull(assert_true(__mainstem_good#6, concat(mainstem:MalformedRecord:, a record does not parse:)))\n",
        "UNRESOLVED_COLUMN.WITH_SUGGESTION",
        "A column with name `aa` cannot be resolved. Did you mean one of the following? [`a`]; line 1 pos 7",
    ),
    Case(
        "a type that is none",
        'org.apache.spark.sql.catalyst.parser.ParseException: \n[UNSUPPORTED_DATATYPE] Unsupported data type "NOTYPE". '
        "SQLSTATE: 0A000 (line 1, pos 2)\n\n== SQL ==\na NOTYPE\n--^^^\n",
        "UNSUPPORTED_DATATYPE",
        'Unsupported data type "NOTYPE" (line 1, pos 2)',
    ),
    Case(
        "a table that is not there",
        "org.apache.spark.sql.delta.DeltaAnalysisException: [DELTA_TABLE_NOT_FOUND] Delta table `/data/in` doesn't exist.",
        "DELTA_TABLE_NOT_FOUND",
        "Delta table `/data/in` doesn't exist",
    ),
    Case(
        "a table of a database that is not there",
        'org.postgresql.util.PSQLException: ERROR: relation "nowhere" does not exist\n  Position: 15',
        "TableNotFound",
        'relation "nowhere" does not exist',
        permanent=False,
    ),
    *(
        Case(
            f"a row that a database refuses: {text[:40]}",
            stream(f'java.sql.BatchUpdateException: Batch entry 0 INSERT INTO "t" ("v") VALUES (?) was aborted: ERROR: {text}')
            + note,
            "DatabaseRefused",
            f"the database refuses: {message}",
            permanent=False,
        )
        for text, note, message in (
            (
                'invalid input syntax for type json: "{secret"  Call getNextException to see other errors in the batch.',
                "\nmainstem: the database reads the text of 'doc' (json)",
                "invalid input syntax for type json; it reads the text of 'doc' (json)",
            ),
            ('invalid input value for enum mood: "secret\nsecret"  Call getNextException', "", "invalid input value for enum mood"),
            (
                'duplicate key value violates unique constraint "t_pkey"  Call getNextException to see other errors in the batch.',
                "",
                'duplicate key value violates unique constraint "t_pkey"',
            ),
            ('null value in column "v" of relation "t" violates', "", 'null value in column "v" of relation "t" violates'),
        )
    ),
    *(
        Case(f"refused credentials: {text[:60]}", stream(text), reason, message, permanent=False)
        for text, reason, message in (
            *(
                (
                    f"org.apache.kafka.common.errors.{name}: the broker's words",
                    "KafkaNotAuthorized",
                    f"Kafka refuses the credentials or denies access: {name}: the broker's words",
                )
                for name in (
                    "SaslAuthenticationException",
                    "TopicAuthorizationException",
                    "GroupAuthorizationException",
                    "ClusterAuthorizationException",
                    "TransactionalIdAuthorizationException",
                    "DelegationTokenAuthorizationException",
                )
            ),
            (
                "org.apache.kafka.common.errors.SslAuthenticationException: SSL handshake failed",
                "KafkaTlsFailed",
                "Kafka and its client do not trust each other: SslAuthenticationException: SSL handshake failed",
            ),
            *(
                (
                    f"software.amazon.awssdk.services.s3.model.S3Exception: Said. (Service: S3, Status Code: {code}, {IDS}:{name}",
                    "StoreAccessDenied",
                    "the object store refuses access: Said",
                )
                for code, name in (
                    (403, "AccessDenied"),
                    (400, "ExpiredToken"),
                    (400, "InvalidToken"),
                    (400, "TokenRefreshRequired"),
                    (403, "RequestTimeTooSkewed"),
                    (401, "Unauthorized"),
                )
            ),
            (
                "software.amazon.awssdk.services.sts.model.StsException: Said. (Service: Sts, Status Code: 403, Request ID: 1)",
                "StoreAccessDenied",
                "the object store refuses access",
            ),
            *(
                (
                    text,
                    "DatabaseNotAuthorized",
                    f"the database refuses the credentials or denies access: {text.removeprefix('java.sql.').removeprefix('org.postgresql.util.')}",
                )
                for text in (
                    'org.postgresql.util.PSQLException: FATAL: password authentication failed for user "u"',
                    'org.postgresql.util.PSQLException: FATAL: Peer authentication failed for user "u"',
                    'org.postgresql.util.PSQLException: FATAL: permission denied for database "d"',
                    'org.postgresql.util.PSQLException: FATAL: no pg_hba.conf entry for host "h"',
                    "org.postgresql.util.PSQLException: ERROR: permission denied for table t",
                    "java.sql.SQLException: Access denied for user 'u'@'h' to database 'd'",
                    "java.sql.SQLInvalidAuthorizationSpecException: not you",
                    "java.sql.SQLException: ORA-01017: invalid username/password; logon denied",
                    "java.sql.SQLException: Login failed for user 'u'",
                )
            ),
        )
    ),
    Case(
        "a topic that is not there, read",
        stream(
            "org.apache.kafka.common.errors.UnknownTopicOrPartitionException: This server does not host this topic-partition.",
            "java.util.concurrent.ExecutionException: org.apache.kafka.common.errors.UnknownTopicOrPartitionException: This server does not host this topic-partition.",
        ),
        "TopicNotFound",
        "the topic does not exist",
        permanent=False,
    ),
    Case(
        "a topic that is not there, written",
        stream(
            f"{ABORTED}org.apache.kafka.common.errors.TimeoutException: Topic nowhere not present in metadata after 20000 ms.\nDriver stacktrace:",
            "org.apache.kafka.common.errors.TimeoutException: Topic nowhere not present in metadata after 20000 ms.",
        ),
        "TopicNotFound",
        "the topic 'nowhere' does not exist",
        permanent=False,
    ),
    Case(
        "a record larger than the client sends",
        stream(
            f"{ABORTED}org.apache.kafka.common.errors.RecordTooLargeException: The message is 10485848 bytes when serialized which is larger "
            "than 1048576, which is the value of the max.request.size configuration.\nDriver stacktrace:",
            "org.apache.kafka.common.errors.RecordTooLargeException: The message is 10485848 bytes when serialized which is larger than "
            "1048576, which is the value of the max.request.size configuration.",
        ),
        "RecordTooLarge",
        "a record does not fit into a request: 10485848 bytes when serialized which is larger than 1048576; raise max.request.size in "
        "properties of the connection, and the topic's max.message.bytes with it",
    ),
    Case(
        "a record larger than the producer's buffer",
        stream(
            "org.apache.kafka.common.errors.RecordTooLargeException: The message is 40000088 bytes when serialized which is larger than the "
            "total memory buffer you have configured with the buffer.memory configuration."
        ),
        "RecordTooLarge",
        "a record does not fit into the producer's buffer: 40000088 bytes when serialized which is larger than it; raise buffer.memory in "
        "properties of the connection",
    ),
    Case(
        "a record larger than the broker takes",
        stream(
            "org.apache.kafka.common.errors.RecordTooLargeException: The request included a message larger than the max message size the "
            "server will accept."
        ),
        "RecordTooLarge",
        "the broker refuses a record, or a batch of records, as too large; raise the topic's max.message.bytes, which the broker limits by "
        "message.max.bytes",
    ),
    Case(
        "records that have expired",
        stream(
            "Some data may have been lost because they are not available in Kafka any more;\neither the data was aged out by Kafka or "
            "the topic may have been deleted.\nReason: Could not read records in offset [10, 15) for topic partition g1-0\nwith consumer "
            "group spark-kafka-source-40a471bc-executor.",
            "org.apache.kafka.clients.consumer.OffsetOutOfRangeException: Fetch position is out of range for partition g1-0",
        ),
        "KafkaDataLost",
        "records that the checkpoint points to have expired (g1-0: 10 to 15); set failOnDataLoss: false to continue after the gap",
    ),
    Case(
        "a broker that is gone",
        stream("org.apache.kafka.common.errors.TimeoutException: Timed out waiting for a node assignment. Call: listNodes"),
        "BrokerUnreachable",
        "the Kafka broker does not answer",
        permanent=False,
    ),
    Case(
        "a broker that goes while records are sent",
        stream("org.apache.kafka.common.errors.TimeoutException: Expiring 3 record(s) for out-0:25000 ms has passed since batch creation"),
        "BrokerUnreachable",
        "the Kafka broker does not answer",
        permanent=False,
    ),
    Case(
        "a broker whose name is unknown",
        stream(
            "Failed to create new KafkaAdminClient",
            "org.apache.kafka.common.KafkaException: Failed to create new KafkaAdminClient",
            "org.apache.kafka.common.config.ConfigException: No resolvable bootstrap urls given in bootstrap.servers",
        ),
        "BrokerUnreachable",
        "the Kafka broker does not answer",
        permanent=False,
    ),
    Case(
        "properties that Kafka refuses",
        stream(
            "Failed to create new KafkaAdminClient",
            "org.apache.kafka.common.KafkaException: Failed to create new KafkaAdminClient",
            "org.apache.kafka.common.config.ConfigException: The specified value of default.api.timeout.ms must be no smaller than the value of request.timeout.ms.",
        ),
        "KafkaConfigInvalid",
        "Kafka's client refuses its properties: ConfigException: The specified value of default.api.timeout.ms must be no smaller than the value of request.timeout.ms",
        permanent=True,
    ),
    Case(
        "a key store that cannot be read",
        stream(
            "Failed to construct kafka consumer",
            "org.apache.kafka.common.KafkaException: Failed to construct kafka consumer",
            "org.apache.kafka.common.KafkaException: Failed to load SSL keystore /keys/none.jks of type JKS",
            "java.nio.file.NoSuchFileException: /keys/none.jks",
        ),
        "KafkaConfigInvalid",
        "Kafka's client refuses its properties: NoSuchFileException: /keys/none.jks",
        permanent=True,
    ),
    Case(
        "a bucket that is not there",
        stream(
            "`s3a://nope/x/_delta_log': listObjects() on s3a://nope/x/_delta_log: software.amazon.awssdk.services.s3.model."
            f"NoSuchBucketException: The specified bucket does not exist. (Service: S3, Status Code: 404, {IDS}:NoSuchBucket"
        ),
        "BucketNotFound",
        "the bucket 'nope' does not exist",
    ),
    Case(
        "a wrong secret",
        "java.nio.file.AccessDeniedException: s3a://lake/c: getFileStatus on s3a://lake/c: software.amazon.awssdk.services.s3."
        "model.S3Exception: The request signature we calculated does not match the signature you provided. Check your key "
        f"and signing method. (Service: S3, Status Code: 403, {IDS}:SignatureDoesNotMatch",
        "StoreAccessDenied",
        "the object store refuses access to the bucket 'lake': The request signature we calculated does not match the "
        "signature you provided. Check your key and signing method",
        permanent=False,
    ),
    Case(
        "an unknown access key",
        "java.io.FileNotFoundException: PUT 0-byte object  on c: software.amazon.awssdk.services.s3.model.S3Exception: No user "
        f"exists with the provided access key ID. (Service: S3, Status Code: 404, {IDS}:XAdminUserNotFound",
        "StoreAccessDenied",
        "the object store refuses access: No user exists with the provided access key ID",
        permanent=False,
    ),
    Case(
        "no credentials",
        "java.nio.file.AccessDeniedException: s3a://lake/c: org.apache.hadoop.fs.s3a.auth.NoAuthWithAWSException: No AWS "
        "Credentials provided by TemporaryAWSCredentialsProvider SimpleAWSCredentialsProvider : software.amazon.awssdk.core."
        "exception.SdkClientException: Unable to load credentials from system settings.",
        "StoreCredentialsMissing",
        "no credentials for the object store; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or secretRef in the connection",
    ),
    Case(
        "a store that may be read only",
        stream(
            "[TASK_WRITE_FAILED] Task failed while writing rows to s3a://rob/d. SQLSTATE: 58030",
            "org.apache.spark.SparkException: [TASK_WRITE_FAILED] Task failed while writing rows to s3a://rob/d. SQLSTATE: 58030",
            "java.nio.file.AccessDeniedException: d/part-00000.parquet: Writing Object on d/part-00000.parquet: software.amazon."
            f"awssdk.services.s3.model.S3Exception: Access Denied. (Service: S3, Status Code: 403, {IDS}:AccessDenied",
        ),
        "StoreAccessDenied",
        "the object store refuses access to the bucket 'rob': Access Denied",
        permanent=False,
    ),
    Case(
        "a store that is gone",
        "java.net.ConnectException: getFileStatus on s3a://dead/x: software.amazon.awssdk.core.exception.SdkClientException: "
        "Unable to execute HTTP request: Connect to 127.0.0.1:50761 [/127.0.0.1] failed: Connection refused (SDK Attempt Count: 5)",
        "StoreUnreachable",
        "the object store does not answer",
        permanent=False,
    ),
    Case(
        "a store that answers with an error of its own",
        "org.apache.hadoop.fs.s3a.AWSStatus500Exception: Writing Object on d/part-00000.parquet: software.amazon.awssdk.services."
        f"s3.model.S3Exception: Please reduce your request rate. (Service: S3, Status Code: 503, {IDS}:SlowDown",
        "StoreUnreachable",
        "the object store does not answer: Please reduce your request rate",
        permanent=False,
    ),
    *(
        Case(
            f"a database that goes: {text}",
            stream(f"org.postgresql.util.PSQLException: {text}"),
            "DatabaseUnreachable",
            f"the database does not answer: PSQLException: {text.rstrip('.')}",
            permanent=False,
        )
        for text in (
            "Connection to 127.0.0.1:5432 refused. Check that the hostname and port are correct.",
            "An I/O error occurred while sending to the backend.",
            "This connection has been closed.",
            "FATAL: the database system is shutting down",
            "FATAL: terminating connection due to administrator command",
        )
    ),
    *(
        Case(
            f"a text that is too long: {shown[:30]!r}, {check}",
            stream(
                f'{ABORTED}[DELTA_EXCEED_CHAR_VARCHAR_LIMIT] Value "{shown}" exceeds char/varchar type length limitation. '
                f"Failed check: {check}{FRAMES}"
            ),
            "ValueOutOfRange",
            "'v' has a text that is too long for it in the table; shorten it in a view, or make the column wider in the table",
        )
        for shown, check in (
            *(
                (value, "((v IS NULL) OR (length(v) <= 5))")
                for value in (
                    "abcdef",
                    "a IS NULL)",
                    "Failed check: ((secret IS NULL) OR",
                    '" exceeds char/varchar type length limitation. Failed check: ((secret IS NULL)',
                    "a\nFailed check: (((secret.`x` IS NULL)\n",
                    ("Failed check: (" + ".`" * 20) * 100 + "\n",
                    "Failed check: (" * 3000,
                    " IS NULL)" * 3000,
                )
            ),
            (
                "[2,1800000004,0,64636261]",
                "(((v.`a` IS NULL) OR (length(v.`a`) <= 3)) AND ((v.`b` IS NULL) OR (length(v.`b`) <= 4)))",
            ),
            (
                "UnsafeArrayData@1cbb5ec3",
                "((v IS NULL) OR forall(v, lambdafunction(((namedlambdavariable() IS NULL) OR (length(namedlambdavariable()) <= 2)), namedlambdavariable())))",
            ),
            ("UnsafeMapData@1ced49c8", "((map_keys(v) IS NULL) OR forall(map_keys(v), lambdafunction(x, y)))"),
        )
    ),
    Case(
        "a text that is too long, in other words",
        f"{ABORTED}[DELTA_EXCEED_CHAR_VARCHAR_LIMIT] Value 'secret' is too long{FRAMES}",
        "ValueOutOfRange",
        "a column has a text that is too long for it in the table; shorten it in a view, or make the column wider in the table",
    ),
    Case(
        "a folder below a file",
        stream(
            f"{ABORTED}org.apache.hadoop.fs.ParentNotDirectoryException: Parent path is not a directory: file:/data/file{FRAMES}\nDriver stacktrace:",
            "org.apache.hadoop.fs.ParentNotDirectoryException: Parent path is not a directory: file:/data/file",
        ),
        "PathNotWritable",
        "ParentNotDirectoryException: Parent path is not a directory: file:/data/file",
    ),
    Case(
        "a folder of somebody else's",
        "java.io.FileNotFoundException: /data/out/part-00000.parquet (Permission denied)",
        "PermissionDenied",
        "FileNotFoundException: /data/out/part-00000.parquet (Permission denied)",
    ),
    Case(
        "a checkpoint of a continuous stream, read by batches",
        stream(
            'java.lang.NullPointerException: Cannot invoke "org.apache.spark.sql.execution.streaming.runtime.WatermarkTracker.currentWatermark()" '
            'because the return value of "org.apache.spark.sql.execution.streaming.runtime.MicroBatchExecution.watermarkTracker()" is null'
            f"{FRAMES}"
        ),
        "TriggerChanged",
        "a continuous trigger and other triggers cannot use each other's checkpoint; raise checkpoint.generation",
        permanent=True,
    ),
    Case(
        "a checkpoint of batches, read by a continuous stream",
        stream(
            "java.lang.ClassCastException: class org.apache.spark.sql.execution.streaming.checkpointing.OffsetMap cannot be cast to "
            f"class org.apache.spark.sql.execution.streaming.checkpointing.OffsetSeq (both in unnamed module){FRAMES}"
        ),
        "TriggerChanged",
        "a continuous trigger and other triggers cannot use each other's checkpoint; raise checkpoint.generation",
        permanent=True,
    ),
    Case(
        "a checkpoint that async progress has left with gaps",
        stream(f"java.lang.IllegalStateException: batch 7 doesn't exist{FRAMES}"),
        "AsyncProgressLeft",
        "asyncProgressTracking left gaps in the checkpoint; set its checkpointInterval to 0 seconds until two batches have run, then leave it out",
        permanent=True,
    ),
    Case(
        "a full disk",
        stream(f"{ABORTED}java.io.IOException: No space left on device{FRAMES}"),
        "DiskFull",
        "no space is left on the device",
        permanent=False,
    ),
    Case(
        "a broken file",
        "org.apache.spark.SparkException: [FAILED_READ_FILE.NO_HINT] Encountered error while reading file file:///data/a.parquet.  "
        "SQLSTATE: KD001\njava.lang.RuntimeException: corrupted file: the footer index is not within the file: -2021161076",
        "FAILED_READ_FILE.NO_HINT",
        "Encountered error while reading file file:///data/a.parquet: RuntimeException: corrupted file: the footer index is "
        "not within the file: -2021161076",
        permanent=False,
    ),
    Case(
        "two rows for one key of a merge",
        stream(
            "[FOREACH_BATCH_USER_FUNCTION_ERROR] An error occurred in the user provided function in foreach batch sink. Reason: An "
            'exception was raised by the Python Proxy. Return Message: Traceback (most recent call last):\n  File "clientserver.py", '
            "line 644, in _call_proxy\n    return_value = getattr(self.pool[obj_id], method)(*params)\n                   ^^^^^^\n"
            "pyspark.errors.exceptions.captured.UnsupportedOperationException: [DELTA_MULTIPLE_SOURCE_ROW_MATCHING_TARGET_ROW_IN_MERGE] "
            "Cannot perform Merge as multiple source rows matched and attempted to modify the same\ntarget row in the Delta table.\n"
        ),
        "DELTA_MULTIPLE_SOURCE_ROW_MATCHING_TARGET_ROW_IN_MERGE",
        "Cannot perform Merge as multiple source rows matched and attempted to modify the same target row in the Delta table",
    ),
    Case(
        "columns that do not fit the table",
        "org.apache.spark.sql.delta.DeltaAnalysisException: [DELTA_FAILED_TO_MERGE_FIELDS] Failed to merge fields 'id' and 'id'\n"
        "org.apache.spark.sql.delta.DeltaAnalysisException: [DELTA_MERGE_INCOMPATIBLE_DATATYPE] Failed to merge incompatible data types LongType and StringType",
        "DELTA_FAILED_TO_MERGE_FIELDS",
        "Failed to merge fields 'id' and 'id': DeltaAnalysisException: [DELTA_MERGE_INCOMPATIBLE_DATATYPE] Failed to merge incompatible data types LongType and StringType",
    ),
    Case(
        "state by other keys",
        stream(
            "[STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE] Provided key schema does not match existing state key schema.\nPlease check "
            "number and type of fields.\nExisting key_schema=StructType(StructField(k,StringType,true)) and new key_schema="
            "StructType(StructField(k,StringType,true),StructField(v,IntegerType,true)).\nIf you want to force running the query "
            "without schema validation, please set spark.sql.streaming.stateStore.stateSchemaCheck to false. SQLSTATE: XXKST"
        ),
        "STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE",
        "the keys of the state have changed: columns, or their types, of a GROUP BY, a join or a deduplication (was k String; "
        "is k String, v Integer); undo the change, or raise checkpoint.generation to start anew",
    ),
    Case(
        "state of other values, in a short message",
        stream("[STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE] Provided value schema does not match existing state value schema."),
        "STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE",
        "the values of the state have changed: an aggregate, the type of a join, or the columns of a stream that it keeps; undo the "
        "change, or raise checkpoint.generation to start anew",
    ),
    Case(
        "state of an operator that is gone",
        stream(
            "[STREAMING_STATEFUL_OPERATOR_NOT_MATCH_IN_STATE_METADATA] Streaming stateful operator name does not match with the "
            "operator in state metadata. This likely to happen when user adds/removes/changes stateful operator of existing "
            "streaming query.\nStateful operators in the metadata: [(OperatorId: 0 -> OperatorName: stateStoreSave)]; Stateful "
            "operators in current batch: []. SQLSTATE: 42K03"
        ),
        "STREAMING_STATEFUL_OPERATOR_NOT_MATCH_IN_STATE_METADATA",
        "the checkpoint has the state of other operators (was stateStoreSave; is none); undo the change, or raise "
        "checkpoint.generation to start anew",
    ),
    Case(
        "a checkpoint without the id of its query",
        "org.apache.spark.SparkException: [STREAMING_CHECKPOINT_MISSING_METADATA_FILE] Checkpoint location file:/c/q/1 is in an "
        "inconsistent state: the metadata file is missing but offset and/or commit logs contain data. SQLSTATE: 42K03",
        "STREAMING_CHECKPOINT_MISSING_METADATA_FILE",
        "the checkpoint's file `metadata` is missing, and with it the id by which tables recognize batches that they have; restore it, or raise "
        "checkpoint.generation to start anew",
    ),
    Case(
        "files elsewhere",
        stream("Wrong basePath /data/b for the root path: file:/data/a/1.json"),
        "SourcePathChanged",
        "the files of the last batch are not in /data/b, where the source reads now; restore the old path, or raise "
        "checkpoint.generation",
    ),
    Case(
        "a table where files were",
        stream("[DELTA_INVALID_SOURCE_VERSION] sourceVersion(0) is invalid"),
        "SourceKindChanged",
        "the checkpoint has the offsets of another kind of source; give the new source another name, or raise "
        "checkpoint.generation",
    ),
    *(
        Case(
            f"a table whose rows are {changed}",
            stream(f"{text} The source table can be found at path file:/data/t. SQLSTATE: 0A000"),
            "SourceChanged",
            "version 3 of the Delta table file:/data/t changes or removes rows that were read; set skipChangeCommits to skip such "
            "commits, or ignoreChanges to read the files that they rewrite, or read its changes with readChangeFeed and a new checkpoint",
        )
        for changed, text in (
            (
                "deleted",
                "[DELTA_SOURCE_IGNORE_DELETE] Detected deleted data (for example part-00000-0a.c000.snappy.parquet) from streaming source at version 3. This is currently not supported. If you'd like to ignore deletes, set the option 'ignoreDeletes' to 'true'.",
            ),
            (
                "changed",
                "[DELTA_SOURCE_TABLE_IGNORE_CHANGES] Detected a data update (for example UPDATE => ) in the source table at version 3. This is currently not supported. If this is going to happen regularly and you are okay to skip changes, set the option 'skipChangeCommits' to 'true'. If you would like the data update to be reflected, please restart this query with a fresh checkpoint directory.",
            ),
        )
    ),
    Case(
        "a checkpoint in use",
        "java.lang.IllegalStateException: Cannot start query with id 9a032dd2 as another query with same id is already active. "
        "Perhaps you are attempting to restart a query from checkpoint that is already active.",
        "CheckpointInUse",
        "another run is using this checkpoint",
        permanent=False,
    ),
    Case(
        "a checkpoint taken over",
        stream(
            "[CONCURRENT_STREAM_LOG_UPDATE] Concurrent update to the log. Multiple streaming jobs detected for 4. Please make sure only "
            "one streaming job runs on a specific checkpoint location at a time. SQLSTATE: 40000"
        ),
        "CheckpointInUse",
        "another run is using this checkpoint",
        permanent=False,
    ),
    Case(
        "a file of a checkpoint that another driver has created",
        stream(
            "[CONCURRENT_STREAM_LOG_UPDATE] Concurrent update to the log. Multiple streaming jobs detected for 4. Please make sure only "
            "one streaming job runs on a specific checkpoint location at a time. SQLSTATE: 40000",
            "org.apache.hadoop.fs.FileAlreadyExistsException: s3a://c/orders/1/offsets/4: another writer has created it",
            "org.apache.hadoop.fs.s3a.RemoteFileChangedException: Writing Object on orders/1/offsets/4: software.amazon.awssdk.services."
            f"s3.model.S3Exception: At least one of the pre-conditions you specified did not hold. (Service: S3, Status Code: 412, {IDS}:PreconditionFailed",
        ),
        "CheckpointInUse",
        "another run is using this checkpoint",
        permanent=False,
    ),
    Case(
        "a checkpoint that a newer driver owns",
        stream(
            "[CONCURRENT_STREAM_LOG_UPDATE] Concurrent update to the log. Multiple streaming jobs detected for 4. SQLSTATE: 40000",
            "org.apache.hadoop.fs.FileAlreadyExistsException: MAINSTEM_CHECKPOINT_OWNER s3a://c/orders/_1.mainstem-owner.json "
            '{"pipeline": "etl/orders", "description": "the pipeline \'etl/orders\', whose driver has started at 2026-11-23T05:48:01+00:00 on '
            'orders-driver", "process": "b:pid:[1]:7:99", "token": "9a032dd2"}',
        ),
        "Fenced",
        "a newer driver has taken over the checkpoint: the pipeline 'etl/orders', whose driver has started at 2026-11-23T05:48:01+00:00 on "
        "orders-driver",
    ),
    Case(
        "a store that fails",
        stream(
            "org.apache.hadoop.fs.s3a.AWSServiceThrottledException: Writing Object on c/orders/1/offsets/7: software.amazon.awssdk.services."
            f"s3.model.S3Exception: Reduce your rate (Service: S3, Status Code: 503, {IDS}",
        ),
        "StoreUnreachable",
        "the object store does not answer: Reduce your rate",
        permanent=False,
    ),
    Case(
        "a heap that is full",
        stream(f"org.apache.spark.SparkException: {ABORTED}java.lang.OutOfMemoryError: Java heap space"),
        "OutOfMemory",
        "Java's heap is full; raise `--heap`, or on a cluster resources.limits.memory of driver or executors",
        permanent=False,
    ),
    Case("nothing known", stream("java.lang.IllegalStateException: odd"), "QueryFailed", "IllegalStateException: odd", permanent=False),
    Case("nothing at all", "", "QueryFailed", "no message", permanent=False),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_each_error_text_becomes_one_line_with_a_reason(case: Case) -> None:
    failure = classify_text(case.text)
    assert (failure.reason, failure.message) == (case.reason, case.message)
    assert failure.permanent == case.permanent


@given(st.text())
@example(".")
def test_any_text_becomes_one_short_line(text: str) -> None:
    failure = classify_text(text)
    assert failure.reason
    assert failure.message
    assert "\n" not in failure.message
    assert len(failure.message) <= 400


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "org.apache.spark.sql.catalyst.parser.ParseException: \nFrame bound value must be a literal..\n== SQL (line 1) ==\nSELECT 1\n^^^\n",
            "ParseException: Frame bound value must be a literal",
        ),
        (
            "java.lang.AssertionError: these are wrong:\n\n\tfile:/a\n\tfile:/b",
            "AssertionError: these are wrong: file:/a",
        ),
        ("[SOME_CONDITION] these are wrong:\n  a = 1\n  b = 2", "these are wrong: a = 1"),
        ("[SOME_CONDITION] \n", "SOME_CONDITION"),
        (
            "java.lang.IllegalStateException\nCaused by: java.io.IOException: the disk is gone",
            "IOException: the disk is gone",
        ),
        ("java.lang.NullPointerException", "NullPointerException"),
        ("java.lang.IllegalStateException: odd:", "IllegalStateException: odd:"),
    ],
)
def test_a_line_that_only_announces_is_shown_with_the_next_one(text: str, message: str) -> None:
    assert classify_text(text).message == message
    assert classify_text(stream(text)).message == message


@given(st.sampled_from(CASES), st.sampled_from(["", PLAN, FRAMES]))
def test_plans_and_stack_frames_do_not_change_the_reason(case: Case, noise: str) -> None:
    assert classify_text(case.text + noise).reason == case.reason


@pytest.mark.parametrize("text", ["odd: password=hunter2", f"odd {'x' * 350} secretKey='hunter2 {'y' * 99}'"])
def test_a_message_holds_no_part_of_a_credential(text: str) -> None:
    failure = classify_text(stream(f"java.lang.IllegalStateException: {text}"))
    assert failure.message.startswith("IllegalStateException: odd")
    assert "hun" not in failure.message


def test_the_marker_of_a_malformed_record_is_that_of_the_decoder() -> None:
    assert classify_text(f"{MALFORMED_RECORD}a record does not parse: file f").reason == "MalformedRecord"


class Java:
    """A Java exception as py4j shows it."""

    _target_id = "o1"
    _gateway_client = None

    def __init__(self, name: str, message: str | None, cause: "Java | None" = None) -> None:
        self._name, self._message, self._cause = name, message, cause

    def __getattr__(self, name: str) -> Any:
        """py4j has a member for every name, and asks Java only when it is called."""
        return SimpleNamespace(member=name)

    def getClass(self) -> Any:
        return SimpleNamespace(getName=lambda: self._name)

    def getMessage(self) -> str | None:
        return self._message

    def getCause(self) -> "Java | None":
        return self._cause


def test_the_causes_of_a_java_exception_are_used() -> None:
    error = Java(
        "org.apache.spark.SparkException",
        "Job aborted.",
        Java("java.io.IOException", "No space left on device"),
    )
    assert classify(error).reason == "DiskFull"
    assert classify(Py4JJavaError("An error occurred while calling o102.mkdirs.", error)).reason == "DiskFull"  # type: ignore[no-untyped-call]


def test_the_message_names_the_failed_sink() -> None:
    error = ValueError(f"odd {'x' * 500}")
    error.add_note(f"{SINK_NOTE}'archive'")
    message = classify(error).message
    assert message.startswith("odd xxx")
    assert message.endswith("x... (sink 'archive')")
    assert len(message) == 400


def test_a_cycle_of_causes_ends() -> None:
    error = Java("java.lang.RuntimeException", None)
    error._cause = error
    assert classify(error).reason == "QueryFailed"


def test_a_python_exception_keeps_its_own_text() -> None:
    assert classify(ValueError("no such thing")).message == "no such thing"


def test_a_connector_without_streaming_writes_gets_advice() -> None:
    message = "org.apache.spark.sql.UnsupportedOperationException: Data source shelf does not support streamed writing. SQLSTATE: 0A000"
    failure = classify_text(message)
    assert (failure.reason, failure.permanent) == ("ConnectorWritesNoStreams", True)
    assert failure.message == "the connector shelf does not write streams; set mode: batch"
