"""Compares the sources of a query: the checkpoint holds how far each one was read, by the source's name."""

import re
from collections.abc import Iterator
from typing import Final

from mainstem.changes.fields import FieldChange, field_changes
from mainstem.changes.verdict import NEW_GENERATION, Change, Effect
from mainstem.language.analysis.graph import Graph
from mainstem.language.analysis.occurrences import occurrence_names
from mainstem.language.model.connections import KafkaConnection
from mainstem.language.model.connectors.kafka_source import KafkaSource
from mainstem.language.model.queries import Query
from mainstem.language.model.sources import Source


_NEW_NAME: Final = "undo the change, or give the new source another name"
_START: Final = ("starting", "startTimestamp")
_TOPICS: Final = ("subscribe", "subscribePattern", "assign")
_IDENTITY: Final = ("path", "table", "connection", *_TOPICS)
_MISREAD: Final = {
    "delta.readChangeFeed": "rows of the table and rows of changes have other columns and meanings",
    "rate.rowsPerSecond": "the values of generated rows follow from the rate, so values come twice or are left out",
    "rateMicroBatch.rowsPerBatch": "the values of generated rows follow from the rate",
}


def source_changes(old: Graph, new: Graph, was: Query, now: Query, *, stateful: bool) -> Iterator[Change]:
    """The changes of the sources that a query reads; `stateful` if it keeps state by values of their columns."""
    before, after = _sources(old, was), _sources(new, now)
    for name, source in after.items():
        path = f"spec.sources[{name}]"
        if name in before:
            yield from _same_source(old, new, before[name], source, stateful=stateful)
        elif source.streaming:
            yield _added(source, path, [each for key, each in before.items() if key not in after])
    for name, source in before.items():
        if name not in after and source.streaming:
            text = "the query reads the source no longer; what it wrote of its rows stays"
            yield Change(f"spec.sources[{name}]", text, Effect.CONTINUES)
    yield from _occurrences(old, new, was, now)


def _sources(graph: Graph, query: Query) -> dict[str, Source]:
    return {source.name: source for source in graph.sources_of(query.from_)}


def _identity(source: Source) -> object:
    fields = source.connector.model_dump(mode="json", by_alias=True)
    return source.choice(), [fields.get(name) for name in _IDENTITY]


def _added(source: Source, path: str, removed: list[Source]) -> Change:
    renamed = next((each for each in removed if _identity(each) == _identity(source)), None)
    if renamed is None or all(field is None for field in _identity(source)[1]):  # type: ignore[index]
        text = "the source is added: the query reads it from its start"
        return Change(path, text, Effect.CONTINUES)
    text = f"the source {renamed.name} has a new name: its rows are read again, from its start"
    return Change(path, text, Effect.MISREADS, "keep the old name, or raise checkpoint.generation")


def _occurrences(old: Graph, new: Graph, was: Query, now: Query) -> Iterator[Change]:
    """Sources that a query reads more often than before."""
    before = dict(occurrence_names(old, was.from_))
    after = dict(occurrence_names(new, now.from_))
    for occurrence, name in after.items():
        if occurrence not in before and occurrence != name and name in before.values():
            text = f"the query reads {name} once more, as {occurrence}: from its start"
            yield Change(f"spec.sources[{name}]", text, Effect.CONTINUES)


def _same_source(old: Graph, new: Graph, was: Source, now: Source, *, stateful: bool) -> Iterator[Change]:
    path = f"spec.sources[{now.name}]"
    if was.choice() != now.choice():
        if was.streaming or now.streaming:
            text = f"the source was {was.choice()}, and is {now.choice()}: the checkpoint has offsets of another kind"
            yield Change(path, text, Effect.INCOMPATIBLE, _NEW_NAME)
        else:
            yield Change(path, "the side input is another one from now on", Effect.CONTINUES)
        return
    if was.streaming != now.streaming:
        text = "a stream and a source with an end keep different checkpoints"
        yield Change(path, text, Effect.INCOMPATIBLE, NEW_GENERATION)
        return
    kafka = was.kafka, now.kafka
    if kafka[0] and kafka[1] and now.streaming:
        yield from _topics(path, kafka[0], kafka[1])
        yield from _servers(path, _cluster(old, kafka[0]), _cluster(new, kafka[1]))
    for field in field_changes(was, now):
        if field.path != "watermark.maxFuture" and field.path.startswith("watermark"):
            continue  # compared with the steps that use it
        if not (now.kafka and field.path.split(".")[-1] in (*_TOPICS, "connection")):
            yield _field(path, now, field, stateful=stateful)


