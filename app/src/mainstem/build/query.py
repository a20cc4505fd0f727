"""One query of the document, built and started."""

import re

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
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
        SpecInvalid: a column that a sink names is none of the query, or a condition is none.
    """
    session.conf.set("spark.sql.shuffle.partitions", str(query.state.partitions))
    frame = Builder(session, graph).relation(query.from_)
    if unknown := _unknown_columns(graph, query, frame.columns):
        raise SpecInvalid(unknown)
    if wrong := _wrong_conditions(graph, query, frame):
        raise SpecInvalid(wrong)
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


def _wrong_conditions(graph: Graph, query: Query, frame: DataFrame) -> list[Problem]:
    """Conditions of a merge that Spark cannot ask of the query's rows: Delta would say so behind a new table."""
    problems = []
    for place, sink in enumerate(query.to):
        text = sink.delta.merge.delete_when if sink.delta and sink.delta.merge else None
        if text and (why := _no_condition(frame, text)):
            at = (
                "spec",
                "queries",
                graph.spec.queries.index(query),
                "to",
                place,
                "delta",
                "merge",
                "deleteWhen",
            )
            problems.append(Problem(0, 0, render_path(at), why, "InvalidCondition"))
    return problems


def _no_condition(frame: DataFrame, text: str) -> str | None:
    """Why Spark does not take a text as a condition over these rows; None where it does."""
    try:
        _ = frame.where(F.expr(text)).schema
    except AnalysisException as error:
        return str(error).partition("\n")[0].partition(" SQLSTATE")[0]
    return None


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
