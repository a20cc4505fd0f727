"""Gives times that Spark has kept in state their zone back; pure."""

import datetime as dt
from typing import Any

from pyspark.sql.types import ArrayType, DataType, MapType, StructType, TimestampType

from mainstem.dataframes.user_code.plain_values import local_zone, moment, named_row
from mainstem.dataframes.user_code.result_values import Convert


def restorer(kind: DataType) -> Convert | None:
    """Returns a function of a value from state, of which Spark returns a TIMESTAMP as local time without its zone.

    None if the type has no TIMESTAMP.
    """
    if isinstance(kind, TimestampType):
        return lambda value: value and _restored(value)
    if isinstance(kind, ArrayType):
        element = restorer(kind.elementType) or _same
        return None if element is _same else lambda value: value and [element(each) for each in value]
    if isinstance(kind, MapType):
        key, element = restorer(kind.keyType) or _same, restorer(kind.valueType) or _same
        if key is _same and element is _same:
            return None
        return lambda value: value and {key(name): element(each) for name, each in value.items()}
    return _struct_restorer(kind) if isinstance(kind, StructType) else None


def _restored(value: dt.datetime) -> dt.datetime:
    try:
        return moment(value)
    except OverflowError:
        return value.replace(tzinfo=local_zone())


def _struct_restorer(kind: StructType) -> Convert | None:
    fields = [restorer(each.dataType) for each in kind.fields]
    if not any(fields):
        return None

    def restore(value: Any) -> Any:
        if value is None:
            return None
        values = zip(fields, value, strict=True)
        return named_row(kind.names, [field(each) if field else each for field, each in values])

    return restore


def _same(value: Any) -> Any:
    return value
