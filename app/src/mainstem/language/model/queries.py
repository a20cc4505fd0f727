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
    """Cores that the query gets before the scheduler applies the weights."""


class State(Model):
    """How stateful operators keep their state. The first batch of a checkpoint fixes these settings."""

    partitions: Annotated[int, Field(ge=1, le=10_000)] = 8
    """Partitions of every shuffle and state store of the query."""
    provider: Literal["rocksdb", "hdfs"] = "rocksdb"
    """`rocksdb` keeps state on local disk and writes only changes to the checkpoint; `hdfs` keeps all state on the
    Java heap."""


class Checkpoint(Model):
    """The checkpoint from which the query continues."""

    id: Label | None = None
    """Name of the checkpoint's folder; by default the query's name. If you rename a query, set it to the old name."""
    generation: Annotated[int, Field(ge=1, le=1_000_000)] = 1
    """A higher number starts the query with an empty checkpoint; the old checkpoint stays."""
    on_change: Literal["refuse", "newGeneration", "keep"] = "refuse"
    """What happens if the query cannot continue correctly from its checkpoint, because the document has changed. `refuse`:
    the query does not start. `newGeneration`: it starts with the next generation. `keep`: it continues all the same."""

    @property
    def accepts_any_change(self) -> bool:
        """Whether the query starts although its checkpoint belongs to an incompatible document."""
        return self.on_change != "refuse"


class Query(Model):
    """A relation that a pipeline writes to its sinks, without end, or until it has read all available data."""

    name: Label
    """Name of the query, of its pool and, unless `checkpoint.id` names another one, of its checkpoint."""
    from_: Annotated[Identifier, Field(alias="from")]
    """Source or view to write."""
    output_mode: Literal["append", "update", "complete"] = "append"
    """`append` writes each row once, when it is final. `update` writes changed rows. `complete` writes the whole
    result."""
    to: Annotated[tuple[Sink, ...], Field(min_length=1, max_length=MAX_SINKS, json_schema_extra=LIST_MAP)]
    """The sinks. Spark computes each batch once, and writes it to one sink after the other."""
    trigger: Trigger | None = None
    """When a batch starts."""
    async_progress_tracking: AsyncProgressTracking | None = None
    """Writes progress in a separate thread. For queries without state and with one sink: `kafka`, `console` or `noop`."""
    suspend: bool = False
    """True drains this query and does not start it again, while the others continue; false continues it from its
    checkpoint."""
    pool: Pool = Field(default_factory=Pool)
    """Share of the cores."""
    state: State = Field(default_factory=State)
    """State of stateful operators."""
    checkpoint: Checkpoint = Field(default_factory=Checkpoint)
    """Checkpoint from which the query continues."""

    @property
    def checkpoint_id(self) -> str:
        """Folder of all generations of the checkpoint, below `checkpoints.location`."""
        return self.checkpoint.id or self.name

    @property
    def checkpoint_path(self) -> str:
        """Path of the checkpoint below `checkpoints.location`: `<id>/<generation>`."""
        return f"{self.checkpoint_id}/{self.checkpoint.generation}"

    def with_generation(self, generation: int) -> "Query":
        """The same query with another generation of its checkpoint."""
        return self.model_copy(
            update={"checkpoint": self.checkpoint.model_copy(update={"generation": generation})}
        )
