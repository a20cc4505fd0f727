"""The one loop that waits for what others bring about."""

import time
from collections.abc import Callable
from typing import TypeVar


Found = TypeVar("Found")


def within(seconds: float, what: str, holds: Callable[[], Found], pause: float = 0.1) -> Found:
    """Ask until the answer is true, and return it.

    :raises AssertionError: when it is not within so many seconds; says what was waited for, and the last answer.
    """
    deadline = time.monotonic() + seconds
    while True:
        found = holds()
        if found:
            return found
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds:g} s: {what}; last seen: {found!r}")
        time.sleep(pause)
