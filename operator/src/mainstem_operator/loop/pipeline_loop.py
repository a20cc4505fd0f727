"""One pipeline's loop: what is known of it, what wakes it, and the time that its turns may take."""

import asyncio
import time
from dataclasses import dataclass, field
from typing import Final

from mainstem_operator.loop.pipeline_cache import PipelineCache


TURN_SECONDS: Final = 90.0
"""How long a pipeline has its turn: a first start makes several objects, each of which a webhook may hold up for 30
seconds. What is made by then is kept, and the next turn goes on from there.
"""
STUCK_SECONDS: Final = 2 * TURN_SECONDS
"""A turn that lasts so long was not ended by its own limit: the operator is broken, and has to be started again."""
_SHORTEST_SECONDS: Final = 0.1
_RETRY_SECONDS: Final = (1.0, 2.0, 5.0, 10.0, 30.0)
"""Pauses after errors of the API server in a row; the last one is repeated."""


@dataclass
class PipelineLoop:
    """What the operator has of one pipeline.

    Attributes:
        pipeline: what is known of it.
        wake: set where something has changed, so that its next turn is due.
        busy_since: when its turn began, by the monotonic clock, in seconds; None between two turns.
        is_carried: True while somebody carries it to where its document wants it.
    """

    pipeline: PipelineCache = field(default_factory=PipelineCache)
    wake: asyncio.Event = field(default_factory=asyncio.Event)
    busy_since: float | None = None
    is_carried: bool = False

    @property
    def is_stuck(self) -> bool:
        """True where its turn has outlasted its own limit."""
        return self.busy_since is not None and time.monotonic() - self.busy_since > STUCK_SECONDS


def pause_seconds(requeue: float | None, failures: int, resync_seconds: float) -> float:
    """Seconds until the next turn; `requeue` is what the last one asked for, None after an error, one of `failures` in a row."""
    if requeue is None:
        return _RETRY_SECONDS[min(failures, len(_RETRY_SECONDS)) - 1]
    return min(max(requeue, _SHORTEST_SECONDS), resync_seconds)
