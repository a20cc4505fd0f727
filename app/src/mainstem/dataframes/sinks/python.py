"""Sinks that are the user's Python code, or the driver's memory."""

from functools import partial
from typing import Any

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.streaming.readwriter import DataStreamWriter

from mainstem.dataframes.sinks.writers import BatchWriter
from mainstem.dataframes.user_code import code, signatures
from mainstem.errors import NotReady
from mainstem.language.model.sinks import PythonSink


def row_writer(sink: PythonSink) -> Any:
    """A writer of rows as `DataStreamWriter.foreach` takes it: an object of the class, or the function, with the document's
    arguments.

    Raises:
        NotReady: the code cannot be found, no writer can be made of it, or Spark cannot call it.
    """
    reference = sink.foreach or ""
    where = f"python.foreach {reference!r}"
    code_of_sink = code.load(where, reference)
    if isinstance(code_of_sink, type):
        writer = code.guarded(f"{where} cannot be instantiated", reference, **sink.arguments)
    else:
        signatures.check(where, code_of_sink, ["row"], sink.arguments)
        writer = partial(code_of_sink, **sink.arguments)
    signatures.check_writer(where, writer)
    return writer


def batch_writer(sink: PythonSink) -> BatchWriter:
    """The writer of a sink's batches.

    Raises:
        NotReady: the code cannot be found, or no writer can be made of it.
    """
    if sink.foreach_batch is None:
        return _row_by_row(row_writer(sink))
    where = f"python.foreachBatch {sink.foreach_batch!r}"
    function = code.load(where, sink.foreach_batch)
    signatures.check(where, function, ["batch", "number"], sink.arguments)

    def write(batch: DataFrame, batch_id: int) -> None:
        try:
            function(batch, batch_id, **sink.arguments)
        except SystemExit as error:  # would end the thread without an answer to Spark, which waits for one
            raise NotReady(code.error_line(error), reason="PythonFailed") from error

    return write


def _row_by_row(writer: Any) -> BatchWriter:
    """Calls a writer of rows as Spark's own `foreach` does, which has the batch's number from the task's properties."""
    function = DataStreamWriter._construct_foreach_function(writer)  # noqa: SLF001

    def write(batch: DataFrame, batch_id: int) -> None:
        # A stream has set it already, a query that runs once has not.
        batch.sparkSession.sparkContext.setLocalProperty("streaming.sql.batchId", str(batch_id))
        batch.rdd.mapPartitionsWithIndex(function).count()

    return write


def keeper(session: SparkSession, view: str, mode: str) -> BatchWriter:
    """A writer that keeps rows in the driver's memory, as a temporary view of the session."""
    rows: list[Row] = []

    def write(batch: DataFrame, batch_id: int) -> None:  # noqa: ARG001
        if mode == "complete":
            rows.clear()
        rows.extend(batch.collect())
        session.createDataFrame(rows, batch.schema).createOrReplaceTempView(view)

    return write
