"""Reasons of queries that fail while they run."""

from typing import Final

from mainstem.reasons.reason import Exit, Origin, Reason, Restarted, query_failure


EXPECTATION_FAILED: Final = query_failure(
    "ExpectationFailed",
    "A row violates an expectation whose `onViolation` is `fail`. The message names view and expectation,"
    " and shows no data.",
    "Correct the data, or choose `warn`, `drop` or `quarantine`.",
    Restarted.NO,
)
MALFORMED_RECORD: Final = query_failure(
    "MalformedRecord",
    "Mainstem cannot parse a record, and `onMalformedRecord` is `fail`. The message has the record's "
    "place, and the column, its type and the beginning of the value, or the keys of an object that has no column.",
    "If no batch is committed and all records look like this one, correct the schema or an option of the "
    "format. For a record without a value choose `onTombstone: skip`. Otherwise choose `drop` or `deadLetter`, or correct "
    "the producer.",
    Restarted.NO,
)
PARTITION_VALUE_NOT_SUPPORTED: Final = query_failure(
    "PartitionValueNotSupported",
    "A partition column has a value that would be read back as another value, or that no folder can have in its name. The"
    " message names the column and the kind of value. See [Partition columns](quality.md#partition-columns).",
    "Replace such values in a view: `nullif(p, '')` for an empty text, `left(p, 80)` for a long one, or"
    " another text.",
    Restarted.NO,
)
VALUE_OUT_OF_RANGE: Final = query_failure(
    "ValueOutOfRange",
    "A column has a value that the column of the table, or of the files in a folder, cannot have, such as 3,000,000,000 for an"
    " INT, four characters for a VARCHAR(3), or a NUL character for a text of PostgreSQL. The message names the column and the remedy.",
    "Correct or drop such rows in a view, or make the table's column wider. See [Types of a"
    " table](delta.md#types-of-an-existing-table).",
    Restarted.NO,
)
TABLE_CHANGED: Final = query_failure(
    "TableChanged",
    "A table has another type for a column than when the query started: another writer made it, or made it anew. Nothing of"
    " the batch is written.",
    "Nothing: the query starts again, and converts to the new types, or names the column as `TypeTooNarrow`.",
    Restarted.YES,
)
KEY_IS_NULL: Final = query_failure(
    "KeyIsNull",
    "A row has a null in a key of a merge or of an upsert. The message names the column. Nothing of the batch is written to the"
    " sink.",
    "Drop such rows in a view: by a condition, or by an [expectation](quality.md#expectations), which counts them or keeps them"
    " apart. If null is a key, such as that of a group, set `allowNullKeys: true` beside `keys`.",
    Restarted.NO,
)
MERGE_KEY_REPEATED: Final = query_failure(
    "MergeKeyRepeated",
    "Two rows of one batch have equal merge keys, and neither `sequenceBy` nor the source shows which is newer.",
    "Add a column to `merge.sequenceBy` that orders them, or aggregate by the keys.",
    Restarted.NO,
)
WRITER_FAILED: Final = query_failure(
    "WriterFailed",
    "A query that writes an input of this query has failed. So this query has not started, and has read nothing.",
    "Correct the other query. The next run starts both, and reads all rows.",
    Restarted.NO,
)
FILES_EXPIRED: Final = query_failure(
    "FilesExpired",
    "Files of a source were deleted or moved after their batch was planned and before it read them.",
    "Restore them, or set `failOnDataLoss: false`: the query continues without them and counts them.",
    Restarted.NO,
)
FOLDER_COLUMN_APPEARED: Final = query_failure(
    "FolderColumnAppeared",
    "Folders such as `k=v` have appeared that the source did not have when the query started. The query starts again "
    "at once, without a failure, and has the column. So this reason shows only that the same has happened again.",
    "Find out who adds and removes these folders.",
)
FOLDERS_CONFLICT: Final = query_failure(
    "FoldersConflict",
    "Folders such as `k=v` do not agree: at one level they have different names, one has a level more than another, or a "
    "value does not have the type of the column. The message shows the folders or the value.",
    "Declare a column of other values as STRING in the schema. For folders, set `options: {recursiveFileLookup: "
    '"true"}`: the source reads all files, and folders give no columns. Or move the files that no batch has read: a file '
    "that was read is read again in another folder, and one of a planned batch is missing there (`FilesExpired`).",
)
FILE_NAME_NOT_SUPPORTED: Final = query_failure(
    "FileNameNotSupported",
    "The name of a file has a colon. On a local file system Hadoop cannot open such a file; an object "
    "store has no such limit.",
    "Rename the file.",
    Restarted.NO,
)
TOPIC_RECREATED: Final = query_failure(
    "TopicRecreated",
    "A topic that the query has read was deleted and created again. If `failOnDataLoss` is true, the "
    "query ends. [What happens otherwise](#a-topic-was-created-again).",
    "Set `failOnDataLoss: false`, or start a new generation of the checkpoint.",
    Restarted.NO,
)
RECORD_TOO_LARGE: Final = query_failure(
    "RecordTooLarge",
    "A record is larger than a limit: `max.request.size` of Kafka's client (1 MiB by default), or "
    "`max.message.bytes` of the topic. The message shows which.",
    "Raise the client's limit in `properties` of the connection, the topic's on the broker. Or write "
    "smaller records.",
    Restarted.NO,
)
KAFKA_DATA_LOST: Final = query_failure(
    "KafkaDataLost",
    "Records that the checkpoint points to have expired.",
    "Look for them elsewhere first. Then set `failOnDataLoss: false`: the query continues after the gap, "
    "and the records in it are lost.",
    Restarted.NO,
)
SOURCE_CHANGED: Final = query_failure(
    "SourceChanged",
    "A commit of a Delta table that a stream reads changes or removes rows.",
    "Set `skipChangeCommits` to skip such commits, or `ignoreChanges` to read the rewritten files again. "
    "Or use `readChangeFeed` with a new checkpoint. See [delta.md](delta.md#a-table-as-a-stream).",
    Restarted.NO,
)
SOURCE_REPLACED: Final = query_failure(
    "SourceReplaced",
    "The Delta table of the checkpoint was removed, and another table is in its place.",
    "Start a new generation; it reads the new table from its beginning.",
    Restarted.NO,
)
SOURCE_PATH_CHANGED: Final = query_failure(
    "SourcePathChanged",
    "A source of files reads another path than that of the checkpoint's files.",
    "Set the old path again, or start a new generation.",
    Restarted.NO,
)
SOURCE_KIND_CHANGED: Final = query_failure(
    "SourceKindChanged",
    "The checkpoint has the offsets of another kind of source, for example of a table where the source "
    "now reads files.",
    "Give the new source a name of its own, or start a new generation.",
    Restarted.NO,
)
TRIGGER_CHANGED: Final = query_failure(
    "TriggerChanged",
    "The trigger changed from `continuous` to another one, or from another one to `continuous`. Spark "
    "reads neither checkpoint with the other trigger.",
    "Raise `checkpoint.generation`. For a topic set `startingOffsets` to where the old query stopped.",
    Restarted.NO,
)
ASYNC_PROGRESS_LEFT: Final = query_failure(
    "AsyncProgressLeft",
    "`asyncProgressTracking` was removed, and the checkpoint has gaps where it did not record batches.",
    "Set `asyncProgressTracking: {checkpointInterval: 0 seconds}` until two batches have run; then remove"
    " it.",
    Restarted.NO,
)
DISK_FULL: Final = query_failure(
    "DiskFull",
    "A disk is full, or before a start the temporary folder has less than 128 MiB free.",
    "Free space for checkpoints, the sink, or the scratch folder below `$TMPDIR`.",
    Restarted.YES,
)
OUT_OF_MEMORY: Final = query_failure(
    "OutOfMemory",
    "The Java heap is full.",
    "Raise `--heap`, or on a cluster `resources.limits.memory`. Or use smaller batches or fewer "
    "`state.partitions`.",
    Restarted.YES,
)
QUERY_STALLED: Final = query_failure(
    "QueryStalled",
    "A batch took longer than `restart.stallAfter` beyond the batch before it, and `restart.onStall` is `restart`. The "
    "batch was interrupted.",
    "If it happens again: look at the stage and its tasks in Spark's UI, at the code of the query, and at its store. If "
    "batches of this length are normal, raise `restart.stallAfter`.",
    Restarted.YES,
)
CHECKPOINT_IN_USE: Final = query_failure(
    "CheckpointInUse",
    "Another driver uses this checkpoint: that of another pipeline, namespace or cluster, or a second run on this "
    "machine. The message names its pipeline, host, start time and epoch, and the owner record.",
    "See [below](#a-checkpoint-is-in-use).",
    Restarted.YES,
)
FENCED: Final = Reason(
    "Fenced",
    "A newer driver has taken over a checkpoint of this driver. The message names the newer driver and the time of its "
    "start. The older driver can write nothing more to the checkpoint, and ends.",
    "Do nothing: the newer driver continues from the checkpoint. If the newer driver should not exist, see "
    "[below](#a-checkpoint-is-in-use).",
    exit_code=Exit.FENCED,
    restarted=Restarted.NO,
)
CHECKPOINT_OWNER_UNREADABLE: Final = query_failure(
    "CheckpointOwnerUnreadable",
    "Mainstem cannot read or write the owner record beside a checkpoint, "
    "`_<generation>.mainstem-owner.json`, or the record has other content.",
    "If the record has other content, remove the file that the message names, once no driver uses the "
    "checkpoint. Otherwise make the volume writable, with free space.",
)
PYTHON_FAILED: Final = query_failure(
    "PythonFailed",
    "Your code raised an exception. The message begins with the exception, and names your lines of code "
    "if there are any. A result that does not fit its declared type is named with both. The same error of Python itself, such as a"
    " `TypeError`, at the same batch is tried once more, and then no more. See [below](#python-code-failed).",
    "Correct the code, or the row that it cannot process.",
    Restarted.YES,
)
PYTHON_WORKER_LOST: Final = query_failure(
    "PythonWorkerLost",
    "A Python worker ended during its work, or did not start in time, for example on a busy machine. "
    "Possible causes: code that ends its process, a crash in native code of a library, too little memory.",
    "Raise the memory or lower the load. To find a crash, set `spark.python.worker.faulthandler.enabled: "
    '"true"` in `spark.conf`.',
    Restarted.YES,
)
QUERY_FAILED: Final = query_failure(
    "QueryFailed",
    "The failure has no other reason; the message is the first line of the exception.",
    "Run with `--verbose` to see the rest.",
    Restarted.YES,
)
STATE_STORE_CHECKPOINT_LOCATION_NOT_EMPTY: Final = query_failure(
    "STATE_STORE_CHECKPOINT_LOCATION_NOT_EMPTY",
    "The driver stopped or was killed while it planned the query's very first batch. No batch was planned.",
    "Check that `offsets/` and `commits/` of the checkpoint have no numbered file, then remove the "
    "checkpoint's folder. Or raise the generation.",
    Restarted.YES,
    origin=Origin.SPARK,
)
STATE_STORE_KEY_SCHEMA: Final = query_failure(
    "STATE_STORE_KEY_SCHEMA...",
    "The SQL changed in a way that does not fit its state. The message shows the old and the new columns "
    "or operators.",
    "Undo the change, or start a new generation. [What may change](changing.md).",
    Restarted.NO,
    origin=Origin.SPARK,
)
STATE_STORE_VALUE_SCHEMA: Final = STATE_STORE_KEY_SCHEMA.also("STATE_STORE_VALUE_SCHEMA...")
STREAMING_STATEFUL: Final = STATE_STORE_KEY_SCHEMA.also("STREAMING_STATEFUL...")
DELTA_METADATA_MISMATCH: Final = query_failure(
    "DELTA_METADATA_MISMATCH",
    "The columns do not fit the table. The message names the new columns and those of another type.",
    "Change the view, or set `mergeSchema: true` for new columns.",
    Restarted.NO,
    origin=Origin.SPARK,
)
DELTA_FAILED_TO_MERGE: Final = DELTA_METADATA_MISMATCH.also("DELTA_FAILED_TO_MERGE...")
DELTA_MULTIPLE_SOURCE_ROW: Final = query_failure(
    "DELTA_MULTIPLE_SOURCE_ROW...",
    "Two rows of one batch become one merge key in the type of the table's column, such as the texts `1` and `01` in an INT.",
    "Cast the key to the type of the table's column in a view.",
    Restarted.NO,
    origin=Origin.SPARK,
)
DRAIN_TIMED_OUT: Final = Reason(
    "DrainTimedOut",
    "A batch was still running at the end of `drain.timeout`, and the driver interrupted it.",
    "See [a drain was interrupted](#what-to-do-when).",
    exit_code=Exit.DRAIN_INTERRUPTED,
)
INTERRUPTED: Final = Reason(
    "Interrupted",
    "A second signal interrupted a batch.",
    "See [a drain was interrupted](#what-to-do-when).",
    exit_code=Exit.DRAIN_INTERRUPTED,
)
