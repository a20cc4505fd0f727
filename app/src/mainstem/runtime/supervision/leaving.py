"""A query that stops at the end of its batch while the other queries run on."""

import threading
from collections.abc import Callable

from mainstem.runtime.query.drain import DrainOutcome
from mainstem.runtime.query.execution import Execution, Wrapper
from mainstem.runtime.supervision.draining import stopped


class Leaving(Wrapper):
    """A running query that stops, in its own thread; no longer active once it has stopped.

    Args:
        name: the name of the query.
        execution: the running query.
        interrupt: whether to interrupt its batch now; asked again and again.
    """

    def __init__(self, name: str, execution: Execution, interrupt: Callable[[], bool]) -> None:
        super().__init__(execution)
        self.outcome: DrainOutcome | None = None
        self._name = name
        self._interrupts.append(interrupt)
        self._thread = threading.Thread(target=self._run, name=f"leave-{name}", daemon=True)
        self._thread.start()

    @property
    def active(self) -> bool:
        """Whether it still stops."""
        return self._thread.is_alive()

    def drain(self, interrupt: Callable[[], bool]) -> DrainOutcome:
        """Wait for its stop; from now on this question interrupts its batch, too."""
        self._interrupts.append(interrupt)
        self._thread.join()
        return self.outcome or DrainOutcome(clean=False, committed=None, pending=None, seconds=0.0)

    def _run(self) -> None:
        self.outcome = stopped(self._name, self.execution, self._interrupted)
