"""When the batches of a query began and ended, read from its checkpoint; the same for any job that has one."""

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
    """The committed batches that the checkpoint still holds, in their order.

    The time of a batch is that between the two entries that Spark makes for it: `offsets/N` before, `commits/N` behind.
    """
    planned, committed = _times(checkpoint / "offsets"), _times(checkpoint / "commits")
    return [
        Batch(number, planned[number], committed[number]) for number in sorted(planned) if number in committed
    ]


def cycles(batches: list[Batch]) -> list[float]:
    """Seconds from commit to commit, where batches follow one another without a pause: the whole of a trigger."""
    return [later.committed - earlier.committed for earlier, later in pairwise(batches)]


def _times(folder: Path) -> dict[int, float]:
    files = folder.iterdir() if folder.exists() else ()
    return {int(file.name): file.stat().st_mtime for file in files if re.fullmatch(r"\d+", file.name)}
