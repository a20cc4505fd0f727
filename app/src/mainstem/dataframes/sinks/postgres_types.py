"""Which types a PostgreSQL table's columns take from a query without altering a value; pure.

PostgreSQL converts an inserted value by its rules of assignment, which cut and round: 1.2345 becomes 1.23 in a
`numeric(10,2)`, and the text `2024-01-02 23:59` loses its time in a `date`. So the rows get the types of the table before
they are written.
"""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    NullType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
    VariantType,
)

from mainstem.dataframes.sinks.stored_types import named


_KINDS: Final[dict[str, DataType]] = {
    "int2": ShortType(),
    "int4": IntegerType(),
    "int8": LongType(),
    "float4": FloatType(),
    "float8": DoubleType(),
    "bool": BooleanType(),
    "date": DateType(),
    "timestamp": TimestampNTZType(),
    "timestamptz": TimestampType(),
    "bytea": BinaryType(),
    "text": StringType(),
    "varchar": StringType(),
    "bpchar": StringType(),
}
"""PostgreSQL's names of types -> the type of Spark with the same values."""
_SERIALS: Final = {"smallserial": "int2", "serial": "int4", "bigserial": "int8"}
"""The driver's names of integers with a sequence."""
_TIMES: Final = {"time", "timetz", "timestamp", "timestamptz"}
_CUT: Final = {"money", "char", "name"}
"""Types that cut or round a text without an error."""
_DIGITS: Final = 38
"""The most digits of Spark's DECIMAL."""
MICROSECONDS: Final = 6
"""The scale of a time without a limit."""
NO_LIMIT: Final = 2**31 - 1
"""The precision of a `varchar` without a limit, as the driver gives it."""


class PostgresColumn(NamedTuple):
    """A column of a table, as PostgreSQL's JDBC driver describes it.

    Attributes:
        name: its name.
        type_name: PostgreSQL's name of its type, of an array with `_` before it; of a domain, of the type below it.
        precision: digits of a `numeric`, 0 without a limit; characters of a `varchar` or `bpchar`, `NO_LIMIT` without a
            limit.
        scale: digits after the point of a `numeric`; of the seconds of a time.
    """

    name: str
    type_name: str
    precision: int
    scale: int

    @property
    def element(self) -> str:
        """PostgreSQL's name of its type, or of the elements of an array."""
        kind = self.type_name.removeprefix("_")
        return _SERIALS.get(kind, kind)

    @property
    def parsed(self) -> bool:
        """Whether the database reads the column from a text, because Spark has no such type."""
        return self.element not in _KINDS and self.element != "numeric"

    @property
    def cuts(self) -> bool:
        """Whether the database cuts or rounds a text that it reads for the column."""
        return self.element in _CUT or (self.element == "interval" and self.scale != MICROSECONDS)

    def __str__(self) -> str:
        limits = ""
        if self.element == "numeric" and self.precision:
            limits = f"({self.precision},{self.scale})"
        if self.element in {"varchar", "bpchar"} and self.precision != NO_LIMIT:
            limits = f"({self.precision})"
        if self.element in _TIMES and self.scale != MICROSECONDS:
            limits = f"({self.scale})"
        return f"{self.element}{limits}{'[]' if self.type_name.startswith('_') else ''}"


class Untaken(NamedTuple):
    """A column whose type the table's column does not take at all.

    Attributes:
        column: its name.
        kind: its type in the query.
        stored: the column in the table.
    """

    column: str
    kind: DataType
    stored: PostgresColumn

    def __str__(self) -> str:
        nested = isinstance(self.kind, (StructType, MapType, ArrayType, VariantType))
        remedy = f"write to_json({self.column}) in a view" if nested else "CAST it in a view"
        return (
            f"{self.column!r} is {named(self.kind)}, which {self.stored} in the table does not take; {remedy}, or change the "
            "type in the table"
        )


def untaken(rows: StructType, table: Iterable[PostgresColumn]) -> Iterator[Untaken]:
    """The columns of the rows that the table does not take."""
    kinds = {field.name.lower(): field.dataType for field in rows}
    for column in table:
        kind = kinds[column.name.lower()]
        if taken(kind, column) is None:
            yield Untaken(column.name, kind, column)


def taken_types(rows: StructType, table: Iterable[PostgresColumn]) -> StructType:
    """The types of Spark in which the columns of the table take the rows; without columns that are not taken."""
    kinds = {field.name.lower(): field.dataType for field in rows}
    types = ((column.name, taken(kinds[column.name.lower()], column)) for column in table)
    return StructType([StructField(name, kind) for name, kind in types if kind is not None])


def taken(kind: DataType, column: PostgresColumn) -> DataType | None:
    """The type of Spark with which a column gets values of a type as they are; None if there is none.

    Whether each value has an equal one in that type is another question, which `stored_types` answers.
    """
    if column.type_name.startswith("_"):
        return _taken_array(kind, column)
    if column.parsed:
        return StringType() if isinstance(kind, (StringType, NullType)) and not column.cuts else None
    return (
        None
        if isinstance(kind, (StructType, MapType, ArrayType, VariantType))
        else _taken_value(kind, column)
    )


def _taken_array(kind: DataType, column: PostgresColumn) -> DataType | None:
    """Arrays may have several dimensions, and PostgreSQL's type does not say how many."""
    if isinstance(kind, NullType):
        return ArrayType(_KINDS.get(column.element, StringType()))
    if (
        not isinstance(kind, ArrayType) or column.parsed
    ):  # Spark gives the elements' type, and no text is parsed
        return None
    each = kind.elementType
    of_element = column._replace(type_name=column.element)
    element = _taken_array(each, column) if isinstance(each, ArrayType) else taken(each, of_element)
    return element and ArrayType(element)


def _taken_value(kind: DataType, column: PostgresColumn) -> DataType | None:
    if column.element == "numeric":
        return _taken_number(kind, column.precision, column.scale)
    if column.element == "timestamp" and isinstance(kind, TimestampType):
        return kind  # the time in UTC, from which no hour is missing
    return _KINDS[column.element]


def _taken_number(kind: DataType, precision: int, scale: int) -> DataType | None:
    """A `numeric` without a limit, or with more digits than Spark's DECIMAL, takes a number as it is."""
    if not 0 <= scale <= precision:
        return None
    is_exact = isinstance(kind, (ByteType, ShortType, IntegerType, LongType, DecimalType))
    digits = kind.scale if isinstance(kind, DecimalType) else 0
    if is_exact and (not precision or (precision > _DIGITS and digits <= scale)):
        return kind
    return DecimalType(min(precision or _DIGITS, _DIGITS), min(scale, _DIGITS))
