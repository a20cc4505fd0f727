"""Writes the driver's part of the status to the resource, in its own thread, so that a slow API server delays nothing.

Nothing here may delay a query or end a run. An unreachable API server costs one log line. Once it answers again, the
writer writes the newest status.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Protocol

from mainstem import logs
from mainstem.errors import MainstemError
from mainstem.runtime.clock import stamp
from mainstem.runtime.driver import status_report
from mainstem.runtime.driver.container_memory import PeakMemory
from mainstem.runtime.driver.driver_state import DriverState
from mainstem.runtime.driver.status_report import ExecutorCounts


SHORTEST: Final = 10.0
"""Seconds between two writes."""
LONGEST: Final = 60.0
"""Seconds after which an unchanged status is written again; also the longest pause between two tries."""
POLL: Final = 1.0
GOODBYE: Final = 8.0
"""Seconds that the last write may take."""


class StatusTarget(Protocol):
    """The calls of the Kubernetes API that the status writer needs; `mainstem.runtime.driver.status_api` implements
    them.
    """

    def write(self, status: dict[str, Any]) -> None:
        """Replace the driver's part of the status.

        Raises:
            MainstemError: the API server did not accept it.
        """

    def unscheduled(self) -> str | None:
        """Why executor pods do not start; None if no pod waits.

        Raises:
            MainstemError: the API server did not answer.
        """


@dataclass
class Pace:
    """Decides when the next write is due; pure, with the time as an argument.

    Attributes:
        last: time of the last try.
        failures: tries that failed in a row.
    """

    last: float | None = None
    failures: int = 0

    def due(self, now: float, *, changed: bool, answers: bool = False) -> bool:
        """Whether a write is due: the first at once, then a change after ten seconds, an unchanged status after a minute.

        The answer to a changed document, for which the operator waits, is written at once.
        """
        if self.last is None:
            return True
        since = now - self.last
        if self.failures:
            return since >= min(LONGEST, SHORTEST * 2.0 ** (self.failures - 1))
        return answers or since >= (SHORTEST if changed else LONGEST)

    def tried(self, now: float, *, succeeded: bool) -> None:
        """Record the end of a write, and whether it succeeded."""
        self.last = now
        self.failures = 0 if succeeded else self.failures + 1


class StatusWriter:
    """The thread that writes the status.

    Args:
        connect: makes the client; called in the thread, because its import is slow.
        driver: the state of the driver.
        attempt: the driver start number.
        count: counts the executors; None without executors, and while their number is unknown.
    """

    def __init__(
        self,
        connect: Callable[[], StatusTarget],
        driver: DriverState,
        attempt: int,
        count: Callable[[], ExecutorCounts | None] = lambda: None,
    ) -> None:
        self._connect, self._driver, self._attempt = connect, driver, attempt
        self._clock = driver.clock
        self._cluster: StatusTarget | None = None
        self._missing = Missing(count)
        self._pace = Pace()
        self._memory = PeakMemory()
        self._written: Any = None
        self._log = logs.get("status")
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, name="status", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def close(self) -> None:
        """Write the last status and stop; gives up after some seconds."""
        self._end.set()
        self._thread.join(GOODBYE)
        if self._thread.is_alive():
            self._log.warning("the last status could not be written in time", seconds=GOODBYE)

    def _run(self) -> None:
        while not self._clock.wait(self._end, POLL):
            self._tick(last=False)
        self._tick(last=True)

    def _tick(self, *, last: bool) -> None:
        try:
            if not last:
                self._look_for_executors()
            self._write(last=last)
        except Exception as error:  # noqa: BLE001 - a bug here must not stop the status for good
            if not self._pace.failures:
                self._log.exception("the status cannot be written", error=error)
            self._pace.tried(self._clock.seconds(), succeeded=False)

    def _look_for_executors(self) -> None:
        counts = self._missing.look(self._clock.seconds(), self._reason_for_missing)
        self._driver.executors = counts
        if counts and not counts.running and counts.wanted:
            self._driver.alive()  # a start that waits for its first executor; a new driver would wait too

    def _reason_for_missing(self) -> str | None:
        """The scheduler's message; None also if the API server does not answer, which `write` reports."""
        try:
            return self._connected().unscheduled()
        except MainstemError:
            return None

    def _connected(self) -> StatusTarget:
        if self._cluster is None:
            self._cluster = self._connect()
        return self._cluster

    def _write(self, *, last: bool) -> None:
        driver = self._driver
        body = status_report.part(
            driver.statuses,
            driver.executors,
            attempt=self._attempt,
            time=stamp(self._clock.now()),
            revision=driver.revision,
            refused=driver.refused,
            answered=driver.answered,
            memory_peak=self._memory.measure(),
        )
        meaning = status_report.meaning(body)
        now = self._clock.seconds()
        answers = self._written is not None and meaning["document"] != self._written["document"]
        if not last and not self._pace.due(now, changed=meaning != self._written, answers=answers):
            return
        try:
            self._connected().write(body)
        except MainstemError as error:
            if not self._pace.failures:
                self._log.warning(
                    "the status cannot be written; the driver tries again, and the queries run on",
                    reason=error.reason,
                    error=error.message,
                )
            self._pace.tried(now, succeeded=False)
            return
        if self._pace.failures:
            self._log.info("the status is written again", failures=self._pace.failures)
        self._pace.tried(now, succeeded=True)
        self._written = meaning


@dataclass
class Missing:
    """Asks why executors are missing, once they have been missing for ten seconds: shortly after a start some always are.

    Attributes:
        count: counts the executors.
        since: when some were first missing; None while none is.
        asked_at: time of the last question.
        message: the last answer.
    """

    count: Callable[[], ExecutorCounts | None]
    since: float | None = None
    asked_at: float | None = None
    message: str | None = None

    def look(self, now: float, ask: Callable[[], str | None]) -> ExecutorCounts | None:
        """The executors; after ten seconds also why some are missing, asked at most every ten seconds."""
        counts = self.count()
        if counts is None or counts.loss or counts.running >= counts.wanted:
            self.since = self.asked_at = self.message = None
            return counts
        self.since = now if self.since is None else self.since
        if now - self.since >= SHORTEST and (self.asked_at is None or now - self.asked_at >= SHORTEST):
            self.asked_at = now
            self.message = ask()
        return ExecutorCounts(counts.running, counts.wanted, self.message)
