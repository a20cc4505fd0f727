"""Builds and starts one query of the document."""

from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from mainstem.dataframes.batch_query import BatchQuery
from mainstem.dataframes.options import connector
from mainstem.dataframes.options.connections import connections
from mainstem.dataframes.sinks.batches import writer
from mainstem.dataframes.sinks.sink_checks import misfits
from mainstem.dataframes.user_code import functions
from mainstem.dataframes.views.builder import Builder, Guard, unguarded
from mainstem.errors import SpecInvalid
from mainstem.language.analysis.graph import Graph
from mainstem.language.model.queries import STATE_STORES, Query
from mainstem.language.requirements import catalogs_named


_STREAMING_SOURCES: Final = ("StreamingRelation", "StreamingRelationV2")
"""Leaves of an analysed plan that Spark's micro-batches make sources of."""


def build(
    session: SparkSession, graph: Graph, query: Query, guard: Guard = unguarded
) -> DataStreamWriter | BatchQuery:
    """The query's writer, with its DataFrames built anew in the given session; a `BatchQuery` where nothing streams.

    `guard` is around the making of each view. Built anew for every start, because file listings and Delta schemas are
    frozen in a DataFrame.

    Raises:
        AnalysisException: Spark refuses the SQL or a path.
        SpecInvalid: a sink names what is none of the query's.
        NotReady: Python or Java code that the document names cannot be found or used; `SecretNotFound`.
        Py4JJavaError: a database refuses a sink.
    """
    frame = relation(session, graph, query, guard)
    known = connections(graph, session)
    if not frame.isStreaming:
        return BatchQuery(frame, query, known)
    return writer(frame, query, checkpoint(graph, query), known)


def relation(session: SparkSession, graph: Graph, query: Query, guard: Guard = unguarded) -> DataFrame:
    """The rows of the query, which its sinks can write; raises as `build` does."""
    session.conf.set("spark.sql.shuffle.partitions", str(query.state.partitions))
    session.conf.set("spark.sql.streaming.stateStore.providerClass", STATE_STORES[query.state.provider])
    functions.register(session, graph, query)
    connector.catalogs(session, graph, catalogs_named(graph, query))
    # An aggregation whose whole result is written takes rows from stateful steps that only append.
    mode = "append" if query.output_mode == "complete" else query.output_mode
    frame = Builder(session, graph, output_mode=mode, guard=guard).relation(query.from_)
    if found := misfits(graph, query, frame):
        raise SpecInvalid(found)
    return frame


def check_stream(frame: DataFrame, query: Query) -> None:
    """Let Spark check a stream as it does at the start.

    Raises:
        AnalysisException: the plan has what Spark does not do over a stream in this output mode.
    """
    session = frame.sparkSession
    unchecked = session.conf.get("spark.sql.streaming.unsupportedOperationCheck", "true") != "true"
    if unchecked or not frame.isStreaming:
        return
    jvm: Any = session._jvm  # noqa: SLF001
    mode = getattr(jvm.org.apache.spark.sql.streaming.OutputMode, query.output_mode.capitalize())()
    checker = jvm.org.apache.spark.sql.catalyst.analysis.UnsupportedOperationChecker
    checker.checkForStreaming(frame._jdf.queryExecution().analyzed(), mode)  # noqa: SLF001


def occurrences(writer: DataStreamWriter) -> list[str]:
    """The names of the streams that a built query reads, in the order of its plan, which is that of Spark's progress.

    Other leaves of a plan stream too, and are no sources: each use of a WITH clause refers to the one relation that the
    clause defines, elsewhere in the plan.
    """
    plan: Any = writer._df._jdf.queryExecution().analyzed().collectLeaves()  # noqa: SLF001
    leaves = [plan.apply(index) for index in range(plan.length())]
    sources = [leaf for leaf in leaves if leaf.getClass().getSimpleName() in _STREAMING_SOURCES]
    return list(dict.fromkeys(str(source.sourceIdentifyingName().name()) for source in sources))


def start(session: SparkSession, writer: DataStreamWriter, query: Query) -> StreamingQuery:
    """Start a built query in its own scheduler pool; the pool is a property of the starting thread."""
    session.sparkContext.setLocalProperty("spark.scheduler.pool", query.name)
    try:
        with connector.active(session):
            return writer.start()
    finally:
        session.sparkContext.setLocalProperty("spark.scheduler.pool", None)


def checkpoint(graph: Graph, query: Query) -> str:
    """Full path of the query's checkpoint: `<location>/<id>/<generation>`."""
    return f"{graph.spec.checkpoints.location.rstrip('/')}/{query.checkpoint_path}"
