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
    Feature("Starting offsets", ("sources[].kafka.startingOffsets", "sources[].kafka.startingTimestamp", "sources[].kafka.startingOffsetsByTimestamp"), "heeded by a fresh checkpoint only", "S02"),
    Feature("Expired offsets", ("sources[].kafka.failOnDataLoss",), "", "S03"),
    Feature("Rate limits", ("sources[].kafka.maxOffsetsPerTrigger", "sources[].files.maxFilesPerTrigger", "sources[].delta.maxFilesPerTrigger"), "not with `once` nor `realTime`", "S04"),
    Feature("Client properties and secrets", ("connections[].kafka.properties", "connections[].kafka.security"), "no credential in the document", "S04"),
    Feature("Bounded reads", ("sources[].kafka.endingOffsets", "sources[].kafka.endingTimestamp"), "the query runs once, and ends", "S05"),
    Feature("Files as a stream", ("sources[].files",), "a schema is needed, but for text", "S06"),
    Feature("A Delta table as a stream", ("sources[].delta",), "appends only, unless a field says what to do about changes", "S07"),
    Feature("Made-up rows", ("sources[].rate",), "not fault-tolerant", "S08"),
    Feature("Static side inputs", ("sources[].static",), "not on the side that an outer join keeps", "S09"),
    Feature("Decoding by schema", ("sources[].decode.json",), "Kafka, and files of lines", "S10"),
    Feature("Records that do not parse", ("sources[].decode.onBadRecord",), "exactly one query reads the dead letters", "S12"),
    Feature("SQL: projections, filters, aggregations, windows, joins", ("views[].sql",), "one query; no window functions, no DISTINCT aggregates on streams", "S17"),
    Feature("Watermarks", ("sources[].watermark", "views[].watermark"), "needed by `append` of an aggregation", "S18"),
    Feature("Output modes", ("queries[].outputMode",), "`complete` needs an aggregation; files only append", "S19"),
    Feature("Joins of streams", ("views[].sql",), "outer joins need watermarks and a bound in time", "S21"),
    Feature("Deduplication", ("views[].deduplicate",), "without a watermark the state grows for ever", "S22"),
    Feature("File sinks", ("queries[].to[].parquet", "queries[].to[].csv", "queries[].to[].json"), "append only, a folder of their own", "S26"),
    Feature("Kafka sink", ("queries[].to[].kafka",), "at least once", "S27"),
    Feature("Delta sink", ("queries[].to[].delta",), "no `update` but by merge", "S28"),
    Feature("Delta merge", ("queries[].to[].delta.merge",), "`outputMode: update`", "S29"),
    Feature("Several sinks", ("queries[].to",), "not with `continuous` nor `realTime`", "S31"),
    Feature("Micro-batch triggers", ("queries[].trigger.processingTime", "queries[].trigger.availableNow", "queries[].trigger.once"), "`once` is deprecated", "S34"),
    Feature("Continuous processing", ("queries[].trigger.continuous",), "Kafka or rate, one relation, no state; at least once", "S34"),
    Feature("Real-time mode", ("queries[].trigger.realTime",), "Kafka to Kafka, `update`, no state, a core for each partition; at least once", "S34"),
    Feature("Async progress tracking", ("queries[].asyncProgressTracking",), "no state, one topic; at least once", "S34"),
    Feature("Pools", ("queries[].pool.weight", "queries[].pool.minShare"), "", "S35"),
    Feature("Stopping one query", ("queries[].suspend",), "", "S35"),
    Feature("Checkpoints", ("checkpoints.location", "queries[].checkpoint"), "one writer; `state.partitions` is fixed by the first batch", "S37"),
    Feature("Shuffle partitions and state", ("queries[].state.partitions",), "fixed by the first batch", "S39"),
    Feature("Spark properties", ("spark.conf",), "but for those that Mainstem owns", "S39"),
)  # fmt: skip
"""In the order of the scenarios."""
