"""Which types of a sink's table keep each value of a query's column, or fail instead; pure.

Spark and Delta convert a value to the type of the table's column, and some conversions alter it without an error:
DOUBLE to INT cuts the fraction, DECIMAL to one of a smaller scale rounds.
"""

from collections.abc import Iterator
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

from mainstem.dataframes.sinks.repeated_hours import repeats_hours


_INTEGERS: Final = (ByteType, ShortType, IntegerType, LongType)
"""In the order of their ranges."""
_INTEGER_DIGITS: Final[dict[type[DataType], int]] = {FloatType: 1, DoubleType: 2}
"""How many of `_INTEGERS` the type has exactly, as indices of the last."""
_DECIMAL_DIGITS: Final[dict[type[DataType], int]] = {FloatType: 6, DoubleType: 15}
"""How many decimal digits come back as they were (`FLT_DIG` and `DBL_DIG` of C)."""
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


class Misfit(NamedTuple):
    """A column, or a field within it, whose values the table may alter.

    Attributes:
        column: its path, such as `a.b`, `a.element` or `a.key`.
        kind: its type in the query.
        stored: its type in the table.
    """

    column: str
    kind: str
    stored: str


def misfits(rows: StructType, table: StructType, time_zone: str, *, widens: bool = False) -> Iterator[Misfit]:
    """The columns of the rows whose values the table may alter. Columns that the table lacks are no misfits.

    Args:
        rows: the query's columns.
        table: the table's columns; names are compared without case, as Spark does.
        time_zone: the session's time zone.
        widens: whether the table takes the rows' type where Delta can widen its own.
    """
    for field, stored in pairs(rows, table):
        yield from _misfits(field.name, field.dataType, stored, time_zone, widens)


def pairs(rows: StructType, table: StructType) -> Iterator[tuple[StructField, DataType]]:
    """Each field of the rows that the table has, and its type there."""
    kinds = {field.name.lower(): field.dataType for field in table}
    for field in rows:
        if field.name.lower() in kinds:
            yield field, kinds[field.name.lower()]


def _misfits(path: str, kind: DataType, stored: DataType, time_zone: str, widens: bool) -> Iterator[Misfit]:
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
            if may_alter(kind, stored, time_zone) and not (widens and can_widen(stored, kind)):
                yield Misfit(path, kind.simpleString(), stored.simpleString())
            return
    for part in parts:
        yield from _misfits(*part, time_zone, widens)


def may_alter(kind: DataType, stored: DataType, time_zone: str) -> bool:
    """Whether a value of a type may be another one in the table, without an error.

    A value that the table's type cannot have at all fails the batch, so BIGINT fits an INT. What is not known to be exact
    may alter.
    """
    if kind == stored or isinstance(kind, NullType):
        return False
    if isinstance(kind, _INTEGERS):
        return not _has_integers(stored, kind)
    if isinstance(kind, DecimalType):
        return not _has_decimals(stored, kind)
    types = (type(kind), type(stored))
    return repeats_hours(time_zone) if types in _BY_THE_CLOCK else types not in _EXACT


def _has_integers(stored: DataType, kind: DataType) -> bool:
    if digits := _INTEGER_DIGITS.get(type(stored)):
        return _INTEGERS.index(type(kind)) <= digits
    return isinstance(stored, (*_INTEGERS, DecimalType, StringType))


def _has_decimals(stored: DataType, kind: DecimalType) -> bool:
    if isinstance(stored, DecimalType):
        return bool(kind.scale <= stored.scale)
    if digits := _DECIMAL_DIGITS.get(type(stored)):
        return bool(kind.precision <= digits)
    return isinstance(stored, StringType) or (isinstance(stored, _INTEGERS) and kind.scale == 0)


def can_widen(stored: DataType, kind: DataType) -> bool:
    """Whether Delta's type widening makes the table's type the other one when the schema evolves.

    https://docs.delta.io/delta-type-widening
    """
    if isinstance(stored, _INTEGERS) and isinstance(kind, _INTEGERS):
        return _INTEGERS.index(type(stored)) < _INTEGERS.index(type(kind))
    if isinstance(stored, DecimalType) and isinstance(kind, DecimalType):
        before, after = (each.precision - each.scale for each in (stored, kind))
        return bool(before <= after and stored.scale <= kind.scale)
    return isinstance(stored, FloatType) and isinstance(kind, DoubleType)
