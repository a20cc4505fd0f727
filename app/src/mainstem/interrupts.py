"""Ctrl-C before a run handles it: one line on standard error, and the exit code that shells expect."""

import os
import signal
from contextlib import suppress
from types import FrameType
from typing import Final


EXIT_CODE: Final = 128 + signal.SIGINT


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


def report() -> None:
    """Write the line without Python's buffer, because the interrupted code may be writing to this buffer."""
    with suppress(OSError):
        os.write(2, b"error: interrupted\n")


def _end(_number: int, _frame: FrameType | None) -> None:
    report()
    os._exit(EXIT_CODE)
