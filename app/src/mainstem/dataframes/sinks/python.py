"""Writers of `python` sinks, which call the user's code, and of `memory` sinks."""

from functools import partial
from typing import Any

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.streaming.readwriter import DataStreamWriter

from mainstem import reasons
from mainstem.dataframes.sinks.writers import BatchWriter
from mainstem.dataframes.user_code import code, signatures
from mainstem.errors import NotReady
from mainstem.language.model.connectors.python_sink import PythonSink


def row_writer(sink: PythonSink) -> Any:
    """A writer of rows for `DataStreamWriter.foreach`: an instance of the user's class, or the user's function.

    Both get the arguments of the document.

    Raises:
        NotReady: the code does not exist, the class cannot be instantiated, or Spark cannot call the code.
    """
    reference = sink.foreach or ""
    where = f"python.foreach {reference!r}"
    code_of_sink = code.load(where, reference)
    if isinstance(code_of_sink, type):
        writer = code.call(f"{where} cannot be instantiated", reference, **sink.arguments)
    else:
        signatures.check(where, code_of_sink, ["row"], sink.arguments)
        writer = partial(code_of_sink, **sink.arguments)
    signatures.check_writer(where, writer)
    return writer


def batch_writer(sink: PythonSink) -> BatchWriter:
    """The writer of a sink's batches.

    Raises:
        NotReady: the code does not exist, the class cannot be instantiated, or Spark cannot call the code.
    """
    if sink.foreach_batch is None:
        return _row_by_row(row_writer(sink))
    where = f"python.foreachBatch {sink.foreach_batch!r}"
    function = code.load(where, sink.foreach_batch)
    signatures.check(where, function, ["batch", "number"], sink.arguments)

    def write(batch: DataFrame, batch_id: int) -> None:
        try:
            function(batch, batch_id, **sink.arguments)
        except SystemExit as error:  # would end the thread without an answer, for which Spark waits
            raise NotReady(code.error_line(error), reason=reasons.PYTHON_FAILED) from error

    return write


def _row_by_row(writer: Any) -> BatchWriter:
    """A writer of batches that calls a writer of rows as Spark's `foreach` does.

    Spark's `foreach` takes the batch's number from the properties of the task.
    """
    function = DataStreamWriter._construct_foreach_function(writer)  # noqa: SLF001

    def write(batch: DataFrame, batch_id: int) -> None:
        # Spark sets the property for a stream, but not for a batch query.
        batch.sparkSession.sparkContext.setLocalProperty("streaming.sql.batchId", str(batch_id))
        batch.rdd.mapPartitionsWithIndex(function).count()

    return write


def memory_writer(session: SparkSession, view: str, mode: str) -> BatchWriter:
    """A writer that keeps rows in the driver's memory, as a temporary view of the session."""
    rows: list[Row] = []

    def write(batch: DataFrame, batch_id: int) -> None:  # noqa: ARG001
        if mode == "complete":
            rows.clear()
        rows.extend(batch.collect())
        session.createDataFrame(rows, batch.schema).createOrReplaceTempView(view)

    return write
