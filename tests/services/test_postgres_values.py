"""A value that a column of a PostgreSQL table cannot have fails its batch, which leaves nothing; others arrive."""

from typing import Any

import pytest
from harness.jdbcbench import WriteRows, opened, staging_tables
from harness.postgres import Postgres
from harness.sampling import sampled
from mainstem.dataframes.column_names import quote
from mainstem.dataframes.sinks import database
from mainstem.dataframes.sinks.database import _Database
from mainstem.errors import NotReady, SpecInvalid
from mainstem.runtime.failures.classification import classify
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession


pytestmark = [pytest.mark.S26, pytest.mark.S32]
NOT_UTF_8 = None
FAILING: list[tuple[str, str, Any, str, str]] = [
    ("STRING", "text", "a\0b", "ValueOutOfRange", "'v' has a text with a NUL character, which PostgreSQL cannot store; use replace("),
    ("STRING", "json", '"a\0"', "ValueOutOfRange", "'v' has a text with a NUL character"),
    ("ARRAY<STRING>", "text[]", ["a", "\0"], "ValueOutOfRange", "'v' has a text with a NUL character"),
    ("STRING", "text", NOT_UTF_8, "ValueOutOfRange", "'v' has a text that is not UTF-8"),
    ("STRING", "varchar(2)", "ab ", "ValueOutOfRange", "'v' has a text that is too long for varchar(2)"),
    ("STRING", "char(2)", "abc", "ValueOutOfRange", "'v' has a text that is too long for bpchar(2)"),
    ("ARRAY<STRING>", "varchar(2)[]", ["abc"], "ValueOutOfRange", "'v' has a text that is too long for varchar(2)[]"),
    ("BIGINT", "integer", 3_000_000_000, "ValueOutOfRange", "'v' is BIGINT, with a value that INT in the table cannot have"),
    ("BIGINT", "serial", 3_000_000_000, "ValueOutOfRange", "'v' is BIGINT, with a value that INT in the table cannot have"),
    ("BIGINT", "real", 16777217, "ValueOutOfRange", "'v' is BIGINT, with a value that FLOAT in the table cannot have"),
    ("DECIMAL(12,2)", "numeric(4,2)", 100, "ValueOutOfRange", "with a value that DECIMAL(4,2) in the table cannot have"),
    ("ARRAY<BIGINT>", "integer[]", [3_000_000_000], "ValueOutOfRange", "'v.element' is BIGINT, with a value that INT"),
    ("ARRAY<ARRAY<INT>>", "integer[]", [[1], []], "ValueOutOfRange", "'v' has an array whose arrays are empty, NULL or of different lengths"),
    ("ARRAY<ARRAY<INT>>", "integer[]", [[]], "ValueOutOfRange", "'v' has an array whose arrays are empty"),
    ("TIMESTAMP", "timestamp(3)", "2024-01-01T00:00:00.000001Z", "ValueOutOfRange", "'v' has a time with more digits than timestamp"),
    ("TIMESTAMP", "timestamptz(0)", "2024-01-01T00:00:00.5Z", "ValueOutOfRange", "'v' has a time with more digits than timestamptz"),
    *(
        ("STRING", stored, value, "ValueOutOfRange", f"'v' has a text of which {stored} in the table would lose a part")
        for stored, value in (
            ("time", "01:02:03.1234567"), ("time(3)", "01:02:03.1234"), ("time", "2024-01-02 23:59"), ("time", "23:59:00+05"),
            ("timetz", "2024-01-02 23:59+05"), ("timetz", "23:59:00"), ("interval", "0.12345 years"), ("interval", "1 day 01:02:03.1234567"),
            ("interval(3)", "01:02:03.1234"), ("interval", "0.5 microseconds"),
        )
    ),
    ("BIGINT", "double precision", 9223372036854775807, "ValueOutOfRange", "'v' is BIGINT, with a value that DOUBLE in the table"),
    ("DATE", "date", "1582-10-10", "ValueOutOfRange", "'v' has a day that PostgreSQL's driver moves or refuses"),
    ("ARRAY<DATE>", "date[]", ["1582-10-10"], "ValueOutOfRange", "'v' has a day that PostgreSQL's driver moves or refuses"),
    ("TIMESTAMP", "timestamptz", "1582-10-10T01:02:03Z", "ValueOutOfRange", "'v' has a day that PostgreSQL's driver moves"),
    ("TIMESTAMP_NTZ", "timestamp", "1582-10-14T23:59:59", "ValueOutOfRange", "'v' has a day that PostgreSQL's driver moves"),
    ("TIMESTAMP_NTZ", "timestamp(0)", "2024-01-01T00:00:00.5", "ValueOutOfRange", "AS TIMESTAMP_NTZ)"),
    ("ARRAY<ARRAY<ARRAY<INT>>>", "integer[]", [[[1, 2]], [[3]]], "ValueOutOfRange", "'v' has an array whose arrays are empty"),
    ("STRING", "json", "{secret", "DatabaseRefused", "invalid input syntax for type json; it reads the text of 'v' (json)"),
    ("STRING", "uuid", "secret", "DatabaseRefused", "invalid input syntax for type uuid; it reads the text of 'v' (uuid)"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "stored", "value", "reason", "message"), sampled(FAILING, every=18))
