"""Bounds the work of a piece of Python code by its calls, which do not depend on the load of the machine, as seconds do."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def at_most(calls: int) -> Iterator[None]:
    """The block makes at most so many calls of functions, of Python's own ones too.

    The block is interrupted at the next call, so an exponential walk ends here and does not hang. Where the code catches
    every exception, it continues unbounded, and the error comes behind the block.

    :raises AssertionError: if it makes more.
    """
    made = 0
    error = AssertionError(f"more than {calls} calls")

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal made
        made += event in ("call", "c_call")
        if made > calls:
            sys.setprofile(None)
            raise error

    sys.setprofile(count)
    try:
        yield
    finally:
        sys.setprofile(None)
    if made > calls:
        raise error
