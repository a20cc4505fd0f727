"""Turns for work that is limited in number, given fairly to those who want them."""

import asyncio
import contextlib
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator


class FairTurns:
    """At most `total` turns at a time, at most `each` of them for one key; keys that wait take turns with each other.

    So a key whose work is slow delays itself, and nobody else while other keys leave a turn free.
    """

    def __init__(self, total: int, each: int) -> None:
        self._free = total
        self._each = each
        self._taken: Counter[str] = Counter()
        self._waiting: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()

    @contextlib.asynccontextmanager
    async def turn(self, key: str) -> AsyncIterator[None]:
        """Wait for a turn, and have it."""
        wish = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(key, deque()).append(wish)
        self._hand_out()
        try:
            await wish
        except asyncio.CancelledError:
            if wish.done() and not wish.cancelled():  # it came in the same moment
                self._give_back(key)
            raise
        try:
            yield
        finally:
            self._give_back(key)

    def _give_back(self, key: str) -> None:
        self._free += 1
        self._taken[key] -= 1
        if not self._taken[key]:
            del self._taken[key]
        self._hand_out()

    def _hand_out(self) -> None:
        for key in list(self._waiting):
            if not self._free:
                return
            if self._taken[key] >= self._each:
                continue
            wishes = self._waiting[key]
            while wishes and wishes[0].done():  # whoever waited has gone
                wishes.popleft()
            if wishes:
                self._free -= 1
                self._taken[key] += 1
                wishes.popleft().set_result(None)
            if wishes:
                self._waiting.move_to_end(key)
            else:
                del self._waiting[key]
