"""Compares what two joins of streams keep in state."""

from collections.abc import Iterator

from mainstem.changes.expressions import Expression, LeafColumn
from mainstem.changes.relations import Keys, NormalForm, Step, StepKind
from mainstem.changes.sides import Types, pairs_of, retyped
from mainstem.changes.verdict import NEW_GENERATION, Change, Effect


def kept_changes(
    step: Step,
    inputs: tuple[Keys, Keys],
    at: int,
    used: tuple[set[LeafColumn], set[LeafColumn]],
    types: tuple[Types, Types],
) -> Iterator[Change]:
    """Changes of the columns that a join of streams keeps for one of its sides."""
    pairs, added = pairs_of(*inputs)
    if added:
        text = (
            "rows of another source come to the join of streams: whether it keeps the same columns is unknown"
        )
        yield Change(step.path, text, Effect.MISREADS, NEW_GENERATION)
    for was_at, now_at in pairs:
        was, now = (
            list(_needed(keys.kept[place], f"{step.name}.{at}", needed))
            for keys, place, needed in zip(inputs, (was_at, now_at), used, strict=True)
        )
        names = [[each.text for each in columns] for columns in (was, now)]
        if [each.id for each in was] == [each.id for each in now]:
            if column := next((match for each in now if (match := retyped(each, types))), ""):
                text = f"the join of streams keeps {column}, whose type changes"
                yield Change(step.path, text, Effect.INCOMPATIBLE, NEW_GENERATION)
        elif len(was) == len(now) and all(a.type and a.type == b.type for a, b in zip(was, now, strict=True)):
            text = f"the columns that the join of streams keeps were {', '.join(names[0])}, and are {', '.join(names[1])}"
            yield Change(step.path, text, Effect.MISREADS, NEW_GENERATION)
        else:
            text = f"the columns that the join of streams keeps were {', '.join(names[0])}, and are {', '.join(names[1])}"
            yield Change(step.path, text, Effect.INCOMPATIBLE, NEW_GENERATION)


def _needed(
    kept: tuple[tuple[str, str, Expression], ...], leaf: str, used: set[LeafColumn]
) -> Iterator[Expression]:
    """The columns of a branch that a join keeps; of a leaf with columns that only Spark knows, the names that are used."""
    for alias, name, each in kept:
        if name == "*":
            for column in sorted(column for table, column in used if table == each.id):
                yield Expression(f"{each.id}.{column}", column, frozenset({(each.id, column)}))
        elif (leaf, f"{alias}.{name}") in used:
            yield each


def outer_join_changes(old: NormalForm, new: NormalForm, step: Step) -> Iterator[Change]:
    """Conditions above an outer join can make Spark plan an inner join."""
    if step.kind is not StepKind.JOIN or step.settings["type"] == "inner":
        return
    above = [{each.id for each in _conditions(form) if _reads(each, step)} for form in (old, new)]
    if above[0] != above[1]:
        text = f"a condition on the result of the {step.settings['type']} join changes: it may change what the join keeps"
        yield Change(step.path, text, Effect.MISREADS, NEW_GENERATION)


def _conditions(form: NormalForm) -> Iterator[Expression]:
    for branch in form.rows:
        yield from branch.filters
    for step in form.steps:
        for keys in step.inputs:
            for row in keys.filters:
                yield from row


def _reads(condition: Expression, step: Step) -> bool:
    return any(leaf.rpartition(".")[0] == step.name for leaf, _ in condition.columns)
