"""Measures how many rows a query reads in a second of wall-clock time; pure, with the time as an argument."""

from dataclasses import dataclass, field
from typing import Final


SHORTEST: Final = 10.0
"""The shortest time in seconds that a rate averages over; and how long the rate stays once no more rows come."""
LONGEST: Final = 60.0
"""The longest time in seconds that an idle query keeps its rate; and the longest pause that counts for a rate."""


@dataclass
class Meter:
    """Measures the rate of a query from the rows of its reported batches.

    Attributes:
        last: when the last batch with rows was reported, or the query first began (monotonic seconds).
    """

    last: float
    _batches: list[tuple[float, int]] = field(default_factory=list)

    def add(self, now: float, rows: int, seconds: float) -> None:
        """Add a reported batch: its rows, and its seconds."""
        pause = max(now - self.last, 1e-3)
        self._batches.append((min(pause, max(LONGEST, seconds)), rows))
        while sum(pause for pause, _ in self._batches[1:]) >= SHORTEST:
            del self._batches[0]
        self.last = now

    def rate(self, now: float, *, idle: bool) -> float:
        """Rows per second: the rows of the last batches over the time between their reports; 0 after a longer pause.

        Args:
            now: monotonic seconds.
            idle: whether the query waits for data; otherwise a batch runs.
        """
        if not self._batches:
            return 0.0
        kept = max(SHORTEST, self._batches[-1][0])
        if now - self.last >= (min(kept, LONGEST) if idle else kept):
            return 0.0
        over = max(SHORTEST, sum(pause for pause, _ in self._batches))
        return round(sum(rows for _, rows in self._batches) / over, 1)
