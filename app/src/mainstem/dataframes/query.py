"""Builds and starts one query of the document."""

from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from mainstem.dataframes.batch_query import BatchQuery
from mainstem.dataframes.options import connector
from mainstem.dataframes.options.connections import connections
from mainstem.dataframes.sinks.batches import ordered, writer
from mainstem.dataframes.sinks.sink_checks import misfits, types_too_narrow
from mainstem.dataframes.user_code import functions
from mainstem.dataframes.views.builder import Builder, Guard, no_guard
from mainstem.errors import SpecInvalid
from mainstem.language.analysis.graph import Graph
from mainstem.language.model.queries import STATE_STORES, Query
from mainstem.language.requirements import catalogs_named


_STREAMING_SOURCES: Final = ("StreamingRelation", "StreamingRelationV2")
"""Names of the leaves of an analysed plan that Spark reads as streaming sources."""


def build(
    session: SparkSession, graph: Graph, query: Query, guard: Guard = no_guard
) -> DataStreamWriter | BatchQuery:
    """The query's writer, with new DataFrames in the given session; a `BatchQuery` if no source streams.

    Every start builds the query again, because a DataFrame keeps file listings and Delta schemas. `guard` is the context
    in which each view is built.

    Raises:
        AnalysisException: Spark refuses the SQL or a path.
        SpecInvalid: a sink names a column that the query does not have, or its table may alter values of a column.
        NotReady: Python or Java code of the document does not exist or cannot be used; `SecretNotFound`.
        Py4JJavaError: a database refuses a sink.
    """
    frame = relation(session, graph, query, guard)
    known = connections(graph)
    if problems := types_too_narrow(graph, query, frame, known):
        raise SpecInvalid(problems)
    if not frame.isStreaming:
        return BatchQuery(ordered(frame, query), query, known)
    return writer(frame, query, checkpoint(graph, query), known)


def relation(session: SparkSession, graph: Graph, query: Query, guard: Guard = no_guard) -> DataFrame:
    """The rows of the query, checked against the sinks; raises as `build` does."""
    session.conf.set("spark.sql.shuffle.partitions", str(query.state.partitions))
    session.conf.set("spark.sql.streaming.stateStore.providerClass", STATE_STORES[query.state.provider])
    functions.register(session, graph, query)
    connector.catalogs(session, graph, catalogs_named(graph, query))
    # In mode complete, stateful steps below the aggregation append rows; Spark has no mode complete for them.
    mode = "append" if query.output_mode == "complete" else query.output_mode
    frame = Builder(session, graph, output_mode=mode, guard=guard).relation(query.from_)
    if problems := misfits(graph, query, frame):
        raise SpecInvalid(problems)
    return frame


def check_stream(frame: DataFrame, query: Query) -> None:
    """Let Spark check the plan of a stream as it does at the start of a query.

    Raises:
        AnalysisException: Spark does not support the plan on a stream in this output mode.
    """
    session = frame.sparkSession
    is_disabled = session.conf.get("spark.sql.streaming.unsupportedOperationCheck", "true") != "true"
    if is_disabled or not frame.isStreaming:
        return
    jvm: Any = session._jvm  # noqa: SLF001
    mode = getattr(jvm.org.apache.spark.sql.streaming.OutputMode, query.output_mode.capitalize())()
    checker = jvm.org.apache.spark.sql.catalyst.analysis.UnsupportedOperationChecker
    checker.checkForStreaming(frame._jdf.queryExecution().analyzed(), mode)  # noqa: SLF001


def occurrences(writer: DataStreamWriter) -> list[str]:
    """The names of the streams that a built query reads, in the order of the plan and of Spark's progress.

    Other leaves of the plan also stream but are not sources: each use of a WITH clause refers to the relation that the
    clause defines elsewhere in the plan.
    """
    plan: Any = writer._df._jdf.queryExecution().analyzed().collectLeaves()  # noqa: SLF001
    leaves = [plan.apply(index) for index in range(plan.length())]
    sources = [leaf for leaf in leaves if leaf.getClass().getSimpleName() in _STREAMING_SOURCES]
    return list(dict.fromkeys(str(source.sourceIdentifyingName().name()) for source in sources))


def start(session: SparkSession, writer: DataStreamWriter, query: Query) -> StreamingQuery:
    """Start a built query in its own scheduler pool; Spark takes the pool from the thread that starts the query."""
    session.sparkContext.setLocalProperty("spark.scheduler.pool", query.name)
    try:
        with connector.active(session):
            return writer.start()
    finally:
        session.sparkContext.setLocalProperty("spark.scheduler.pool", None)


def checkpoint(graph: Graph, query: Query) -> str:
    """Full path of the query's checkpoint: `<location>/<id>/<generation>`."""
    return f"{graph.spec.checkpoints.location.rstrip('/')}/{query.checkpoint_path}"
