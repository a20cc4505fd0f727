"""The meaning of a document as plain data, which `mainstem explain --output json` prints unchanged."""

from collections.abc import Sequence
from typing import Any, Final

from mainstem.explain.defaults import defaults
from mainstem.explain.promises import UNKNOWN_SOURCE, promise
from mainstem.language.analysis.eligibility import eligibility, named
from mainstem.language.analysis.graph import Graph
from mainstem.language.analysis.occurrences import occurrence_names
from mainstem.language.analysis.steps import STATEFUL, Doing, QueryStep, steps
from mainstem.language.analysis.writers import Writer, awaited
from mainstem.language.base import Model
from mainstem.language.model.connectors.kinds import Delivery
from mainstem.language.model.queries import Query
from mainstem.language.sql.logical_plan import unbounded_state


Meaning = dict[str, Any]
_STORES: Final = {"rocksdb": "RocksDB on the local disk", "hdfs": "a map on the Java heap"}
_LONG: Final = {"schema", "schemaFile", "options"}
"""Long fields, which the explanation leaves out."""


def meaning(graph: Graph, *names: str) -> Meaning:
    """The meaning of a document.

    Args:
        graph: the graph of the checked document.
        names: the queries to explain; without names all queries.
    """
    queries = [query for query in graph.spec.queries if not names or query.name in names]
    writers = awaited(graph)
    return {
        "pipeline": graph.pipeline.name,
        "checkpoints": graph.spec.checkpoints.location,
        "timeZone": graph.spec.time_zone,
        "queries": [_query(graph, query, writers.get(query.name, ())) for query in queries],
        "defaults": [
            {key: value for key, value in default._asdict().items() if key != "when"}
            for default in defaults(graph)
        ],
    }


def _query(graph: Graph, query: Query, writers: Sequence[Writer]) -> Meaning:
    query_steps = steps(graph, query.from_)
    return {
        "name": query.name,
        "from": query.from_,
        "outputMode": query.output_mode,
        "suspended": query.suspend,
        "reads": _reads(graph, query),
        "waitsFor": [writer._asdict() for writer in writers],
        "plan": {
            "kind": _kind(graph, query, query_steps),
            "steps": [f"{step.relation} {step.doing}" for step in query_steps],
        },
        "state": _state(graph, query, query_steps),
        "sinks": [
            {"name": sink.name, "kind": sink.choice(), **_sink_meaning(sink), "promise": promise(query, sink)}
            for sink in query.to
        ],
        "trigger": named(query),
        "interval": _interval(query),
        "triggers": [
            {
                "trigger": trigger,
                "eligible": not obstacles,
                "obstacles": [
                    {"conflict": obstacle.conflict, "limit": obstacle.limit, "remedy": obstacle.way_out}
                    for obstacle in obstacles
                ],
            }
            for trigger, obstacles in eligibility(graph, query)
        ],
        "checkpoint": _checkpoint(graph, query),
        "pool": {"name": query.name, "weight": query.pool.weight, "minShare": query.pool.min_share},
    }


def _reads(graph: Graph, query: Query) -> list[Meaning]:
    streams = [
        {"occurrence": occurrence, "relation": name, **_source(graph, name)}
        for occurrence, name in occurrence_names(graph, query.from_)
    ]
    bounded = [
        {"occurrence": source.name, "relation": source.name, **_source(graph, source.name)}
        for source in graph.sources_of(query.from_)
        if not source.streaming
    ]
    return streams + bounded


def _source(graph: Graph, name: str) -> Meaning:
    source = graph.sources.get(name) or graph.dead_letters[name]
    kind = source.choice()
    member: Model = source.member(kind)
    if member.one_of and kind == "static":
        kind, member = f"{kind} {member.choice()}", member.member(member.choice())
    meaning = {"kind": kind, **_plain(member)}
    if source.stream and source.stream.delivery is Delivery.UNKNOWN:
        meaning["promise"] = UNKNOWN_SOURCE
    if source.static and source.static.refresh:
        meaning["settings"]["refresh"] = source.static.refresh
    return meaning


def _sink_meaning(sink: Model) -> Meaning:
    return _plain(sink.member(sink.choice()))


def _plain(model: Model) -> Meaning:
    """The fields of a model that differ from their defaults, without the long ones."""
    fields = model.model_dump(mode="json", by_alias=True, exclude_none=True, exclude_defaults=True)
    return {"settings": {key: value for key, value in fields.items() if key not in _LONG}}


def _kind(graph: Graph, query: Query, query_steps: list[QueryStep]) -> str:
    if graph.streams(query.from_, certain=True) is False and not graph.streams(query.from_):
        return "batch"
    if any(step.doing in STATEFUL for step in query_steps):
        return "stateful"
    return "unknown" if any(step.doing is Doing.UNKNOWN for step in query_steps) else "stateless"


def _state(graph: Graph, query: Query, query_steps: list[QueryStep]) -> Meaning | None:
    operators = [f"{step.relation} {step.doing}" for step in query_steps if step.doing in STATEFUL]
    if not operators:
        return None
    if query.output_mode == "complete":
        warnings = ["complete mode keeps the whole result for ever"]
    else:
        kept = [node.view for node, _ in unbounded_state(graph.plan(query.from_))]
        warnings = [
            f"{view} keeps its state for ever: no watermark removes old state" for view in dict.fromkeys(kept)
        ]
    return {
        "operators": operators,
        "partitions": query.state.partitions,
        "store": _STORES[query.state.provider],
        "watermarks": _watermarks(graph, query),
        "warnings": warnings,
    }


def _watermarks(graph: Graph, query: Query) -> list[str]:
    relations = [graph.sources.get(name) or graph.views.get(name) for name in graph.closure(query.from_)]
    return [
        f"{relation.name}.{relation.watermark.column}, {relation.watermark.delay}"
        for relation in relations
        if relation is not None and relation.watermark is not None
    ]


def _checkpoint(graph: Graph, query: Query) -> Meaning:
    location = graph.spec.checkpoints.location.rstrip("/")
    return {
        "path": f"{location}/{query.checkpoint_path}",
        "id": query.checkpoint.id or query.name,
        "generation": query.checkpoint.generation,
        "onChange": query.checkpoint.on_change,
        "fixedByFirstBatch": _fixed_by_first_batch(graph, query),
    }


def _fixed_by_first_batch(graph: Graph, query: Query) -> list[str]:
    """Settings that the first batch fixes for the checkpoint; empty for a query that runs once."""
    if not graph.streams(query.from_):
        return []
    return [
        f"{query.state.partitions} partitions of each shuffle and state store",
        "offsets of the source names " + ", ".join(name for name, _ in occurrence_names(graph, query.from_)),
        f"the time zone {graph.spec.time_zone}",
    ]


def _interval(query: Query) -> str | None:
    value = query.trigger.member(query.trigger.choice()) if query.trigger else None
    return value if isinstance(value, str) else None
