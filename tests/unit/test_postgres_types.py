"""In which type a column of a PostgreSQL table takes the values of a query's column."""

import pytest
from mainstem.dataframes.sinks.postgres_types import NO_LIMIT, PostgresColumn, described, taken
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    IntegerType,
    LongType,
    MapType,
    NullType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
    VariantType,
)


INT, LONG, DOUBLE, STRING, NULL = IntegerType(), LongType(), DoubleType(), StringType(), NullType()
NUMERIC = PostgresColumn("v", "numeric", 0, 0)
CASES: list[tuple[DataType, PostgresColumn, DataType | None]] = [
    (LONG, PostgresColumn("v", "int4", 10, 0), INT),
    (LONG, described("v", "serial", 4, 10, 0), INT),
    (LONG, described("v", "bigserial", -5, 19, 0), LONG),
    (NULL, PostgresColumn("v", "int4", 10, 0), INT),
    (LONG, NUMERIC, LONG),
    (DecimalType(38, 18), NUMERIC, DecimalType(38, 18)),
    (DOUBLE, NUMERIC, None),
    (STRING, NUMERIC, None),
    (LONG, NUMERIC._replace(precision=10, scale=2), DecimalType(10, 2)),
    (DecimalType(10, 4), NUMERIC._replace(precision=10, scale=2), DecimalType(10, 2)),
    (DecimalType(10, 4), NUMERIC._replace(precision=50, scale=4), DecimalType(10, 4)),
    (DecimalType(10, 4), NUMERIC._replace(precision=50, scale=2), None),
    (LONG, NUMERIC._replace(precision=2, scale=-3), None),
    (LONG, described("v", "numeric", 2, 5, 2046), None),
    (TimestampType(), PostgresColumn("v", "timestamp", 29, 6), TimestampType()),
    (TimestampNTZType(), PostgresColumn("v", "timestamp", 29, 6), TimestampNTZType()),
    (DateType(), PostgresColumn("v", "timestamp", 29, 6), TimestampNTZType()),
    (TimestampNTZType(), PostgresColumn("v", "timestamptz", 35, 6), TimestampType()),
    *(
        (kind, described("v", "uuid", 1111, NO_LIMIT, 0), expected)
        for kind, expected in ((STRING, STRING), (NULL, STRING), (INT, None), (StructType(), None))
    ),
    *((STRING, described("v", name, 12, 0, 6), None) for name in ("name", "char")),
    *((STRING, described("v", name, 1111, 0, 6), None) for name in ("money", "oid", "tsrange", "a_composite", "_mood")),
    (STRING, described("v", "mood", 12, NO_LIMIT, 0), STRING),
    (STRING, described("v", "interval", 1111, 49, 6), STRING),
    (STRING, described("v", "interval", 1111, 49, 3), STRING),
    (STRING, described("v", "interval", 1111, 49, 65535), None),
    (STRING, PostgresColumn("v", "bytea", NO_LIMIT, 0), None),
    *(
        (kind, PostgresColumn("v", name, NO_LIMIT, 0), None)
        for kind in (StructType(), MapType(STRING, INT), VariantType(), ArrayType(INT))
        for name in ("jsonb", "text", "int4")
    ),
    (ArrayType(LONG), PostgresColumn("v", "_int4", 10, 0), ArrayType(INT)),
    (ArrayType(ArrayType(LONG)), PostgresColumn("v", "_int4", 10, 0), ArrayType(ArrayType(INT))),
    (ArrayType(DecimalType(5, 1)), PostgresColumn("v", "_numeric", 0, 0), ArrayType(DecimalType(5, 1))),
    (ArrayType(MapType(STRING, INT)), PostgresColumn("v", "_text", NO_LIMIT, 0), None),
    (ArrayType(STRING), described("v", "_uuid", 2003, NO_LIMIT, 0), None),
    (STRING, described("v", "_uuid", 2003, NO_LIMIT, 0), STRING),
    (ArrayType(BinaryType()), PostgresColumn("v", "_bytea", NO_LIMIT, 0), None),
    (NULL, PostgresColumn("v", "_int4", 10, 0), ArrayType(INT)),
    (INT, PostgresColumn("v", "_int4", 10, 0), None),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "column", "expected"), CASES)
def test_a_column_takes_a_type_only_as_it_is(
    kind: DataType, column: PostgresColumn, expected: DataType | None
) -> None:
    assert taken(kind, column) == expected


@pytest.mark.parametrize(
    ("column", "text"),
    [
        (NUMERIC, "numeric"),
        (NUMERIC._replace(precision=10, scale=2), "numeric(10,2)"),
        (PostgresColumn("v", "_varchar", 3, 0), "varchar(3)[]"),
        (PostgresColumn("v", "varchar", NO_LIMIT, 0), "varchar"),
        (described("v", "serial", 4, 10, 0), "int4"),
        (described("v", "numeric", 2, 5, 2046), "numeric(5,-2)"),
        (described("v", "interval", 1111, 49, 65535), "interval of some fields"),
        (described("v", "interval", 1111, 49, 3), "interval(3)"),
        (PostgresColumn("v", "timestamp", 23, 3), "timestamp(3)"),
        (PostgresColumn("v", "timestamptz", 35, 6), "timestamptz"),
    ],
)
def test_a_column_is_named_by_its_type_and_its_limits(column: PostgresColumn, text: str) -> None:
    assert str(column) == text
