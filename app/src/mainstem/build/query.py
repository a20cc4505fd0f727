"""One query of the document, built and started."""

from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from mainstem.build import kafka
from mainstem.build.sinks import writer
from mainstem.build.views import Builder
from mainstem.errors import Problem, SpecInvalid
from mainstem.spec.graph import Graph
from mainstem.spec.messages import nearest_of
from mainstem.spec.queries import Query


def build(session: SparkSession, graph: Graph, query: Query) -> DataStreamWriter:
    """The query's writer, with its DataFrames built anew in the given session.

    Built anew for every start, because file listings and Delta schemas are frozen in a DataFrame.

    Raises:
        AnalysisException: Spark refuses the SQL or a path.
        SpecInvalid: a key of a merge is no column of the query.
    """
    session.conf.set("spark.sql.shuffle.partitions", str(query.state.partitions))
    frame = Builder(session, graph).relation(query.from_)
    if unknown := _unknown_keys(graph, query, frame.columns):
        raise SpecInvalid(unknown)
    return writer(frame, query, checkpoint(graph, query), kafka.connections(graph, session))


def _unknown_keys(graph: Graph, query: Query, columns: list[str]) -> list[Problem]:
    """Keys of a merge that the query does not have: Delta would say so in the first batch, behind a new table."""
    merge = query.sink.delta.merge if query.sink.delta else None
    at = f"spec.queries[{graph.spec.queries.index(query)}].to[0].delta.merge.keys"
    known = {column.lower() for column in columns}
    return [
        Problem(
            0,
            0,
            f"{at}[{index}]",
            f"{query.from_!r} has no column {key!r}{nearest_of(key, columns)}",
            "UnknownColumn",
        )
        for index, key in enumerate(merge.keys if merge else ())
        if key.lower() not in known
    ]


def start(session: SparkSession, writer: DataStreamWriter, query: Query) -> StreamingQuery:
    """Start a built query in its own scheduler pool; the pool is a property of the starting thread."""
    session.sparkContext.setLocalProperty("spark.scheduler.pool", query.name)
    try:
        return writer.start()
    finally:
        session.sparkContext.setLocalProperty("spark.scheduler.pool", None)


def checkpoint(graph: Graph, query: Query) -> str:
    """Full path of the query's checkpoint: `<location>/<id>/<generation>`."""
    return f"{graph.spec.checkpoints.location.rstrip('/')}/{query.checkpoint_path}"
