"""Converts what Python code returns to the declared type of Spark, or refuses it; pure.

Spark makes NULL of a result of another type than the declared one, also within arrays and structs, without a word:
https://issues.apache.org/jira/browse/SPARK-22966.
"""

from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, cast

from pyspark.sql import Row
from pyspark.sql.types import ArrayType, DataType, MapType, StructType

from mainstem.dataframes.user_code.misfit import Misfit, shown
from mainstem.dataframes.user_code.plain_values import named_row, plain
from mainstem.dataframes.user_code.result_values import Convert, scalar


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
        converted: list[Any] = []
        try:
            for each in _elements(value, kind):
                converted.append(element(each))  # noqa: PERF401 -- their number is the place of the misfit
        except Misfit as misfit:
            raise misfit.at(f"[{len(converted)}]") from None
        return converted

    return convert


def _elements(value: Any, kind: DataType) -> Iterable[Any]:
    if isinstance(value, (list, tuple, set, frozenset, range)):
        return value
    # Arrays of numpy and of Python, and Series of pandas. numpy lists its finest times as numbers.
    if not hasattr(value, "tolist"):
        raise Misfit(value, kind)
    times = getattr(getattr(value, "dtype", None), "kind", "") in tuple("mM")
    return list(value) if times else cast("Iterable[Any]", value.tolist())


def _map(kind: MapType) -> Convert:
    key = converter(kind.keyType, nullable=False)
    element = converter(kind.valueType, nullable=kind.valueContainsNull)

    def convert(value: Any) -> dict[Any, Any]:
        given, converted = _pairs(value, kind), dict[Any, Any]()
        for name, each in given:
            own, its_value = _converted(".key", key, name), _converted(name, element, each)
            try:
                converted[own] = its_value
            except TypeError:  # a list within the key
                raise Misfit(value, kind, "Python has no mapping with such keys") from None
        if len(converted) < len(given):
            raise Misfit(value, kind, "two of its keys are equal in this type")
        return converted

    return convert


def _pairs(value: Any, kind: DataType) -> list[tuple[Any, Any]]:
    if isinstance(value, Mapping):
        return list(value.items())
    if isinstance(value, list) and all(isinstance(each, tuple) and len(each) == 2 for each in value):
        return value
    raise Misfit(value, kind)


def _struct(kind: StructType) -> Convert:
    names = kind.names
    converters = [converter(each.dataType, nullable=each.nullable) for each in kind.fields]

    def convert(value: Any) -> Row:
        converted: list[Any] = []
        try:
            for convert_field, each in zip(converters, _values(value, names, kind), strict=True):
                converted.append(convert_field(each))
        except Misfit as misfit:
            raise misfit.at(f".{names[len(converted)]}") from None
        return named_row(names, converted)

    return convert


def _values(value: Any, names: list[str], kind: DataType) -> list[Any]:
    """The values of a struct's fields: by position from a list or a tuple, by name from a mapping or an object."""
    if isinstance(value, (tuple, list)):
        if len(value) != len(names):
            raise Misfit(value, kind, f"it has {len(value)} values for {len(names)} fields")
        declared = [name.lower() for name in names]
        for place, name in enumerate(getattr(value, "__fields__", getattr(value, "_fields", ()))):
            # Spark goes by position, so a declared name at another place is a mistake.
            if name.lower() in declared and declared[place] != name.lower():
                raise Misfit(value, kind, f"it has the field {name} at another place than declared")
        return list(value)
    given = _attributes(value, kind)
    missing = [name for name in names if name not in given]
    cases = {str(name).lower() for name in given} if missing else ()
    if (
        missing
        and (given or not isinstance(value, Mapping))
        and (len(missing) == len(names) or any(name.lower() in cases for name in missing))
    ):
        raise Misfit(value, kind, f"it has no {missing[0]!r}")
    return [given.get(name) for name in names]


def _attributes(value: Any, kind: DataType) -> Mapping[Any, Any]:
    """The fields of a mapping, of a Series of pandas, or of an object."""
    if isinstance(value, Mapping):
        return value
    module = type(value).__module__
    if module.startswith("pandas") and hasattr(value, "to_dict") and getattr(value, "ndim", 0) == 1:
        return cast("Mapping[Any, Any]", value.to_dict())
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: getattr(value, each.name) for each in fields(value)}
    if module.startswith(("numpy", "pandas")) or not hasattr(value, "__dict__"):
        raise Misfit(value, kind)
    return cast("Mapping[Any, Any]", vars(value))


def _converted(name: Any, convert: Convert, value: Any) -> Any:
    """A key or a value of a mapping."""
    try:
        return convert(value)
    except Misfit as misfit:
        raise misfit.at(name if name == ".key" else f"[{shown(name)}]") from None


def row_converter(kind: StructType) -> Convert:
    """As `converter`, for a row that a processor returns: Spark reads it by name, and its names must be the declared ones."""
    convert = converter(kind, nullable=False)

    def checked(row: Any) -> Any:
        own = getattr(row, "__fields__", None)
        if own is None:
            return convert(row)
        if sorted(own) != sorted(kind.names):
            raise Misfit(row, kind, f"its fields are {', '.join(own)}")
        return convert([row[name] for name in kind.names])

    return checked
