"""Compares two documents, query by query; pure."""

from collections.abc import Iterator, Mapping

from mainstem.changes.checkpoint import NEW_GENERATION, CheckpointFacts, layout_changes
from mainstem.changes.verdict import Change, Effect, Verdict, verdict_of
from mainstem.language.analysis.graph import Graph
from mainstem.language.model.pipeline import PipelineSpec, StreamingPipeline
from mainstem.language.model.queries import Query


_NO_FACTS: Mapping[str, CheckpointFacts] = {}


def compare(
    running: StreamingPipeline | Graph | None,
    wanted: StreamingPipeline | Graph,
    checkpoints: Mapping[str, CheckpointFacts] = _NO_FACTS,
) -> Verdict:
    """What the change from one document to another does to each query and to the driver.

    Args:
        running: the document that wrote the checkpoints, with its parameters filled in; None if it is not known.
        wanted: the new document, with its parameters filled in.
        checkpoints: query of the new document -> the facts about its checkpoint, for those that are known.
    """
    old, new = _graph(running) if running else None, _graph(wanted)
    queries = []
    pairs = _pairs(old, new) if old else {}
    for query in new.spec.queries:
        changes = list(_query_changes(old, new, pairs.get(query.name), query)) if old else []
        if query.name in checkpoints:
            changes += layout_changes(checkpoints[query.name], query)
        queries.append(verdict_of(query.name, changes))
    kept = {query.name for query in pairs.values()}
    for query in old.spec.queries if old else ():
        if query.name not in kept:
            text = "the query is removed: it stops at a batch's end, and its checkpoint stays"
            queries.append(verdict_of(query.name, [Change(_path(query), text, Effect.REMOVED)]))
    return Verdict(tuple(queries))


def _graph(document: StreamingPipeline | Graph) -> Graph:
    return Graph(document) if isinstance(document, StreamingPipeline) else document


def _path(query: Query) -> str:
    return f"spec.queries[{query.name}]"


def _checkpoint(graph: Graph, query: Query) -> str:
    return f"{graph.spec.checkpoints.location.rstrip('/')}/{query.checkpoint_path}"


def _pairs(old: Graph, new: Graph) -> dict[str, Query]:
    """Query of the new document -> the query of the old one that has its checkpoint, or else its name."""
    by_checkpoint = {_checkpoint(old, query): query for query in old.spec.queries}
    pairs = {
        query.name: by_checkpoint[path]
        for query in new.spec.queries
        if (path := _checkpoint(new, query)) in by_checkpoint
    }
    taken = {query.name for query in pairs.values()}
    by_name = {query.name: query for query in old.spec.queries if query.name not in taken}
    named = {query.name: by_name[query.name] for query in new.spec.queries if query.name in by_name}
    return named | pairs


def _query_changes(old: Graph, new: Graph, before: Query | None, query: Query) -> Iterator[Change]:
    if before is None:
        yield Change(_path(query), "the query is new: it starts with an empty checkpoint", Effect.EMPTY)
    elif _checkpoint(old, before) != _checkpoint(new, query):
        text = (
            f"the checkpoint is {query.checkpoint_path} in place of {before.checkpoint_path}: it starts empty"
        )
        yield Change(f"{_path(query)}.checkpoint", text, Effect.EMPTY)
    elif (_shared(old), before) != (_shared(new), query):
        text = "the document differs, and whether the state keeps its meaning is not known"
        yield Change("spec", text, Effect.MISREADS, NEW_GENERATION)


def _shared(graph: Graph) -> PipelineSpec:
    """The document without its queries."""
    return graph.spec.model_copy(update={"queries": ()})
