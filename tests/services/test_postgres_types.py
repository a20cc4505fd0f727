"""A PostgreSQL table has each value as the query has it, or the query fails and names column and remedy."""

import pytest
from harness.corners import CORNERS, came_back
from harness.jdbcbench import WriteRows, opened
from harness.postgres import Postgres
from harness.sampling import only
from mainstem.dataframes.sinks import database
from mainstem.dataframes.sinks.postgres_types import taken_types
from mainstem.errors import SpecInvalid
from mainstem.language.model.connectors.jdbc_sink import Upsert
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F


pytestmark = [pytest.mark.S26, pytest.mark.S32]
TYPES = (
    "smallint", "integer", "bigint", "numeric", "numeric(6,0)", "numeric(8,4)", "numeric(50,20)", "real", "double precision",
    "boolean", "text", "varchar(40)", "char(40)", "bytea", "date", "timestamp", "timestamp(3)", "timestamptz", "money", "integer[]",
)  # fmt: skip
"""Types of PostgreSQL that read no text, at least one of each kind that is treated in another way; and some that take nothing."""
ARRAYS = [
    ("ARRAY<INT>", "integer[]", "array(1, null, -2147483648)", "{1,NULL,-2147483648}"),
    ("ARRAY<INT>", "smallint[]", "array(32767)", "{32767}"),
    ("ARRAY<INT>", "integer[]", "array()", "{}"),
    ("ARRAY<ARRAY<INT>>", "bigint[]", "array(array(1, 2), array(3, 4))", "{{1,2},{3,4}}"),
    ("ARRAY<STRING>", "text[]", "array('a,b', '', null, 'NULL', '{}', 'é')", '{"a,b","",NULL,"NULL","{}",é}'),
    ("ARRAY<STRING>", "varchar(3)[]", "array('abc')", "{abc}"),
    ("ARRAY<DECIMAL(8,4)>", "numeric(10,4)[]", "array(1.2345)", "{1.2345}"),
    ("ARRAY<TIMESTAMP>", "timestamptz[]", "array('2024-10-27T00:30:00Z')", '{"2024-10-27 00:30:00+00"}'),
    ("ARRAY<DATE>", "date[]", "array('0001-01-01')", "{0001-01-01}"),
    ("ARRAY<DOUBLE>", "double precision[]", "array(0.1, 'NaN')", "{0.1,NaN}"),
    ("ARRAY<BOOLEAN>", "boolean[]", "array(true, null)", "{t,NULL}"),
]
"""Type and value in the query; type and text in the table."""


@pytest.mark.usefixtures("write_rows")
@pytest.mark.parametrize("upsert", only([False, True], [False]), ids=["insert", "upsert"])
@pytest.mark.parametrize("time_zone", only(("Europe/Zurich", "UTC", "Asia/Tokyo"), ("Europe/Zurich",)))
def test_each_value_arrives_as_it_is_or_its_type_is_refused(
    spark: SparkSession, postgres: Postgres, table: str, time_zone: str, upsert: bool
) -> None:
    session = spark.newSession()
    session.conf.set("spark.sql.session.timeZone", time_zone)
    pairs = {f"c{i}": pair for i, pair in enumerate((kind, stored) for kind in CORNERS for stored in TYPES)}
    postgres.run(
        f"CREATE TABLE {table} (id bigint PRIMARY KEY, {', '.join(f'{c} {stored}' for c, (_, stored) in pairs.items())})"
    )
    values = {kind: ", ".join(f"CAST({value} AS {kind})" for value in row) for kind, row in CORNERS.items()}
    rows = session.range(max(map(len, CORNERS.values()))).selectExpr(
        "id", *(f"get(array({values[kind]}), CAST(id AS INT)) AS {c}" for c, (kind, _) in pairs.items())
    )
    sink, connection = opened(postgres, table)
    if upsert:
        sink = sink.model_copy(update={"upsert": Upsert(keys=("id",))})
    known = database.table(session, sink, connection, rows.columns)
    refused = {each.column for each in (*known.misfits(rows.schema), *known.untaken(rows.schema))}
    assert "c0" not in refused
    taken = {c: pair for c, pair in pairs.items() if c not in refused}
    there = {each.name: each.dataType.simpleString() for each in taken_types(rows.schema, known.columns)}
    rows = rows.select("id", *(fitting(c, *pair, there[c]).alias(c) for c, pair in taken.items())).cache()
    write = database.writer(session, sink, connection, "update" if upsert else "append", rows.columns)
    if upsert:  # each value replaces a null
        nulls = (F.lit(None).cast(field.dataType).alias(field.name) for field in rows.drop("id").schema)
        write(rows.select("id", *nulls), 0)
    write(rows, int(upsert))

    texts = postgres.run(
        f"SELECT id, {', '.join(f'{text(c, stored, there[c])}::text' for c, (_, stored) in taken.items())} FROM {table}"
    )
    schema = ", ".join(["id BIGINT", *(f"{c} STRING" for c in taken)])
    back = session.createDataFrame(texts, schema).select(
        "id", *(read(c, *pair, there[c]).alias(f"{c}_") for c, pair in taken.items())
    )
    altered = (
        rows.join(back, "id")
        .agg(*(F.count_if(~F.col(c).eqNullSafe(F.col(f"{c}_"))).alias(c) for c in taken))
        .first()
    )
    wrong = [f"{' in '.join(taken[c])}: {count}" for c, count in altered.asDict().items() if count]
    assert not wrong, wrong
    counts = rows.agg(*(F.count(c).alias(c) for c in taken)).first().asDict()
    assert {taken[c][1] for c, count in counts.items() if count} == set(TYPES) - {"money", "integer[]"}


