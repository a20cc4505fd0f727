"""Estimates from a query's status how many records it reads after a change, and how long that takes; pure.

What the status does not have stays unknown: there is no default for a rate, and none for a source without offsets.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from mainstem.changes.consequences import Consequence
from mainstem.language.analysis.graph import Graph
from mainstem.language.model.queries import Query
from mainstem.language.model.sources import Source


_CURRENT_SECONDS: Final = 10
"""A query counts as current if it can read its lag in so many seconds. Only then its input rate is the rate of arrival."""
_UNITS: Final = ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second"))
Status = Mapping[str, Any]
"""An entry of `status.queries` of a resource."""


@dataclass(frozen=True)
class Estimate:
    """What a query has to read until it is current again.

    Attributes:
        records: records to read; None if nothing is known about them. Counted by offsets, so transactions and compaction
            make it too large.
        again: whether the query has read most of them before: it starts with an empty checkpoint.
        skipping: sources that start at their newest record, so the query skips what arrives before it starts.
        unknown: sources about whose records nothing is known; `records` does not count them.
        speed: records per second of the query's last batch with data; None if unknown.
        arriving: records that arrive per second; None if unknown.
    """

    records: int | None
    again: bool
    skipping: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    speed: int | None = None
    arriving: int | None = None

    @property
    def seconds(self) -> int | None:
        """Seconds until the query is current; None if that is unknown, or if records arrive as fast as it reads them."""
        if self.records is None or not self.speed or self.unknown:
            return None
        gain = self.speed - (self.arriving or 0)
        return -(-self.records // gain) if gain > 0 else None

    def words(self) -> str:
        """The estimate as the end of a sentence about the query; empty if nothing is known."""
        parts = []
        if self.records is not None and (self.records or self.again):
            least = "at least " if self.unknown else ""
            verb = "reads" if self.again else "has to read"
            parts.append(f"{verb} {least}{_number(self.records)} records{' again' if self.again else ''}")
            parts += self._time()
        if self.skipping:
            parts.append(f"skips the records of {', '.join(self.skipping)} that arrive before it starts")
        return ", ".join(parts)

    def _time(self) -> list[str]:
        if not self.speed or not self.records or self.unknown:
            return []
        while_arriving = f" while {_number(self.arriving)}/s arrive" if self.arriving else ""
        if self.seconds is None:
            return [f"without an end at {_number(self.speed)} records/s{while_arriving}"]
        bound = "about" if self.arriving is not None else "at least"
        return [f"{bound} {_duration(self.seconds)} at {_number(self.speed)} records/s{while_arriving}"]

    def json(self) -> dict[str, Any]:
        """The estimate for a program; an unknown number is null."""
        return {
            "records": self.records,
            "again": self.again,
            "skippingSources": list(self.skipping),
            "unknownSources": list(self.unknown),
            "recordsPerSecond": self.speed,
            "arrivingPerSecond": self.arriving,
            "seconds": self.seconds,
        }


def estimate(consequence: Consequence, status: Status | None, wanted: Graph, query: str) -> Estimate | None:
    """The estimate for a query that a change restarts; None for another one, and without a status.

    Args:
        consequence: what the query does.
        status: its entry of the status before the change; None if there is none.
        wanted: the new document.
        query: its name.
    """
    model = next((each for each in wanted.spec.queries if each.name == query), None)
    if model is None or model.suspend or status is None or consequence.refused:
        return None
    if consequence.outcome.begins:
        return empty_start(status, wanted, model)
    return restart(status) if consequence.restarts else None


def empty_start(status: Status, wanted: Graph, query: Query) -> Estimate:
    """The estimate for a query that starts with an empty checkpoint."""
    sources = {source.name: source for source in wanted.sources_of(query.from_) if source.streaming}
    progress = {each["name"]: each for each in status.get("sources", ())}
    occurrences = {name: _source(name, sources) for name in progress}
    missing = [name for name in sources if name not in {each.name for each in occurrences.values() if each}]
    skipping, unknown, records = [], missing, []
    for name, source in occurrences.items():
        if source is None:
            continue
        retained = progress[name].get("retainedRecords")
        if source.connector.starts_at_newest:
            skipping.append(name)
        elif _starts_at_oldest(source) and retained is not None:
            records.append(int(retained))
        else:
            unknown.append(name)
    total = sum(records) if records or not unknown else None
    return Estimate(total, True, tuple(skipping), tuple(unknown), *_rates(status))


def restart(status: Status) -> Estimate:
    """The estimate for a query that continues from its checkpoint: it has to read its lag."""
    progress: Sequence[Status] = status.get("sources", ())
    unknown = tuple(each["name"] for each in progress if each.get("lag") is None)
    return Estimate(status.get("lag"), False, (), unknown, *_rates(status))


def _rates(status: Status) -> tuple[int | None, int | None]:
    """The speed of the last batch with data, and the rate of arrival."""
    speed: int | None = status.get("processedRowsPerSecond") or None
    read: int | None = status.get("rowsPerSecond")
    lag: int | None = status.get("lag")
    current = speed is not None and lag is not None and lag <= _CURRENT_SECONDS * speed
    return speed, read if current else None


def _source(occurrence: str, sources: Mapping[str, Source]) -> Source | None:
    """The source of an occurrence: `orders_2` is the second one of `orders`."""
    return sources.get(occurrence) or sources.get(re.sub(r"_\d+$", "", occurrence))


def _starts_at_oldest(source: Source) -> bool:
    return source.kafka is not None and (source.kafka.starting_offsets or "").strip().lower() == "earliest"


def _number(number: int) -> str:
    if number >= 999_950:
        millions = number / 1_000_000
        return f"{millions:,.1f} million"
    return f"{number:,}"


def _duration(seconds: int) -> str:
    """A duration in its largest unit.

    >>> _duration(240), _duration(5400), _duration(1)
    ('4 minutes', '90 minutes', '1 second')
    """
    size, unit = next(((size, unit) for size, unit in _UNITS if seconds >= 2 * size), _UNITS[-1])
    count = round(seconds / size)
    return f"{count} {unit}{'' if count == 1 else 's'}"
