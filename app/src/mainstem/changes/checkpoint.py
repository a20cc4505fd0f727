"""Compares a query with the facts about its checkpoint: a rule that needs no earlier document."""

from collections.abc import Iterator
from dataclasses import dataclass

from mainstem.changes.verdict import Change, Effect
from mainstem.language.model.queries import Query


NEW_GENERATION = "undo the change, or raise checkpoint.generation to start with an empty checkpoint"


@dataclass(frozen=True)
class CheckpointFacts:
    """What is in a checkpoint. A fact that nobody read is None.

    Attributes:
        operators: names of the stateful operators, as Spark's state metadata have them, by their ids: `stateStoreSave`.
            Empty for a checkpoint without state.
        partitions: number of state partitions; None also without state.
        provider: `rocksdb`, `hdfs` or the class of another state store; None also without state.
        sources: names of the sources with offsets in the newest batch.
    """

    operators: tuple[str, ...] | None = None
    partitions: int | None = None
    provider: str | None = None
    sources: tuple[str, ...] | None = None


def layout_changes(facts: CheckpointFacts, query: Query) -> Iterator[Change]:
    """The settings that the checkpoint's first batch has fixed and that differ from the query's."""
    path = f"spec.queries[{query.name}].state"
    for field, fixed, wanted in (
        ("partitions", facts.partitions, query.state.partitions),
        ("provider", facts.provider, query.state.provider),
    ):
        if fixed is not None and fixed != wanted:
            text = f"state.{field} is fixed at {fixed} by the checkpoint, and the document has {wanted}"
            yield Change(f"{path}.{field}", text, Effect.INCOMPATIBLE, NEW_GENERATION)
