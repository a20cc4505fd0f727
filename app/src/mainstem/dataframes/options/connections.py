"""The document's connections to brokers, databases and connectors, which sources and sinks use."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from mainstem.dataframes.options import kafka
from mainstem.language.analysis.graph import Graph
from mainstem.language.model.connections import KafkaConnection, SparkConnection
from mainstem.language.model.connectors.kinds import ConnectionKind


Settings = TypeVar("Settings", bound=ConnectionKind)


@dataclass(frozen=True)
class Connections:
    """The document's connections by name.

    Attributes:
        kafka: connections to Kafka clusters, with the properties that their clients need.
        spark: options of connectors.
        settings: all connections, as the document has them.
    """

    kafka: Mapping[str, KafkaConnection] = field(default_factory=dict)
    spark: Mapping[str, SparkConnection] = field(default_factory=dict)
    settings: Mapping[str, ConnectionKind] = field(default_factory=dict)

    def get(self, kind: type[Settings], name: str) -> Settings:
        """The connection of this name and kind."""
        settings = self.settings[name]
        if not isinstance(settings, kind):
            raise TypeError(f"the connection {name!r} is not a {kind.title} connection")
        return settings


def connections(graph: Graph) -> Connections:
    """The connections of a document, with the properties that their clients need."""
    models = graph.spec.connections
    return Connections(
        kafka.connections(graph),
        {each.name: each.spark for each in models if each.spark},
        {each.name: each.settings for each in models},
    )
