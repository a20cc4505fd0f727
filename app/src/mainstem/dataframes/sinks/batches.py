"""Writers of queries that `foreachBatch` runs: queries with several sinks, or with a sink without an exact streaming writer.

A batch is computed once, cached, and written to one sink after the other. A batch that failed, or whose driver died,
runs again with the same input. A sink that already has the batch skips it. Delta and folders of files skip it in Spark's
own sinks, which store the batch's number with the rows. Kafka gets the batch again.
"""

from collections.abc import Sequence
from functools import partial, singledispatch
from typing import Any, Final, NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.readwriter import DataStreamWriter

from mainstem.dataframes import positions
from mainstem.dataframes.options import connector
from mainstem.dataframes.options.connections import Connections
from mainstem.dataframes.options.triggers import with_trigger
from mainstem.dataframes.sinks import database, python
from mainstem.dataframes.sinks.merge import merger
from mainstem.dataframes.sinks.writers import BatchWriter, Native, native, shape, shaper
from mainstem.language.model.connections import JdbcConnection
from mainstem.language.model.connectors.custom import SparkSink
from mainstem.language.model.connectors.inspection_sinks import ConsoleSink, MemorySink, NoopSink
from mainstem.language.model.connectors.jdbc_sink import JdbcSink
from mainstem.language.model.connectors.kinds import SinkKind
from mainstem.language.model.connectors.python_sink import PythonSink
from mainstem.language.model.queries import Query
from mainstem.language.model.sinks import Sink


_MOST_PARTITIONS: Final = 1_000_000
SINK_NOTE: Final = "mainstem: in the sink "
"""Prefix of the note on an exception of a sink; the quoted name of the sink follows."""


class BatchContext(NamedTuple):
    """What a writer of batches needs beside the settings of the sink.

    Attributes:
        frame: the query's rows.
        query: the query.
        name: name of the sink.
        connections: the connections of the document.
    """

    frame: DataFrame
    query: Query
    name: str
    connections: Connections


def writer(frame: DataFrame, query: Query, checkpoint: str, connections: Connections) -> DataStreamWriter:
    """The writer of a query, ready to start.

    Args:
        frame: the query's rows.
        query: the query.
        checkpoint: full path of the query's checkpoint.
        connections: connections by name.
    """
    only_sink = query.to[0] if len(query.to) == 1 else None
    native_writer = (
        native(frame.sparkSession, only_sink, connections)
        if only_sink and not in_batches(only_sink.connector, query)
        else None
    )
    rows = shape(frame, only_sink) if only_sink and native_writer else ordered(frame, query)
    stream = rows.writeStream
    stream = stream.queryName(query.name).outputMode(query.output_mode)
    stream = with_trigger(stream, query).option("checkpointLocation", checkpoint)
    if native_writer:
        return native_writer.apply(stream)
    if only_sink and only_sink.python and only_sink.python.foreach:
        return stream.foreach(python.row_writer(only_sink.python))
    return stream.foreachBatch(
        in_turn([(sink.name, batch_writer(frame, query, sink, connections)) for sink in query.to])
    )


def ordered(frame: DataFrame, query: Query) -> DataFrame:
    """The query's rows, with the position of their records if a sink needs it."""
    merges = (sink.delta.merge for sink in query.to if sink.delta and sink.delta.merge)
    return positions.carried(frame) if any(merge.takes_later for merge in merges) else frame


def in_turn(writers: Sequence[tuple[str, BatchWriter]]) -> BatchWriter:
    """A writer that computes a batch once and completely, and calls one writer after the other; an error names its sink.

    The batch is computed completely even if a sink already has it and reads no row. Computing the batch writes the state
    of its aggregations, and Spark refuses to commit a batch without this state.
    """

    def write(batch: DataFrame, batch_id: int) -> None:
        # Spark 4.2 cannot read a cached plan that is sorted by a column with another name since, such as max(text).
        # Coalescing to more partitions than exist moves no row, and drops the order.
        cache = batch.coalesce(_MOST_PARTITIONS).persist()
        try:
            cache.count()
            for sink, write_sink in writers:
                try:
                    write_sink(cache, batch_id)
                except Exception as error:
                    error.add_note(f"{SINK_NOTE}{sink!r}")
                    raise
        finally:
            cache.unpersist()

    return write


def batch_writer(frame: DataFrame, query: Query, sink: Sink, connections: Connections) -> BatchWriter:
    """The writer of one sink's batches; only a merge sees the position of their records.

    Raises:
        NotReady: Python code does not exist or cannot be used; `SecretNotFound`.
        Py4JJavaError: a database refuses the sink.
    """
    if sink.delta and sink.delta.merge:
        return merger(sink.delta)
    write = _writer_of_columns(frame.drop(positions.POSITION), query, sink, connections)
    return lambda batch, batch_id: write(batch.drop(positions.POSITION), batch_id)


def _writer_of_columns(frame: DataFrame, query: Query, sink: Sink, connections: Connections) -> BatchWriter:
    session, mode = frame.sparkSession, query.output_mode
    if own := own_writer(sink.connector, BatchContext(frame, query, sink.name, connections)):
        return own
    native_writer = native(session, sink, connections)
    if native_writer is None:
        raise ValueError(f"{query.name} has no sink {sink.name}")
    return (
        _spark_sink(session, sink, native_writer, mode)
        if sink.folder
        else _plain(sink, native_writer, overwrite=replaces(sink.connector, mode))
    )


