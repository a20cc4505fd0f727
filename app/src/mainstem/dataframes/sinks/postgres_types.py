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

from mainstem.dataframes.column_names import quote
from mainstem.dataframes.spark_types import named


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
"""The driver's names of integers with a default of a sequence."""
_ENUM: Final = 12
"""The driver's number of an enumeration's type, which is that of `varchar` too."""
TIMES_AS_TEXT: Final = frozenset({"time", "timetz", "interval"})
_PARSED: Final = TIMES_AS_TEXT | {
    *("json", "jsonb", "xml", "uuid", "inet", "cidr", "macaddr", "macaddr8"),
    *("bit", "varbit", "citext", "hstore", "ltree"),
}
"""Types that Spark lacks, and that have each value of a text that they read. Others cut or round it: `money`, `oid`, ranges."""
_LIMITED_TIMES: Final = TIMES_AS_TEXT | {"timestamp", "timestamptz"}
_DIGITS: Final = 38
"""The most digits of Spark's DECIMAL."""
_SIGN: Final = 1024
"""A negative scale is 2048 less than the driver's, which has 11 bits."""
MICROSECONDS: Final = 6
"""The scale of a time without a limit. An `interval` of some fields, such as `interval year`, has a greater one."""
NO_LIMIT: Final = 2**31 - 1
"""The precision of a `varchar` without a limit, as the driver gives it."""


class PostgresColumn(NamedTuple):
    """A column of a table.

    Attributes:
        name: its name.
        type_name: PostgreSQL's name of its type, of an array with `_` before it; of a domain, of the type below it.
        precision: digits of a `numeric`, 0 without a limit; characters of a `varchar` or `bpchar`, `NO_LIMIT` without a
            limit.
        scale: digits after the point of a `numeric`; of the seconds of a time.
        parsed: whether the database reads the column, or an array's text, from a text, because Spark has no such type.
    """

    name: str
    type_name: str
    precision: int
    scale: int
    parsed: bool = False

    @property
    def element(self) -> str:
        """PostgreSQL's name of its type, or of the elements of an array."""
        return self.type_name.removeprefix("_")

    @property
    def is_array(self) -> bool:
        """Whether its values are arrays, of any number of dimensions."""
        return self.type_name.startswith("_")

    def __str__(self) -> str:
        limits = ""
        if self.element == "numeric" and self.precision:
            limits = f"({self.precision},{self.scale})"
        if self.element in {"varchar", "bpchar"} and self.precision != NO_LIMIT:
            limits = f"({self.precision})"
        if self.element in _LIMITED_TIMES and self.scale < MICROSECONDS:
            limits = f"({self.scale})"
        fields = " of some fields" if self.element == "interval" and self.scale > MICROSECONDS else ""
        return f"{self.element}{limits}{fields}{'[]' if self.is_array else ''}"


def described(name: str, type_name: str, number: int, precision: int, scale: int) -> PostgresColumn:
    """A column as PostgreSQL's JDBC driver describes it.

    Args:
        name: its name.
        type_name: the driver's name of its type.
        number: the driver's number of its type, a constant of `java.sql.Types`.
        precision: as in `PostgresColumn`.
        scale: the same.
    """
    kind = _SERIALS.get(type_name, type_name)
    element = kind.removeprefix("_")
    is_enum = number == _ENUM and kind not in _KINDS and kind not in {"name", "char"}
    parsed = is_enum or (element in _PARSED and not (element == "interval" and scale > MICROSECONDS))
    if element == "numeric" and scale >= _SIGN:
        scale -= 2 * _SIGN
    return PostgresColumn(name, kind, precision, scale, parsed)


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
        return f"{self.column!r} is {named(self.kind)}, which {self.stored} in the table does not take"

    @property
    def remedy(self) -> str:
        """What the user can do."""
        if self.stored.parsed and self.stored.is_array:
            return "write a STRING such as {a,b} in a view"
        if isinstance(self.kind, _NESTED):
            name = self.column if self.column.isidentifier() else quote(self.column)
            return f"write to_json({name}) in a view, and a text or json in the table"
        if self.stored.element == "numeric":
            return "CAST it in a view to a DECIMAL with the digits that you need"
        if self.stored.parsed:
            return "CAST it in a view to STRING"
        if isinstance(self.kind, StringType) and self.stored.element not in _KINDS:
            return "write a column of the type text, from which the table may generate this one"
        return "CAST it in a view, or change the type in the table"


_NESTED: Final = (StructType, MapType, ArrayType, VariantType)


def untaken(rows: StructType, table: Iterable[PostgresColumn]) -> Iterator[Untaken]:
    """The columns of the rows that the table does not take."""
    for column in table:
        kind = rows[column.name].dataType
        if taken(kind, column) is None:
            yield Untaken(column.name, kind, column)


def taken_types(rows: StructType, table: Iterable[PostgresColumn]) -> StructType:
    """The types of Spark in which the columns of the table take the rows; without columns that are not taken."""
    types = ((column.name, taken(rows[column.name].dataType, column)) for column in table)
    return StructType([StructField(name, kind) for name, kind in types if kind is not None])


def taken(kind: DataType, column: PostgresColumn) -> DataType | None:
    """The type of Spark with which a column gets values of a type as they are; None if there is none.

    Whether each value has an equal one in that type is another question, which `stored_types` answers.
    """
    if column.parsed:
        return StringType() if isinstance(kind, (StringType, NullType)) else None
    if column.is_array:
        return _taken_array(kind, column)
    if isinstance(kind, _NESTED) or (column.element == "bytea" and isinstance(kind, StringType)):
        return None  # bytea: the bytes of the text, or those that it has in hexadecimal digits
    if column.element == "numeric":
        return _taken_number(kind, column.precision, column.scale)
    if column.element == "timestamp" and isinstance(kind, TimestampType):
        return kind  # the time in UTC, from which no hour is missing
    return _KINDS.get(column.element)


def _taken_array(kind: DataType, column: PostgresColumn) -> DataType | None:
    """Arrays may have several dimensions, and PostgreSQL's type does not say how many. Its driver writes no array of bytes."""
    if column.element == "bytea":
        return None
    if isinstance(kind, NullType):
        return ArrayType(_KINDS.get(column.element, StringType()))
    if not isinstance(kind, ArrayType):
        return None
    each = kind.elementType
    of_element = column._replace(type_name=column.element)
    element = _taken_array(each, column) if isinstance(each, ArrayType) else taken(each, of_element)
    return element and ArrayType(element)


def _taken_number(kind: DataType, precision: int, scale: int) -> DataType | None:
    """A `numeric` without a limit, or with more digits than Spark's DECIMAL, takes a number as it is.

    PostgreSQL makes a `numeric` of 15 of the 17 digits of a DOUBLE.
    """
    if not 0 <= scale <= precision:
        return None
    if 0 < precision <= _DIGITS:
        return DecimalType(precision, scale)
    digits = kind.scale if isinstance(kind, DecimalType) else 0
    if isinstance(kind, NullType):
        return DecimalType(_DIGITS, 0)
    is_exact = isinstance(kind, (ByteType, ShortType, IntegerType, LongType, DecimalType))
    return kind if is_exact and (not precision or digits <= scale) else None
