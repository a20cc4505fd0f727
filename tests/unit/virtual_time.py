"""An event loop whose clock advances only while all tasks wait: tests of timing need no real time."""

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any


class _Clock(selectors.SelectSelector):
    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        assert timeout is not None, "all wait for each other"
        self.now += max(timeout, 0.0)
        return super().select(0)


def run(work: Coroutine[Any, Any, None]) -> None:
    """Run to the end, by the virtual clock."""
    clock = _Clock()
    loop = asyncio.SelectorEventLoop(clock)
    loop.time = lambda: clock.now  # type: ignore[method-assign]
    try:
        loop.run_until_complete(work)
    finally:
        loop.close()
