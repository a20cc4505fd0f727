"""A query that stops at the end of its batch while the other queries run on."""

import threading
import time
from collections.abc import Callable

from mainstem.runtime.failures.classification import Failure
from mainstem.runtime.query.drain import DrainOutcome
from mainstem.runtime.query.execution import Execution
from mainstem.runtime.supervision.draining import stopped


class Leaving:
    """A running query that stops, in its own thread; no longer active once it has stopped.

    Args:
        name: the name of the query.
        execution: the running query.
        deadline: `time.monotonic()` at which its batch is interrupted.
    """

    def __init__(self, name: str, execution: Execution, deadline: float) -> None:
        self.id, self.run_id = execution.id, execution.run_id
        self.outcome: DrainOutcome | None = None
        self._name, self._execution, self._deadline = name, execution, deadline
        self._force: Callable[[], bool] = lambda: False
        self._thread = threading.Thread(target=self._run, name=f"leave-{name}", daemon=True)
        self._thread.start()

    @property
    def active(self) -> bool:
        """Whether it still stops."""
        return self._thread.is_alive()

    @property
    def waiting(self) -> bool | None:
        """Whether it waits for data; None if that is unknown now."""
        return self._execution.waiting

    @property
    def message(self) -> str:
        """The current activity, in Spark's words."""
        return self._execution.message

    @property
    def last_progress(self) -> str | None:
        """The time of the last progress that Spark reports, or will report in a moment."""
        return self._execution.last_progress

    def failure(self) -> Failure | None:
        """Why it failed, once it has ended."""
        return self._execution.failure()

    def drain(self, deadline: float, force: Callable[[], bool]) -> DrainOutcome:
        """Wait for its stop, at most until the earlier one of both deadlines."""
        self._deadline, self._force = min(self._deadline, deadline), force
        self._thread.join()
        return self.outcome or DrainOutcome(clean=False, committed=None, pending=None, seconds=0.0)

    def _run(self) -> None:
        # The deadline may come closer meanwhile, so it is part of the question whether to interrupt.
        self.outcome = stopped(self._name, self._execution, float("inf"), self._forced)

    def _forced(self) -> bool:
        return self._force() or time.monotonic() >= self._deadline
