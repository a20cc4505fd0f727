"""A table of the features of Structured Streaming: their fields in a document, their limits and their scenario.

`docs/reference.md` shows the table. Tests check that each path exists in the models and that each scenario has tests.
"""

from typing import Final, NamedTuple


class Feature(NamedTuple):
    """One feature of Structured Streaming.

    Attributes:
        name: the feature.
        paths: its fields below `spec`, with `[]` for each entry of a list.
        restricted: the limits of Spark or Mainstem; empty if there are none.
        scenario: the scenario whose tests cover it.
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
    Feature("Rate limits", ("sources[].kafka.maxOffsetsPerTrigger", "sources[].files.maxFilesPerTrigger", "sources[].files.maxBytesPerTrigger", "sources[].delta.maxFilesPerTrigger", "sources[].delta.maxBytesPerTrigger"), "not with `once` or `realTime`", "S04"),
    Feature("Client properties and secrets", ("connections[].kafka.properties", "connections[].kafka.security"), "credentials only as secrets", "S04"),
    Feature("Bounded reads", ("sources[].kafka.endingOffsets", "sources[].kafka.endingTimestamp", "sources[].kafka.endingOffsetsByTimestamp"), "the query runs once and ends", "S05"),
    Feature("Files as a stream", ("sources[].files",), "needs a schema, except for text", "S06"),
    Feature("Clean-up of processed files", ("sources[].files.cleanSource",), "only one query may read the source", "S06"),
    Feature("A Delta table as a stream", ("sources[].delta",), "only appended rows, unless a field allows changes", "S07"),
    Feature("Change data feed", ("sources[].delta.readChangeFeed",), "the table must have a change data feed", "S07"),
    Feature("Generated rows, lines of a socket", ("sources[].rate", "sources[].rateMicroBatch", "sources[].socket"), "not fault-tolerant", "S08"),
    Feature("Static side inputs", ("sources[].static",), "not on the side that an outer join keeps", "S09"),
    Feature("Refresh of side inputs", ("sources[].static.refresh",), "each query that reads the side input restarts", "S09"),
    Feature("Your own connectors as sources", ("sources[].spark", "sources[].static.spark", "packages"), "guarantees unknown; not with `continuous` or `realTime`", "S09"),
    Feature("Catalogs", ("connections[].catalog", "sources[].static.table"), "tables can only be read", "S09"),
    Feature("Decoding by schema", ("sources[].decode.json", "sources[].decode.csv", "sources[].decode.avro", "sources[].decode.text"), "Kafka, and files of lines; Avro only from Kafka", "S10"),
    Feature("Your own functions in SQL", ("functions[].python", "functions[].java"), "no Python aggregate over a stream", "S11"),
    Feature("Functions of DataFrames", ("views[].python",), "no rule checks the function's plan; Spark does", "S11"),
    Feature("Malformed records", ("sources[].decode.onMalformedRecord", "sources[].decode.onTombstone"), "exactly one query reads the dead letters", "S12"),
    Feature("Expectations", ("views[].expectations",), "not with `continuous`; exactly one query reads a quarantine", "S12"),
    Feature("Runs on a schedule", ("schedule",), "on a cluster; all queries must end", "S15"),
    Feature("SQL: projections, filters, aggregations, windows, joins", ("views[].sql",), "exactly one query; no window functions and no DISTINCT aggregates on streams", "S17"),
    Feature("Watermarks", ("sources[].watermark", "views[].watermark"), "an aggregation in `append` mode needs one", "S18"),
    Feature("Output modes", ("queries[].outputMode",), "`complete` needs an aggregation; file sinks only append", "S19"),
    Feature("Joins of streams", ("views[].sql",), "need an equality; outer joins also need watermarks and a time limit in the condition", "S21"),
    Feature("Deduplication", ("views[].deduplicate",), "without a watermark the state grows for ever", "S22"),
    Feature("State for each key, timers, initial state", ("views[].state.processor", "views[].state.function"), "event-time timers need a watermark; at most one function for each query, any number of processors", "S23"),
    Feature("Several stateful operators in a row", ("views[].sql",), "`append` only", "S24"),
    Feature("File sinks", ("queries[].to[].parquet", "queries[].to[].orc", "queries[].to[].csv", "queries[].to[].json", "queries[].to[].text"), "only append; each sink needs its own folder", "S26"),
    Feature("Kafka sink", ("queries[].to[].kafka",), "at least once", "S27"),
    Feature("Delta sink", ("queries[].to[].delta",), "`update` only with merge", "S28"),
    Feature("Delta merge", ("queries[].to[].delta.merge",), "not in `complete` mode", "S29"),
    Feature("Maintenance of Delta tables", ("queries[].to[].delta.maintenance",), "only in one sink of a table", "S30"),
    Feature("Several sinks", ("queries[].to",), "not with `continuous`, `realTime` or async progress", "S31"),
    Feature("Databases", ("queries[].to[].jdbc",), "PostgreSQL; other databases by `delivery: atLeastOnce`, only append", "S32"),
    Feature("Your own connectors as sinks", ("queries[].to[].spark",), "guarantees unknown; not with `continuous`, `realTime` or async progress", "S32"),
    Feature("Writers in Python", ("queries[].to[].python.foreach", "queries[].to[].python.foreachBatch"), "at least once", "S32"),
    Feature("Sinks for debugging, tests and measurements", ("queries[].to[].console", "queries[].to[].memory", "queries[].to[].noop"), "keep no rows", "S32"),
    Feature("Micro-batch triggers", ("trigger", "queries[].trigger.processingTime", "queries[].trigger.availableNow", "queries[].trigger.once"), "`once` is deprecated", "S34"),
    Feature("Continuous processing", ("queries[].trigger.continuous",), "only Kafka, rate or socket; one relation, no state; at least once", "S34"),
    Feature("Real-time mode", ("queries[].trigger.realTime",), "only from Kafka, only `update`, no state, a core for each partition; at least once", "S34"),
    Feature("Async progress tracking", ("queries[].asyncProgressTracking",), "no state, one sink, default trigger or `processingTime`; at least once", "S34"),
    Feature("Pools", ("queries[].pool.weight", "queries[].pool.minShare"), "", "S35"),
    Feature("Stopping one query", ("queries[].suspend",), "", "S35"),
    Feature("Restarts", ("restart",), "for each query separately, with a budget", "S36"),
    Feature("Checkpoints", ("checkpoints.location", "queries[].checkpoint"), "only one writer; the first batch fixes `state.partitions`", "S37"),
    Feature("Your own listeners", ("listeners",), "in Python", "S38"),
    Feature("Shuffle partitions and state store", ("queries[].state.partitions", "queries[].state.provider"), "the first batch fixes both", "S39"),
    Feature("Executors and dynamic allocation", ("executors.instances", "executors.dynamicAllocation"), "on a cluster", "S39"),
    Feature("Spark properties", ("spark.conf",), "except those that Mainstem sets itself", "S39"),
)  # fmt: skip
"""In the order of the scenarios."""
