"""What users of Structured Streaming build, where it stands in a document, and what Spark makes of it; one table.

`docs/reference.md` shows it. Tests hold it against the models (each path is one), and against the tests (each scenario
that is named has some).
"""

from typing import Final, NamedTuple


class Feature(NamedTuple):
    """One feature of Structured Streaming.

    Attributes:
        name: what it is.
        paths: where it stands, below `spec`, `[]` for each entry of a list.
        restricted: where Spark or Mainstem restricts it; empty where nothing does.
        scenario: the scenario whose tests prove it.
    """

    name: str
    paths: tuple[str, ...]
    restricted: str
    scenario: str


FEATURES: Final = (
    Feature("Kafka topics, a pattern, or exact partitions", ("sources[].kafka.subscribe", "sources[].kafka.subscribePattern", "sources[].kafka.assign"), "exactly one of the three", "S01"),
    Feature("Record columns and headers", ("sources[].decode.keep", "sources[].kafka.includeHeaders"), "Kafka only", "S01"),
    Feature("Transactions of producers", ("sources[].kafka.isolationLevel",), "", "S01"),
    Feature("Starting offsets", ("sources[].kafka.startingOffsets", "sources[].kafka.startingTimestamp", "sources[].kafka.startingOffsetsByTimestamp"), "used by a new checkpoint only", "S02"),
    Feature("Expired offsets", ("sources[].kafka.failOnDataLoss",), "", "S03"),
    Feature("Rate limits", ("sources[].kafka.maxOffsetsPerTrigger", "sources[].files.maxFilesPerTrigger", "sources[].files.maxBytesPerTrigger", "sources[].delta.maxFilesPerTrigger", "sources[].delta.maxBytesPerTrigger"), "not with `once` nor `realTime`", "S04"),
    Feature("Client properties and secrets", ("connections[].kafka.properties", "connections[].kafka.security"), "no credential in the document", "S04"),
    Feature("Bounded reads", ("sources[].kafka.endingOffsets", "sources[].kafka.endingTimestamp", "sources[].kafka.endingOffsetsByTimestamp"), "the query runs once, and ends", "S05"),
    Feature("Files as a stream", ("sources[].files",), "a schema is needed, but for text", "S06"),
    Feature("Clean-up of files that were read", ("sources[].files.cleanSource",), "one query reads the source", "S06"),
    Feature("A Delta table as a stream", ("sources[].delta",), "appends only, unless a field allows changes", "S07"),
    Feature("Change data feed", ("sources[].delta.readChangeFeed",), "the table keeps it", "S07"),
    Feature("Generated rows, lines of a socket", ("sources[].rate", "sources[].rateMicroBatch", "sources[].socket"), "not fault-tolerant", "S08"),
    Feature("Static side inputs", ("sources[].static",), "not on the side that an outer join keeps", "S09"),
    Feature("Side inputs read anew", ("sources[].static.refresh",), "each query that reads it starts again", "S09"),
    Feature("Connectors of one's own, read", ("sources[].spark", "sources[].static.spark", "packages"), "their promises are not known; not with `continuous` nor `realTime`", "S09"),
    Feature("Catalogs", ("connections[].catalog", "sources[].static.table"), "tables are read, not written", "S09"),
    Feature("Decoding by schema", ("sources[].decode.json", "sources[].decode.csv", "sources[].decode.avro", "sources[].decode.text"), "Kafka, and files of lines; Avro from Kafka only", "S10"),
    Feature("Functions of one's own in SQL", ("functions[].python", "functions[].java"), "no aggregate in Python over a stream", "S11"),
    Feature("Functions of DataFrames", ("views[].python",), "known to Spark alone: no rule looks inside", "S11"),
    Feature("Records that do not parse", ("sources[].decode.onMalformedRecord",), "exactly one query reads the dead letters", "S12"),
    Feature("Expectations", ("views[].expectations",), "not with `continuous`; exactly one query reads a quarantine", "S12"),
    Feature("Runs on a schedule", ("schedule",), "on a cluster; queries that come to an end", "S15"),
    Feature("SQL: projections, filters, aggregations, windows, joins", ("views[].sql",), "one query; no window functions, no DISTINCT aggregates on streams", "S17"),
    Feature("Watermarks", ("sources[].watermark", "views[].watermark"), "needed by `append` of an aggregation", "S18"),
    Feature("Output modes", ("queries[].outputMode",), "`complete` needs an aggregation; files only append", "S19"),
    Feature("Joins of streams", ("views[].sql",), "by an equality at least; outer joins need watermarks and a bound in time", "S21"),
    Feature("Deduplication", ("views[].deduplicate",), "without a watermark the state grows for ever", "S22"),
    Feature("State for each key, timers, initial state", ("views[].state.processor", "views[].state.function"), "event-time timers need a watermark; one function a query, any number of processors", "S23"),
    Feature("Several stateful operators in a row", ("views[].sql",), "`append` only", "S24"),
    Feature("File sinks", ("queries[].to[].parquet", "queries[].to[].orc", "queries[].to[].csv", "queries[].to[].json", "queries[].to[].text"), "append only, a folder of their own", "S26"),
    Feature("Kafka sink", ("queries[].to[].kafka",), "at least once", "S27"),
    Feature("Delta sink", ("queries[].to[].delta",), "no `update` but by merge", "S28"),
    Feature("Delta merge", ("queries[].to[].delta.merge",), "not in `complete` mode", "S29"),
    Feature("Maintenance of Delta tables", ("queries[].to[].delta.maintenance",), "at one sink of a table", "S30"),
    Feature("Several sinks", ("queries[].to",), "not with `continuous`, `realTime` nor async progress", "S31"),
    Feature("Databases", ("queries[].to[].jdbc",), "PostgreSQL; others by `delivery: atLeastOnce`, append only", "S32"),
    Feature("Connectors of one's own, written", ("queries[].to[].spark",), "their promises are not known; not with `continuous`, `realTime` nor async progress", "S32"),
    Feature("Writers in Python", ("queries[].to[].python.foreach", "queries[].to[].python.foreachBatch"), "at least once", "S32"),
    Feature("Sinks for a look, for tests, for measuring", ("queries[].to[].console", "queries[].to[].memory", "queries[].to[].noop"), "nothing lasts", "S32"),
    Feature("Micro-batch triggers", ("queries[].trigger.processingTime", "queries[].trigger.availableNow", "queries[].trigger.once"), "`once` is deprecated", "S34"),
    Feature("Continuous processing", ("queries[].trigger.continuous",), "Kafka, rate or socket; one relation, no state; at least once", "S34"),
    Feature("Real-time mode", ("queries[].trigger.realTime",), "from Kafka, `update`, no state, a core for each partition; at least once", "S34"),
    Feature("Async progress tracking", ("queries[].asyncProgressTracking",), "no state, one sink, default or `processingTime`; at least once", "S34"),
    Feature("Pools", ("queries[].pool.weight", "queries[].pool.minShare"), "", "S35"),
    Feature("Stopping one query", ("queries[].suspend",), "", "S35"),
    Feature("Restarts", ("restart",), "each query by itself, with a budget", "S36"),
    Feature("Checkpoints", ("checkpoints.location", "queries[].checkpoint"), "one writer; `state.partitions` is fixed by the first batch", "S37"),
    Feature("Listeners of one's own", ("listeners",), "in Python", "S38"),
    Feature("Shuffle partitions and state store", ("queries[].state.partitions", "queries[].state.provider"), "fixed by the first batch", "S39"),
    Feature("Executors, and executors by demand", ("executors.instances", "executors.dynamicAllocation"), "on a cluster", "S39"),
    Feature("Spark properties", ("spark.conf",), "but for those that Mainstem owns", "S39"),
)  # fmt: skip
"""In the order of the scenarios."""
