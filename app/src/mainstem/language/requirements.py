"""The connections, functions, paths and warnings of a document that a run needs, without those of suspended queries; pure."""

import re
from collections.abc import Collection, Iterable, Iterator

from mainstem.errors import Problem
from mainstem.language.analysis.graph import Graph
from mainstem.language.document import Document
from mainstem.language.model.connectors.kinds import ConnectorKind
from mainstem.language.model.functions import Function
from mainstem.language.model.queries import Query
from mainstem.language.model.sources import Source
from mainstem.language.yaml.yamltext import parse_path


def required_connections(graph: Graph) -> list[str]:
    """Names of the connections that a run uses, in the order of the document.

    Connections that no query or only suspended queries use are not among them, so they cannot stop a run.
    """
    queries = running(graph)
    names = used(graph, queries).union(
        catalogs_named(graph), *(stores_used(graph, query) for query in queries)
    )
    return [connection.name for connection in graph.spec.connections if connection.name in names]


def running(graph: Graph) -> list[Query]:
    """The queries that are not suspended."""
    return [query for query in graph.spec.queries if not query.suspend]


def used(graph: Graph, queries: Iterable[Query]) -> set[str]:
    """Names of the brokers and databases that queries read and write."""
    names: set[str] = set()
    for query in queries:
        connectors: list[ConnectorKind] = [source.connector for source in graph.sources_of(query.from_)]
        connectors += [sink.connector for sink in query.to]
        names |= {name for each in connectors if (name := each.connection_name)}
    return names


def stores_used(graph: Graph, query: Query) -> set[str]:
    """Names of the S3 connections for the buckets of the query's checkpoint, sources, sinks and jars."""
    buckets = {match[1] for path in _paths(graph, query) if (match := re.match(r"s3a://([^/]+)", path))}
    return {each.name for each in graph.spec.connections if each.s3 and buckets & set(each.s3.buckets)}


def catalogs_named(graph: Graph, query: Query | None = None) -> set[str]:
    """Names of the catalogs that SQL views and tables by name may read, in the whole document or in one query.

    A Python view of the query may read every catalog that the document names.
    """
    views, sources = list(graph.views.values()), graph.spec.sources
    if query is not None:
        own_views = [graph.views[name] for name in graph.closure(query.from_) if name in graph.views]
        if not any(view.python for view in own_views):
            views, sources = own_views, tuple(graph.sources_of(query.from_))
    tables = [source.static.table.name for source in sources if source.static and source.static.table]
    text = "\n".join([*(view.sql or "" for view in views), *tables])
    words = {word.lower() for word in re.findall(r"\w+", text)}
    return {each.name for each in graph.spec.connections if each.catalog and each.name.lower() in words}


def functions_of(graph: Graph, query: Query) -> list[Function]:
    """The functions that a query may call: those that its texts name, or all functions if it has Python code."""
    views = [graph.views[name] for name in graph.closure(query.from_) if name in graph.views]
    if any(view.python for view in views) or any(sink.python for sink in query.to):
        return list(graph.spec.functions)
    sources = list(graph.sources_of(query.from_))
    texts = [part.model_dump_json(exclude_unset=True) for part in (*views, *sources, query)]
    words = {word.lower() for text in texts for word in re.findall(r"\w+", text)}
    return [each for each in graph.spec.functions if each.name.lower() in words]


def warnings_of(document: Document, names: Collection[str]) -> list[Problem]:
    """The document's warnings without those about other queries and their sources, views and connections."""
    graph = document.graph
    queries = [query for query in graph.spec.queries if query.name in names]
    relevant = {
        "connections": used(graph, queries),
        "sources": {source.name for query in queries for source in graph.sources_of(query.from_)},
        "views": {relation for query in queries for relation in graph.closure(query.from_)},
        "queries": {query.name for query in queries},
    }

    def is_relevant(warning: Problem) -> bool:
        _, kind, index, *_ = (*parse_path(warning.path), None, None)
        if kind == "trigger":
            return not graph.inherited.isdisjoint(names)
        if kind not in relevant or not isinstance(index, int):
            return True
        return getattr(graph.spec, kind)[index].name in relevant[kind]

    return [warning for warning in document.warnings if is_relevant(warning)]


def path_of(source: Source) -> str | None:
    """The folder, file or table that the source reads; None for a source without a path."""
    return source.connector.main_path


def written_paths(graph: Graph, query: Query) -> list[str]:
    """The folders that a query writes: its checkpoint and the folders of its sinks."""
    folders = [path for sink in query.to if (path := sink.connector.main_path)]
    return [f"{graph.spec.checkpoints.location.rstrip('/')}/{query.checkpoint_path}", *folders]


def _paths(graph: Graph, query: Query) -> Iterator[str]:
    yield graph.spec.checkpoints.location
    yield from (path for source in graph.sources_of(query.from_) if (path := path_of(source)))
    yield from (path for sink in query.to if (path := sink.connector.main_path))
    yield from (each.java.jar for each in functions_of(graph, query) if each.java and each.java.jar)
