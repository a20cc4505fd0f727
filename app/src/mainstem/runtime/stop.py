"""The signals that ask a run to end. Imports nothing slow, so that they are heard from a process's first moment."""

import signal
from types import FrameType
from typing import Protocol


class StopAsked(Protocol):
    """Whether the run shall end.

    Attributes:
        asked: at the next batch boundary.
        hurry: at once.
    """

    asked: bool
    hurry: bool


class Stop:
    """SIGTERM, Ctrl-C and a closed terminal: the first asks for a drain, a second SIGTERM or Ctrl-C for a cut.

    A closed terminal never cuts: nobody is there to be impatient, and its SIGHUP comes twice, from the shell and from the
    kernel.

    Attributes:
        asked: the run shall end, at the next batch boundary.
        hurry: and at once.

    Plain booleans: an Event's lock may be held by the very thread that the signal interrupts.
    """

    def __init__(self) -> None:
        self.asked = False
        self.hurry = False

    def listen(self) -> None:
        """Take the signals; again after Spark's context is made, for pyspark takes SIGINT for itself."""
        for name in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            if name != signal.SIGHUP or signal.getsignal(name) != signal.SIG_IGN:  # nohup
                signal.signal(name, self._signalled)

    def _signalled(self, number: int, _frame: FrameType | None) -> None:
        if self.asked and number != signal.SIGHUP:
            self.hurry = True
        self.asked = True
