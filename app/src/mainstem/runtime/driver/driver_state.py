"""The current state of the driver, which the HTTP endpoints, the metrics and the resource's status read."""

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Final

from mainstem.language.model.status.query_progress import QueryProgress
from mainstem.language.model.status.states import QueryState
from mainstem.runtime.clock import Clock
from mainstem.runtime.driver.status_report import ExecutorCounts, RefusedRevision, ready


class DriverStage(StrEnum):
    """The stage of the driver's life: it starts, runs, or ends."""

    STARTING = "Starting"
    RUNNING = "Running"
    ENDING = "Ending"


PATIENCE: Final = {DriverStage.STARTING: 900.0, DriverStage.RUNNING: 60.0, DriverStage.ENDING: 900.0}
"""Seconds without a tick of the supervisor after which a driver counts as stuck. A batch may take any time, because the
supervisor's loop waits for no batch. A start waits for stores, brokers and executors. So does the restart of a single
query, which runs in the same loop.
"""
_COMING: Final = (QueryState.STARTING, QueryState.RESTARTING)


class DriverState:
    """The latest state of the driver. One thread sets an attribute, others read it; no value changes in place.

    Attributes:
        clock: the time of the run.
        statuses: the queries in the order of the document.
        executors: None where there are none.
        stage: the stage of the driver's life.
        jvm_alive: returns whether Spark's JVM runs; None before it is started.
        revision: the revision of the document that runs; empty if an older operator does not name it.
        refused: the last changed document, if the driver did not apply it.
        answered: the number of the last document from the operator that the driver has applied or refused.
    """

    def __init__(self, statuses: Sequence[QueryProgress], clock: Clock, revision: str = "") -> None:
        self.clock = clock
        self.revision = revision
        self.refused: RefusedRevision | None = None
        self.answered = 0
        self._updating = False
        self.statuses: Sequence[QueryProgress] = tuple(statuses)
        self.executors: ExecutorCounts | None = None
        self.stage = DriverStage.STARTING
        self.jvm_alive: Callable[[], bool] | None = None
        self._alive_at = self.clock.seconds()

    def alive(self) -> None:
        """Record that the driver is alive now."""
        self._alive_at = self.clock.seconds()

    def update(self, statuses: Sequence[QueryProgress]) -> None:
        """Take the statuses after a tick of the supervisor."""
        self.statuses = tuple(statuses)
        if self.stage is DriverStage.STARTING:
            self.stage = DriverStage.RUNNING
        self.alive()

    def begin_update(self) -> None:
        """Record that the driver builds the queries of a changed document; no tick comes meanwhile."""
        self.alive()
        self._updating = True

    def end_update(
        self, number: int, revision: str | None = None, refused: RefusedRevision | None = None
    ) -> None:
        """Record that another revision runs now, or why it does not, and the number of its document."""
        # First: a report in between shows the revision before, and the operator waits for this one.
        self.answered = number
        self.revision = self.revision if revision is None else revision
        self.refused = refused
        self._updating = False
        self.alive()

    def ending(self) -> None:
        """Record that the driver ends: no more ticks come."""
        self.stage = DriverStage.ENDING
        self.alive()

    def trouble(self) -> str | None:
        """Why the driver has to be restarted; None where it is healthy."""
        if self.stage is not DriverStage.ENDING and self.jvm_alive is not None and not self.jvm_alive():
            return "Spark's JVM has ended"
        silence = self.clock.seconds() - self._alive_at
        if silence > self._patience():
            return f"the supervisor has not run for {silence:.0f} s while {self.stage.lower()}"
        return None

    def _patience(self) -> float:
        starting = self._updating or any(status.state in _COMING for status in self.statuses)
        if self.stage is DriverStage.RUNNING and starting:
            return PATIENCE[DriverStage.STARTING]
        return PATIENCE[self.stage]

    def ready(self) -> bool:
        """Whether every query is active."""
        return self.stage is DriverStage.RUNNING and ready(self.statuses)
