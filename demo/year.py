"""The data of the page, read from the lake: mean delays by day and origin, by airline, and by hour."""

import datetime
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import lake


@dataclass(frozen=True)
class Day:
    """Departures of one UTC day, from one airport or from all three."""

    day: datetime.date
    flights: int
    never_left: int
    delay: float | None
    """Mean delay of the flights that left, in minutes; None if no flight left."""

    @property
    def left(self) -> int:
        """Flights that left."""
        return self.flights - self.never_left


@dataclass(frozen=True)
class Group:
    """Departures that have an airline, or an hour, in common."""

    label: str
    flights: int
    delay: float


@dataclass(frozen=True)
class Year:
    """The data of the page."""

    origins: dict[str, list[Day]]
    airlines: list[Group]
    hours: list[Group]
    """By scheduled hour, local time, in order."""

    @property
    def days(self) -> list[Day]:
        """The days of the year, over all airports."""
        days: dict[datetime.date, list[Day]] = {}
        for parts in self.origins.values():
            for part in parts:
                days.setdefault(part.day, []).append(part)
        return [together(day, days[day]) for day in sorted(days)]


def together(day: datetime.date, parts: Iterable[Day]) -> Day:
    """Several counts as one; the weights of the mean are the numbers of flights that left."""
    parts = list(parts)
    left = sum(part.left for part in parts)
    minutes = sum((part.delay or 0.0) * part.left for part in parts)
    return Day(
        day,
        flights=sum(part.flights for part in parts),
        never_left=sum(part.never_left for part in parts),
        delay=minutes / left if left else None,
    )


def read(folder: Path) -> Year:
    """Days from the table `delays`, airlines and hours from the archive."""
    origins: dict[str, list[Day]] = {}
    for row in sorted(lake.read_delta(folder / "delays").to_pylist(), key=lambda row: row["day"]):
        day = Day(row["day"], row["flights"], row["without_delay"], row["delay"])
        origins.setdefault(row["origin"], []).append(day)
    return Year(
        origins={name: origins[name] for name in sorted(origins)},
        airlines=sorted(_groups(folder, "airline"), key=lambda group: group.delay),
        hours=sorted(_groups(folder, "hour"), key=lambda group: int(group.label)),
    )


def _groups(folder: Path, column: str) -> list[Group]:
    """Flights that left and their mean delay, for each value of a column of the archive."""
    archive = lake.read_parquet(folder / "archive", [column, "dep_delay"])
    counts = archive.group_by(column).aggregate([("dep_delay", "count"), ("dep_delay", "mean")]).to_pylist()
    return [
        Group(str(row[column]), row["dep_delay_count"], row["dep_delay_mean"])
        for row in counts
        if row["dep_delay_count"]
    ]
