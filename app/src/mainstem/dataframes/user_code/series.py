"""Converts results of vectorized functions to their declared types, or refuses them; pure."""

import datetime as dt
from collections.abc import Callable, Mapping
from typing import Any, Final

from pyspark.sql import types
from pyspark.sql.types import DataType, StructType

from mainstem.dataframes.user_code.result_values import Misfit, plain
from mainstem.dataframes.user_code.results import converter


_WHOLE: Final = ("int8", "int16", "int32", "int64")
_SAFE: Final[Mapping[type[DataType], tuple[str, ...]]] = {
    types.BooleanType: ("bool",),
    types.ByteType: _WHOLE[:1],
    types.ShortType: _WHOLE[:2],
    types.IntegerType: _WHOLE[:3],
    types.LongType: _WHOLE,
    types.FloatType: ("float32",),
    types.DoubleType: ("float64", "float32"),
}
"""Type of Spark -> types of pandas whose every value fits; a NaN is missing, as pandas has it."""
_FLOATS: Final = (types.FloatType, types.DoubleType)


def series_converter(kind: DataType) -> Callable[[Any], Any]:
    """The conversion of a Series, or of a DataFrame for a struct; it raises `Misfit` if a value does not fit.

    Spark judges the shape of a result that is neither.
    """
    if isinstance(kind, StructType):
        columns = {each.name: series_converter(each.dataType) for each in kind.fields}
        of_series = _series_converter(kind)
        return lambda result: _frame(result, columns) if hasattr(result, "columns") else of_series(result)
    return _series_converter(kind)


def _series_converter(kind: DataType) -> Callable[[Any], Any]:
    convert, safe = converter(kind), _SAFE.get(type(kind), ())
    floats = isinstance(kind, _FLOATS)

    def converted(series: Any) -> Any:
        if not hasattr(series, "dtype") or str(series.dtype) in safe:
            return series
        if series.dtype.kind in "mM":
            return _times(series, kind, convert)
        values = [None if not floats and _missing(each) else convert(each) for each in series]
        return type(series)(values, index=series.index, dtype="object", name=series.name)

    return converted


def _missing(value: Any) -> bool:
    """Whether pandas has a missing value here: in a column of numbers and objects it is a NaN."""
    return isinstance(value, float) and value != value  # noqa: PLR0124


def _times(series: Any, kind: DataType, convert: Callable[[Any], Any]) -> Any:
    """Times, of which Spark itself converts a whole column; each value is checked first."""
    values = [convert(each) for each in series]
    if isinstance(kind, types.TimestampType) and getattr(series.dtype, "tz", None) is None:
        for each in map(plain, series):
            _check_clock(each, kind)
    if isinstance(kind, (types.TimestampType, types.TimestampNTZType, types.DayTimeIntervalType)):
        return series
    return type(series)(values, index=series.index, dtype="object", name=series.name)


def _check_clock(value: dt.datetime | None, kind: DataType) -> None:
    """Refuse a time that the clocks show twice or never: in a Series without zone it is the one or the other moment."""
    if value and value.astimezone(dt.UTC) != value.replace(fold=1).astimezone(dt.UTC):
        raise Misfit(
            value, kind, "the clocks of timeZone show it twice or never; return it with its time zone"
        )


def _frame(frame: Any, columns: Mapping[str, Callable[[Any], Any]]) -> Any:
    """The columns with their declared names; Spark judges the names of the others."""
    converted = frame.copy(deep=False)
    for name, convert in columns.items():
        if name in frame.columns:
            try:
                converted[name] = convert(frame[name])
            except Misfit as misfit:
                misfit.places.append(f".{name}")
                raise
    return converted
