"""Which queries of a document write an input of another query, and which of them it waits for; pure.

The document shows this for paths, topics and tables of databases. It does not show what Python code, a connector of
`spark`, or a table of a catalog reads or writes.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from mainstem.language.analysis.folders import may_read, normal
from mainstem.language.analysis.graph import Graph
from mainstem.language.model.connectors.jdbc_sink import JdbcSink
from mainstem.language.model.connectors.kafka_sink import KafkaSink
from mainstem.language.model.connectors.kafka_source import KafkaSource
from mainstem.language.model.connectors.kinds import ConnectorKind, ReadKind, SinkKind
from mainstem.language.model.connectors.static_sources import JdbcTable
from mainstem.language.model.queries import Query
from mainstem.language.model.sources import Source


class Writer(NamedTuple):
    """A query that may write an input of another query.

    Attributes:
        query: name of the query that writes.
        source: name of the source that reads the rows.
    """

    query: str
    source: str


def writers(graph: Graph, query: Query) -> list[Writer]:
    """The other running queries that may write a source of the query, each once for each source."""
    sources = {source.name: source for source in graph.sources_of(query.from_)}
    return _of(query, sources, {name: _writing(graph, source) for name, source in sources.items()})


def awaited(graph: Graph) -> Mapping[str, tuple[Writer, ...]]:
    """Query that ends -> the writers for whose end it waits, so that it reads all of their rows.

    A query waits for no writer without an end, and for none that reads rows of the query, directly or through others.
    """
    writing = {source.name: _writing(graph, source) for source in graph.spec.sources}
    read = {query.name: [each.name for each in graph.sources_of(query.from_)] for query in graph.spec.queries}
    direct = {query.name: _of(query, read[query.name], writing) for query in graph.spec.queries}
    upstream = {name: {writer.query for writer in each} for name, each in direct.items()}
    ending = {query.name for query in graph.spec.queries if graph.ends(query)}
    waited_for = {name: ending - _readers(name, upstream) for name in ending}
    return {
        name: tuple(writer for writer in direct[name] if writer.query in waited_for[name]) for name in ending
    }


def _of(query: Query, sources: Iterable[str], writing: Mapping[str, Iterable[str]]) -> list[Writer]:
    """The writers of the sources, which the query reads; a query is no writer of its own."""
    return [Writer(name, source) for source in sources for name in writing[source] if name != query.name]


def _writing(graph: Graph, source: Source) -> list[str]:
    """The running queries that may write the source."""
    return [
        query.name
        for query in graph.spec.queries
        if not query.suspend and any(_feeds(graph, sink.connector, source.connector) for sink in query.to)
    ]


def _readers(name: str, upstream: Mapping[str, Collection[str]]) -> set[str]:
    """The queries that read rows of the query, directly or through other queries."""
    readers: set[str] = set()
    todo = {name}
    while todo:
        todo = {each for each, written_by in upstream.items() if not todo.isdisjoint(written_by)} - readers
        readers |= todo
    return readers


def _feeds(graph: Graph, sink: SinkKind, read: ReadKind) -> bool:
    if sink.main_path and read.main_path:
        options = {key.lower(): value.lower() for key, value in read.given_options().items()}
        recursive = options.get("recursivefilelookup") == "true"
        return may_read(normal(read.main_path), normal(sink.main_path), recursive=recursive)
    if isinstance(sink, KafkaSink) and isinstance(read, KafkaSource):
        return _share_server(graph, sink, read) and _reads_topic(read, sink.topic)
    if isinstance(sink, JdbcSink) and isinstance(read, JdbcTable):
        return _share_server(graph, sink, read) and _names_table(read, sink.table)
    return False


def _share_server(graph: Graph, sink: ConnectorKind, read: ConnectorKind) -> bool:
    """Whether two connectors have the same connection, or two connections to one server."""
    return not _servers(graph, sink).isdisjoint(_servers(graph, read))


def _servers(graph: Graph, connector: ConnectorKind) -> set[str]:
    connection = next(each for each in graph.spec.connections if each.name == connector.connection_name)
    if connection.kafka:
        return connection.kafka.servers
    return {connection.jdbc.url} if connection.jdbc else set()


def _reads_topic(kafka: KafkaSource, topic: str | None) -> bool:
    """Whether the source may read the topic; None is a topic that only the rows name."""
    if topic is None:
        return True
    if kafka.subscribe_pattern is None:
        return topic in (*(kafka.subscribe or ()), *(kafka.assign or ()))
    try:
        return re.fullmatch(kafka.subscribe_pattern, topic) is not None
    except re.error:  # Java's patterns have syntax that Python does not have
        return True


def _names_table(read: JdbcTable, table: str) -> bool:
    """Whether the text of the source has the table's own name, with or without schema and quotes."""
    text = read.table or read.query or ""
    name = table.rsplit(".", maxsplit=1)[-1].strip('"`')
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.IGNORECASE) is not None
