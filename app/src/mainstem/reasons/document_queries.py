"""Reasons of problems in queries: streams, output modes, triggers."""

from typing import Final

from mainstem.reasons.reason import document_problem


TRIGGER_NOT_ALLOWED: Final = document_problem(
    "TriggerNotAllowed",
    "The query cannot have this trigger. A query that reads only static and bounded sources runs once.",
    "Leave the trigger out.",
)
WATERMARK_NEEDED: Final = document_problem(
    "WatermarkNeeded",
    "The query writes rows once they are final, and nothing shows when that is.",
    "Add what [this list](#a-watermark-is-needed) shows.",
)
WATERMARK_TWICE: Final = document_problem(
    "WatermarkTwice",
    "A view declares event time over a relation that already has it. Spark allows it once: the query "
    "fails with its first rows, or in append mode above an aggregation writes nothing.",
    "Keep one of the two. Above a processor use `eventTimeColumn`.",
)
EQUALITY_NEEDED: Final = document_problem(
    "EqualityNeeded",
    "A join of two streams has no equality.",
    "Add one to the condition, beside the time range.",
)
KEY_NEEDED: Final = document_problem(
    "KeyNeeded",
    "The session window is the only grouping key.",
    "Add another key, for example a constant column that a subquery makes.",
)
JOIN_NOT_ALLOWED: Final = document_problem(
    "JoinNotAllowed",
    "A join of a stream and a table keeps rows of the table, or two streams have a left anti join. Spark "
    "cannot know that no later row matches.",
    "Follow the message: exchange the sides, or use another join type.",
)
SET_OPERATION_NOT_ALLOWED: Final = document_problem(
    "SetOperationNotAllowed",
    "A set operation that Spark does not support on streams: UNION with a table, INTERSECT, EXCEPT that "
    "removes a stream's rows, or `EXCEPT ALL`.",
    "Write a join. For UNION, read the table as a stream, or write it by a query of its own.",
)
SUBQUERY_NOT_ALLOWED: Final = document_problem(
    "SubqueryNotAllowed",
    "IN, EXISTS or a scalar subquery reads a stream.",
    "Write a join.",
)
DISTINCT_NOT_ALLOWED: Final = document_problem(
    "DistinctNotAllowed",
    "An aggregate counts or collects DISTINCT values of a stream.",
    "Use `approx_count_distinct` or `collect_set`.",
)
WINDOW_FUNCTION_NOT_ALLOWED: Final = document_problem(
    "WindowFunctionNotAllowed",
    "A function OVER a window reads a stream.",
    "Group by `window(...)`.",
)
LIMIT_NOT_ALLOWED: Final = document_problem(
    "LimitNotAllowed",
    "A stream has OFFSET, or LIMIT in update mode.",
    "Leave OFFSET out. For LIMIT use append or complete mode.",
)
SAMPLE_NOT_ALLOWED: Final = document_problem(
    "SampleNotAllowed",
    "A stream has TABLESAMPLE.",
    "Filter by a hash of a column.",
)
FUNCTION_NOT_ALLOWED: Final = document_problem(
    "FunctionNotAllowed",
    "The result of a function has no meaning across batches.",
    "Use the function that the message names.",
)
WINDOW_KEY_NEEDED: Final = document_problem(
    "WindowKeyNeeded",
    "A query in `append` mode groups by the start or end of a window. For Spark only the window itself is"
    " event time.",
    "Group by the window, and take its start in a query above.",
)
JOIN_ROWS_LOST: Final = document_problem(
    "JoinRowsLost",
    "A column that is not event time bounds a join of two streams. Spark drops rows by their event time, "
    "which is too early. It is a *warning* if the partners of a row may all be older than its event time.",
    "Declare the watermark on that column, or [add a bound by event "
    "time](exactly-once.md#joins-of-two-streams).",
)
STATE_UNBOUNDED: Final = document_problem(
    "StateUnbounded",
    "*Warning*: the state grows without limit. A join of two streams keeps every row of a side, or a "
    "deduplication every row. Or an aggregation by the start of a window keeps every group.",
    "Add what is missing: see [below](#the-state-grows-without-limit).",
)
PROVIDER_NOT_ALLOWED: Final = document_problem(
    "ProviderNotAllowed",
    "A query with a processor sets `state.provider: hdfs`. Spark keeps the state of a processor only in "
    "RocksDB.",
    "Leave it out.",
)
STATE_NOT_ALLOWED: Final = document_problem(
    "StateNotAllowed",
    "A function of `applyInPandasWithState` stands above an aggregation or beside another such function, "
    "or its mode does not fit the query's. Or code that keeps state would get a column with a dot in its name.",
    "Follow the message, or use a processor, which has none of these limits.",
)
STREAM_NOT_ALLOWED: Final = document_problem(
    "StreamNotAllowed",
    "`initialState` reads a stream.",
    "Read a static source.",
)
AGGREGATION_NEEDED: Final = document_problem(
    "AggregationNeeded",
    "A query in `complete` mode has no aggregation.",
    "Use `append`.",
)
SORT_NOT_ALLOWED: Final = document_problem(
    "SortNotAllowed",
    "A stream has ORDER BY, SORT BY or CLUSTER BY.",
    "Use it only in `complete` mode, over an aggregation.",
)
OUTPUT_MODE_NOT_ALLOWED: Final = document_problem(
    "OutputModeNotAllowed",
    "The sink, a join of streams, a session window or a chain of stateful operators does not support the "
    "output mode.",
    "Use an output mode that the message names.",
)
MERGE_NEEDED: Final = document_problem(
    "MergeNeeded",
    "A query in `update` mode writes a Delta table without keys.",
    "Add `merge: {keys: [...]}`.",
)
UPSERT_NEEDED: Final = document_problem(
    "UpsertNeeded",
    "A query in `update` mode writes a database table without keys.",
    "Add `upsert: {keys: [...]}`.",
)
OPTIONS_NOT_ALLOWED: Final = document_problem(
    "OptionsNotAllowed",
    "A merge has options of the streaming writer.",
    "Leave them out.",
)
TRIGGER_NOT_FOR_SOURCE: Final = document_problem(
    "TriggerNotForSource",
    "The trigger does not support the source. `continuous` reads Kafka, rate and socket; `realTime` reads"
    " Kafka without limits. See [low-latency.md](low-latency.md).",
    "Use another trigger, or leave the limit out.",
)
TRIGGER_NOT_FOR_SINK: Final = document_problem(
    "TriggerNotForSink",
    "The trigger does not support the sink. `continuous` writes a topic, the console or noop; `realTime` "
    "writes a topic, the console or `python: {foreach}`. Both write only one sink.",
    "Use another trigger, or put a topic between two queries.",
)
TRIGGER_NOT_FOR_OUTPUT_MODE: Final = document_problem(
    "TriggerNotForOutputMode",
    "`realTime` writes only in update mode; `continuous` does not write in complete mode.",
    "Use the mode that the message names.",
)
TRIGGER_NOT_FOR_PLAN: Final = document_problem(
    "TriggerNotForPlan",
    "A view does something that the trigger does not support; the message names both.",
    "Use another trigger, or a simpler view.",
)
TRIGGER_INTERVAL: Final = document_problem(
    "TriggerInterval",
    "`realTime` is shorter than 5 seconds. It is the length of a batch.",
    "Set at least 5 seconds. Rows do not wait for the end of a batch.",
)
ASYNC_PROGRESS_NOT_ALLOWED: Final = document_problem(
    "AsyncProgressNotAllowed",
    "`asyncProgressTracking` does not go with the query. It allows no state, LIMIT, table, folder of "
    "files or second sink, and only the default trigger and `processingTime`.",
    "Leave it out.",
)
NOTHING_RUNS: Final = document_problem(
    "NothingRuns",
    "Every query is suspended.",
    "Remove `suspend` from one. To suspend a pipeline on a cluster, set `spec.suspend: true`.",
)
TRIGGER_DEPRECATED: Final = document_problem(
    "TriggerDeprecated",
    "*Warning*: Spark is going to remove the trigger that the message names.",
    "Use the trigger that the message suggests.",
)
TRIGGER_UNUSED: Final = document_problem(
    "TriggerUnused",
    "*Warning*: no query has the trigger of the pipeline: each has a trigger of its own, or reads only static and bounded sources.",
    "Remove `spec.trigger`, or the triggers of the queries that shall have it.",
)
DRAIN_TOO_SHORT: Final = document_problem(
    "DrainTooShort",
    "*Warning*: `drain.timeout` is shorter than a real-time batch, so every stop interrupts a batch.",
    "Raise `drain.timeout`, or shorten `realTime`.",
)
STARTS_BEHIND_WRITER: Final = document_problem(
    "StartsBehindWriter",
    "*Warning*: a query waits for the end of the query that writes its source, and then begins at the newest row. So its first "
    "run reads none of the rows.",
    "Set `startingOffsets: earliest`, or remove `startingVersion: latest`.",
)
SCHEDULE_UNBOUNDED: Final = document_problem(
    "ScheduleUnbounded",
    "A pipeline with a schedule has a query that never ends.",
    "Give each query `trigger: {availableNow: true}`, or remove the schedule.",
)
