"""Compares a query with the facts about its checkpoint: a rule that needs no earlier document."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from mainstem.changes.relations import NormalForm, StepKind
from mainstem.changes.verdict import NEW_GENERATION, Change, Effect
from mainstem.language.model.queries import Query


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


_OPERATORS: Final = {
    StepKind.AGGREGATE: "StateStoreSave",
    StepKind.DEDUPLICATE: "dedupe",
    StepKind.JOIN: "Join",
    StepKind.STATE: "State",
    StepKind.LIMIT: "Limit",
}
"""Kind of step -> a part of the name of Spark's operator."""


def checkpoint_changes(facts: CheckpointFacts, query: Query, form: NormalForm) -> Iterator[Change]:
    """What of a query does not fit its checkpoint."""
    yield from layout_changes(facts, query)
    if facts.operators is None or any(step.kind is StepKind.UNKNOWN for step in form.steps):
        return
    kinds = [step.kind for step in form.steps]
    fits = len(kinds) == len(facts.operators) and all(
        any(_OPERATORS[kind].lower() in operator.lower() for operator in facts.operators) for kind in kinds
    )
    if not fits:
        was = ", ".join(facts.operators) or "no step"
        text = f"the query keeps the state of {', '.join(kinds) or 'no step'}, and the checkpoint has that of {was}"
        yield Change(f"spec.queries[{query.name}].from", text, Effect.INCOMPATIBLE, NEW_GENERATION)


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
