"""Compares the watermarks of two normal forms."""

from collections.abc import Iterator

from mainstem.changes.relations import EventTime, NormalForm
from mainstem.changes.verdict import NEW_GENERATION, Change, Effect


def watermark_changes(old: NormalForm, new: NormalForm) -> Iterator[Change]:
    """The changes of watermarks; without state they have no effect."""
    stateful = bool(old.steps) and bool(new.steps)
    read = {leaf for branch in new.rows for leaf in branch.leaves} | {
        leaf for wm in new.watermarks for leaf in wm.leaves
    }
    read |= {leaf for step in new.steps for keys in step.inputs for row in keys.rows for leaf in row}
    for was in old.watermarks:
        same = [now for now in new.watermarks if _same(was, now)]
        if same and same[0].delay != was.delay:
            text = f"the watermark's delay was {was.delay}, and is {same[0].delay}: it holds from the next batch on"
            yield Change(same[0].path, text, Effect.CONTINUES)
        elif not same and was.leaves & read:
            effect = Effect.MISREADS if stateful else Effect.CONTINUES
            text = "the watermark is removed or has another column" + (
                ": the state grows without limit, or drops rows by the old column's time" if stateful else ""
            )
            yield Change(was.path, text, effect, NEW_GENERATION if stateful else "")
    for now in new.watermarks:
        if not any(_same(was, now) for was in old.watermarks):
            text = "a watermark is added: from the next batch on, steps with state drop rows that are later"
            yield Change(now.path, text, Effect.CONTINUES)


def _same(was: EventTime, now: EventTime) -> bool:
    return bool(was.columns & now.columns) or (was.path == now.path and was.columns == now.columns)
