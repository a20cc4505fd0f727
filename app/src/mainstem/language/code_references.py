"""Which Python code the queries of a document name."""

from collections.abc import Iterator

from mainstem.language.analysis.graph import Graph
from mainstem.language.model.connectors.custom import CustomConnector
from mainstem.language.model.queries import Query
from mainstem.language.requirements import functions_of
from mainstem.language.yaml.yamltext import Path, render_path


def references(graph: Graph, query: Query) -> Iterator[tuple[str, str]]:
    """What of a query names code, for a message, and the `module:name` that it names."""
    for function in functions_of(graph, query):
        if function.python:
            yield f"function {function.name!r}", function.python.function
    read = graph.closure(query.from_)
    for view in (graph.views[name] for name in read if name in graph.views):
        if view.python:
            yield f"view {view.name!r}", view.python.function
        if view.state:
            yield f"view {view.name!r}", view.state.processor or view.state.function or ""
    for at, connector in graph.spec.connectors():
        if isinstance(connector, CustomConnector) and connector.python and _is_of(graph, query, at):
            yield render_path(("spec", *at)), connector.python
    for name, python in ((sink.name, sink.python) for sink in query.to if sink.python):
        yield f"sink {name!r} of query {query.name!r}", python.foreach or python.foreach_batch or ""


def _is_of(graph: Graph, query: Query, at: Path) -> bool:
    """Whether the query reads the source, or has the sink, that stands at this place below `spec`."""
    kind, index, *_ = at
    part = getattr(graph.spec, str(kind))[index]
    return part is query or (kind == "sources" and part in graph.sources_of(query.from_))
