"""Checks that there are enough cores for queries whose tasks never end.

With the triggers `continuous` and `realTime` each partition of a source occupies a core as long as the query runs. With
too few cores Spark reports no error: it reads some of the partitions and never reads the others.
"""

import re
from collections.abc import Callable, Mapping, Sequence

from pyspark.sql import SparkSession

from mainstem import reasons
from mainstem.dataframes.options.kafka import connections
from mainstem.errors import NotReady
from mainstem.language.analysis.graph import Graph
from mainstem.language.analysis.occurrences import occurrence_names
from mainstem.language.model.queries import Query
from mainstem.language.model.sources import Source
from mainstem.runtime.clients.kafka_admin import KafkaAdmin
from mainstem.runtime.preflight.inputs import ask


def check(session: SparkSession, graph: Graph) -> None:
    """Compare the cores with the number of partitions whose tasks never end.

    Raises:
        NotReady: `CoresMissing`.
    """
    queries = resident_queries(graph.spec.queries)
    if not queries:
        return
    available = cores(dict(session.sparkContext.getConf().getAll()))
    known = connections(graph)

    def partitions(source: Source) -> int:
        if source.kafka is None:
            return available  # the rate source has one partition for each core
        connection = known[source.kafka.connection]
        subject = f"connection {source.kafka.connection!r} ({connection.bootstrap_servers})"
        kafka = source.kafka
        admin = KafkaAdmin(session._jvm, connection)  # noqa: SLF001
        return int(ask(subject, "", lambda: admin.partitions(kafka)))

    needed = {query.name: occupied_cores(graph, query, partitions) for query in queries}
    others = sum(not query.suspend for query in graph.spec.queries) > len(queries)
    check_cores(needed, others=others, available=available)


def resident_queries(queries: Sequence[Query]) -> list[Query]:
    """The running queries whose tasks never end."""
    return [query for query in queries if query.trigger and query.trigger.resident and not query.suspend]


def occupied_cores(graph: Graph, query: Query, partitions: Callable[[Source], int]) -> int:
    """The number of cores that a query occupies: one for each partition; a source that is read twice counts twice."""
    names = [name for _, name in occurrence_names(graph, query.from_)]
    return sum(partitions(graph.sources.get(name) or graph.dead_letters[name]) for name in names)


def check_cores(needed: Mapping[str, int], *, others: bool, available: int) -> None:
    """Raise an error if there are too few cores.

    Args:
        needed: query -> number of cores that it occupies.
        others: whether the document has other queries, which together need one core.
        available: number of cores of all executors, or of the driver without executors.

    Raises:
        NotReady: `CoresMissing`.
    """
    required = sum(needed.values()) + others
    if required > available:
        parts = ", ".join(f"{name} {count}" for name, count in needed.items())
        message = (
            f"the queries need {required} cores, and there are {available}: one for each partition of a continuous or real-time "
            f"query ({parts}){', and one for the other queries' if others else ''}"
        )
        remedy = (
            "raise --cores, or the executors on a cluster; or move these queries to a pipeline of their own"
        )
        raise NotReady(message, reason=reasons.CORES_MISSING, remedy=remedy)


def cores(conf: Mapping[str, str]) -> int:
    """The number of cores for tasks: of the maximum number of executors, or of the driver without executors."""
    local = re.match(r"local\[(\d+)", conf.get("spark.master", ""))
    if local:
        return int(local[1])
    by_demand = conf.get("spark.dynamicAllocation.enabled") == "true"
    most = "spark.dynamicAllocation.maxExecutors" if by_demand else "spark.executor.instances"
    return int(conf.get(most, "0")) * int(conf.get("spark.executor.cores", "1"))
