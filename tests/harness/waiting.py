"""The one loop that waits for a condition, and the two pauses of tests that inject faults."""

import random
import time
from collections.abc import Callable
from typing import Final, TypeVar


Found = TypeVar("Found")

LIMIT: Final = 120.0
"""Seconds after which a condition counts as never: it bounds a hang, and demands no speed."""


def asked(seconds: float, holds: Callable[[], Found], pause: float = 0.1) -> Found:
    """Ask until the answer is true, at most so many seconds, and return the last answer."""
    deadline = time.monotonic() + seconds
    while not (answer := holds()) and time.monotonic() <= deadline:
        time.sleep(pause)
    return answer


def within(seconds: float, event: str, holds: Callable[[], Found], pause: float = 0.1) -> Found:
    """Ask until the answer is true, and return it.

    :raises AssertionError: when it is not within so many seconds; the message names the event and the last answer.
    """
    answer = asked(seconds, holds, pause)
    if not answer:
        raise AssertionError(f"not within {seconds:g} s: {event}; last answer: {answer!r}")
    return answer


def eventually(event: str, holds: Callable[[], Found], pause: float = 0.02) -> Found:
    """Ask until the answer is true, and return it: for what comes soon on any machine.

    :raises AssertionError: when it does not come.
    """
    return within(LIMIT, event, holds, pause)


def still(seconds: float, event: str, observed: Callable[[], Found]) -> Found:
    """Ask until the answer has been the same for so many seconds, and return it: for an end that nothing announces.

    :raises AssertionError: when it changes all the time; the message names the event and the last two answers.
    """
    deadline = time.monotonic() + LIMIT
    before, after = None, observed()
    while before != after:
        assert time.monotonic() <= deadline, f"never still: {event}; last answers: {before!r}, {after!r}"
        time.sleep(seconds)
        before, after = after, observed()
    return after


def at_any_moment(chance: random.Random, seconds: float) -> None:
    """Let a random part of so many seconds pass, before a kill: whatever goes on then, the result is to be right."""
    time.sleep(chance.uniform(0, seconds))


def lasts(seconds: float) -> None:
    """Let a fault last: whatever goes on meanwhile, the result is to be right."""
    time.sleep(seconds)
