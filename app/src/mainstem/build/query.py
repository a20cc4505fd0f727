"""One query of the document, built and started."""

import re

from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from mainstem.build import kafka
from mainstem.build.batches import writer
from mainstem.build.views import Builder
from mainstem.errors import Problem, SpecInvalid
from mainstem.spec.graph import Graph
from mainstem.spec.messages import nearest_of
from mainstem.spec.queries import Query
from mainstem.spec.yamltext import render_path


def build(session: SparkSession, graph: Graph, query: Query) -> DataStreamWriter:
    """The query's writer, with its DataFrames built anew in the given session.

    Built anew for every start, because file listings and Delta schemas are frozen in a DataFrame.

    Raises:
        AnalysisException: Spark refuses the SQL or a path.
        SpecInvalid: a column that a sink names is none of the query.
    """
    session.conf.set("spark.sql.shuffle.partitions", str(query.state.partitions))
    frame = Builder(session, graph).relation(query.from_)
    if unknown := _unknown_columns(graph, query, frame.columns):
        raise SpecInvalid(unknown)
    return writer(frame, query, checkpoint(graph, query), kafka.connections(graph, session))


def _unknown_columns(graph: Graph, query: Query, columns: list[str]) -> list[Problem]:
    """Columns that a sink names and the query does not have: some writers would say so in the first batch only."""
    known = {column.lower() for column in columns}
    return [
        Problem(
            0,
            0,
            render_path(("spec", "queries", graph.spec.queries.index(query), "to", place, *path)),
            f"{query.from_!r} has no column {column!r}{nearest_of(column, columns)}",
            "UnknownColumn",
        )
        for place, sink in enumerate(query.to)
        for path, column in sink.columns()
        if column.lower() not in known and not re.search(r"[.`]", column)  # a field within a column
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
