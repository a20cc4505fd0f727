"""Compares what two normal forms keep in state, step by step."""

from collections.abc import Iterator
from typing import Final

from mainstem.changes.expressions import Expression, LeafColumn
from mainstem.changes.join_rules import kept_changes, outer_join_changes
from mainstem.changes.relations import Aggregate, Keys, Step, StepKind
from mainstem.changes.sides import Side, Types, pairs_of, retyped
from mainstem.changes.verdict import NEW_GENERATION, Change, Effect


_CODE: Final = ("function", "processor", "arguments")
_NOT_STATE: Final = ("schema", "eventTimeColumn", "initialState")


def state_changes(old: Side, new: Side) -> Iterator[Change]:
    """The changes of what the query keeps in state."""
    unknown = [
        [step.name for step in side.form.steps if step.kind is StepKind.UNKNOWN] for side in (old, new)
    ]
    if unknown[0] != unknown[1]:
        known = {*unknown[0]} & {*unknown[1]}
        step = next(
            s
            for s in (*new.form.steps, *old.form.steps)
            if s.kind is StepKind.UNKNOWN and s.name not in known
        )
        text = (
            f"a {StepKind.UNKNOWN}, or what it reads, changes: whether the state keeps its meaning is unknown"
        )
        yield Change(step.path, text, Effect.MISREADS, NEW_GENERATION)
    steps = [[step for step in side.form.steps if step.kind is not StepKind.UNKNOWN] for side in (old, new)]
    kinds = [[step.kind for step in each] for each in steps]
    if kinds[0] != kinds[1]:
        if not any(unknown):
            path = (steps[1] or steps[0])[-1].path
            text = f"the query keeps the state of {_listed(kinds[1])}, and the checkpoint has that of {_listed(kinds[0])}"
            yield Change(path, text, Effect.INCOMPATIBLE, NEW_GENERATION)
        return
    used = old.used(), new.used()
    for before, after in zip(*steps, strict=True):
        for at, (keys, wanted) in enumerate(zip(before.inputs, after.inputs, strict=True)):
            yield from _key_changes(after, keys, wanted, (old.types, new.types))
            if after.kind is StepKind.JOIN:
                yield from kept_changes(after, (keys, wanted), at, used, (old.types, new.types))
        yield from _aggregate_changes(before, after, used, (old.types, new.types))
        yield from _setting_changes(before, after)
        yield from outer_join_changes(old.form, new.form, after)


def _listed(kinds: list[StepKind]) -> str:
    return ", then ".join(f"{'an' if kind[0] == 'a' else 'a'} {kind}" for kind in kinds) or "no step"


def _key_changes(step: Step, before: Keys, after: Keys, types: tuple[Types, Types]) -> Iterator[Change]:
    counts = {len(keys) for keys in (*before.keys, *after.keys)}
    if len(counts) > 1:
        was, now = (_texts(keys.keys[0]) for keys in (before, after))
        text = f"the keys of the {step.kind} were {was}, and are {now}"
        yield Change(step.path, text, Effect.INCOMPATIBLE, NEW_GENERATION)
        return
    pairs, added = pairs_of(before, after)
    for was_at, now_at in pairs:
        for old, new in zip(before.keys[was_at], after.keys[now_at], strict=True):
            yield from _key_change(step, old, new, types)
    for place in added:
        for old, new in zip(before.keys[0], after.keys[place], strict=True):
            if old.type is None or old.type != new.type:
                text = f"rows of another source come to the {step.kind}, and whether its key {new.text} keeps its type is unknown"
                yield Change(step.path, text, Effect.MISREADS, NEW_GENERATION)


def _texts(keys: tuple[Expression, ...]) -> str:
    return ", ".join(key.text for key in keys) or "none"


def _key_change(step: Step, was: Expression, now: Expression, types: tuple[Types, Types]) -> Iterator[Change]:
    if was.type and now.type and was.type != now.type:
        text = f"the type of the key {now.text} was {was.type}, and is {now.type}"
        yield Change(step.path, text, Effect.INCOMPATIBLE, NEW_GENERATION)
    elif was.id != now.id:
        if was.id.split("(")[0] == now.id.split("(")[0] in ("window", "session_window"):
            text = f"the window was {was.text}, and is {now.text}: the state would mix both windows"
        else:
            texts = (was.text, now.text) if was.text != now.text else (was.id, now.id)
            text = f"the key {texts[0]} of the {step.kind} becomes {texts[1]}: the state would mix old and new keys"
        yield Change(step.path, text, Effect.MISREADS, NEW_GENERATION)
    elif column := retyped(now, types):
        text = f"the key {now.text} reads {column}, whose type changes"
        yield Change(step.path, text, Effect.INCOMPATIBLE, NEW_GENERATION)


