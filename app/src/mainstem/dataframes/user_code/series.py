"""Converts results of vectorized functions to their declared types, or refuses them; pure."""

import datetime as dt
from collections.abc import Callable, Mapping
from typing import Any, Final

from pyspark.sql import types
from pyspark.sql.types import DataType, StructType

from mainstem.dataframes.user_code.misfit import Misfit
from mainstem.dataframes.user_code.plain_values import local_zone, plain
from mainstem.dataframes.user_code.result_values import Convert
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
_MOMENTS: Final = "datetime64[us, UTC]"
"""Of all columns of moments, for Spark joins the DataFrames of several keys, and takes a mixture for UTC."""


def series_converter(kind: DataType, *, nullable: bool = True) -> Convert:
    """The conversion of a Series, or of a DataFrame for a struct; it raises `Misfit` if a value does not fit.

    Spark judges the shape of a result that is neither.
    """
    if not isinstance(kind, StructType):
        return _series_converter(kind, nullable=nullable)
    columns = {each.name: _series_converter(each.dataType, nullable=each.nullable) for each in kind.fields}
    of_series = _series_converter(kind, nullable=nullable)
    return lambda result: _frame(result, columns) if hasattr(result, "columns") else of_series(result)


def aggregate_converter(kind: DataType) -> Convert:
    """The conversion of the one value for a group, which Spark puts into a Series; a NaN is missing there."""
    return _value_converter(kind, nullable=True)


def _value_converter(kind: DataType, *, nullable: bool) -> Convert:
    """The conversion of a value in a Series: pandas has a NaN for a missing value in columns of numbers and objects."""
    convert, floats = converter(kind, nullable=nullable), isinstance(kind, _FLOATS)

    def converted(value: Any) -> Any:
        # Spark makes NULL of a NaN in a Series, also in one of DOUBLE.
        missing = isinstance(value, float) and value != value and not (floats and nullable)  # noqa: PLR0124
        return convert(None if missing else value)

    return converted


def _series_converter(kind: DataType, *, nullable: bool) -> Convert:
    convert, safe = _value_converter(kind, nullable=nullable), _SAFE.get(type(kind), ())
    moments = isinstance(kind, types.TimestampType)

    def converted(series: Any) -> Any:
        if not (hasattr(series, "dtype") and hasattr(series, "index")):
            return series
        if str(series.dtype) in safe and (nullable or not series.isna().any()):
            return series
        if moments and (whole := _moments(series)) is not None and (nullable or not whole.isna().any()):
            return whole
        values = [convert(each) for each in series]
        if moments:
            _check_clocks(series, kind)
            return type(series)(values, index=series.index, dtype=_MOMENTS, name=series.name)
        if series.dtype.kind in "mM" and isinstance(
            kind, (types.TimestampNTZType, types.DayTimeIntervalType)
        ):
            return series
        return type(series)(values, index=series.index, dtype="object", name=series.name)

    return converted


def _moments(series: Any) -> Any | None:
    """A whole column of times as moments; None if a value is not certain to be right, or the column has other values."""
    if not str(series.dtype).startswith("datetime64["):
        return None
    known = series.notna()
    try:
        if series.dt.tz is None:
            series = series.dt.tz_localize(local_zone(), ambiguous="NaT", nonexistent="NaT")
        utc = series.dt.tz_convert(dt.UTC)
        micros = utc.dt.as_unit("us")
    except (ValueError, OverflowError):  # beyond the years of pandas
        return None
    certain = utc.notna().eq(known).all() and micros[known].eq(utc[known]).all()
    return micros.astype(_MOMENTS) if certain else None


def _check_clocks(series: Any, kind: DataType) -> None:
    """Refuse times that the clocks show twice or never: a Series without zone does not tell the moments apart."""
    zone = local_zone()
    if series.dtype.kind != "M" or zone is dt.UTC:
        return
    for each in map(plain, series):
        if each is None or each.tzinfo is not None:
            continue
        if each.replace(tzinfo=zone).utcoffset() != each.replace(tzinfo=zone, fold=1).utcoffset():
            why = "the clocks of timeZone show it twice or never; return it with its time zone"
            raise Misfit(each, kind, why)


def _frame(frame: Any, columns: Mapping[str, Callable[[Any], Any]]) -> Any:
    """The frame with converted columns: by name, or by position if no column has a text as its name, as Spark does.

    Spark judges the names and the number of the columns.
    """
    converted = frame.copy(deep=False)
    by_name = any(isinstance(label, str) for label in frame.columns)
    labels = list(columns) if by_name else list(frame.columns)
    for label, (name, convert) in zip(labels, columns.items(), strict=False):
        if label in frame.columns:
            try:
                converted[label] = convert(frame[label])
            except Misfit as misfit:
                raise misfit.at(f".{name}") from None
    return converted
