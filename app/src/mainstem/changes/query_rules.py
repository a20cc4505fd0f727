"""Compares the settings and the sinks of a query."""

from collections.abc import Iterator
from typing import Final

from mainstem.changes.fields import field_changes
from mainstem.changes.relations import Relation
from mainstem.changes.verdict import NEW_GENERATION, Change, Effect
from mainstem.language.base import seconds
from mainstem.language.model.queries import Query
from mainstem.language.model.sinks import Sink


_TYPED: Final = ("parquet", "orc")
_ASYNC: Final = "first set checkpointInterval: 0 seconds and let two batches run, then remove the field"
_MODE: Final = {
    "complete": "the query continues with its state, and replaces what the sink has",
    "update": "the query continues with its state, and adds changed rows to what the sink has",
    "append": "the query continues with its state, and adds final rows to what the sink has",
}


def setting_changes(was: Query, now: Query, *, stateful: bool, fixed: bool) -> Iterator[Change]:
    """The changes of a query's settings.

    Args:
        was: the query before.
        now: the query after.
        stateful: whether the query keeps state, before and after.
        fixed: whether the facts about the checkpoint are known, which then decide about the layout of the state.
    """
    path = f"spec.queries[{now.name}]"
    if was.name != now.name:
        text = f"the query was {was.name}, and keeps its checkpoint {now.checkpoint_path}"
        yield Change(f"{path}.name", text, Effect.CONTINUES)
    if was.output_mode != now.output_mode:
        text = f"outputMode was {was.output_mode}, and is {now.output_mode}: {_MODE[now.output_mode]}"
        yield Change(f"{path}.outputMode", text, Effect.CONTINUES)
    if was.suspend != now.suspend:
        text = (
            "the query stops at a batch's end, and keeps its checkpoint"
            if now.suspend
            else "the query starts again"
        )
        yield Change(f"{path}.suspend", text, Effect.CONTINUES)
    for field in field_changes(was.pool, now.pool):
        yield Change(f"{path}.pool.{field.path}", field.text, Effect.CONTINUES)
    yield from _state(path, was, now, stateful=stateful, fixed=fixed)
    yield from _trigger(path, was, now)
    yield from _async(path, was, now)


def _state(path: str, was: Query, now: Query, *, stateful: bool, fixed: bool) -> Iterator[Change]:
    for field in field_changes(was.state, now.state):
        if not stateful:
            yield Change(
                f"{path}.state.{field.path}", f"{field.text}: the query keeps no state", Effect.CONTINUES
            )
        elif not fixed:
            text = f"{field.text}: the first batch of a checkpoint fixes it"
            yield Change(f"{path}.state.{field.path}", text, Effect.INCOMPATIBLE, NEW_GENERATION)


def _trigger(path: str, was: Query, now: Query) -> Iterator[Change]:
    if was.trigger == now.trigger:
        return
    old, new = (query.trigger.choice() if query.trigger else "default" for query in (was, now))
    if old != new and "continuous" in (old, new):
        text = f"the trigger was {old}, and is {new}: neither reads the checkpoint of the other"
        yield Change(f"{path}.trigger", text, Effect.INCOMPATIBLE, NEW_GENERATION)
    else:
        text = f"the trigger was {old}, and is {new}" if old != new else f"the interval of {new} changes"
        yield Change(f"{path}.trigger", text, Effect.CONTINUES)


def _async(path: str, was: Query, now: Query) -> Iterator[Change]:
    old, new = was.async_progress_tracking, now.async_progress_tracking
    if old == new:
        return
    where = f"{path}.asyncProgressTracking"
    if old and not new and seconds(old.checkpoint_interval) > 0:
        text = "asyncProgressTracking ends: the checkpoint can lack batches that Spark needs without it"
        yield Change(where, text, Effect.INCOMPATIBLE, _ASYNC)
    else:
        yield Change(where, "asyncProgressTracking changes", Effect.CONTINUES)


def sink_changes(was: Query, now: Query, rows: tuple[Relation, Relation]) -> Iterator[Change]:
    """The changes of a query's sinks, and of the columns that they are given.

    Args:
        was: the query before.
        now: the query after.
        rows: what the query computes, before and after.
    """
    before, after = ({sink.name: sink for sink in query.to} for query in (was, now))
    for name, sink in after.items():
        path = f"spec.queries[{now.name}].to[{name}]"
        if name not in before:
            yield Change(path, "the sink is added: it gets the rows of later batches", Effect.CONTINUES)
        else:
            yield from _sink(path, before[name], sink, rows)
    for name in before:
        if name not in after:
            path = f"spec.queries[{now.name}].to[{name}]"
            yield Change(path, "the sink is removed: what it has stays", Effect.CONTINUES)


def _sink(path: str, was: Sink, now: Sink, rows: tuple[Relation, Relation]) -> Iterator[Change]:
    fields = field_changes(was, now)
    if was.choice() != now.choice() or was.connector.main_path != now.connector.main_path:
        text = "the sink is another one: it gets the rows of later batches, and the old one keeps what it has"
        yield Change(path, text, Effect.CONTINUES)
        return
    for field in fields:
        yield Change(f"{path}.{field.path}", f"{field.text}: it holds for later batches", Effect.CONTINUES)
    yield from _columns(path, now, rows)


def _columns(path: str, sink: Sink, rows: tuple[Relation, Relation]) -> Iterator[Change]:
    """Changes of columns that a folder of files or a table does not take."""
    was, now = (_types(relation) for relation in rows)
    for name, kind in now.items():
        if name in was and was[name] and kind and was[name] != kind and sink.choice() in _TYPED:
            text = f"the type of {name} was {was[name]}, and is {kind}: the folder then has files of both, which readers refuse"
            yield Change(
                path, text, Effect.MISREADS, "give the column another name, or the sink another path"
            )
    added = sorted(set(now) - set(was))
    if added and was and sink.delta and not sink.delta.merge_schema:
        text = f"Delta refuses rows with new columns that the table does not have: {', '.join(added)}"
        yield Change(path, text, Effect.INCOMPATIBLE, "set mergeSchema: true")


def _types(relation: Relation) -> dict[str, str | None]:
    """The columns of a query with their types, where both are certain; empty if they are not all known."""
    if not relation or any(branch.opens for branch in relation):
        return {}
    first = relation[0]
    return {
        name: each.type
        if all(b.columns.get(name) and b.columns[name].type == each.type for b in relation)
        else None
        for name, each in first.columns.items()
    }


def written_columns(query: Query) -> frozenset[str] | None:
    """The columns of the query that its sinks take; None for all."""
    columns: set[str] = set()
    for sink in query.to:
        if len(query.to) > 1 or sink.kafka is None or not (sink.kafka.value or sink.kafka.value_column):
            return None
        columns |= {name.lower() for _, name in sink.columns()}
    return frozenset(columns)
