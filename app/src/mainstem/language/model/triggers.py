"""Triggers, which start the batches of a query, and asynchronous progress tracking."""

from typing import ClassVar, Final

from mainstem.language.base import Duration, Model, TrueOnly


LEAST_CHECKPOINT_INTERVAL: Final = 5.0
"""Seconds: Spark's `realTimeMode.minBatchDuration`."""


class Trigger(Model):
    """When a batch starts: one of these fields; without a trigger, as soon as there is data."""

    one_of: ClassVar = ("processingTime", "availableNow", "once", "continuous", "realTime")

    processing_time: Duration | None = None
    """A batch at each multiple of this interval."""
    available_now: TrueOnly | None = None
    """Reads all data that exists when the query starts, in batches within the rate limits; then the query ends."""
    once: TrueOnly | None = None
    """Reads the same data in one batch without rate limits. Spark deprecates it: use `availableNow`."""
    continuous: Duration | None = None
    """Tasks that never end process single rows, at least once. Spark writes offsets once per interval."""
    real_time: Duration | None = None
    """Spark processes rows as they arrive, in batches of this length, at least 5 seconds. It writes offsets at the
    end of a batch."""

    @property
    def bounded(self) -> bool:
        """True if the query ends by itself."""
        return bool(self.available_now or self.once)

    @property
    def resident(self) -> bool:
        """True if tasks do not end. Each occupies its core as long as the query runs."""
        return bool(self.continuous or self.real_time)


class AsyncProgressTracking(Model):
    """Spark writes offsets and commits beside the batches, not between them: less latency, but repeated batches after
    a failure.
    """

    checkpoint_interval: Duration = "1 second"
    """Minimum time between two writes of offsets. After a failure Spark writes the rows since the last one again."""
