"""What of a document a run needs: nothing that only suspended queries would use; pure."""

from collections.abc import Iterable

from mainstem.spec.graph import Graph
from mainstem.spec.queries import Query


def needed(graph: Graph) -> list[str]:
    """Names of the connections that a run asks for: all but those that only suspended queries use.

    Those of stores are all among them, for a checkpoint may lie there.
    """
    unused = _used(graph, (q for q in graph.spec.queries if q.suspend)) - _used(graph, running(graph))
    return [connection.name for connection in graph.spec.connections if connection.name not in unused]


def running(graph: Graph) -> list[Query]:
    """The queries that are not suspended."""
    return [query for query in graph.spec.queries if not query.suspend]


def _used(graph: Graph, queries: Iterable[Query]) -> set[str]:
    """Names of the brokers and databases that queries read and write."""
    found = set()
    for query in queries:
        for source in graph.sources_of(query.from_):
            through = source.kafka or (source.static and source.static.jdbc)
            found |= {through.connection} if through else set()
        for sink in query.to:
            written = sink.kafka or sink.jdbc
            found |= {written.connection} if written else set()
    return found