def _aggregate_changes(
    before: Step, after: Step, used: tuple[set[LeafColumn], set[LeafColumn]], types: tuple[Types, Types]
) -> Iterator[Change]:
    was, now = (
        [each for name, each in step.aggregates.items() if (step.name, name) in needed]
        for step, needed in zip((before, after), used, strict=True)
    )
    if len(was) != len(now):
        texts = [", ".join(each.text for each in aggregates) or "none" for aggregates in (was, now)]
        text = f"the aggregates were {texts[0]}, and are {texts[1]}"
        yield Change(after.path, text, Effect.INCOMPATIBLE, NEW_GENERATION)
        return
    pairs = pairs_of(before.inputs[0], after.inputs[0])[0] if after.inputs else []
    for old, new in zip(was, now, strict=True):
        yield from _aggregate_change(after, old, new, pairs, types)


def _aggregate_change(
    step: Step, old: Aggregate, new: Aggregate, pairs: list[tuple[int, int]], types: tuple[Types, Types]
) -> Iterator[Change]:
    change = f"the aggregate {old.text} becomes {new.text}"
    if old.function != new.function:
        # Spark compares the types of the buffers, and counts are the only ones that cannot be null.
        effect = Effect.INCOMPATIBLE if old.function == "count" else Effect.MISREADS
        more = (
            ""
            if effect is Effect.INCOMPATIBLE
            else ": Spark does not notice it where both keep the same types"
        )
        yield Change(step.path, change + more, effect, NEW_GENERATION)
        return
    if any(old.rows[a].id != new.rows[b].id for a, b in pairs):
        known = None not in (*old.arguments, *new.arguments)
        if old.written != new.written:
            yield Change(
                step.path,
                f"{change}: the state would mix old and new values",
                Effect.MISREADS,
                NEW_GENERATION,
            )
        elif old.function == "count" or (known and old.arguments == new.arguments):
            text = f"what {new.text} reads changes: it has the values of earlier rows, and new values for later rows"
            yield Change(step.path, text, Effect.CONTINUES)
        else:
            text = f"what {new.text} reads changes, and whether it keeps its type is unknown"
            yield Change(step.path, text, Effect.MISREADS, NEW_GENERATION)
    elif old.function != "count" and (
        column := next((c for row in new.rows if (c := retyped(row, types))), "")
    ):
        text = f"the aggregate {new.text} reads {column}, whose type changes"
        yield Change(step.path, text, Effect.INCOMPATIBLE, NEW_GENERATION)


def _setting_changes(before: Step, after: Step) -> Iterator[Change]:
    for name in sorted({*before.settings, *after.settings} - {"texts"}):
        was, now = before.settings.get(name, ""), after.settings.get(name, "")
        if was == now:
            continue
        if after.kind is StepKind.JOIN and name == "conditions":
            texts = before.settings["texts"] or "no condition", after.settings["texts"] or "no condition"
            text = f"the join's range was {texts[0]}, and is {texts[1]}: rows that it dropped are not found"
            yield Change(after.path, text, Effect.MISREADS, NEW_GENERATION)
        elif name in _NOT_STATE:
            text = f"{name} of the state step changes: the state is not affected"
            yield Change(f"{after.path}.{name}", text, Effect.CONTINUES)
        elif (name in _CODE and bool(was) == bool(now)) or name == "sets":
            text = f"{name} of the {after.kind} changes, and code cannot be compared: whether the state keeps its meaning is unknown"
            yield Change(
                f"{after.path}.{name}" if name != "sets" else after.path,
                text,
                Effect.MISREADS,
                NEW_GENERATION,
            )
        else:
            text = f"{name} of the {after.kind} was {was or 'not set'}, and is {now or 'not set'}"
            yield Change(after.path, text, Effect.INCOMPATIBLE, NEW_GENERATION)
