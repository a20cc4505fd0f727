"""Writes rows to a PostgreSQL table exactly once.

Spark's JDBC writer commits each partition separately: a failed batch would stay half-written, and a task that runs twice
would write twice. So executors write a staging table. One transaction moves the rows to the table and records the batch
in `mainstem_batches`, beside the table. A recorded batch is skipped.

The staging table is unlogged: a crash of the database empties it. So the transaction counts the staged rows, and commits
only if their number equals the number that the tasks wrote.
"""

import json
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final, NamedTuple

from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from mainstem import reasons
from mainstem.dataframes.options import jdbc
from mainstem.dataframes.sinks.keys import without_null_keys
from mainstem.dataframes.sinks.postgres_types import PostgresColumn, described
from mainstem.dataframes.sinks.postgres_values import PostgresTable
from mainstem.dataframes.sinks.staging import PARTITION, Target, quote
from mainstem.dataframes.sinks.stored_values import session_time_zone
from mainstem.dataframes.sinks.writers import BatchWriter
from mainstem.errors import NotReady
from mainstem.language.model.connections import JdbcConnection
from mainstem.language.model.connectors.jdbc_sink import JdbcSink


STAGED_ROWS_LOST: Final = "StagedRowsLost"
"""Prefix of the error message of a batch whose staged rows are lost."""
TABLE_CHANGED: Final = "mainstem:TableChanged:"
"""Prefix of the error message of a batch whose table has other types than its staging table."""
_WRITTEN: Final = "mainstem_written"
_LOCK_TIMEOUT: Final = "60s"
_DROP_TIMEOUT: Final = "2s"
# Strings can be written to uuid, json and enum columns; and the message of a failure contains no row.
_DEFAULTS: Final = {"stringtype": "unspecified", "logServerErrorDetail": "false"}


def table(
    session: SparkSession, sink: JdbcSink, connection: JdbcConnection, columns: Sequence[str]
) -> PostgresTable:
    """The columns of the sink's table that a query writes.

    Raises:
        Py4JJavaError: the database refuses the table or a column.
    """
    target = Target(sink, "append", columns)
    with _connection(session, _DEFAULTS | jdbc.options(connection)) as database:
        return _table(session, database.columns(target, target.table))


def writer(
    session: SparkSession, sink: JdbcSink, connection: JdbcConnection, mode: str, columns: Sequence[str]
) -> BatchWriter:
    """The writer of a table's batches, each written at most once.

    Raises:
        Py4JJavaError: the database refuses the table, a column, or the keys.
        NotReady: `DatabaseRefused`: null is a key, and each null differs from all others in the table's indexes.
    """
    target = Target(sink, mode, columns)
    options = _DEFAULTS | jdbc.options(connection)
    with _connection(session, options) as database:
        database.run([target.probe()])
        if sink.upsert and sink.upsert.allow_null_keys:
            database.check_null_keys(target, sink.upsert.keys)
        database.try_out(target.create_batches_table())
    is_made = False

    def write(batch: DataFrame, batch_id: int) -> None:
        nonlocal is_made
        checkpoint = str(batch.sparkSession.sparkContext.getLocalProperty("sql.streaming.queryId"))
        with _connection(session, options) as database:
            if not is_made:
                database.run(target.create_batches_table())
                is_made = True
            if database.newest(target, checkpoint) >= batch_id:
                return
            database.clear(target, checkpoint)
            with database.staging_table(target, checkpoint) as (staging, there):
                known = _table(session, there)
                if sink.upsert and not sink.upsert.allow_null_keys:
                    batch = without_null_keys(batch, sink.upsert.keys, "coalesce the column")
                rows = _CountedRows(known.converted(batch).withColumn(PARTITION, F.spark_partition_id()))
                jdbc_options = dict(sink.options) | options | {"dbtable": staging}
                with known.explained():
                    rows.frame.write.format("jdbc").options(**jdbc_options).mode("append").save()
                database.commit(target, checkpoint, batch_id, Staged(staging, there, rows.row_count()))

    return write


def _table(session: SparkSession, columns: Sequence[PostgresColumn]) -> PostgresTable:
    return PostgresTable(columns, session_time_zone(session))


