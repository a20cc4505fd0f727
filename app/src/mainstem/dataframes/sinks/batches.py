"""Queries that run batch by batch: several sinks, or one that Spark has no exact streaming writer for.

A batch is computed once and kept, then written to one sink after the other. A batch that failed, or whose driver died,
is planned with the same input and runs again: a sink that has it already passes over it. Delta and folders of files do
so by Spark's own sinks, which keep the batch's number with the rows; Kafka repeats it.
"""

from collections.abc import Sequence
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.readwriter import DataStreamWriter

from mainstem.dataframes.options import connector
from mainstem.dataframes.options.connections import Connections
from mainstem.dataframes.options.triggers import triggered
from mainstem.dataframes.sinks import database, python
from mainstem.dataframes.sinks.merge import merger
from mainstem.dataframes.sinks.writers import BatchWriter, Native, native, shaped
from mainstem.language.model.queries import Query
from mainstem.language.model.sinks import ConsoleSink, Sink


_MOST_PARTITIONS: Final = 1_000_000
SINK_NOTE: Final = "mainstem: in the sink "
"""Begins the note of an exception; the name of the sink follows, quoted."""


def writer(frame: DataFrame, query: Query, checkpoint: str, connections: Connections) -> DataStreamWriter:
    """The writer of a query, ready to start.

    Args:
        frame: the query's relation.
        query: the query.
        checkpoint: full path of its checkpoint.
        connections: connections by name.
    """
    alone = query.to[0] if len(query.to) == 1 else None
    written = (
        native(frame.sparkSession, alone, connections) if alone and not _by_batch(query, alone) else None
    )
    stream = (shaped(frame, alone) if alone and written else frame).writeStream
    stream = stream.queryName(query.name).outputMode(query.output_mode)
    stream = triggered(stream, query).option("checkpointLocation", checkpoint)
    if written:
        return written.apply(stream)
    if alone and alone.python and alone.python.foreach:
        return stream.foreach(python.row_writer(alone.python))
    return stream.foreachBatch(
        in_turn([(sink.name, batch_writer(frame, query, sink, connections)) for sink in query.to])
    )


def in_turn(writers: Sequence[tuple[str, BatchWriter]]) -> BatchWriter:
    """Computes a batch once, wholly, and writes it with one writer after the other; an error names its sink.

    Wholly even where a sink has the batch already and reads nothing of it: the state of the batch's aggregations is
    made by computing it, and Spark refuses to commit a batch without.
    """

    def write(batch: DataFrame, batch_id: int) -> None:
        # Spark 4.2 cannot read a kept plan that comes sorted by a column renamed since, that of max(text) say.
        # Coalescing to more partitions than there are moves no row, and forgets the order.
        kept = batch.coalesce(_MOST_PARTITIONS).persist()
        try:
            kept.count()
            for sink, each in writers:
                try:
                    each(kept, batch_id)
                except Exception as error:
                    error.add_note(f"{SINK_NOTE}{sink!r}")
                    raise
        finally:
            kept.unpersist()

    return write


def batch_writer(frame: DataFrame, query: Query, sink: Sink, connections: Connections) -> BatchWriter:
    """The writer of one sink's batches.

    Raises:
        NotReady: Python code cannot be found or used; `SecretNotFound`.
        Py4JJavaError: a database refuses.
    """
    session, mode = frame.sparkSession, query.output_mode
    if sink.delta and sink.delta.merge:
        return merger(sink.delta)
    if sink.jdbc and sink.jdbc.delivery == "exactlyOnce":
        return database.writer(
            session, sink.jdbc, connections.jdbc[sink.jdbc.connection], mode, frame.columns
        )
    if sink.python:
        return python.batch_writer(sink.python)
    if sink.console:
        return _console(query.name, sink.console)
    if sink.memory:
        return python.keeper(session, sink.name, mode)
    written = native(session, sink, connections)
    if written is None:
        raise ValueError(f"{query.name} has no sink {sink.name}")
    replaces = sink.noop is not None or (sink.spark is not None and mode == "complete")
    return _spark_sink(session, written, mode) if sink.folder else _plain(sink, written, replaces=replaces)


def _by_batch(query: Query, sink: Sink) -> bool:
    """Whether the query's one sink has no streaming writer of Spark's, or shall not use it.

    Batches name the query on the console, which Spark's own console does not. Triggers whose tasks do not end, and progress
    that is tracked aside, know no function of batches.
    """
    if sink.console:
        resident = query.trigger is not None and query.trigger.resident
        return not resident and query.async_progress_tracking is None
    return sink.jdbc is not None or (sink.spark is not None and sink.spark.mode == "batch")


def _console(query: str, sink: ConsoleSink) -> BatchWriter:
    """Shows a batch as Spark's console does, under the query's name; all at once, so that no other query's rows come
    between.
    """

    def write(batch: DataFrame, batch_id: int) -> None:
        jvm: Any = batch.sparkSession._jvm  # noqa: SLF001
        rows = batch._jdf.showString(sink.num_rows, 20 if sink.truncate else 0, False)  # noqa: SLF001
        line = "-" * 43
        jvm.System.out.println(f"{line}\nBatch: {batch_id} of {query}\n{line}\n{rows}")

    return write


def _plain(sink: Sink, native: Native, *, replaces: bool) -> BatchWriter:
    """A writer that keeps no account of batches."""

    def write(batch: DataFrame, batch_id: int) -> None:  # noqa: ARG001
        rows = shaped(batch, sink).write.format(native.format).options(**native.options)
        with connector.active(batch.sparkSession):
            rows.mode("overwrite" if replaces else "append").save()

    return write


def _spark_sink(session: SparkSession, native: Native, mode: str) -> BatchWriter:
    """Spark's own streaming sink, given batches by hand: it passes over those that its log or table has already."""
    jvm: Any = session._jvm  # noqa: SLF001
    kind = jvm.org.apache.spark.sql.execution.datasources.DataSource
    to_scala = jvm.org.apache.spark.api.python.PythonUtils
    sink = kind(
        session._jsparkSession,  # noqa: SLF001
        native.format,
        getattr(kind, "$lessinit$greater$default$3")(),
        getattr(kind, "$lessinit$greater$default$4")(),
        to_scala.toSeq(list(native.partition_by)),
        getattr(kind, "$lessinit$greater$default$6")(),
        to_scala.toScalaMap(native.options),
        getattr(kind, "$lessinit$greater$default$8")(),
        getattr(kind, "$lessinit$greater$default$9")(),
    ).createSink(_mode(jvm, mode))
    return lambda batch, batch_id: sink.addBatch(batch_id, batch._jdf)  # noqa: SLF001


def _mode(jvm: Any, mode: str) -> Any:
    modes = jvm.org.apache.spark.sql.streaming.OutputMode
    return {"append": modes.Append, "update": modes.Update, "complete": modes.Complete}[mode]()
