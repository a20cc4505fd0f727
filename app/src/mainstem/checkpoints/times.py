"""Times of checkpoints: as text, and the batch of a time."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final


_UNITS: Final = ((86_400, "d"), (3600, "h"), (60, "min"))


def iso(milliseconds: int) -> str | None:
    """A time in UTC; None for 0, which Spark writes if there is no time."""
    if not milliseconds:
        return None
    text = datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(timespec="milliseconds")
    return text.removesuffix("+00:00").removesuffix(".000") + "Z"


def age(seconds: float) -> str:
    """A time span in its largest unit."""
    for length, unit in _UNITS:
        if seconds >= length:
            return f"{int(seconds // length)} {unit}"
    return f"{max(0, int(seconds))} s"


def parsed(text: str) -> int | None:
    """A time of ISO 8601 in milliseconds since 1970, in UTC if it names no zone; None for another text."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return None
    time = time if time.tzinfo else time.replace(tzinfo=UTC)
    return round(time.timestamp() * 1000)


def batch_at(time: int, planned_at: Mapping[int, int]) -> int | None:
    """The newest of some batches that was planned at or before a time; None if all are newer."""
    return max((batch for batch, planned in planned_at.items() if planned <= time), default=None)


def size(count: int) -> str:
    """A number of bytes in its largest unit."""
    value, units = float(count), iter(("B", "KiB", "MiB", "GiB"))
    for unit in units:
        if value < 1024:
            return f"{count} B" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} TiB"
