"""Reasons of a start that fails because of a broker, a store, a database, a path or a checkpoint."""

from typing import Final

from mainstem.reasons.reason import Restarted, missing


CONNECTOR_NOT_FOUND: Final = missing(
    "ConnectorNotFound",
    "The class path has no connector of the name in `spark.format`.",
    "Name its jar in [`packages`](connectors.md#packages); check the name in the connector's own "
    "documentation.",
    Restarted.NO,
)
CONNECTOR_WRITES_NO_STREAMS: Final = missing(
    "ConnectorWritesNoStreams",
    "The connector of a `spark` sink has no streaming writer.",
    "Set `mode: batch`.",
    Restarted.NO,
)
KAFKA_CONFIG_INVALID: Final = missing(
    "KafkaConfigInvalid",
    "Kafka's client rejects its properties; the message quotes it.",
    "Correct `properties` of the connection, or `options` of the source or sink.",
    Restarted.NO,
)
BROKER_UNREACHABLE: Final = missing(
    "BrokerUnreachable",
    "No broker answers. A running query that waits for it has this reason too.",
    "Check `bootstrapServers`, the network, and the addresses that the broker advertises.",
    Restarted.UNLIMITED,
)
TOPIC_NOT_FOUND: Final = missing(
    "TopicNotFound",
    "A topic does not exist. A query without an end [waits](#what-to-do-when) for a topic that it reads.",
    "Create it, or correct the spelling.",
    Restarted.YES,
)
KAFKA_NOT_AUTHORIZED: Final = missing(
    "KafkaNotAuthorized",
    "Kafka rejects the credentials, or denies access to the topic.",
    "Check the connection's `security` and its secrets, and the broker's ACLs. A restarted query reads "
    "[changed secrets](security.md#changed-secrets).",
    Restarted.YES,
)
KAFKA_TLS_FAILED: Final = missing(
    "KafkaTlsFailed",
    "Client and broker do not trust each other's certificates.",
    "Check `ca.crt` of the secret, and `tls.crt` and `tls.key` if the broker requires a certificate. A "
    "restarted query reads [changed secrets](security.md#changed-secrets).",
    Restarted.YES,
)
NO_RECORD_OF_TIME: Final = missing(
    "NoRecordOfTime",
    "A partition has no record at or after the starting time.",
    "Set `startingOffsetsByTimestampStrategy: latest`, or an earlier time.",
    Restarted.NO,
)
STORE_UNREACHABLE: Final = missing(
    "StoreUnreachable",
    "The object store does not answer, or answers with an error of its own.",
    "Check `endpoint` and the network.",
    Restarted.UNLIMITED,
)
STORE_ACCESS_DENIED: Final = missing(
    "StoreAccessDenied",
    "The object store denies access.",
    "Check the keys, their policy, and `region`. A restarted query reads [changed "
    "secrets](security.md#changed-secrets).",
    Restarted.YES,
)
CHECKPOINT_STORE_NOT_CONDITIONAL: Final = missing(
    "CheckpointStoreNotConditional",
    "The object store of `checkpoints.location` lets two writers create the same object. So it cannot "
    "keep a second driver from a checkpoint.",
    "Keep checkpoints in a store with conditional writes (`If-None-Match`). Or accept the risk: set "
    "`checkpoints.requireConditionalWrites: false`; see [checkpoints on "
    "S3](exactly-once.md#checkpoints-on-s3).",
)
BUCKET_NOT_FOUND: Final = missing(
    "BucketNotFound",
    "The bucket does not exist.",
    "Create it. For your own store, check `pathStyle`.",
    Restarted.NO,
)
DATABASE_UNREACHABLE: Final = missing(
    "DatabaseUnreachable",
    "The database does not answer.",
    "Check `url` and the network.",
    Restarted.UNLIMITED,
)
DATABASE_REFUSED: Final = missing(
    "DatabaseRefused",
    "The database rejects a statement. The message quotes it without the row.",
    "Look for a missing column or permission, a value that does not fit, or a missing unique index of exactly "
    "the keys of `upsert`.",
    Restarted.YES,
)
STAGED_ROWS_LOST: Final = missing(
    "StagedRowsLost",
    "The staged rows of a batch are gone, because the database crashed or a pooler chose another server. "
    "Nothing of the batch is in the table.",
    "Do nothing; the batch runs again. If it recurs, read the database's log.",
    Restarted.YES,
)
TABLE_NOT_FOUND: Final = missing(
    "TableNotFound",
    "The table of a JDBC sink or source, or a table of the catalog, does not exist. A query without an "
    "end [waits](#what-to-do-when) for a table that it reads.",
    "Run `CREATE TABLE`; Mainstem does not create tables in a database.",
    Restarted.YES,
)
DATABASE_NOT_AUTHORIZED: Final = missing(
    "DatabaseNotAuthorized",
    "The database rejects the credentials; the message quotes it.",
    "Check the secret's `username` and `password`, and the database's own access list. A restarted query "
    "reads [changed secrets](security.md#changed-secrets).",
    Restarted.YES,
)
PATH_NOT_FOUND: Final = missing(
    "PathNotFound",
    "The path of a source does not exist, or is not a Delta table. A query without an end "
    "[waits](#what-to-do-when) for it.",
    "Create the folder; for a stream of files it may be empty.",
)
WRITER_NOT_ENDED: Final = missing(
    "WriterNotEnded",
    "The query ends, and so does another query of the document that writes its input. It waits for that query's end, so "
    "that it reads all of its rows.",
    "Do nothing. The message names the other query.",
)
STORE_CREDENTIALS_MISSING: Final = missing(
    "StoreCredentialsMissing",
    "Mainstem found no credentials for the object store.",
    "Set AWS's variables, or `secretRef` in the connection.",
    Restarted.NO,
)
PATH_NOT_WRITABLE: Final = missing(
    "PathNotWritable",
    "Mainstem cannot write at a path: a file is in the place of a folder, or this user lacks the permission.",
    "Check the path and the folders above it.",
    Restarted.NO,
)
PERMISSION_DENIED: Final = missing(
    "PermissionDenied",
    "The file system denies access.",
    "Check owner and mode of the checkpoint, sink and source folders.",
    Restarted.NO,
)
API_SERVER_UNREACHABLE: Final = missing(
    "ApiServerUnreachable",
    "A driver on a cluster cannot write its status, or a command cannot read what runs. The message quotes the API "
    "server.",
    "Of a driver: check network policies, the permissions of your own `driver.serviceAccountName`, and whether the "
    "pipeline still exists. Of a command: check `--context`, `--namespace`, `--name` and "
    "[your own permissions](security.md#permissions-of-a-person).",
)
API_SERVER_FORBIDS: Final = API_SERVER_UNREACHABLE.also("ApiServerForbids")
API_SERVER_REFUSES: Final = API_SERVER_UNREACHABLE.also("ApiServerRefuses")
PIPELINE_NOT_FOUND: Final = API_SERVER_UNREACHABLE.also("PipelineNotFound")
NOTHING_HAS_RUN: Final = missing(
    "NothingHasRun",
    "No driver has run the pipeline yet, or the ConfigMap with its document is gone.",
    "There is nothing to compare with. `kubectl describe` shows why no driver started. Or compare two files.",
)
STATE_NOT_REPARTITIONED: Final = missing(
    "StateNotRepartitioned",
    "`mainstem checkpoint repartition` cannot give the state another number of partitions: the checkpoint has no state, "
    "or Spark refuses its state store. The message quotes Spark.",
    "Start a new generation with an empty checkpoint: [what may change](changing.md).",
)
COMMAND_POD_NOT_STARTED: Final = missing(
    "CommandPodNotStarted",
    "The pod of `kubectl mainstem checkpoint` did not start in time. The message quotes the scheduler or the kubelet.",
    "Remove the cause, or give a longer `--timeout`. The command has deleted the pod.",
)
COMMAND_POD_LOST: Final = missing(
    "CommandPodLost",
    "The pod of `kubectl mainstem checkpoint` ended without an exit code: somebody deleted it, or its node is gone.",
    "`kubectl mainstem checkpoint verify` shows whether the checkpoint is whole. Then repeat the command.",
)
IMAGE_UNKNOWN: Final = missing(
    "ImageUnknown",
    "The document names no image, no driver pod runs, and you may not read the operator's Deployment.",
    "Give the image of drivers by `--image`.",
)
TABLE_OWNERSHIP_UNREADABLE: Final = missing(
    "TableOwnershipUnreadable",
    "The object that names the owner of a Delta table on S3 has other content.",
    "Remove the object that the message names, once no pipeline writes the table.",
)
TABLE_OWNED_BY_ANOTHER_PIPELINE: Final = missing(
    "TableOwnedByAnotherPipeline",
    "Another pipeline writes this Delta table on S3. The message names the pipeline and the object that "
    "records it.",
    "Write another table, or see [delta.md](delta.md#several-writers).",
)
STREAMING_CHECKPOINT_MISSING_METADATA_FILE: Final = missing(
    "STREAMING_CHECKPOINT_MISSING_METADATA_FILE",
    "The checkpoint's file `metadata` is missing, and with it the query's id.",
    "Restore it, or raise `checkpoint.generation`.",
    Restarted.NO,
)
STATE_LAYOUT_CHANGED: Final = missing(
    "StateLayoutChanged",
    "`state.partitions` or `state.provider` differs from the value that the checkpoint's first batch "
    "fixed. [Why Mainstem refuses it](#the-layout-of-state-changed).",
    "Set the old value again, or raise `checkpoint.generation`.",
)
CHECKPOINT_INCOMPATIBLE: Final = missing(
    "CheckpointIncompatible",
    "The query cannot continue correctly from its checkpoint, because the document has changed: its state would be "
    "misread, or Spark would refuse it. The message names the query, the field, and what would go wrong. On a "
    "cluster the running driver continues with the previous document.",
    "Undo the change. Or start with an empty checkpoint: raise `checkpoint.generation`, or set `checkpoint.onChange: "
    "newGeneration`. Or accept the result: `checkpoint.onChange: keep`. See [a change is refused](#what-to-do-when).",
    Restarted.NO,
)
SINK_FOLDER_TAKEN: Final = missing(
    "SinkFolderTaken",
    "The folder of a sink has data of another checkpoint or another writer.",
    "See [a folder already has data](#what-to-do-when).",
    Restarted.YES,
)
CHECKPOINT_NOT_FOUND: Final = missing(
    "CheckpointNotFound",
    "`mainstem checkpoint` found no checkpoint of a stream at the path, or the query has run no batch yet.",
    "Correct the path. `mainstem checkpoint ls` lists the checkpoints of a location.",
)
CHECKPOINT_EXISTS: Final = missing(
    "CheckpointExists",
    "`mainstem checkpoint fork` does not write into a folder that has files.",
    "Name a folder that does not exist.",
)
CHECKPOINT_DAMAGED: Final = missing(
    "CheckpointDamaged",
    "A file of a checkpoint that a start needs is missing or broken. The message names it. The query does not start, and "
    "loses or repeats no row; the other queries run.",
    "Restore the file, or go back to an older batch: [checkpoints.md](checkpoints.md#a-damaged-checkpoint).",
    Restarted.NO,
)
SINK_LOG_DAMAGED: Final = missing(
    "SinkLogDamaged",
    "A file of the log `_spark_metadata` in the folder of a sink is missing or broken. Spark's readers would not see the "
    "rows of its batches. The message names it. Mainstem removes no file from such a folder.",
    "Restore the file, or give the sink a new path; [how](checkpoints.md#a-damaged-log-of-a-folder).",
    Restarted.NO,
)
BATCH_NOT_KEPT: Final = missing(
    "BatchNotKept",
    "The checkpoint no longer has the plan or the state of the batch: Spark keeps about a hundred batches.",
    "Choose a batch that `mainstem checkpoint show` lists, or start a new generation with an empty checkpoint.",
)
REFUSED_CREDENTIALS: Final = (
    KAFKA_NOT_AUTHORIZED,
    KAFKA_TLS_FAILED,
    STORE_ACCESS_DENIED,
    DATABASE_NOT_AUTHORIZED,
)
"""Reasons of a query that a server refuses. The driver restarts the query like after any failure, because a restarted query
reads changed secrets. The conditions show the reason from the first refusal on: without other credentials no restart helps.
"""