def fitting(column: str, kind: str, stored: str, there: str) -> Column:
    """The value, if the table's type has it."""
    value = came_back(column, kind, there)
    if (
        there == "timestamp"
    ):  # the beginning of 1582-10-15 may be on the day before in UTC, which fails the batch
        instant = value.cast("TIMESTAMP")
        moved = (instant >= F.expr("TIMESTAMP'1582-10-05 00:00:00Z'")) & (
            instant < F.expr("TIMESTAMP'1582-10-15 00:00:00Z'")
        )
        value = F.when(~moved, value)
    if stored == "timestamp(3)":
        return F.when(F.date_trunc("MILLISECOND", value.cast("TIMESTAMP")) == value.cast("TIMESTAMP"), value)
    return value


def text(column: str, stored: str, there: str) -> str:
    """SQL of PostgreSQL for the text of a value; of an instant for its microseconds, for a text may have a year before 1."""
    is_instant = stored.startswith("timestamp") and there == "timestamp"
    return f"(extract(epoch FROM {column}) * 1000000)::bigint" if is_instant else column


def read(column: str, kind: str, stored: str, there: str) -> Column:
    """The value in the type of the query, from PostgreSQL's text."""
    text = F.col(column)
    if there == "binary":
        return F.unhex(F.substring(text, 3, 1000)).cast(kind)
    if stored == "char(40)":
        text = F.rtrim(text)
    if stored.startswith("numeric"):
        text = F.regexp_replace(text, r"\.0+$", "")
    if stored.startswith("timestamp") and there == "timestamp":
        return F.timestamp_micros(text.cast("BIGINT")).cast(kind)
    return text.cast(there).cast(kind)


@pytest.mark.usefixtures("write_rows")
def test_arrays_arrive_as_they_are(spark: SparkSession, postgres: Postgres, table: str) -> None:
    columns = [f"c{index}" for index in range(len(ARRAYS))]
    postgres.run(
        f"CREATE TABLE {table} ({', '.join(f'{c} {row[1]}' for c, row in zip(columns, ARRAYS, strict=True))})"
    )
    rows = spark.newSession().sql(
        f"SELECT {', '.join(f'CAST({row[2]} AS {row[0]}) AS {c}' for c, row in zip(columns, ARRAYS, strict=True))}"
    )
    sink, connection = opened(postgres, table)
    database.writer(rows.sparkSession, sink, connection, "append", columns)(rows, 0)
    [texts] = postgres.run(f"SELECT {', '.join(f'{c}::text' for c in columns)} FROM {table}")
    assert list(texts) == [row[3] for row in ARRAYS]


WIDE = "i DOUBLE, d DECIMAL(10,4), day TIMESTAMP, f DOUBLE, n STRING, s STRUCT<x: INT>, v VARIANT, u INT, list ARRAY<DOUBLE>, r DOUBLE, b STRING, o STRING, ids ARRAY<STRING>, raw ARRAY<BINARY>"
NARROW = "i integer, d numeric(10,2), day date, f real, n numeric, s jsonb, v jsonb, u uuid, list integer[], r numeric, b bytea, o oid, ids uuid[], raw bytea[]"
REFUSED = [
    ("TypeTooNarrow", "'i' is DOUBLE, and INT in the table"),
    ("TypeTooNarrow", "'d' is DECIMAL(10,4), and DECIMAL(10,2) in the table"),
    ("TypeTooNarrow", "'day' is TIMESTAMP, and DATE in the table"),
    ("TypeTooNarrow", "'f' is DOUBLE, and FLOAT in the table"),
    (
        "TypeNotSupported",
        "'n' is STRING, which numeric in the table does not take; CAST it in a view to a DECIMAL with the digits",
    ),
    (
        "TypeNotSupported",
        "'r' is DOUBLE, which numeric in the table does not take; CAST it in a view to a DECIMAL",
    ),
    ("TypeNotSupported", "'b' is STRING, which bytea in the table does not take; CAST it in a view"),
    (
        "TypeNotSupported",
        "'o' is STRING, which oid in the table does not take; write a column of the type text",
    ),
    (
        "TypeNotSupported",
        "'ids' is ARRAY<STRING>, which uuid[] in the table does not take; write a STRING such as {a,b}",
    ),
    (
        "TypeNotSupported",
        "'raw' is ARRAY<BINARY>, which bytea[] in the table does not take; write to_json(raw)",
    ),
    ("TypeTooNarrow", "'list.element' is DOUBLE, and INT"),
    (
        "TypeNotSupported",
        "'s' is STRUCT<x: INT>, which jsonb in the table does not take; write to_json(s) in a view",
    ),
    (
        "TypeNotSupported",
        "'v' is VARIANT, which jsonb in the table does not take; write to_json(v) in a view",
    ),
    ("TypeNotSupported", "'u' is INT, which uuid in the table does not take; CAST it in a view to STRING"),
]


def test_a_table_that_may_alter_values_is_refused_with_each_column(
    write_rows: WriteRows, postgres: Postgres, table: str
) -> None:
    postgres.run(f"CREATE TABLE {table} ({NARROW})")
    with pytest.raises(SpecInvalid) as refused:
        write_rows([{}], table, schema=WIDE)
    problems = refused.value.problems
    assert {problem.path for problem in problems} == {"spec.queries[0].to[0].jdbc"}
    shown = [f"{problem.reason}: {problem.message}" for problem in problems]
    assert len(shown) == len(REFUSED)
    for reason, message in REFUSED:
        assert any(each.startswith(f"{reason}: 'v': {message}") for each in shown), (message, shown)