def _field(path: str, source: Source, field: FieldChange, *, stateful: bool) -> Change:
    text, effect, remedy = "it holds for rows that are read from now on", Effect.CONTINUES, ""
    if not source.streaming:
        text = "later batches use the new value"
    elif field.path in ("files.path", "delta.path"):
        text, effect, remedy = "the checkpoint has the old path's offsets", Effect.INCOMPATIBLE, _NEW_NAME
    elif field.path.rpartition(".")[2].startswith(_START):
        text = "it has no effect on an existing checkpoint"
    elif unknown := _misread(source, field.path, stateful=stateful):
        text, effect, remedy = unknown, Effect.MISREADS, NEW_GENERATION
    return Change(f"{path}.{field.path}", f"{field.text}: {text}", effect, remedy)


def _misread(source: Source, path: str, *, stateful: bool) -> str:
    """Why rows may be wrong after the change of a field; empty if they are not."""
    if path.startswith("spark."):
        return "whether the connector continues from its old offsets is unknown"
    if stateful and _decodes(source, path):
        return "whether the columns have the same values as before is unknown"
    return _MISREAD.get(path, "")


def _decodes(source: Source, path: str) -> bool:
    """Whether a field sets how bytes become values, apart from the declared columns, which are compared by themselves."""
    parts = path.split(".")
    if "schemaFile" in parts or path == "files.format":
        return True
    if parts[0] == "decode":
        return parts[-1] not in ("onMalformedRecord", "onTombstone", "keep") and (
            parts[-1] != "schema" or bool(source.decode and source.decode.avro)
        )
    return path.startswith("files.options.")


def _topics(path: str, was: KafkaSource, now: KafkaSource) -> Iterator[Change]:
    fields = [field for field in field_changes(was, now) if field.path.split(".")[0] in _TOPICS]
    if not fields:
        return
    where = f"{path}.kafka.{fields[-1].path}"
    text = "; ".join(field.text for field in fields)
    if was.subscribe and now.subscribe and set(was.subscribe) <= set(now.subscribe):
        yield Change(where, f"{text}: new topics are read from their start", Effect.CONTINUES)
    elif (
        was.subscribe
        and now.subscribe_pattern
        and all(_matches(now.subscribe_pattern, t) for t in was.subscribe)
    ):
        yield Change(where, f"{text}: further topics are read from their start", Effect.CONTINUES)
    elif not now.fail_on_data_loss:
        text = f"{text}: records of topics that are gone and were not read are left out"
        yield Change(
            where,
            text,
            Effect.MISREADS,
            "undo the change, or let the query read the old topics to their end first",
        )
    else:
        text = f"{text}: Spark fails if a topic of the checkpoint is not among the new ones"
        yield Change(where, text, Effect.INCOMPATIBLE, "keep the old topics, or raise checkpoint.generation")


def _matches(pattern: str, topic: str) -> bool:
    """Whether a topic certainly matches a Java regular expression."""
    try:
        return re.fullmatch(pattern, topic) is not None
    except re.error:
        return False


def _cluster(graph: Graph, source: KafkaSource) -> KafkaConnection | None:
    return next((each.kafka for each in graph.spec.connections if each.name == source.connection), None)


def _servers(path: str, was: KafkaConnection | None, now: KafkaConnection | None) -> Iterator[Change]:
    if was is None or now is None or was.bootstrap_servers == now.bootstrap_servers:
        return
    old, new = ({each.strip() for each in cluster.bootstrap_servers.split(",")} for cluster in (was, now))
    where = f"{path}.kafka.connection"
    if old & new:
        yield Change(where, "the addresses of the brokers change", Effect.CONTINUES)
        return
    text = f"the brokers were {was.bootstrap_servers}, and are {now.bootstrap_servers}: offsets of another cluster have no meaning"
    remedy = "for the same cluster list an old address too; for another one raise checkpoint.generation"
    yield Change(where, text, Effect.MISREADS, remedy)
