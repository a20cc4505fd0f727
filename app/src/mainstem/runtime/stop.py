"""The signals that request a run to end. Imports nothing slow, so that a process handles them from its first moment."""

import signal
from types import FrameType
from typing import Protocol

from mainstem import interrupts


class StopRequested(Protocol):
    """Whether the run has to end.

    Attributes:
        requested: the run has to end at the next batch boundary.
        force: the run has to end at once.
    """

    requested: bool
    force: bool


class Stop:
    """SIGTERM, Ctrl-C and a closed terminal: the first requests a drain, a second SIGTERM or Ctrl-C
    interrupts running batches.

    A closed terminal never interrupts a batch: nobody is there to be impatient, and its SIGHUP comes twice, from the shell
    and from the kernel.

    Attributes:
        requested: the run has to end at the next batch boundary.
        force: the run has to end at once.

    Plain booleans: an Event's lock may be held by the very thread that the signal interrupts.
    """

    def __init__(self) -> None:
        self.requested = False
        self.force = False

    def listen(self) -> None:
        """Take the signals; again after Spark's context is made, for pyspark takes SIGINT for itself."""
        interrupts.listen(self._signalled)

    def _signalled(self, number: int, _frame: FrameType | None) -> None:
        if self.requested and number != signal.SIGHUP:
            self.force = True
        self.requested = True
