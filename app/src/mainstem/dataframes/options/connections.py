"""The document's connections to brokers, databases and connectors, which sources and sinks use."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pyspark.sql import SparkSession

from mainstem.dataframes.options import kafka
from mainstem.language.analysis.graph import Graph
from mainstem.language.model.connections import JdbcConnection, KafkaConnection, SparkConnection


@dataclass(frozen=True)
class Connections:
    """The document's connections by name, for each kind.

    Attributes:
        kafka: connections to Kafka clusters.
        jdbc: connections to databases.
        spark: options of connectors.
    """

    kafka: Mapping[str, KafkaConnection] = field(default_factory=dict)
    jdbc: Mapping[str, JdbcConnection] = field(default_factory=dict)
    spark: Mapping[str, SparkConnection] = field(default_factory=dict)


def connections(graph: Graph, session: SparkSession) -> Connections:
    """The connections of a document, with the properties that the clients of a session need."""
    models = graph.spec.connections
    return Connections(
        kafka.connections(graph, session),
        {each.name: each.jdbc for each in models if each.jdbc},
        {each.name: each.spark for each in models if each.spark},
    )
