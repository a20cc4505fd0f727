"""Rows to a real PostgreSQL: after any failure each batch is there once and complete."""

import os
import signal
from pathlib import Path
from typing import Any

import pytest
from harness.executions import since
from harness.jdbcbench import COLUMNS, WriteRows, staging_tables
from harness.postgres import Postgres
from harness.sampling import sampled
from harness.waiting import within
from mainstem.dataframes.sinks.database import Staged, _Database
from mainstem.runtime.failures.classification import classify
from py4j.protocol import Py4JJavaError
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession


pytestmark = pytest.mark.S32


def forget_commit(tmp_path: Path, batch: int) -> None:
    """As a driver leaves it that dies between the sink's commit and the checkpoint's."""
    for name in (f"{batch}", f".{batch}.crc"):
        (tmp_path / "checkpoints" / "q" / "1" / "commits" / name).unlink()


@pytest.mark.full(
    gate="services/test_postgres_types.py::test_each_value_arrives_as_it_is_or_its_type_is_refused"
)
def test_every_type_and_null_is_written_and_a_repeated_batch_is_skipped(
    write_rows: WriteRows, postgres: Postgres, table: str, tmp_path: Path
) -> None:
    postgres.run(f"CREATE TABLE {table} ({COLUMNS})")
    row = {
        "id": 1,
        "name": "Zoë's",
        "price": 9.99,
        "at": "2024-03-31T02:30:00Z",
        "tags": ["a", "b"],
        "doc": '{"x": 1}',
    }
    write_rows([row, {"id": None}], table)
    forget_commit(tmp_path, 0)
    write_rows([{"id": 3}], table)
    rows = postgres.run(
        f"SELECT id, name, price::text, extract(epoch FROM at)::bigint, tags, doc->>'x' FROM {table} ORDER BY 1 NULLS FIRST"
    )
    assert rows == [
        (None,) * 6,
        (1, "Zoë's", "9.99", 1711852200, ["a", "b"], "1"),
        (3, None, None, None, None, None),
    ]
    schema = table.partition(".")[0]
    assert postgres.run(f"SELECT target, batch FROM {schema}.mainstem_batches") == [
        (f'"{schema}"."orders"', 1)
    ]
    assert staging_tables(postgres, table) == 0


