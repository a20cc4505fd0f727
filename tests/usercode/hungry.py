"""Takes memory and keeps it."""

import time


_KEPT: list[bytearray] = []


def eat(megabytes: int) -> int:
    """Keep so many megabytes, every page of them written, and take the time to be seen with them."""
    _KEPT.append(bytearray(b"x" * (1 << 20)) * megabytes)
    time.sleep(1)
    return sum(map(len, _KEPT))
