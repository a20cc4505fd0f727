"""Converts single values that Python code returns to a declared type of Spark, or refuses them; pure.

A value is converted if that loses nothing.
"""

import datetime as dt
import math
import struct
from collections.abc import Callable, Mapping
from decimal import Context, Decimal, InvalidOperation
from typing import Any, Final

from pyspark.sql import types
from pyspark.sql.types import DataType

from mainstem.dataframes.user_code.misfit import Misfit
from mainstem.dataframes.user_code.plain_values import moment


Convert = Callable[[Any], Any]
"""Returns the value that Spark gets for a value that is not None; raises `Misfit`."""
_BITS: Final[Mapping[type[DataType], int]] = {
    types.ByteType: 8,
    types.ShortType: 16,
    types.IntegerType: 32,
    types.LongType: 64,
}
_DIGITS: Final = Context(prec=80)
"""More digits than DECIMAL has, so that no step of a conversion rounds."""
_LARGEST: Final = 2**64
_ROUNDED: Final = "its digits do not fit; round it, or declare another type"


def scalar(kind: DataType) -> Convert:
    """The conversion to a type without elements. Values of types that are not known here stay as they are."""
    if bits := _BITS.get(type(kind)):
        return _whole(kind, 2 ** (bits - 1))
    make = _SCALARS.get(type(kind))
    return make(kind) if make else lambda value: value


def _refuse(value: Any, kind: DataType, why: str = "") -> Any:
    raise Misfit(value, kind, why)


def _whole(kind: DataType, end: int) -> Convert:
    def convert(value: Any) -> int:
        number = value if type(value) is int else _integral(value, kind)
        return number if -end <= number < end else _refuse(value, kind, "it is out of range")

    return convert


def _integral(value: Any, kind: DataType) -> int:
    if isinstance(value, int):  # also bool
        return int(value)
    if isinstance(value, Decimal):
        # A short Decimal such as 1E+999999 has a long whole number.
        small = value.is_finite() and abs(value) < _LARGEST
    elif isinstance(value, float):
        small = abs(value) < _LARGEST
    else:
        raise Misfit(value, kind)
    if not small:
        raise Misfit(value, kind, "it is out of range")
    return int(value) if value == int(value) else _refuse(value, kind, _ROUNDED)


def _boolean(kind: DataType) -> Convert:
    return lambda value: value if isinstance(value, bool) else _refuse(value, kind)


def _double(kind: DataType) -> Convert:
    def convert(value: Any) -> float:
        if isinstance(value, float):
            return float(value)
        if not isinstance(value, (int, Decimal)):
            raise Misfit(value, kind)
        try:
            number = float(value)
        except (OverflowError, ValueError):  # a signalling NaN
            raise Misfit(value, kind, "it is out of range") from None
        # Of a Decimal the digits count: 0.1 is the double that Python shows as 0.1.
        same = number == value or (isinstance(value, Decimal) and Decimal(repr(number)) == value)
        return number if same or number != number else _refuse(value, kind, _ROUNDED)  # noqa: PLR0124

    return convert


def _float(kind: DataType) -> Convert:
    """Python has no type for FLOAT, so its floats are rounded, as those of a column of DOUBLE in a CAST."""
    double = _double(kind)

    def convert(value: Any) -> float:
        number: float = double(value)
        try:
            rounded: float = struct.unpack("<f", struct.pack("<f", number))[0]
        except OverflowError:
            raise Misfit(value, kind, "it is out of range") from None
        # The digits of a Decimal count, as for DOUBLE; FLOAT keeps six to nine.
        digits = (Decimal(f"{rounded:.{count}g}") for count in range(6, 10))
        same = (
            isinstance(value, float) or rounded == value or (isinstance(value, Decimal) and value in digits)
        )
        return number if same or number != number else _refuse(value, kind, _ROUNDED)  # noqa: PLR0124

    return convert