class Staged(NamedTuple):
    """The rows of a batch in its staging table.

    Attributes:
        name: the table's quoted name.
        columns: its columns.
        row_count: number of the rows that the tasks wrote.
    """

    name: str
    columns: Sequence[PostgresColumn]
    row_count: int


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
        self._execute(statements)
        self._connection.commit()

    def try_out(self, statements: Sequence[str]) -> None:
        """Run statements, and undo them: the database stays as it is."""
        self._execute(statements)
        self._connection.rollback()

    def check_null_keys(self, target: Target, keys: Sequence[str]) -> None:
        """Raise unless a unique index of exactly the keys takes null as equal to null: others insert such a row each time."""
        indexes = self._rows(target.indexes_with_equal_nulls(), target.table)
        if not any(set(json.loads(columns or "[]")) == set(keys) for (columns,) in indexes):
            listed = ", ".join(map(quote, keys))
            raise NotReady(
                f"allowNullKeys makes null a key of {target.table}, which has no unique index of its keys to which null equals null",
                reason=reasons.DATABASE_REFUSED,
                remedy=f"CREATE UNIQUE INDEX ON {target.table} ({listed}) NULLS NOT DISTINCT, or remove allowNullKeys",
            )

    def newest(self, target: Target, checkpoint: str) -> int:
        """The number of the newest batch in the table, -1 if there is none."""
        [(batch,)] = self._rows(target.newest_batch(), checkpoint, target.table)
        return -1 if batch is None else int(batch)

    def clear(self, target: Target, checkpoint: str) -> None:
        """Remove the staging tables of drivers that died."""
        sql = "SELECT format('%I.%I', schemaname, tablename) FROM pg_tables WHERE starts_with(tablename::text, ?)"
        self.run([f"DROP TABLE IF EXISTS {table}" for (table,) in self._rows(sql, target.prefix(checkpoint))])

    @contextmanager
    def staging_table(self, target: Target, checkpoint: str) -> Iterator[tuple[str, list[PostgresColumn]]]:
        """A new staging table: its quoted name, and its columns. If the batch fails, it is dropped, unless the database cannot
        drop it now: then the next batch does.
        """
        staging = target.staging_name(checkpoint, uuid.uuid4().hex[:8])
        self.run(target.create_staging_table(staging))
        columns = self.columns(target, staging)
        # A transaction that stays open while the executors write would have a lock that a newer driver waits for.
        self._connection.commit()
        try:
            yield staging, columns
        except Exception:
            with suppress(Py4JJavaError):
                self._connection.rollback()
                self.run([f"SET LOCAL lock_timeout = '{_DROP_TIMEOUT}'", f"DROP TABLE IF EXISTS {staging}"])
            raise

    def columns(self, target: Target, table: str) -> list[PostgresColumn]:
        """The columns of a table that the query writes. Nobody can change them until the end of the transaction."""
        result = self._connection.createStatement().executeQuery(target.read(table)).getMetaData()
        return [
            described(
                name,
                str(result.getColumnTypeName(index)),
                int(result.getColumnType(index)),
                int(result.getPrecision(index)),
                int(result.getScale(index)),
            )
            for index, name in enumerate(target.columns, 1)
        ]

    def commit(self, target: Target, checkpoint: str, batch: int, staged: Staged) -> None:
        """Move the staged rows and record the batch in one transaction; do nothing if the batch is already recorded.

        Raises:
            RuntimeError: `StagedRowsLost`: the number of staged rows differs from the number that the tasks wrote; or
                `TableChanged`.
        """
        if not self._rows(target.record_batch(), checkpoint, target.table, str(batch)):
            return
        [(staged_count,)] = self._rows(target.count_staged_rows(staged.name))
        if staged_count != str(staged.row_count):
            raise RuntimeError(
                f"{STAGED_ROWS_LOST}: the staging table of {target.table} has {staged_count} of the {staged.row_count} rows of "
                "the batch: the database crashed or failed over; the batch runs again"
            )
        self._execute(target.move(staged.name))
        # After the move, whose lock lasts until the commit: a lock that has to grow may meet another one's.
        if changed := _difference(staged.columns, self.columns(target, target.table)):
            raise RuntimeError(f"{TABLE_CHANGED} {changed} in {target.table}")
        self._connection.commit()

    def _execute(self, statements: Sequence[str]) -> None:
        statement = self._connection.createStatement()
        for sql in statements:
            statement.execute(sql)

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


def _difference(before: Iterable[PostgresColumn], now: Iterable[PostgresColumn]) -> str:
    """The columns whose types differ, with both types; empty if none do."""
    both = zip(before, now, strict=True)
    return ", ".join(f"{column.name!r} was {was}, and is {column}" for was, column in both if was != column)


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
