"""Converts what Python code returns to the declared type of Spark, or refuses it; pure.

Spark makes NULL of a result of another type than the declared one, also within arrays and structs, without a word:
https://issues.apache.org/jira/browse/SPARK-22966.
"""

from collections.abc import Mapping
from datetime import UTC
from typing import Any

from pyspark.sql import Row
from pyspark.sql.types import ArrayType, DataType, MapType, StructType, TimestampType

from mainstem.dataframes.user_code.result_values import Convert, Misfit, plain, scalar


def converter(kind: DataType, *, nullable: bool = True) -> Convert:
    """The conversion of a result to a type of Spark; it raises `Misfit` for a result that does not fit.

    Args:
        kind: the declared type.
        nullable: whether None is allowed.
    """
    convert = _converter(kind)

    def checked(value: Any) -> Any:
        value = plain(value)
        if value is not None:
            return convert(value)
        if nullable:
            return None
        raise Misfit(value, kind, "it cannot be NULL")

    return checked


def _converter(kind: DataType) -> Convert:
    if isinstance(kind, ArrayType):
        return _array(kind)
    if isinstance(kind, MapType):
        return _map(kind)
    return _struct(kind) if isinstance(kind, StructType) else scalar(kind)


def _array(kind: ArrayType) -> Convert:
    element = converter(kind.elementType, nullable=kind.containsNull)

    def convert(value: Any) -> list[Any]:
        # Arrays of numpy and of Python, and Series of pandas, have no other common form.
        elements = value.tolist() if hasattr(value, "tolist") else value
        if not isinstance(elements, (list, tuple)):
            raise Misfit(value, kind)
        return [_at(f"[{index}]", element, each) for index, each in enumerate(elements)]

    return convert


def _map(kind: MapType) -> Convert:
    key = converter(kind.keyType, nullable=False)
    element = converter(kind.valueType, nullable=kind.valueContainsNull)

    def convert(value: Any) -> dict[Any, Any]:
        if not isinstance(value, Mapping):
            raise Misfit(value, kind)
        entries = {
            _at(".key", key, name): _at(f"[{name!r:.40}]", element, each) for name, each in value.items()
        }
        return entries if len(entries) == len(value) else _equal_keys(value, kind)

    return convert


def _equal_keys(value: Any, kind: DataType) -> Any:
    raise Misfit(value, kind, "two of its keys are equal in this type")


def _struct(kind: StructType) -> Convert:
    names = kind.names
    converters = [(f".{each.name}", converter(each.dataType, nullable=each.nullable)) for each in kind.fields]

    def convert(value: Any) -> Row:
        values = zip(converters, _values(value, names, kind), strict=True)
        row = Row(*[_at(place, convert_field, each) for (place, convert_field), each in values])
        row.__fields__ = names
        return row

    return convert


def _values(value: Any, names: list[str], kind: DataType) -> list[Any]:
    """The values of a struct's fields: by name from a mapping or an object, by position from a list or a tuple.

    A row or a named tuple that has the declared names in another order is read by name.
    """
    if isinstance(value, (tuple, list)):
        own = list(getattr(value, "__fields__", getattr(value, "_fields", ())))
        if len(value) != len(names):
            raise Misfit(value, kind, f"it has {len(value)} values for {len(names)} fields")
        return [value[own.index(name)] for name in names] if sorted(own) == sorted(names) else list(value)
    if isinstance(value, Mapping):
        if unknown := [name for name in value if name not in names]:
            raise Misfit(value, kind, f"there is no field {unknown[0]!r:.60}")
        return [value.get(name) for name in names]
    missing = [name for name in names if not hasattr(value, name)]
    return [getattr(value, name) for name in names] if not missing else _without(value, missing[0], kind)


def _without(value: Any, name: str, kind: DataType) -> Any:
    raise Misfit(value, kind, f"it has no attribute {name!r}")


def _at(place: str, convert: Convert, value: Any) -> Any:
    try:
        return convert(value)
    except Misfit as misfit:
        misfit.places.append(place)
        raise


def row_converter(kind: StructType) -> Convert:
    """As `converter`, for a row that a processor returns; its names must be the declared ones, for Spark reads it by name."""
    convert = converter(kind, nullable=False)

    def checked(row: Any) -> Any:
        own = getattr(row, "__fields__", None)
        if own is not None and sorted(own) != sorted(kind.names):
            raise Misfit(row, kind, f"its fields are {', '.join(own)}")
        return convert(row)

    return checked


def restorer(kind: DataType) -> Convert | None:
    """The reverse for values that Spark has kept in state: it returns a TIMESTAMP as local time, without its zone.

    None if the type has no TIMESTAMP.
    """
    if isinstance(kind, TimestampType):
        return lambda value: value and value.astimezone(UTC)
    if isinstance(kind, ArrayType):
        element = restorer(kind.elementType) or _same
        return None if element is _same else lambda value: value and [element(each) for each in value]
    if isinstance(kind, MapType):
        key, element = restorer(kind.keyType) or _same, restorer(kind.valueType) or _same
        if key is _same and element is _same:
            return None
        return lambda value: value and {key(name): element(each) for name, each in value.items()}
    return _struct_restorer(kind) if isinstance(kind, StructType) else None


def _struct_restorer(kind: StructType) -> Convert | None:
    fields = [restorer(each.dataType) for each in kind.fields]
    if not any(fields):
        return None

    def restore(value: Any) -> Any:
        if value is None:
            return None
        row = Row(*[field(each) if field else each for field, each in zip(fields, value, strict=True)])
        row.__fields__ = kind.names
        return row

    return restore


def _same(value: Any) -> Any:
    return value
