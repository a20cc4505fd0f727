"""Which types of a sink's table keep each value of a query's column, or fail instead; pure.

Spark and Delta convert a value to the type of the table's column, and some conversions alter it without an error:
DOUBLE to INT cuts the fraction, DECIMAL to one of a smaller scale rounds.
"""

from collections.abc import Callable, Iterator
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
)

from mainstem.dataframes.spark_types import named
from mainstem.language.analysis.repeated_hours import repeats_hours


_INTEGERS: Final = (ByteType, ShortType, IntegerType, LongType)
"""In the order of their ranges."""
_EXACT: Final = {
    (FloatType, DoubleType),
    (DateType, TimestampType),
    (DateType, TimestampNTZType),
    (StringType, BinaryType),
    *(
        (kind, StringType)
        for kind in (FloatType, DoubleType, BooleanType, DateType, TimestampNTZType, StringType)
    ),
}
"""Further pairs of types in the query and in the table, of which the second one has each value of the first."""
_BY_THE_CLOCK: Final = {
    (TimestampType, TimestampNTZType),
    (TimestampNTZType, TimestampType),
    (TimestampType, StringType),
}
"""Pairs that are exact only where no hour comes twice."""


Evolves = Callable[[DataType, DataType], bool]
"""Whether a table takes the second type in place of the first, its own."""


class Place(NamedTuple):
    """Where a sink has the types of its columns.

    Attributes:
        name: its name in messages.
        wider: how a user gives a column a wider type.
    """

    name: str
    wider: str


TABLE: Final = Place("the table", "make the column wider in the table")
FOLDER: Final = Place("the folder's files", "give the sink a new path")


class Misfit(NamedTuple):
    """A column, or a field within it, whose values the table may alter.

    Attributes:
        column: its path, such as `a.b`, `a.element` or `a.key`.
        kind: its type in the query.
        stored: its type in the sink.
        place: where that is.
    """

    column: str
    kind: DataType
    stored: DataType
    place: Place = TABLE

    def __str__(self) -> str:
        kind, stored = named(self.kind), named(self.stored)
        return f"{self.column!r} is {kind}, and {stored} in {self.place.name} may alter its values"


def misfits(rows: StructType, table: StructType, time_zone: str, evolves: Evolves) -> Iterator[Misfit]:
    """The columns of the rows whose values the table may alter. Columns that the table lacks are no misfits.

    Args:
        rows: the query's columns.
        table: the table's columns; names are compared without case, as Spark does.
        time_zone: the session's time zone.
        evolves: whether the table takes a type of the rows in place of its own.
    """
    for field, stored in pairs(rows, table):
        yield from _misfits(field.name, field.dataType, stored, time_zone, evolves)


def pairs(rows: StructType, table: StructType) -> Iterator[tuple[StructField, DataType]]:
    """Each field of the rows that the table has, and its type there."""
    kinds = {field.name.lower(): field.dataType for field in table} | {
        field.name: field.dataType for field in table
    }
    for field in rows:
        kind = kinds.get(field.name, kinds.get(field.name.lower()))
        if kind is not None:
            yield field, kind


def _misfits(
    path: str, kind: DataType, stored: DataType, time_zone: str, evolves: Evolves
) -> Iterator[Misfit]:
    parts: list[tuple[str, DataType, DataType]]
    match kind, stored:
        case StructType(), StructType():
            parts = [(f"{path}.{field.name}", field.dataType, there) for field, there in pairs(kind, stored)]
        case ArrayType(), ArrayType():
            parts = [(f"{path}.element", kind.elementType, stored.elementType)]
        case MapType(), MapType():
            parts = [(f"{path}.key", kind.keyType, stored.keyType)]
            parts += [(f"{path}.value", kind.valueType, stored.valueType)]
        case _:
            if may_alter(kind, stored, time_zone) and not evolves(stored, kind):
                yield Misfit(path, kind, stored)
            return
    for part in parts:
        yield from _misfits(*part, time_zone, evolves)


def may_alter(kind: DataType, stored: DataType, time_zone: str) -> bool:
    """Whether values of a type are other ones in the table so often that a query must not start.

    A value that the table's type does not have fails the batch, so BIGINT fits an INT, and also a DOUBLE. What is not known
    to be exact may alter.
    """
    if kind == stored or isinstance(kind, NullType):
        return False
    if isinstance(kind, (*_INTEGERS, DecimalType)):
        return not _has_digits(stored, kind)
    types = (type(kind), type(stored))
    return repeats_hours(time_zone) if types in _BY_THE_CLOCK else types not in _EXACT


def _has_digits(stored: DataType, kind: DataType) -> bool:
    """Whether a type has all digits after the point; those before it are compared by value."""
    scale = kind.scale if isinstance(kind, DecimalType) else 0
    if isinstance(stored, DecimalType):
        return bool(scale <= stored.scale)
    return (
        scale == 0
        if isinstance(stored, _INTEGERS)
        else isinstance(stored, (FloatType, DoubleType, StringType))
    )


def can_widen(stored: DataType, kind: DataType) -> bool:
    """Whether Delta's type widening makes the table's type the other one when the schema evolves.

    https://docs.delta.io/delta-type-widening
    """
    if isinstance(stored, _INTEGERS) and isinstance(kind, _INTEGERS):
        return _INTEGERS.index(type(stored)) < _INTEGERS.index(type(kind))
    if isinstance(stored, DecimalType) and isinstance(kind, DecimalType):
        before, after = (each.precision - each.scale for each in (stored, kind))
        return bool(before <= after and stored.scale <= kind.scale)
    return (type(stored), type(kind)) in {(FloatType, DoubleType), (DateType, TimestampNTZType)}
