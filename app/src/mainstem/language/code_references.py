"""Finds the Python code that queries of a document name."""

from collections.abc import Iterator

from mainstem.language.analysis.graph import Graph
from mainstem.language.model.connectors.custom import CustomConnector
from mainstem.language.model.queries import Query
from mainstem.language.requirements import functions_of
from mainstem.language.yaml.yamltext import Path, render_path


def references(graph: Graph, query: Query) -> Iterator[tuple[str, str]]:
    """(part of the query, for a message, and the `module:name` that it refers to)."""
    for function in functions_of(graph, query):
        if function.python:
            yield f"function {function.name!r}", function.python.function
    relations = graph.closure(query.from_)
    for view in (graph.views[name] for name in relations if name in graph.views):
        if view.python:
            yield f"view {view.name!r}", view.python.function
        if view.state:
            yield f"view {view.name!r}", view.state.processor or view.state.function or ""
    for path, connector in graph.spec.connectors():
        if isinstance(connector, CustomConnector) and connector.python and _uses(graph, query, path):
            yield render_path(("spec", *path)), connector.python
    for name, python in ((sink.name, sink.python) for sink in query.to if sink.python):
        yield f"sink {name!r} of query {query.name!r}", python.foreach or python.foreach_batch or ""


def _uses(graph: Graph, query: Query, path: Path) -> bool:
    """Whether the query reads the source or has the sink at a path below `spec`."""
    kind, index, *_ = path
    part = getattr(graph.spec, str(kind))[index]
    return part is query or (kind == "sources" and part in graph.sources_of(query.from_))