def test_a_driver_killed_between_staging_and_commit_writes_the_batch_once(
    write_rows: WriteRows, postgres: Postgres, table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    postgres.run(f"CREATE TABLE {table} ({COLUMNS})")

    def die(self: _Database, *_args: object) -> None:
        self._connection.close()
        raise RuntimeError("staged, not committed")

    with monkeypatch.context() as patch:
        patch.setattr(_Database, "commit", die)
        with pytest.raises(StreamingQueryException):
            write_rows([{"id": 1}, {"id": 2}], table)
    assert staging_tables(postgres, table) == 1
    assert postgres.run(f"SELECT count(*) FROM {table}") == [(0,)]
    write_rows([{"id": 3}], table)
    assert postgres.run(f"SELECT id FROM {table} ORDER BY 1") == [(1,), (2,), (3,)]
    assert staging_tables(postgres, table) == 0


def test_a_task_that_ran_twice_counts_once(
    write_rows: WriteRows, postgres: Postgres, table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark's writer commits each partition; one whose success was not reported is written again."""
    postgres.run(f"CREATE TABLE {table} ({COLUMNS})")
    commit = _Database.commit

    def twice(self: _Database, target: Any, checkpoint: str, batch: int, staged: Staged) -> None:
        self.run(
            [
                f"INSERT INTO {staged.name} (id, mainstem_partition) SELECT id, mainstem_partition FROM {staged.name}"
            ]
        )
        commit(self, target, checkpoint, batch, staged)

    monkeypatch.setattr(_Database, "commit", twice)
    write_rows([{"id": 1}, {"id": 2}], table)
    assert postgres.run(f"SELECT id FROM {table} ORDER BY 1") == [(1,), (2,)]


def crash(postgres: Postgres, staging: str) -> None:
    """One backend is killed: the server ends all others too and recovers, which empties every unlogged table."""
    [(pid,)] = postgres.run("SELECT pid FROM pg_stat_activity WHERE backend_type = 'walwriter'")
    count = f"SELECT count(*) FROM {staging}"
    assert postgres.run(count) == [(2,)]

    def starts() -> int:
        return postgres.process.log.read_text().count("ready to accept connections")

    before = starts()
    os.kill(pid, signal.SIGKILL)
    within(60, "the server has recovered", lambda: starts() > before)
    assert postgres.run(count) == [(0,)]


@pytest.mark.full(
    gate="services/test_jdbc.py::test_a_driver_killed_between_staging_and_commit_writes_the_batch_once"
)
@pytest.mark.S36
@pytest.mark.parametrize("pooled", sampled([True, False], every=2))
@pytest.mark.parametrize("upsert", sampled([None, ["id"]], every=2))
def test_a_database_crash_between_staging_and_move_repeats_the_batch_without_duplicates(
    write_rows: WriteRows,
    spark: SparkSession,
    postgres: Postgres,
    table: str,
    monkeypatch: pytest.MonkeyPatch,
    pooled: bool,
    upsert: list[str] | None,
) -> None:
    """Whether the driver's connection goes with the server, or a pooler gives it another one."""
    postgres.run(f"CREATE TABLE {table} ({COLUMNS}, UNIQUE (id))")
    commit = _Database.commit

    def crashing(self: _Database, target: Any, checkpoint: str, batch: int, staged: Staged) -> None:
        crash(postgres, staged.name)
        if pooled:
            properties = spark._jvm.java.util.Properties()
            properties.setProperty("user", postgres.username)
            properties.setProperty("password", postgres.password)
            self._connection = spark._jvm.org.postgresql.Driver().connect(postgres.url, properties)
            self._connection.setAutoCommit(False)
        try:
            commit(self, target, checkpoint, batch, staged)
        finally:
            if pooled:
                self._connection.close()

    with monkeypatch.context() as patch:
        patch.setattr(_Database, "commit", crashing)
        with pytest.raises(StreamingQueryException) as failed:
            write_rows([{"id": 1}, {"id": 2}], table, upsert)
    assert classify(failed.value).reason == ("StagedRowsLost" if pooled else "DatabaseUnreachable")
    write_rows([{"id": 3}], table, upsert)
    assert postgres.run(f"SELECT id FROM {table} ORDER BY 1") == [(1,), (2,), (3,)]


def test_an_upsert_keeps_the_newest_count_and_restores_a_deleted_key(
    write_rows: WriteRows, postgres: Postgres, table: str, tmp_path: Path
) -> None:
    postgres.run(f"CREATE TABLE {table} (name text PRIMARY KEY, n bigint)")
    counts = "SELECT coalesce(name, '?') AS name, count(*) AS n FROM lines GROUP BY 1"
    write_rows([{"name": "a"}, {"name": "a"}, {"name": "b"}], table, ["name"], "update", counts)
    forget_commit(tmp_path, 0)
    write_rows([{"name": "a"}, {"name": None}], table, ["name"], "update", counts)
    assert postgres.run(f"SELECT * FROM {table} ORDER BY 1") == [("?", 1), ("a", 3), ("b", 1)]
    postgres.run(f"DELETE FROM {table} WHERE name = 'b'")
    write_rows([{"name": "b"}], table, ["name"], "update", counts)
    assert postgres.run(f"SELECT * FROM {table} ORDER BY 1") == [("?", 1), ("a", 3), ("b", 2)]


@pytest.mark.full(
    gate="services/test_jdbc.py::test_an_upsert_keeps_the_newest_count_and_restores_a_deleted_key"
)
def test_complete_replaces_all_rows(write_rows: WriteRows, postgres: Postgres, table: str) -> None:
    postgres.run(f"CREATE TABLE {table} (n bigint)")
    write_rows([{"id": 1}], table, mode="complete", sql="SELECT count(*) AS n FROM lines")
    write_rows([{"id": 1}], table, mode="complete", sql="SELECT count(*) AS n FROM lines")
    assert postgres.run(f"SELECT n FROM {table}") == [(2,)]


@pytest.mark.parametrize(
    ("columns", "upsert", "message"),
    sampled(
        [
            (COLUMNS, ["id"], "no unique or exclusion constraint"),
            (None, None, "does not exist"),
            ("id int", None, 'column "name"'),
        ],
        every=3,
    ),
)
def test_a_table_that_cannot_take_the_rows_is_reported_before_the_first_batch(
    write_rows: WriteRows,
    postgres: Postgres,
    table: str,
    columns: str | None,
    upsert: list[str] | None,
    message: str,
) -> None:
    if columns:
        postgres.run(f"CREATE TABLE {table} ({columns})")
    with pytest.raises(Py4JJavaError, match=message):
        write_rows([{"id": 1}], table, upsert)


def test_a_hanging_database_fails_the_query_in_time(
    write_rows: WriteRows, postgres: Postgres, table: str
) -> None:
    """By default the JDBC driver would wait without end and block all queries."""
    postgres.run(f"CREATE TABLE {table} ({COLUMNS})")
    postgres.process.send(signal.SIGSTOP)
    try:
        with pytest.raises(Py4JJavaError, match="The connection attempt failed"):
            write_rows([{"id": 1}], table, properties={"socketTimeout": "2"})
    finally:
        postgres.process.send(signal.SIGCONT)


def test_no_password_is_shown(
    write_rows: WriteRows, spark: SparkSession, postgres: Postgres, table: str
) -> None:
    postgres.run(f"CREATE TABLE {table} ({COLUMNS})")
    executions = since(spark)
    write_rows([{"id": 1}], table)
    runs = executions()
    shown = "".join(f"{run.physicalPlanDescription()}{run.modifiedConfigs()}" for run in runs)
    assert runs
    assert postgres.password not in shown
