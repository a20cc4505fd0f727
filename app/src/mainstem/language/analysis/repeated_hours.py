"""Time zones that have an hour twice each year: a time there is not exact as text without its offset; pure."""

from datetime import datetime
from typing import Final


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
