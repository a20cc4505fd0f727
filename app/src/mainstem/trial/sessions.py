"""Whether two documents of a trial can share one Spark session."""

from typing import Any

from mainstem.language.analysis.graph import Graph
from mainstem.language.document import Document
from mainstem.language.requirements import required_connections
from mainstem.runtime.local_sessions import jvm_needs


def needs(document: Document, graph: Graph) -> tuple[Any, ...]:
    """All that a session depends on: two documents with equal needs can share one."""
    spec = graph.spec
    return (
        *jvm_needs(document),
        spec.connections,
        set(required_connections(graph)),
        spec.functions,
    )
