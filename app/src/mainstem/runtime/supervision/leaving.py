"""A query that stops at the end of its batch while the other queries run on."""

import threading
import time
from collections.abc import Callable

from mainstem.runtime.query.drain import DrainOutcome
from mainstem.runtime.query.execution import Execution, Wrapper
from mainstem.runtime.supervision.draining import stopped


class Leaving(Wrapper):
    """A running query that stops, in its own thread; no longer active once it has stopped.

    Args:
        name: the name of the query.
        execution: the running query.
        deadline: `time.monotonic()` at which its batch is interrupted.
    """

    def __init__(self, name: str, execution: Execution, deadline: float) -> None:
        super().__init__(execution)
        self.outcome: DrainOutcome | None = None
        self._name, self._deadline = name, deadline
        self._force: Callable[[], bool] = lambda: False
        self._thread = threading.Thread(target=self._run, name=f"leave-{name}", daemon=True)
        self._thread.start()

    @property
    def active(self) -> bool:
        """Whether it still stops."""
        return self._thread.is_alive()

    def drain(self, deadline: float, force: Callable[[], bool]) -> DrainOutcome:
        """Wait for its stop, at most until the earlier one of both deadlines."""
        self._deadline, self._force = min(self._deadline, deadline), force
        self._thread.join()
        return self.outcome or DrainOutcome(clean=False, committed=None, pending=None, seconds=0.0)

    def _run(self) -> None:
        # The deadline may come closer meanwhile, so it is part of the question whether to interrupt.
        self.outcome = stopped(self._name, self.execution, float("inf"), self._forced)

    def _forced(self) -> bool:
        return self._force() or time.monotonic() >= self._deadline
