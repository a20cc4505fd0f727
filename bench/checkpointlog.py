"""The times at which the batches of a query began and ended, from its checkpoint. Works for Mainstem and for plain Spark."""

import re
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path


@dataclass(frozen=True)
class Batch:
    """One committed batch: its number, when it was planned and when it was committed, in seconds of the clock."""

    number: int
    planned: float
    committed: float


def batches(checkpoint: Path) -> list[Batch]:
    """The committed batches that the checkpoint still has, in order.

    A batch takes the time between its two entries: Spark writes `offsets/N` before it, and `commits/N` after it.
    """
    planned, committed = _times(checkpoint / "offsets"), _times(checkpoint / "commits")
    return [
        Batch(number, planned[number], committed[number]) for number in sorted(planned) if number in committed
    ]


def cycles(batches: list[Batch]) -> list[float]:
    """Seconds from each commit to the next: the whole trigger, if the batches follow each other without a pause."""
    return [later.committed - earlier.committed for earlier, later in pairwise(batches)]


def _times(folder: Path) -> dict[int, float]:
    files = folder.iterdir() if folder.exists() else ()
    return {int(file.name): file.stat().st_mtime for file in files if re.fullmatch(r"\d+", file.name)}
