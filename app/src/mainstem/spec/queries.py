"""What runs: queries with their sinks, triggers, pools and checkpoints."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from mainstem.spec.base import LIST_MAP, Columns, Identifier, Label, Model, Options, Text
from mainstem.spec.triggers import AsyncProgressTracking, Trigger


class KafkaSink(Model):
    """Records to a topic, at least once: after a failure the last batch may be written again."""

    connection: Identifier
    """Name of the Kafka connection."""
    topic: Text
    """Topic that every row goes to."""
    key: Columns | None = None
    """Columns whose JSON object is the record's key; without it the key is null."""
    value: Columns | None = None
    """Columns whose JSON object is the record's value; without it all columns."""
    options: Options = Field(default_factory=dict)
    """Further options of Spark's Kafka sink."""


class Merge(Model):
    """Upsert by keys: a row replaces the row of the table that has equal keys."""

    keys: Columns
    """Columns that identify a row."""


class DeltaSink(Model):
    """A Delta table, exactly once: each batch is at most one version of the table."""

    path: Text
    """Folder of the table; made by the first batch when it does not exist."""
    partition_by: Columns | None = None
    """Columns that partition a table made here."""
    merge: Merge | None = None
    """Upsert in place of append; the way to write `outputMode: update`."""
    options: Options = Field(default_factory=dict)
    """Further options of Delta's writer; not with `merge`."""


class ParquetSink(Model):
    """Parquet files in a folder of their own, exactly once."""

    path: Text
    """Folder; it must be empty, or this query's own, when the query first starts."""
    partition_by: Columns | None = None
    """Columns that become folders."""
    options: Options = Field(default_factory=dict)
    """Further options of Spark's Parquet writer."""


class ConsoleSink(Model):
    """Rows on the standard output, for a first look."""

    num_rows: Annotated[int, Field(ge=1, le=10_000)] = 20
    """At most so many rows a batch."""
    truncate: bool = True
    """Cut long values."""


class Sink(Model):
    """Where rows go: one of `kafka`, `delta`, `parquet`, `console`."""

    one_of: ClassVar = ("kafka", "delta", "parquet", "console")

    name: Identifier
    """Name of the sink within its query."""
    kafka: KafkaSink | None = None
    """A Kafka topic."""
    delta: DeltaSink | None = None
    """A Delta table."""
    parquet: ParquetSink | None = None
    """A folder of Parquet files."""
    console: ConsoleSink | None = None
    """The standard output."""


class Pool(Model):
    """The query's share of the executors' cores, in Spark's FAIR scheduler."""

    weight: Annotated[int, Field(ge=1, le=1000)] = 1
    """Share relative to the other queries' weights."""
    min_share: Annotated[int, Field(ge=0, le=10_000)] = 0
    """Cores that the query gets before shares are weighed."""


class State(Model):
    """How stateful operators keep their state. Part of the checkpoint's identity: fixed by its first batch."""

    partitions: Annotated[int, Field(ge=1, le=10_000)] = 8
    """Partitions of every shuffle and state store of the query."""


class Checkpoint(Model):
    """Which checkpoint the query goes on from."""

    id: Label | None = None
    """Folder of the checkpoint; without it the query's name. Set it to the old name when a query is renamed."""
    generation: Annotated[int, Field(ge=1, le=1_000_000)] = 1
    """Raise it to start anew beside the old checkpoint, which stays."""


class Query(Model):
    """A relation, written to a sink for ever, or until all that is available has been read."""

    name: Label
    """Name of the query, of its pool and, unless `checkpoint.id` says otherwise, of its checkpoint."""
    from_: Annotated[Identifier, Field(alias="from")]
    """Source or view that is written."""
    output_mode: Literal["append", "update", "complete"] = "append"
    """`append`: each row once, when it is final. `update`: rows that changed. `complete`: the whole result."""
    to: Annotated[tuple[Sink, ...], Field(min_length=1, max_length=1, json_schema_extra=LIST_MAP)]
    """The sink; a list, because a query will be able to write several."""
    trigger: Trigger | None = None
    """When a batch starts."""
    async_progress_tracking: AsyncProgressTracking | None = None
    """Progress beside the batches, for stateless queries that write to Kafka."""
    suspend: bool = False
    """True drains this query and keeps it down, while the others go on; false goes on from its checkpoint."""
    pool: Pool = Field(default_factory=Pool)
    """Share of the cores."""
    state: State = Field(default_factory=State)
    """State of stateful operators."""
    checkpoint: Checkpoint = Field(default_factory=Checkpoint)
    """Checkpoint to go on from."""

    @property
    def sink(self) -> Sink:
        """The sink that the query writes."""
        return self.to[0]

    @property
    def checkpoint_path(self) -> str:
        """Where the checkpoint lies below `checkpoints.location`: `<id>/<generation>`."""
        return f"{self.checkpoint.id or self.name}/{self.checkpoint.generation}"
