"""What the formats of records have in common."""

import functools
import operator
from collections.abc import Iterable
from typing import Protocol

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.types import ArrayType, DataType, MapType, StringType, StructType

from mainstem.build.decode import misfits


class Format(Protocol):
    """One format; `value` is the record as it was read, BINARY or STRING."""

    def parse(self, value: Column) -> Column:
        """The record as a struct: its columns, and what else it takes to judge it. It never fails."""

    def columns(self, record: Column) -> list[Column]:
        """The columns of what `parse` gave, under their names."""

    def is_whole(self, record: Column, value: Column, kind: DataType) -> Column:
        """Whether what `parse` gave, of that type, is all of the record, and fits; null counts as no."""

    def why(self, record: Column, value: Column) -> Column:
        """What is wrong with a record that is not whole, by what `parse` gave and by what it was read from."""


def text_of(value: Column) -> Column:
    """The record as STRING."""
    return value.cast("string")


def no_text(text: Column) -> Column:
    """What is wrong with a record that is no text at all; more cases may follow."""
    bytes_ = F.concat(F.lit("not valid UTF-8: "), misfits.beginning_of_bytes(text.cast("binary")))
    return F.when(text.isNull(), "the record has no value").when(~F.is_valid_utf8(text), bytes_)


def has_valid_texts(column: Column, kind: DataType) -> Column | None:
    """Whether every string within the column is UTF-8, at whatever depth; null counts as valid.

    Args:
        column: the column.
        kind: its type.

    Returns:
        A BOOLEAN that is never null; None for a type that holds no strings.
    """
    if isinstance(kind, StringType):
        return _true_of_null(F.is_valid_utf8(column))
    if isinstance(kind, StructType):
        return _all(has_valid_texts(column.getField(field.name), field.dataType) for field in kind.fields)
    if isinstance(kind, ArrayType):
        return _in_each(column, kind.elementType)
    if isinstance(kind, MapType):
        parts = (F.map_keys(column), kind.keyType), (F.map_values(column), kind.valueType)
        return _all(_in_each(items, item) for items, item in parts)
    return None


def _in_each(items: Column, kind: DataType) -> Column | None:
    if has_valid_texts(F.lit(None), kind) is None:
        return None
    return _true_of_null(F.forall(items, lambda item: _certain(has_valid_texts(item, kind))))


def _all(checks: Iterable[Column | None]) -> Column | None:
    known = [check for check in checks if check is not None]
    return functools.reduce(operator.and_, known) if known else None


def _true_of_null(check: Column) -> Column:
    return F.coalesce(check, F.lit(True))


def _certain(check: Column | None) -> Column:
    return F.lit(True) if check is None else check