def _decimal(kind: Any) -> Convert:
    step, end = Decimal(1).scaleb(-kind.scale), Decimal(1).scaleb(kind.precision - kind.scale)

    def convert(value: Any) -> Decimal:
        if not isinstance(value, (int, float, Decimal)):
            raise Misfit(value, kind)
        number = Decimal(repr(float(value)) if isinstance(value, float) else value)
        if not number.is_finite() or number.copy_abs() >= end:
            raise Misfit(value, kind, "it is out of range")
        try:
            fitted = number.quantize(step, context=_DIGITS)
        except InvalidOperation:  # more digits than the context has
            raise Misfit(value, kind, _ROUNDED) from None
        return fitted if fitted == number else _refuse(value, kind, _ROUNDED)

    return convert


def _string(kind: Any) -> Convert:
    most = getattr(kind, "length", None)

    def convert(value: Any) -> str:
        # A text of a class of its own, such as an enumeration, may show itself in another way.
        text = str.__str__(value) if isinstance(value, str) else _text(value, kind)
        if most is not None and len(text) > most:
            raise Misfit(value, kind, f"it has {len(text)} characters")
        return text

    return convert


def _text(value: Any, kind: DataType) -> str:
    """The text of a boolean or a number, as CAST writes it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value)
    if isinstance(value, Decimal) and value.is_finite():
        return format(value, "f")
    return (
        _float_text(float(value)) if isinstance(value, float) else _refuse(value, kind, "convert it to a str")
    )


def _float_text(number: float) -> str:
    """The text of a DOUBLE: without an exponent from a thousandth to ten millions, and then as 1.0E7."""
    if not math.isfinite(number):
        return "NaN" if math.isnan(number) else f"{'-' * (number < 0)}Infinity"
    if number == 0 or 1e-3 <= abs(number) < 1e7:
        return repr(number) if "e" not in repr(number) else format(Decimal(repr(number)), "f")
    sign, digits, exponent = Decimal(repr(number)).normalize().as_tuple()
    first, *rest = map(str, digits)
    return f"{'-' * sign}{first}.{''.join(rest) or '0'}E{int(exponent) + len(rest)}"


def _binary(kind: DataType) -> Convert:
    def convert(value: Any) -> bytes:
        if isinstance(value, str):
            return value.encode()
        return bytes(value) if isinstance(value, (bytes, bytearray, memoryview)) else _refuse(value, kind)

    return convert


def _date(kind: DataType) -> Convert:
    def convert(value: Any) -> dt.date:
        if not isinstance(value, dt.date):
            raise Misfit(value, kind)
        if not isinstance(value, dt.datetime):
            return value
        return value.date() if value.time() == dt.time() else _refuse(value, kind, "it would lose its time")

    return convert


def _timestamp(kind: DataType) -> Convert:
    def convert(value: Any) -> dt.datetime:
        if not isinstance(value, dt.datetime):
            raise Misfit(value, kind)
        try:
            return moment(value)
        except OverflowError:
            raise Misfit(value, kind, "it is out of range") from None

    return convert


def _local_timestamp(kind: DataType) -> Convert:
    def convert(value: Any) -> dt.datetime:
        if not isinstance(value, dt.datetime):
            raise Misfit(value, kind)
        return value if value.tzinfo is None else _refuse(value, kind, "it would lose its time zone")

    return convert


def _interval(kind: DataType) -> Convert:
    return lambda value: value if isinstance(value, dt.timedelta) else _refuse(value, kind)


_SCALARS: Final[Mapping[type[DataType], Callable[[Any], Convert]]] = {
    types.BooleanType: _boolean,
    types.FloatType: _float,
    types.DoubleType: _double,
    types.DecimalType: _decimal,
    types.StringType: _string,
    types.CharType: _string,
    types.VarcharType: _string,
    types.BinaryType: _binary,
    types.DateType: _date,
    types.TimestampType: _timestamp,
    types.TimestampNTZType: _local_timestamp,
    types.DayTimeIntervalType: _interval,
}
