"""The time of a run.

All parts of a run take the time from the one clock that the run was started with, and wait by it. So a test can own the
time: with a clock of its own, an hour passes at once.
"""

import threading
import time
from datetime import UTC, datetime


class Clock:
    """The clock of this machine."""

    def now(self) -> datetime:
        """The time of the day, in UTC: for what people and other programs read. Somebody may set it."""
        return datetime.now(UTC)

    def seconds(self) -> float:
        """Seconds since any fixed moment, for intervals and deadlines. Nobody can set them."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Let so many seconds pass."""
        time.sleep(seconds)

    def wait(self, event: threading.Event, seconds: float) -> bool:
        """Let so many seconds pass, or fewer if the event is set meanwhile; returns whether it is set."""
        return event.wait(seconds)


def stamp(moment: datetime) -> str:
    """A time of the day as Kubernetes writes it: in UTC, with whole seconds."""
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
