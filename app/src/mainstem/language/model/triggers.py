"""Triggers, which start the batches of a query, and asynchronous progress tracking."""

from typing import ClassVar, Final

from mainstem.language.base import Duration, Model, TrueOnly


LEAST_CHECKPOINT_INTERVAL: Final = 5.0
"""Seconds: Spark's `realTimeMode.minBatchDuration`."""


class Trigger(Model):
    """When a batch starts: one of the following; without a trigger, as soon as there is data."""

    one_of: ClassVar = ("processingTime", "availableNow", "once", "continuous", "realTime")

    processing_time: Duration | None = None
    """A batch at each multiple of this interval."""
    available_now: TrueOnly | None = None
    """All that is there when the query starts, in as many batches as rate limits ask for; then the query ends."""
    once: TrueOnly | None = None
    """The same in one batch, whatever rate limits say. Deprecated by Spark: use `availableNow`."""
    continuous: Duration | None = None
    """Rows one by one, by tasks that never end; the interval is how often offsets are written down, at least once."""
    real_time: Duration | None = None
    """Rows as they come, within batches of this length, at least 5 seconds: the interval between checkpoints."""

    @property
    def bounded(self) -> bool:
        """True if the query ends by itself."""
        return bool(self.available_now or self.once)

    @property
    def resident(self) -> bool:
        """True if tasks do not end. Each occupies its core as long as the query runs."""
        return bool(self.continuous or self.real_time)


class AsyncProgressTracking(Model):
    """Offsets and commits are written beside the batches, not between them: less latency, repeated batches after a failure."""

    checkpoint_interval: Duration = "1 second"
    """At most so often; what came since the last time is written again after a failure."""