def test_a_value_that_a_column_cannot_have_fails_its_batch_with_the_column_and_leaves_nothing(
    write_rows: WriteRows,
    postgres: Postgres,
    table: str,
    kind: str,
    stored: str,
    value: Any,
    reason: str,
    message: str,
) -> None:
    postgres.run(f"CREATE TABLE {table} (id int, v {stored})")
    sql = "SELECT id, CAST(X'FF' AS STRING) AS v FROM lines" if value is NOT_UTF_8 else None
    with pytest.raises(StreamingQueryException) as failed:
        write_rows([{"id": 1, "v": value}], table, schema=f"id INT, v {kind}", sql=sql)
    failure = classify(failed.value)
    assert failure.reason == reason
    assert message in failure.message
    assert "secret" not in failure.message
    assert staging_tables(postgres, table) == 0
    assert postgres.run(f"SELECT count(*) FROM {table}") == [(0,)]


def test_a_row_whose_key_is_null_fails_its_batch(
    write_rows: WriteRows, postgres: Postgres, table: str
) -> None:
    """To the index, a null differs from any other one: each batch would insert the row again."""
    postgres.run(f"CREATE TABLE {table} (id int, name text, UNIQUE (name))")
    with pytest.raises(StreamingQueryException) as failed:
        write_rows([{"id": 1, "name": "a"}, {"id": 2}], table, ["name"], schema="id INT, name STRING")
    failure = classify(failed.value)
    assert (failure.reason, failure.permanent) == ("KeyIsNull", True)
    assert failure.message == (
        "'name' is null in a row, and is a key; drop such rows in a view, or coalesce the column (sink 't')"
    )
    assert staging_tables(postgres, table) == 0
    assert postgres.run(f"SELECT count(*) FROM {table}") == [(0,)]


INDEXES = {
    "UNIQUE NULLS NOT DISTINCT (name)": True,
    "UNIQUE NULLS NOT DISTINCT (name) INCLUDE (id)": True,
    "UNIQUE (name), UNIQUE NULLS NOT DISTINCT (id)": False,
    "UNIQUE (name), UNIQUE NULLS NOT DISTINCT (name, id)": False,
    "PRIMARY KEY (name)": False,
}


@pytest.mark.parametrize("index", sampled(INDEXES, every=3))
def test_null_is_a_key_only_of_an_index_to_which_null_equals_null(
    write_rows: WriteRows, postgres: Postgres, table: str, index: str
) -> None:
    postgres.run(f"CREATE TABLE {table} (id int, name text, {index})")
    upsert = {"keys": ["name"], "allowNullKeys": True}
    if INDEXES[index]:
        for number in (1, 2):
            rows = [{"id": number}, {"id": number, "name": "a"}]
            write_rows(rows, table, upsert, schema="id INT, name STRING")
        assert postgres.run(f"SELECT * FROM {table} ORDER BY name") == [(2, "a"), (2, None)]
    else:
        with pytest.raises(
            NotReady, match="no unique index of its keys to which null equals null"
        ) as refused:
            write_rows([{"id": 1}], table, upsert, schema="id INT, name STRING")
        assert refused.value.reason == "DatabaseRefused"
        assert '("name") NULLS NOT DISTINCT' in refused.value.remedy
        assert postgres.run(f"SELECT count(*) FROM {table}") == [(0,)]


