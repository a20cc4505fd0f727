"""Signals before a run handles them: one line on standard error, and the exit code that shells expect."""

import os
import signal
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import Any, Final


Handler = Callable[[int, FrameType | None], Any] | signal.Handlers
EXIT_CODE: Final = 128 + signal.SIGINT
_ENDING: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def end_at_once() -> None:
    """Let an interrupt end the process from now on, because there is nothing to clean up.

    Python's own exception might come in the middle of an import, where it prints a stack trace or is lost.
    """
    signal.signal(signal.SIGINT, _end)


def clean_up_first() -> None:
    """Let an interrupt raise Python's exception from now on, because there is something to clean up.

    Does nothing if another handler is set.
    """
    if signal.getsignal(signal.SIGINT) is _end:
        signal.signal(signal.SIGINT, signal.default_int_handler)


class Signalled(KeyboardInterrupt):
    """A signal ended the start of a run.

    Attributes:
        number: of the signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


def end_the_start() -> None:
    """Let each signal that ends a run raise `Signalled` from now on: nothing runs that would have to drain, but there is
    something to clean up.
    """
    listen(_raise)


def listen(handler: Handler) -> None:
    """Take the signals that end a run: SIGTERM, Ctrl-C and a closed terminal."""
    for name in _ENDING:
        if name != signal.SIGHUP or signal.getsignal(name) != signal.SIG_IGN:  # nohup
            signal.signal(name, handler)


def exit_code(interrupt: KeyboardInterrupt) -> int:
    """The exit code that shells expect of a process that a signal has ended."""
    return 128 + interrupt.number if isinstance(interrupt, Signalled) else EXIT_CODE


def report() -> None:
    """Write the line without Python's buffer, because the interrupted code may be writing to this buffer."""
    with suppress(OSError):
        os.write(2, b"error: interrupted\n")


def _raise(number: int, _frame: FrameType | None) -> None:
    listen(signal.SIG_IGN)  # an impatient second one would leave half of what there is to clean up
    raise Signalled(number)


def _end(_number: int, _frame: FrameType | None) -> None:
    report()
    os._exit(EXIT_CODE)
