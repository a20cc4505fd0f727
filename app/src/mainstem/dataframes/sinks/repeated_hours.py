"""Time zones that have an hour twice each year: a time there is not exact as text without its offset; pure."""

from datetime import datetime
from typing import Final

from pyspark.sql.types import ArrayType, DataType, MapType, StructType, TimestampType


_FUTURE_YEAR: Final = 2037
"""The last year for which every copy of the time zone database has explicit entries."""


def repeats_hours(time_zone: str) -> bool:
    """Whether the zone sets its clocks back each year; an offset such as `+02:00` does not."""
    if time_zone == "UTC":
        return False
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError  # reads the time zone database

    try:
        zone = ZoneInfo(time_zone)
    except (ZoneInfoNotFoundError, ValueError):
        return False
    return len({datetime(_FUTURE_YEAR, month, 1, tzinfo=zone).utcoffset() for month in range(1, 13)}) > 1


def has_timestamp(kind: DataType) -> bool:
    """Whether the type is TIMESTAMP, or has a part that is."""
    if isinstance(kind, StructType):
        return any(has_timestamp(field.dataType) for field in kind)
    if isinstance(kind, ArrayType):
        return has_timestamp(kind.elementType)
    if isinstance(kind, MapType):
        return has_timestamp(kind.keyType) or has_timestamp(kind.valueType)
    return isinstance(kind, TimestampType)
