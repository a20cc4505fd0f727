"""What is known of a driver at this moment, for all that tell of it: HTTP, metrics, the resource's status."""

import time
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Final

from mainstem.runtime.driver.status_report import Executors, ready
from mainstem.runtime.progress.query_status import QueryStatus, State


class Stage(StrEnum):
    """How far a driver is."""

    STARTING = "Starting"
    RUNNING = "Running"
    ENDING = "Ending"


PATIENCE: Final = {Stage.STARTING: 900.0, Stage.RUNNING: 60.0, Stage.ENDING: 900.0}
"""Seconds without a sign of life after which a driver is taken for stuck. A batch may take as long as it likes: the loop
that gives the signs waits for none. To start is to wait for stores, brokers and executors, for a single query too: it is
the loop that starts it again.
"""
_COMING: Final = (State.STARTING, State.RESTARTING)


class Watch:
    """The latest of everything. One thread sets an attribute, others read it; none is ever changed in place.

    Attributes:
        statuses: the queries in the order of the document.
        executors: None where there are none.
        stage: how far the driver is.
        jvm_alive: asks whether Spark's JVM is there; None before it is started.
    """

    def __init__(self, statuses: Sequence[QueryStatus]) -> None:
        self.statuses: Sequence[QueryStatus] = tuple(statuses)
        self.executors: Executors | None = None
        self.stage = Stage.STARTING
        self.jvm_alive: Callable[[], bool] | None = None
        self._sign = time.monotonic()

    def alive(self) -> None:
        """A sign of life."""
        self._sign = time.monotonic()

    def turned(self, statuses: Sequence[QueryStatus]) -> None:
        """The supervisor has made a turn."""
        self.statuses = tuple(statuses)
        if self.stage is Stage.STARTING:
            self.stage = Stage.RUNNING
        self.alive()

    def ending(self) -> None:
        """No turn comes any more."""
        self.stage = Stage.ENDING
        self.alive()

    def trouble(self) -> str | None:
        """Why the driver is beyond help and should be started anew; None where it is well."""
        if self.stage is not Stage.ENDING and self.jvm_alive is not None and not self.jvm_alive():
            return "Spark's JVM has ended"
        silent = time.monotonic() - self._sign
        if silent > self._patience():
            return f"no sign of life for {silent:.0f} s while {self.stage.lower()}"
        return None

    def _patience(self) -> float:
        if self.stage is Stage.RUNNING and any(status.state in _COMING for status in self.statuses):
            return PATIENCE[Stage.STARTING]
        return PATIENCE[self.stage]

    def ready(self) -> bool:
        """Whether every query is active."""
        return self.stage is Stage.RUNNING and ready(self.statuses)
