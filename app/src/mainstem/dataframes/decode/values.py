"""Checks that parsed values are equal to those in the record, as far as the parsed values show it.

Spark's parsers alter some values silently. This module detects alterations that the parsed value shows; docs/quality.md
lists the others.
"""

import functools
import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.types import (
    ArrayType,
    ByteType,
    DataType,
    DateType,
    DoubleType,
    FloatType,
    MapType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)


ValueCheck = Callable[[Column, DataType], Column | None]
"""Takes a column and its type; returns whether the value is valid (null counts as yes), or None if every value is."""

_DAYS: Final = (-719_162, 2_932_896)
_MICROSECONDS: Final = (-62_135_596_800_000_000, 253_402_300_799_999_999)
_NTZ: Final = ("TIMESTAMP_NTZ'0001-01-01 00:00:00'", "TIMESTAMP_NTZ'9999-12-31 23:59:59.999999'")
_BYTES: Final = (-128, 127)
_INFINITY: Final = r"(?i)(?<![a-z])inf(inity)?(?![a-z])"
_HIGH: Final = r"\\u[dD][89abAB][0-9a-fA-F]{2}"
_LOW: Final = r"\\u[dD][c-fC-F]"
_ESCAPE: Final = r"(?<!\\)(?:\\\\)*"
_LONE: Final = f"{_ESCAPE}{_HIGH}(?!{_LOW})|{_ESCAPE}(?<!{_HIGH}){_LOW}"


def has_valid_texts(column: Column, kind: DataType) -> Column | None:
    """Whether every string in the column is UTF-8, at every depth.

    Returns:
        A BOOLEAN that is never null; None for a type without strings.
    """
    return everywhere(_is_utf8, column, kind)


def is_unaltered(column: Column, kind: DataType, text: Column, options: Mapping[str, str]) -> Column | None:
    """Whether no value in the column shows that the parser altered it.

    Dates and times must be in the years 1 to 9999: others are overflows, or milliseconds read as seconds. A number may be
    infinite only if the text names infinity. A map must have each key once. A TINYINT may be parsed `with_wide_bytes`.

    Args:
        column: the parsed value.
        kind: the type in the schema.
        text: the text of the record.
        options: options of the parser, which may set other names of infinity.

    Returns:
        A BOOLEAN that is never null; None for a type whose values are all valid.
    """
    finite = everywhere(_is_finite, column, kind)
    infinities = (value for key, value in options.items() if key.lower() in ("positiveinf", "negativeinf"))
    infinity = functools.reduce(operator.or_, map(text.contains, infinities), text.rlike(_INFINITY))
    checks = everywhere(_is_in_range, column, kind), finite if finite is None else finite | infinity
    return _all(checks)


def has_whole_escapes(text: Column) -> Column:
    """Whether each JSON escape is a whole character: Spark replaces a lone surrogate by a question mark."""
    return F.when(text.contains(r"\u"), ~text.rlike(_LONE)).otherwise(F.lit(True))


def with_wide_bytes(kind: DataType) -> DataType:
    """The type with SMALLINT for each TINYINT: Spark's JSON parser reads 128 to 255 as -128 to -1."""
    if isinstance(kind, ByteType):
        return ShortType()
    if isinstance(kind, StructType):
        return StructType(
            [StructField(f.name, with_wide_bytes(f.dataType), f.nullable, f.metadata) for f in kind]
        )
    if isinstance(kind, ArrayType):
        return ArrayType(with_wide_bytes(kind.elementType), kind.containsNull)
    if isinstance(kind, MapType):
        return MapType(with_wide_bytes(kind.keyType), with_wide_bytes(kind.valueType), kind.valueContainsNull)
    return kind


def everywhere(check: ValueCheck, column: Column, kind: DataType) -> Column | None:
    """Whether the check holds for every value in the column, at every depth.

    Returns:
        A BOOLEAN that is never null; None for a type without anything to check.
    """
    own = check(column, kind)
    parts = [None if own is None else F.coalesce(own, F.lit(True))]
    if isinstance(kind, StructType):
        parts += [everywhere(check, column.getField(field.name), field.dataType) for field in kind.fields]
    if isinstance(kind, ArrayType):
        parts.append(_in_each(check, column, kind.elementType))
    if isinstance(kind, MapType):
        parts.append(_in_each(check, F.map_keys(column), kind.keyType))
        parts.append(_in_each(check, F.map_values(column), kind.valueType))
    return _all(parts)


def _in_each(check: ValueCheck, items: Column, kind: DataType) -> Column | None:
    if everywhere(check, F.lit(None), kind) is None:
        return None
    return F.coalesce(F.forall(items, lambda item: _or_true(everywhere(check, item, kind))), F.lit(True))


def _is_utf8(column: Column, kind: DataType) -> Column | None:
    return F.is_valid_utf8(column) if isinstance(kind, StringType) else None


def _is_finite(column: Column, kind: DataType) -> Column | None:
    if not isinstance(kind, (DoubleType, FloatType)):
        return None
    return (column != F.lit(float("inf"))) & (column != F.lit(float("-inf")))


def _is_in_range(column: Column, kind: DataType) -> Column | None:
    if isinstance(kind, DateType):
        return F.unix_date(column).between(*_DAYS)
    if isinstance(kind, TimestampType):
        return F.unix_micros(column).between(*_MICROSECONDS)
    if isinstance(kind, TimestampNTZType):
        return column.between(*map(F.expr, _NTZ))
    if isinstance(kind, ByteType):
        return column.between(*_BYTES)
    if isinstance(kind, MapType):
        return F.size(F.array_distinct(F.map_keys(column))) == F.size(column)
    return None


def _all(checks: Iterable[Column | None]) -> Column | None:
    known = [check for check in checks if check is not None]
    return functools.reduce(operator.and_, known) if known else None


def _or_true(check: Column | None) -> Column:
    return F.lit(True) if check is None else check
