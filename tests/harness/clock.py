"""A clock that a test owns: no time passes but by the test."""

import threading
import time
from datetime import UTC, datetime, timedelta
from typing import Final

from mainstem.runtime.clock import Clock

from harness.waiting import LIMIT, within


BEGIN: Final = datetime(2026, 1, 1, tzinfo=UTC)
_POLL: Final = 0.005
"""Seconds of the machine until a waiting thread looks whether its event is set."""


class OwnClock(Clock):
    """Begins at the first moment of 2026, with 1,000 seconds.

    A thread that sleeps looks again after a moment, in which no time passes: what it asks for has happened meanwhile, or
    it asks again. A thread that waits for an event stays there until the test lets so many seconds pass, or the event is
    set.
    """

    def __init__(self) -> None:
        self._passed = 0.0
        self._due: dict[int, float] = {}
        self._changed = threading.Condition()

    def now(self) -> datetime:
        """The time of the day."""
        return BEGIN + timedelta(seconds=self._passed)

    def seconds(self) -> float:
        """1,000, and what has passed."""
        return 1_000.0 + self._passed

    def sleep(self, _seconds: float) -> None:
        """Let other threads go on; no time passes."""
        time.sleep(_POLL)

    def wait(self, event: threading.Event, seconds: float) -> bool:
        """Stay until the test lets so many seconds pass, or the event is set."""
        with self._changed:
            due = self._due[threading.get_ident()] = self._passed + seconds
            self._changed.notify_all()
            while self._passed < due and not event.is_set():
                self._changed.wait(_POLL)
            del self._due[threading.get_ident()]
        return event.is_set()

    def advance(self, seconds: float, threads: int = 0) -> None:
        """Let seconds pass.

        Args:
            seconds: how many.
            threads: how many threads use this clock. Each does all that is due in these seconds, and waits again, before
                this returns; what is due earlier happens earlier.
        """
        end = self._passed + seconds
        while threads:
            self._settled(threads)
            if min(self._due.values()) > end:
                break
            self._pass_to(min(self._due.values()))
        self._pass_to(end)

    def _settled(self, threads: int) -> None:
        """Return once all threads wait, and none of them is due."""
        within(
            LIMIT,
            f"{threads} threads wait",
            lambda: len(self._due) == threads and min(self._due.values()) > self._passed,
            _POLL,
        )

    def _pass_to(self, moment: float) -> None:
        with self._changed:
            self._passed = max(self._passed, moment)
            self._changed.notify_all()
