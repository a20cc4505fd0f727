"""Queries, with their triggers, pools and checkpoints."""

from typing import Annotated, Final, Literal

from pydantic import Field

from mainstem.language.base import LIST_MAP, Identifier, Label, Model
from mainstem.language.model.sinks import Sink
from mainstem.language.model.triggers import AsyncProgressTracking, Trigger


MAX_SINKS: Final = 8


_STATE: Final = "org.apache.spark.sql.execution.streaming.state"
STATE_STORES: Final = {
    "rocksdb": f"{_STATE}.RocksDBStateStoreProvider",
    "hdfs": f"{_STATE}.HDFSBackedStateStoreProvider",
}
"""State store provider -> its class in Spark."""


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
    provider: Literal["rocksdb", "hdfs"] = "rocksdb"
    """`rocksdb` keeps state on local disk and writes what changed; `hdfs` keeps all of it on the Java heap."""


class Checkpoint(Model):
    """Which checkpoint the query goes on from."""

    id: Label | None = None
    """Folder of the checkpoint; without it the query's name. Set it to the old name when a query is renamed."""
    generation: Annotated[int, Field(ge=1, le=1_000_000)] = 1
    """Raise it to start anew beside the old checkpoint, which stays."""


class Query(Model):
    """A relation, written to its sinks for ever, or until all that is available has been read."""

    name: Label
    """Name of the query, of its pool and, unless `checkpoint.id` names another one, of its checkpoint."""
    from_: Annotated[Identifier, Field(alias="from")]
    """Source or view that is written."""
    output_mode: Literal["append", "update", "complete"] = "append"
    """`append`: each row once, when it is final. `update`: rows that changed. `complete`: the whole result."""
    to: Annotated[tuple[Sink, ...], Field(min_length=1, max_length=MAX_SINKS, json_schema_extra=LIST_MAP)]
    """The sinks. Where there are several, each batch is computed once and written to one after the other."""
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
    def checkpoint_path(self) -> str:
        """Path of the checkpoint below `checkpoints.location`: `<id>/<generation>`."""
        return f"{self.checkpoint.id or self.name}/{self.checkpoint.generation}"
