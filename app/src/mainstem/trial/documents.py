"""The documents as a trial runs them: with copies of the checkpoints, without sinks, and without effects on sources."""

from pathlib import Path

from mainstem.language.analysis.graph import Graph
from mainstem.language.model.connectors.inspection_sinks import NoopSink
from mainstem.language.model.queries import Query
from mainstem.language.model.sinks import Sink
from mainstem.language.model.sources import Source


def without_effects(graph: Graph, names: list[str], checkpoints: Path) -> Graph:
    """The document with only the named queries running, each with a sink that writes nothing.

    Without its sinks a run needs no secret, topic, table or maintenance of them. `cleanSource` would move the input of the
    running pipeline.
    """
    spec = graph.running_only(names).spec
    local = spec.model_copy(
        update={
            "sources": tuple(_kept(source) for source in spec.sources),
            "queries": tuple(_without_sinks(query) for query in spec.queries),
            "checkpoints": spec.checkpoints.model_copy(update={"location": str(checkpoints)}),
            "listeners": (),
        }
    )
    return Graph(graph.pipeline.model_copy(update={"spec": local}))


def _kept(source: Source) -> Source:
    if source.files is None or source.files.clean_source is None:
        return source
    return source.model_copy(update={"files": source.files.model_copy(update={"clean_source": None})})


def _without_sinks(query: Query) -> Query:
    nowhere = Sink(name="trial", noop=NoopSink())
    return query.model_copy(update={"to": (nowhere,), "trigger": None, "async_progress_tracking": None})
