"""Asks Kafka for the offsets of a query's topics, with a JVM but without a Spark session."""

import sys
from functools import partial

from mainstem.dataframes.options.kafka import connections
from mainstem.language.analysis.graph import Graph
from mainstem.language.model.queries import Query
from mainstem.runtime.clients.kafka_admin import KafkaAdmin
from mainstem.runtime.clients.reachability import connection_error
from mainstem.runtime.preflight.inputs import ask
from mainstem.runtime.progress.spark_progress import Offsets
from mainstem.runtime.spark.environment import this_machine
from mainstem.runtime.spark.session import open_jvm


def topic_ends(graph: Graph, query: Query) -> dict[str, tuple[Offsets, Offsets]]:
    """Source -> the first offsets and the ends of its topics, for each Kafka stream that the query reads.

    Raises:
        NotReady: Java or a secret is missing, or a broker does not answer.
    """
    sources = [each for each in graph.sources_of(query.from_) if each.kafka and each.streaming]
    names = {source.kafka.connection for source in sources if source.kafka}
    for connection in graph.spec.connections:
        if connection.name in names and (error := connection_error(connection)):
            raise error
    result: dict[str, tuple[Offsets, Offsets]] = {}
    if not sources:
        return result
    aside = partial(print, file=sys.stderr)
    with open_jvm(graph, this_machine(cores=1, heap="512m"), output=aside, verbose=False) as (jvm, _conf):
        kafkas = connections(graph)
        try:
            for source in sources:
                if source.kafka:
                    kafka = kafkas[source.kafka.connection]
                    admin = KafkaAdmin(jvm.gateway.jvm, kafka)
                    subject = f"connection {source.kafka.connection!r} ({kafka.bootstrap_servers})"
                    offsets = ask(subject, "", partial(admin.offsets, source.kafka))
                    result[source.name] = offsets.earliest, offsets.latest
        finally:
            jvm.end()
    return result