@singledispatch
def own_writer(_sink: SinkKind, _context: BatchContext) -> BatchWriter | None:
    """Mainstem's own writer of batches, by the kind of sink; None for a sink that Spark's writer writes."""
    return None


@own_writer.register
def _to_database(sink: JdbcSink, context: BatchContext) -> BatchWriter | None:
    if sink.delivery == "atLeastOnce":
        return None
    frame, mode = context.frame, context.query.output_mode
    connection = context.connections.get(JdbcConnection, sink.connection)
    return database.writer(frame.sparkSession, sink, connection, mode, frame.columns)


@own_writer.register
def _to_code(sink: PythonSink, _context: BatchContext) -> BatchWriter | None:
    return python.batch_writer(sink)


@own_writer.register
def _to_console(sink: ConsoleSink, context: BatchContext) -> BatchWriter | None:
    return _console(context.query.name, sink)


@own_writer.register
def _to_memory(_sink: MemorySink, context: BatchContext) -> BatchWriter | None:
    return python.memory_writer(context.frame.sparkSession, context.name, context.query.output_mode)


@singledispatch
def in_batches(_sink: SinkKind, _query: Query) -> bool:
    """Whether `foreachBatch` writes the query's only sink, because Spark has no streaming writer or a worse one."""
    return False


@in_batches.register
def _console_in_batches(_sink: ConsoleSink, query: Query) -> bool:
    """Mainstem's console sink shows the query's name; Spark's does not.

    Triggers whose tasks do not end, and asynchronous progress tracking, do not support `foreachBatch`.
    """
    resident = query.trigger is not None and query.trigger.resident
    return not resident and query.async_progress_tracking is None


@in_batches.register
def _database_in_batches(_sink: JdbcSink, _query: Query) -> bool:
    return True


@in_batches.register
def _format_in_batches(sink: SparkSink, _query: Query) -> bool:
    return sink.mode == "batch"


@singledispatch
def replaces(_sink: SinkKind, _mode: str) -> bool:
    """Whether Spark's writer replaces what the sink has by the rows of a batch, by the query's output mode."""
    return False


@replaces.register
def _nothing_is_kept(_sink: NoopSink, _mode: str) -> bool:
    return True


@replaces.register
def _format_replaces(_sink: SparkSink, mode: str) -> bool:
    return mode == "complete"


def _console(query: str, sink: ConsoleSink) -> BatchWriter:
    """A writer that prints a batch as Spark's console sink does, with the query's name.

    One call prints the whole batch, so the rows of another query cannot come between.
    """

    def write(batch: DataFrame, batch_id: int) -> None:
        jvm: Any = batch.sparkSession._jvm  # noqa: SLF001
        rows = batch._jdf.showString(sink.num_rows, 20 if sink.truncate else 0, False)  # noqa: SLF001
        line = "-" * 43
        jvm.System.out.println(f"{line}\nBatch: {batch_id} of {query}\n{line}\n{rows}")

    return write


def _plain(sink: Sink, native: Native, *, overwrite: bool) -> BatchWriter:
    """A writer of Spark that does not store the number of the batch, so it cannot skip a repeated batch."""

    def write(batch: DataFrame, batch_id: int) -> None:  # noqa: ARG001
        rows = shape(batch, sink).write.format(native.format).options(**native.options)
        with connector.active(batch.sparkSession):
            rows.mode("overwrite" if overwrite else "append").save()

    return write


def _spark_sink(session: SparkSession, sink: Sink, native: Native, mode: str) -> BatchWriter:
    """A writer that passes batches to Spark's streaming sink, which skips a batch that its log or table already has."""
    jvm: Any = session._jvm  # noqa: SLF001
    kind = jvm.org.apache.spark.sql.execution.datasources.DataSource
    to_scala = jvm.org.apache.spark.api.python.PythonUtils
    source = kind(
        session._jsparkSession,  # noqa: SLF001
        native.format,
        getattr(kind, "$lessinit$greater$default$3")(),
        getattr(kind, "$lessinit$greater$default$4")(),
        to_scala.toSeq(list(native.partition_by)),
        getattr(kind, "$lessinit$greater$default$6")(),
        to_scala.toScalaMap(native.options),
        getattr(kind, "$lessinit$greater$default$8")(),
        getattr(kind, "$lessinit$greater$default$9")(),
    )
    # Of files Spark makes the log of the folder here, from which on readers see no file that the log does not list. So only the
    # first batch does it: until then somebody else's folder may still be refused.
    create = partial(source.createSink, _mode(jvm, mode))
    spark_sink = None if sink.files else create()
    shaped = shaper(session, sink)

    def write(batch: DataFrame, batch_id: int) -> None:
        nonlocal spark_sink
        if spark_sink is None:
            spark_sink = create()
        spark_sink.addBatch(batch_id, shaped(batch)._jdf)  # noqa: SLF001

    return write


def _mode(jvm: Any, mode: str) -> Any:
    modes = jvm.org.apache.spark.sql.streaming.OutputMode
    return {"append": modes.Append, "update": modes.Update, "complete": modes.Complete}[mode]()
