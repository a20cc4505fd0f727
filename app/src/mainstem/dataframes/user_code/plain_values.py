"""Values of Python for those of numpy and pandas, and moments for times without a zone."""

import datetime as dt
import os
from collections.abc import Iterable
from decimal import Decimal
from functools import cache
from types import NoneType
from typing import Any, Final
from zoneinfo import ZoneInfo

from pyspark.sql import Row, types
from pyspark.sql.types import DataType

from mainstem.dataframes.user_code.misfit import Misfit


_PLAIN: Final = frozenset(
    (
        bool,
        int,
        float,
        str,
        bytes,
        NoneType,
        list,
        tuple,
        dict,
        Decimal,
        dt.date,
        dt.datetime,
        dt.timedelta,
        Row,
    )
)
"""Types of almost all results; the function runs for each value."""
_MISSING: Final = ("NAType", "NaTType", "MaskedConstant")


def plain(value: Any) -> Any:
    """The value of Python for a scalar of numpy or pandas; None for a missing value of theirs."""
    if type(value) in _PLAIN:
        return value
    module, name = type(value).__module__, type(value).__name__
    if not module.startswith(("numpy", "pandas")):
        return value
    if name in _MISSING:
        return None
    if module.startswith("numpy") and getattr(value, "ndim", 1) == 0:
        return _numpy_time(value) if value.dtype.kind in "mM" else value.item()
    return _pandas_time(value) if name in ("Timestamp", "Timedelta") else value


def _pandas_time(value: Any) -> Any:
    if hasattr(value, "to_pydatetime"):
        return value.to_pydatetime() if not value.nanosecond else _too_fine(value, types.TimestampType())
    return value.to_pytimedelta() if not value.nanoseconds else _too_fine(value, types.DayTimeIntervalType())


def _numpy_time(value: Any) -> Any:
    if value != value:  # noqa: PLR0124
        return None
    kind = types.TimestampType() if value.dtype.kind == "M" else types.DayTimeIntervalType()
    micros = value.astype("datetime64[us]" if value.dtype.kind == "M" else "timedelta64[us]")
    if micros != value:
        _too_fine(value, kind)
    return micros.item()


def _too_fine(value: Any, kind: DataType) -> Any:
    raise Misfit(value, kind, "it has nanoseconds; round it to microseconds")


def moment(value: dt.datetime) -> dt.datetime:
    """The moment of a time in UTC. Without a zone it is one of the document's zone, in which `fold` decides.

    Spark's own conversion knows one of the two moments of a repeated hour.

    Raises:
        OverflowError: Python has no such time in UTC, on its first and last day.
    """
    if value.tzinfo is not None:
        return value
    return value.replace(tzinfo=local_zone()).astimezone(dt.UTC)


def local_zone() -> dt.tzinfo:
    """The document's zone, in which workers of a run have their local time."""
    return _zone(os.environ.get("TZ", ""))


@cache
def _zone(name: str) -> dt.tzinfo:
    return ZoneInfo(name) if name else dt.UTC


def named_row(names: list[str], values: Iterable[Any]) -> Row:
    """A row with these fields, in their order."""
    row = Row(*values)
    row.__fields__ = names
    return row
