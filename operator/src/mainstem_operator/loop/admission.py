"""Many pipelines that are applied at once: those without a driver start first, the others wait for them."""

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Final


_LONGEST_SECONDS: Final = 30.0
"""How long a pipeline whose driver was just started waits, so that pipelines of its namespace without a driver start first:
each shall have its driver before the statuses are written, which cost the API server as much again.
"""
_MANY: Final = 50
"""More first starts than these go ahead of the finalizers, too: a finalizer costs the API server about half of what a driver
costs it, and a thousand drivers would take a quarter longer.
"""
_PACE_SECONDS: Final = 0.02
"""Then they come one after the other, about as fast as an API server takes them: a thousand at once take memory."""


@dataclass
class _Starting:
    """Pipelines of one namespace that have no driver yet, while these are made."""

    count: int = 0
    are_done: asyncio.Event = field(default_factory=asyncio.Event)


class FirstStarts:
    """The first starts under way, by namespace."""

    def __init__(self) -> None:
        self._starting: dict[str, _Starting] = defaultdict(_Starting)
        self._pace = asyncio.Lock()

    @property
    def are_many(self) -> bool:
        """True where so many drivers start that what can come after them does."""
        return sum(starting.count for starting in self._starting.values()) > _MANY

    @contextlib.asynccontextmanager
    async def start(self, namespace: str) -> AsyncIterator[None]:
        """Start one driver within; afterwards wait for the others of the namespace, then for one's place in the line."""
        others = self._starting[namespace]
        others.count += 1
        others.are_done.clear()
        try:
            yield
        finally:
            others.count -= 1
            if others.count == 0:
                others.are_done.set()
                self._starting.pop(namespace, None)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(others.are_done.wait(), _LONGEST_SECONDS)
        async with self._pace:
            await asyncio.sleep(_PACE_SECONDS)
