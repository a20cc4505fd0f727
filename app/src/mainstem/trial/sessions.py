"""Whether two documents of a trial can share one Spark session."""

from typing import Any

from mainstem.language.analysis.graph import Graph
from mainstem.language.document import Document
from mainstem.language.requirements import required_connections
from mainstem.runtime.local_sessions import folder_of


def needs(document: Document, graph: Graph) -> tuple[Any, ...]:
    """All that a session depends on: two documents with equal needs can share one."""
    spec = graph.spec
    return (
        folder_of(document),
        spec.connections,
        set(required_connections(graph)),
        spec.packages,
        spec.spark,
        spec.time_zone,
        spec.functions,
    )