TEXTS = [
    ("json", '{"a": 1.0,  "a": 2}', '{"a": 1.0,  "a": 2}'),
    ("uuid", "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
    ("uuid[]", "{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11,NULL}", "{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11,NULL}"),
    ("inet", "10.0.0.1/8", "10.0.0.1/8"),
    ("bit(3)", "101", "101"),
    ("time(3)", "23:59:59.123", "23:59:59.123"),
    ("timetz", "23:59:59+05:30", "23:59:59+05:30"),
    ("interval", "1 year 2 days 03:04:05.123456", "1 year 2 days 03:04:05.123456"),
    ("interval(1)", "P1DT2H3.5S", "1 day 02:00:03.5"),
    ("xml", "<a/>", "<a/>"),
    ("macaddr", "08:00:2b:01:02:03", "08:00:2b:01:02:03"),
    ("citext", "Ab", "Ab"),
    ("hstore", '"a"=>"1.50"', '"a"=>"1.50"'),
    ("ltree", "a.B", "a.B"),
    ("cidr", "10.0.0.0/8", "10.0.0.0/8"),
    ("mood", "very sad", "very sad"),
]
"""Type in the table, text in the query and in the table."""
NAMES = ("order", "user", "a.b", "Ab", "my col", 'q"x', "q`x", "é", "select", "c$1", "?", "%s", "a,b", "--", "1")  # fmt: skip
"""Names of columns that need quotes, each for one of the texts; the others have plain names."""


@pytest.mark.usefixtures("write_rows")
def test_texts_of_types_that_spark_lacks_arrive(spark: SparkSession, postgres: Postgres, table: str) -> None:
    columns = [*NAMES, *(f"c{index}" for index in range(len(NAMES), len(TEXTS)))]
    quoted = ['"{}"'.format(column.replace('"', '""')) for column in columns]
    types = [kind.replace("mood", f"{table}_mood") for kind, *_ in TEXTS]
    for extension in ("citext", "hstore", "ltree"):
        postgres.run(f"CREATE EXTENSION IF NOT EXISTS {extension}")
    postgres.run(f"CREATE TYPE {table}_mood AS ENUM ('very sad', 'ok')")
    postgres.run(f"CREATE TABLE {table} ({', '.join(map(' '.join, zip(quoted, types, strict=True)))})")
    schema = ", ".join(f"{quote(column)} STRING" for column in columns)
    rows = spark.newSession().createDataFrame([[row[1] for row in TEXTS], [None] * len(TEXTS)], schema)
    sink, connection = opened(postgres, table)
    database.writer(rows.sparkSession, sink, connection, "append", columns)(rows, 0)
    texts = postgres.run(f"SELECT {', '.join(f'{c}::text' for c in quoted)} FROM {table} ORDER BY 1")
    assert list(texts[0]) == [row[2] for row in TEXTS]
    assert list(texts[1]) == [None] * len(TEXTS)


@pytest.mark.parametrize("upsert", sampled([["id"], None], every=2))
def test_columns_with_a_default_and_settings_of_the_connection_are_written(
    write_rows: WriteRows, postgres: Postgres, table: str, upsert: list[str] | None
) -> None:
    """The driver gives `serial` as the type of a column with a sequence; and no transaction stays open while rows are staged."""
    postgres.run(f"CREATE TABLE {table} (id serial PRIMARY KEY, n bigint GENERATED BY DEFAULT AS IDENTITY)")
    options = "-c default_transaction_isolation=serializable"
    write_rows([{"id": 1, "n": 2}], table, upsert, schema="id INT, n INT", properties={"options": options})
    assert postgres.run(f"SELECT id, n FROM {table}") == [(1, 2)]


@pytest.mark.full(
    gate="services/test_postgres_values.py::test_a_value_that_a_column_cannot_have_fails_its_batch_with_the_column_and_leaves_nothing"
)
def test_a_column_that_was_made_wider_takes_the_batch_that_failed(
    write_rows: WriteRows, postgres: Postgres, table: str
) -> None:
    postgres.run(f"CREATE TABLE {table} (v integer)")
    with pytest.raises(StreamingQueryException):
        write_rows([{"v": 3_000_000_000}], table, schema="v BIGINT")
    postgres.run(f"ALTER TABLE {table} ALTER v TYPE bigint")
    write_rows([{"v": 1}], table, schema="v BIGINT")
    assert postgres.run(f"SELECT v FROM {table} ORDER BY 1") == [(1,), (3_000_000_000,)]


@pytest.mark.full(
    gate="services/test_postgres_values.py::test_a_value_that_a_column_cannot_have_fails_its_batch_with_the_column_and_leaves_nothing"
)
def test_a_table_that_changes_before_the_commit_gets_nothing_of_the_batch(
    write_rows: WriteRows, postgres: Postgres, table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PostgreSQL would round the staged rows."""
    postgres.run(f"CREATE TABLE {table} (v numeric(8,4))")
    commit = _Database.commit

    def narrow(self: _Database, *rest: Any) -> None:
        postgres.run(f"ALTER TABLE {table} ALTER v TYPE numeric(8,2)")
        commit(self, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(_Database, "commit", narrow)
        with pytest.raises(StreamingQueryException) as failed:
            write_rows([{"v": 1.2345}], table, schema="v DECIMAL(8,4)")
    failure = classify(failed.value)
    assert failure.reason == "TableChanged"
    assert "'v' was numeric(8,4), and is numeric(8,2)" in failure.message
    assert postgres.run(f"SELECT count(*) FROM {table}") == [(0,)]
    with pytest.raises(SpecInvalid, match="1 problem"):
        write_rows([], table, schema="v DECIMAL(8,4)")
