"""Measures how many rows a query reads in a second of wall-clock time; pure, with the time as an argument."""

from dataclasses import dataclass, field
from typing import Final


SHORTEST: Final = 10.0
"""Seconds that a rate is an average over, at least; and for which a query that reads nothing more still has it."""
LONGEST: Final = 60.0
"""Seconds for which an idle query still has a rate, at most; and the longest pause that rows are taken to have come in."""


@dataclass
class Meter:
    """Measures the rate of a query from the rows of its reported batches.

    Attributes:
        last: when the last batch with rows was reported, or the query first began (monotonic seconds).
    """

    last: float
    _batches: list[tuple[float, int]] = field(default_factory=list)

    def add(self, now: float, rows: int, seconds: float) -> None:
        """Take a reported batch: its rows, and how many seconds it took."""
        pause = max(now - self.last, 1e-3)
        self._batches.append((min(pause, max(LONGEST, seconds)), rows))
        while sum(pause for pause, _ in self._batches[1:]) >= SHORTEST:
            del self._batches[0]
        self.last = now

    def rate(self, now: float, *, idle: bool) -> float:
        """Rows in a second: those of the last batches, over the time between their reports; 0 once no rows came for
        longer.

        Args:
            now: monotonic seconds.
            idle: whether the query waits for data, rather than that a batch runs.
        """
        if not self._batches:
            return 0.0
        kept = max(SHORTEST, self._batches[-1][0])
        if now - self.last >= (min(kept, LONGEST) if idle else kept):
            return 0.0
        over = max(SHORTEST, sum(pause for pause, _ in self._batches))
        return round(sum(rows for _, rows in self._batches) / over, 1)
