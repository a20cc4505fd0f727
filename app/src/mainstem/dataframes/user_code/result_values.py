"""Converts single values that Python code returns to a declared type of Spark, or refuses them; pure.

A value is converted if that loses nothing.
"""

import datetime as dt
import struct
from collections.abc import Callable, Mapping
from decimal import Context, Decimal, InvalidOperation
from typing import Any, Final

from pyspark.sql import types
from pyspark.sql.types import DataType


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
_LONGEST: Final = 60
_ROUNDED: Final = "its digits do not fit; round it, or declare another type"


class Misfit(TypeError):
    """A value does not fit its declared type.

    Attributes:
        places: the fields and indices that lead to the value within the result, the innermost first.
    """

    def __init__(self, value: Any, kind: DataType, why: str = "") -> None:
        super().__init__()
        self.places: list[str] = []
        self._value, self._kind, self._why = value, kind, why

    def __str__(self) -> str:
        place = "".join(reversed(self.places)).lstrip(".")
        shown = repr(self._value)
        shown = shown if len(shown) <= _LONGEST else f"{shown[: _LONGEST - 3]}..."
        declared = f"{place} is declared as" if place else "the result is declared as"
        message = (
            f"{declared} {self._kind.simpleString().upper()}, but is {shown} ({type(self._value).__name__})"
        )
        return f"{message}: {self._why}" if self._why else message


def scalar(kind: DataType) -> Convert:
    """The conversion to a type without elements. Values of types that are not known here stay as they are."""
    if bits := _BITS.get(type(kind)):
        return _whole(kind, 2 ** (bits - 1))
    make = _SCALARS.get(type(kind))
    return make(kind) if make else lambda value: value


def plain(value: Any) -> Any:
    """The value of Python for a scalar of numpy or pandas; None for a missing value of pandas."""
    module, name = type(value).__module__, type(value).__name__
    if module.startswith("numpy") and getattr(value, "ndim", 1) == 0:
        return _numpy_time(value) if value.dtype.kind in "mM" else value.item()
    if not module.startswith("pandas"):
        return value
    if name in ("NAType", "NaTType"):
        return None
    if name == "Timestamp":
        return value.to_pydatetime() if not value.nanosecond else _too_fine(value, types.TimestampType())
    if name == "Timedelta":
        return (
            value.to_pytimedelta() if not value.nanoseconds else _too_fine(value, types.DayTimeIntervalType())
        )
    return value


def _numpy_time(value: Any) -> Any:
    if value != value:  # noqa: PLR0124
        return None
    moment = value.dtype.kind == "M"
    micros = value.astype("datetime64[us]" if moment else "timedelta64[us]")
    if micros != value:
        _too_fine(value, types.TimestampType() if moment else types.DayTimeIntervalType())
    return micros.item()


def _too_fine(value: Any, kind: DataType) -> Any:
    raise Misfit(value, kind, "it has nanoseconds; round it to microseconds")


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
        if isinstance(value, int) and rounded != value:
            raise Misfit(value, kind, _ROUNDED)
        return number

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
        text = value if isinstance(value, str) else _text(value, kind)
        if most is not None and len(text) > most:
            raise Misfit(value, kind, f"it has {len(text)} characters")
        return text

    return convert


def _text(value: Any, kind: DataType) -> str:
    """The text of a number that has only one, as CAST writes it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value)
    if isinstance(value, Decimal) and value.is_finite():
        return format(value, "f")
    raise Misfit(value, kind, "convert it to a str")


def _binary(kind: DataType) -> Convert:
    return lambda value: (
        bytes(value) if isinstance(value, (bytes, bytearray, memoryview)) else _refuse(value, kind)
    )


def _date(kind: DataType) -> Convert:
    def convert(value: Any) -> dt.date:
        if not isinstance(value, dt.date):
            raise Misfit(value, kind)
        if not isinstance(value, dt.datetime):
            return value
        return value.date() if value.time() == dt.time() else _refuse(value, kind, "it would lose its time")

    return convert


def _timestamp(kind: DataType) -> Convert:
    """The moment. Without a zone it is a time of `timeZone`, which is the local time of the process.

    Spark's own conversion knows one of the two moments in a repeated hour; here `fold` decides.
    """

    def convert(value: Any) -> dt.datetime:
        if not isinstance(value, dt.datetime):
            raise Misfit(value, kind)
        try:
            return value if value.tzinfo else value.astimezone(dt.UTC)
        except (OverflowError, ValueError):  # the first and the last day that Python has
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
