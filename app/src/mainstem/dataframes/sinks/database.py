"""Writes rows to a PostgreSQL table exactly once.

Spark's JDBC writer commits each partition separately: a failed batch would stay half-written, and a task that runs twice
would write twice. So executors write a staging table. One transaction moves the rows to the table and records the batch
in `mainstem_batches`, beside the table. A recorded batch is skipped.

The staging table is unlogged: a crash of the database empties it. So the transaction counts the staged rows, and commits
only if their number equals the number that the tasks wrote.
"""

import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from mainstem.dataframes.options import jdbc
from mainstem.dataframes.sinks.staging import PARTITION, Target
from mainstem.dataframes.sinks.writers import BatchWriter
from mainstem.language.model.connections import JdbcConnection
from mainstem.language.model.connectors.jdbc_sink import JdbcSink


STAGED_ROWS_LOST: Final = "StagedRowsLost"
"""Prefix of the error message of a batch whose staged rows are lost."""
_WRITTEN: Final = "mainstem_written"
_LOCK_TIMEOUT: Final = "60s"
# Strings can be written to uuid, json and enum columns; and the message of a failure contains no row.
_DEFAULTS: Final = {"stringtype": "unspecified", "logServerErrorDetail": "false"}


def writer(
    session: SparkSession, sink: JdbcSink, connection: JdbcConnection, mode: str, columns: Sequence[str]
) -> BatchWriter:
    """The writer of a table's batches, each written at most once.

    Raises:
        Py4JJavaError: the database refuses the table, a column, or the keys.
    """
    target = Target(sink, mode, columns)
    options = _DEFAULTS | jdbc.options(connection)
    with _connection(session, options) as database:
        database.run([target.probe()])
        database.run(target.create_batches_table())

    def write(batch: DataFrame, batch_id: int) -> None:
        checkpoint = str(batch.sparkSession.sparkContext.getLocalProperty("sql.streaming.queryId"))
        with _connection(session, options) as database:
            if database.newest(target, checkpoint) >= batch_id:
                return
            database.clear(target, checkpoint)
            staging = target.staging_name(checkpoint, uuid.uuid4().hex[:8])
            database.run(target.create_staging_table(staging))
            rows = _CountedRows(batch.withColumn(PARTITION, F.spark_partition_id()))
            jdbc_options = dict(sink.options) | options | {"dbtable": staging}
            rows.frame.write.format("jdbc").options(**jdbc_options).mode("append").save()
            database.commit(target, checkpoint, batch_id, staging, rows.row_count())

    return write


class _CountedRows:
    """Rows that Spark counts while it writes them; each task counts once, even if it ran several times.

    Attributes:
        frame: the rows, for one write.
    """

    def __init__(self, rows: DataFrame) -> None:
        counting_rows = rows.observe(_WRITTEN, F.count(F.lit(1)).alias("rows"))
        # Spark reports observed metrics to listeners asynchronously; this execution returns them directly.
        self._execution: Any = counting_rows._jdf.queryExecution()  # noqa: SLF001
        java: Any = rows.sparkSession._jsparkSession  # noqa: SLF001
        frame = java.internalCreateDataFrame(self._execution.toRdd(), counting_rows._jdf.schema(), False)  # noqa: SLF001
        self.frame = DataFrame(frame, rows.sparkSession)

    def row_count(self) -> int:
        """The number of rows that the tasks wrote."""
        return int(self._execution.observedMetrics().apply(_WRITTEN).getLong(0))


class _Database:
    """One connection of the driver to the database."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def run(self, statements: Sequence[str]) -> None:
        """Run statements in one transaction."""
        statement = self._connection.createStatement()
        for sql in statements:
            statement.execute(sql)
        self._connection.commit()

    def newest(self, target: Target, checkpoint: str) -> int:
        """The number of the newest batch in the table, -1 if there is none."""
        [(batch,)] = self._rows(target.newest_batch(), checkpoint, target.table)
        return -1 if batch is None else int(batch)

    def clear(self, target: Target, checkpoint: str) -> None:
        """Remove the staging tables of drivers that died."""
        sql = "SELECT format('%I.%I', schemaname, tablename) FROM pg_tables WHERE starts_with(tablename::text, ?)"
        self.run([f"DROP TABLE IF EXISTS {table}" for (table,) in self._rows(sql, target.prefix(checkpoint))])

    def commit(self, target: Target, checkpoint: str, batch: int, staging: str, row_count: int) -> None:
        """Move the staged rows and record the batch in one transaction; do nothing if the batch is already recorded.

        Raises:
            RuntimeError: `StagedRowsLost`: the number of staged rows differs from the number that the tasks wrote.
        """
        if not self._rows(target.record_batch(), checkpoint, target.table, str(batch)):
            return
        [(staged_count,)] = self._rows(target.count_staged_rows(staging))
        if staged_count != str(row_count):
            raise RuntimeError(
                f"{STAGED_ROWS_LOST}: the staging table of {target.table} has {staged_count} of the {row_count} rows of the "
                "batch: the database crashed or failed over; the batch runs again"
            )
        self.run(target.move(staging))

    def _rows(self, sql: str, *values: str) -> list[tuple[str | None, ...]]:
        statement = self._connection.prepareStatement(sql)
        for index, value in enumerate(values, 1):
            statement.setString(index, value)
        result_set = statement.executeQuery()
        width = result_set.getMetaData().getColumnCount()
        rows = []
        while result_set.next():
            rows.append(tuple(result_set.getString(index + 1) for index in range(width)))
        return rows


@contextmanager
def _connection(session: SparkSession, options: dict[str, str]) -> Iterator[_Database]:
    """A connection without autocommit; closing it rolls back uncommitted changes."""
    jvm: Any = session._jvm  # noqa: SLF001
    properties = jvm.java.util.Properties()
    for key, value in options.items():
        properties.setProperty(key, value)
    connection = jvm.org.postgresql.Driver().connect(options["url"], properties)
    try:
        connection.setAutoCommit(False)
        database = _Database(connection)
        database.run([f"SET lock_timeout = '{_LOCK_TIMEOUT}'"])
        yield database
    finally:
        connection.close()
