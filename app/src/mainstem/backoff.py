"""The pause before the next try after failures in a row: doubled each time, up to a limit; pure."""

import hashlib
from typing import Final


_LARGEST_EXPONENT: Final = 60
"""Exponent of the doubled pause; the pause stays a finite float."""
_JITTER: Final = 0.2
"""The largest share that `jitter` takes from a pause."""


def pause_seconds(failures: int, first: float, longest: float, *, jitter: float = 0.0) -> float:
    """Seconds from the last of some failures in a row to the next try; 0 without a failure.

    Args:
        failures: how many in a row.
        first: seconds after the first failure, which are doubled after each further one.
        longest: the longest pause in seconds.
        jitter: from 0 to 1: how much of a fifth is taken from each pause after the first one. Things that failed at the same
            time then do not try again at the same time.
    """
    if failures == 0:
        return 0.0
    pause = min(first * 2.0 ** min(failures - 1, _LARGEST_EXPONENT), longest)
    return pause if failures == 1 else round(pause * (1 - _JITTER * jitter), 3)


def steady_jitter(*names: object) -> float:
    """A number from 0 to 1 that is always the same for the same names: a restarted process computes the same pause."""
    digest = hashlib.sha256("/".join(map(str, names)).encode()).digest()
    return int.from_bytes(digest[:4]) / 2**32
