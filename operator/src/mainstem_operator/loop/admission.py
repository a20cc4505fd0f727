"""The admission queue of first starts: of many new pipelines, each gets its driver before their statuses are written."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Final


LONGEST_SECONDS: Final = 30.0
"""How long a pipeline whose driver was just created waits for the other new pipelines of its namespace: their drivers are
created first, because the statuses cost the API server as much again.
"""
CROWD: Final = 50
"""With more first starts than this, drivers are created before the finalizers: a finalizer costs the API server about half of
what a driver costs it, and a thousand drivers would take a quarter longer.
"""
PACE_SECONDS: Final = 0.02
"""Pause between two pipelines that leave the queue, about as fast as an API server takes them: a thousand at once would need
much memory.
"""


@dataclass
class _Namespace:
    """The first starts of one namespace that have not ended.

    Attributes:
        count: their number.
        is_empty: set while there is none.
    """

    count: int = 0
    is_empty: asyncio.Event = field(default_factory=asyncio.Event)


class AdmissionQueue:
    """Counts the first starts, and lets pipelines leave one after the other. Namespaces never wait for each other's starts.

    Args:
        crowd: more first starts than this make the queue crowded.
        longest_seconds: how long a pipeline waits for the others of its namespace, at most.
        pace_seconds: pause between two pipelines that leave.
    """

    def __init__(
        self, crowd: int = CROWD, longest_seconds: float = LONGEST_SECONDS, pace_seconds: float = PACE_SECONDS
    ) -> None:
        self._crowd = crowd
        self._longest_seconds = longest_seconds
        self._pace_seconds = pace_seconds
        self._namespaces: dict[str, _Namespace] = {}
        self._exit = asyncio.Lock()  # its waiters leave in the order in which they came

    @property
    def is_crowded(self) -> bool:
        """True while so many first starts run that writes which may wait come after them."""
        return sum(namespace.count for namespace in self._namespaces.values()) > self._crowd

    @contextlib.asynccontextmanager
    async def first_start(self, namespace: str) -> AsyncIterator[None]:
        """Make one first start within. Afterwards wait until the namespace's other first starts have ended, then leave the
        queue after those that came before.
        """
        others = self._enter(namespace)
        try:
            yield
        finally:
            self._end(namespace, others)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(others.is_empty.wait(), self._longest_seconds)
        async with self._exit:
            await asyncio.sleep(self._pace_seconds)

    def _enter(self, namespace: str) -> _Namespace:
        others = self._namespaces.setdefault(namespace, _Namespace())
        others.count += 1
        return others

    def _end(self, namespace: str, others: _Namespace) -> None:
        others.count -= 1
        if others.count == 0:
            others.is_empty.set()
            del self._namespaces[namespace]
