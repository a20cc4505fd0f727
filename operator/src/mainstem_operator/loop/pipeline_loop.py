"""The state of one pipeline's loop: the cache, the event that wakes it, and the time limit of its turns."""

import asyncio
import time
from dataclasses import dataclass, field
from typing import Final

from mainstem_operator.loop.pipeline_cache import PipelineCache


TURN_SECONDS: Final = 90.0
"""Time limit of a turn: a first start creates several objects, and a webhook may delay each for 30 seconds. The next turn
continues with the objects that exist by then.
"""
STUCK_SECONDS: Final = 2 * TURN_SECONDS
"""A turn that lasts this long ignored its limit: the operator is broken, and needs a restart."""
_SHORTEST_SECONDS: Final = 0.1
_RETRY_SECONDS: Final = (1.0, 2.0, 5.0, 10.0, 30.0)
"""Pauses after consecutive errors of the API server; the last one repeats."""


@dataclass
class PipelineLoop:
    """The loop of one pipeline.

    Attributes:
        pipeline: what the operator knows about it.
        wake: set after a change, so that the next turn is due.
        busy_since: when its turn began, by the monotonic clock, in seconds; None between two turns.
        is_carried: True while its loop runs.
    """

    pipeline: PipelineCache = field(default_factory=PipelineCache)
    wake: asyncio.Event = field(default_factory=asyncio.Event)
    busy_since: float | None = None
    is_carried: bool = False

    @property
    def is_stuck(self) -> bool:
        """True if its turn has exceeded its limit."""
        return self.busy_since is not None and time.monotonic() - self.busy_since > STUCK_SECONDS


def pause_seconds(requeue: float | None, failures: int, resync_seconds: float) -> float:
    """Seconds until the next turn: the `requeue` of the last turn, or after consecutive `failures` (`requeue` is None) a longer pause each."""
    if requeue is None:
        return _RETRY_SECONDS[min(failures, len(_RETRY_SECONDS)) - 1]
    return min(max(requeue, _SHORTEST_SECONDS), resync_seconds)
