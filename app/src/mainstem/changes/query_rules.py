"""Compares the settings and the sinks of a query, and shows what its sinks get from an empty checkpoint."""

from collections.abc import Callable, Collection, Iterator
from typing import Final

from mainstem.changes.fields import field_changes
from mainstem.changes.relations import Relation
from mainstem.changes.verdict import NEW_GENERATION, Change, Effect
from mainstem.language.analysis.graph import Graph
from mainstem.language.base import seconds
from mainstem.language.model.queries import Query
from mainstem.language.model.sinks import Sink


_TYPED: Final = ("parquet", "orc")
_ASYNC: Final = "first set checkpointInterval: 0 seconds and let two batches run, then remove the field"
_MODE: Final = {
    "complete": "the query replaces what the sink has",
    "update": "the query adds changed rows to what the sink has",
    "append": "the query adds final rows to what the sink has",
}


_TARGET: Final = ("connection", "topic", "table", "foreach", "foreach_batch", "format")
"""Fields of sinks that name what they write, besides a path."""
_TAKEN: Final = "its folder has files of another checkpoint, so a query with an empty one does not start on it (SinkFolderTaken)"
_SKIPPING: Final = (
    "an empty checkpoint begins behind its newest row: the query skips the rows that it has not read before"
)
_REREADING: Final = "the input of earlier batches is read again, in new batches"


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
        yield Change(f"{path}.pool.{field.path}", f"{field.text}: it takes effect at once", Effect.LIVE)
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


def sink_changes(
    was: Query, now: Query, rows: tuple[Relation, Relation], *, begins: bool = False
) -> Iterator[Change]:
    """The changes of a query's sinks, and of the columns that they are given.

    Args:
        was: the query before.
        now: the query after.
        rows: what the query computes, before and after.
        begins: whether the query starts with an empty checkpoint.
    """
    gets = "all rows that the query reads from then on" if begins else "the rows of later batches"
    before, after = ({sink.name: sink for sink in query.to} for query in (was, now))
    for name, sink in after.items():
        path = f"spec.queries[{now.name}].to[{name}]"
        if name not in before:
            yield Change(path, f"the sink is added: it gets {gets}", Effect.CONTINUES)
        else:
            yield from _sink(path, before[name], sink, rows, gets)
    for name in before:
        if name not in after:
            path = f"spec.queries[{now.name}].to[{name}]"
            yield Change(path, "the sink is removed: what it has stays", Effect.CONTINUES)


def _sink(path: str, was: Sink, now: Sink, rows: tuple[Relation, Relation], gets: str) -> Iterator[Change]:
    fields = field_changes(was, now)
    if was.choice() != now.choice() or was.connector.main_path != now.connector.main_path:
        text = f"the sink is another one: it gets {gets}, and the old one keeps what it has"
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
            remedy = "give the column another name, or the sink another path"
            yield Change(path, text, Effect.MISREADS, remedy, of_sink=True)
    added = sorted(set(now) - set(was))
    if added and was and sink.delta and not sink.delta.merge_schema:
        text = f"Delta refuses rows with new columns that the table does not have: {', '.join(added)}"
        yield Change(path, text, Effect.INCOMPATIBLE, "set mergeSchema: true", of_sink=True)


def afresh(
    graph: Graph,
    query: Query,
    earlier: Collection[Sink],
    place: Callable[[str], str],
    folders: Collection[str],
) -> Iterator[Change]:
    """What the sources and the sinks of a query do if it starts with an empty checkpoint.

    Args:
        graph: the graph of the new document.
        query: its query.
        earlier: the sinks into which the same input was written before.
        place: gives the one spelling of a folder.
        folders: the folders of files that any query of the old document wrote, in that spelling.
    """
    sources = [source for source in graph.sources_of(query.from_) if source.static is None]
    skipping = [source.name for source in sources if source.connector.starts_at_newest]
    for name in skipping:
        yield Change(f"spec.sources[{name}]", _SKIPPING, Effect.EMPTY)
    rereads = len(skipping) < len(sources)
    written = {_target(sink, place) for sink in earlier}
    for sink in query.to:
        path, does = f"spec.queries[{query.name}].to[{sink.name}]", sink.connector.repeated(query.output_mode)
        if sink.files and place(sink.files.path) in folders:
            yield Change(path, _TAKEN, Effect.INCOMPATIBLE, "give the sink another path", of_sink=True)
        elif _target(sink, place) in written and rereads:
            yield Change(path, f"{_REREADING}: the sink {does}", Effect.EMPTY)
        elif _target(sink, place) in written and (
            sink.connector.by_number or query.output_mode == "complete"
        ):
            yield Change(path, f"the sink {does}", Effect.EMPTY)


def _target(sink: Sink, place: Callable[[str], str]) -> tuple[str, ...]:
    """What a sink writes, as far as the document names it."""
    folder = place(sink.connector.main_path) if sink.connector.main_path else ""
    return (sink.choice(), folder, *(str(getattr(sink.connector, name, "")) for name in _TARGET))


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
