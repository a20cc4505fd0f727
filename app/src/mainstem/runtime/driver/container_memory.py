"""Measures the memory of the driver's container: the kernel does not keep the peak of a container that has ended."""

from pathlib import Path
from typing import Final


CGROUPS: Final = Path("/sys/fs/cgroup")
"""Where a container sees its own control group, of version 2 or of version 1."""


class PeakMemory:
    """The largest working set of the container so far.

    The working set is what `kubectl top` shows and what the kubelet evicts by: the memory in use without the file cache
    that the kernel can drop. The processes of the container are the driver, Spark's JVM and Python's workers.

    Args:
        folder: the mounted control groups.

    Attributes:
        highest: the largest working set in bytes; None if the kernel does not show it.
    """

    def __init__(self, folder: Path = CGROUPS) -> None:
        self._folder = folder
        self.highest: int | None = None

    def measure(self) -> int | None:
        """Measure once more. Return the largest working set in bytes; None if the kernel does not show it."""
        now = working_set(self._folder)
        if now is not None:
            self.highest = max(now, self.highest or 0)
        return self.highest


def working_set(folder: Path) -> int | None:
    """The memory in use without the inactive file cache, in bytes; None outside a control group."""
    for usage, statistics, inactive in (
        ("memory.current", "memory.stat", "inactive_file"),
        ("memory/memory.usage_in_bytes", "memory/memory.stat", "total_inactive_file"),
    ):
        try:
            used = int((folder / usage).read_text(encoding="ascii"))
            lines = (folder / statistics).read_text(encoding="ascii").splitlines()
        except (OSError, ValueError):
            continue
        cache = dict(line.split() for line in lines).get(inactive, "0")
        return max(0, used - int(cache))
    return None
