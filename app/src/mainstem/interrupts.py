"""Ctrl-C before a run listens for it: one line on standard error, and the exit code that shells expect."""

import os
import signal
from contextlib import suppress
from types import FrameType
from typing import Final


EXIT_CODE: Final = 128 + signal.SIGINT


def end_at_once() -> None:
    """From now on an interrupt ends the process: there is nothing to clean up, and Python's own exception might come in the
    middle of an import, where it prints a stack trace or is swallowed.
    """
    signal.signal(signal.SIGINT, _end)


def clean_up_first() -> None:
    """From now on an interrupt is Python's exception, because there is something to clean up; does nothing where another
    handler listens.
    """
    if signal.getsignal(signal.SIGINT) is _end:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def tell() -> None:
    """The one line, past Python's buffer: the code that was interrupted may just be writing to it."""
    with suppress(OSError):
        os.write(2, b"error: interrupted\n")


def _end(_number: int, _frame: FrameType | None) -> None:
    tell()
    os._exit(EXIT_CODE)
