"""The one loop that waits for a condition."""

import time
from collections.abc import Callable
from typing import TypeVar


Found = TypeVar("Found")


def within(seconds: float, event: str, holds: Callable[[], Found], pause: float = 0.1) -> Found:
    """Ask until the answer is true, and return it.

    :raises AssertionError: when it is not within so many seconds; the message names the event and the last answer.
    """
    deadline = time.monotonic() + seconds
    while True:
        result = holds()
        if result:
            return result
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds:g} s: {event}; last answer: {result!r}")
        time.sleep(pause)
