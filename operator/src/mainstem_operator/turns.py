"""Limits how many pieces of work run at a time, fairly between keys such as namespaces, even if some are slow."""

import asyncio
import contextlib
import math
from collections import OrderedDict, deque
from collections.abc import AsyncIterator
from dataclasses import dataclass
from enum import Enum, auto


class _Pace(Enum):
    UNKNOWN = auto()
    QUICK = auto()
    SLOW = auto()


@dataclass
class _Key:
    """The state of a key while it has turns or waits for one.

    Attributes:
        pace: whether its turns so far were quick or slow.
        turns: the number of its turns.
        late: the number of its turns that have lasted longer than the limit.
    """

    pace: _Pace = _Pace.UNKNOWN
    turns: int = 0
    late: int = 0


@dataclass
class _Turn:
    """A turn in progress.

    Attributes:
        name: the key's name.
        is_apart: True if it counts as a turn of a slow key.
        is_late: True once it has lasted longer than the limit.
        timer: sets `is_late`.
    """

    name: str
    is_apart: bool
    is_late: bool = False
    timer: asyncio.TimerHandle | None = None


class FairTurns:
    """At most `total` turns at a time, at most `each` of them for one key; waiting keys get turns in rotation.

    A key begins with one turn, and may have `each` after its first turn has ended. A key is slow while one of its turns has
    lasted longer than `slow_after` seconds, until one of its turns ends sooner. Slow keys have a limit of their own, also
    `total`; it includes turns that began before their key was slow. So a key delays the others by at most `slow_after`
    seconds, however many keys are slow.
    """

    def __init__(self, total: int, each: int, slow_after: float = math.inf) -> None:
        self._total = total
        self._each = each
        self._slow_after = slow_after
        self._taken = {False: 0, True: 0}  # by whether they are counted apart
        self._keys: dict[str, _Key] = {}
        self._waiting: OrderedDict[str, deque[asyncio.Future[_Turn]]] = OrderedDict()

    @contextlib.asynccontextmanager
    async def turn(self, name: str) -> AsyncIterator[None]:
        """Wait for a turn of the key `name`; the turn lasts as long as the block."""
        wish: asyncio.Future[_Turn] = asyncio.get_running_loop().create_future()
        self._keys.setdefault(name, _Key())
        self._waiting.setdefault(name, deque()).append(wish)
        self._hand_out()
        try:
            turn = await wish
        except asyncio.CancelledError:
            if wish.done() and not wish.cancelled():  # the turn arrived at the same moment
                self._give_back(wish.result())
            raise
        try:
            yield
        finally:
            self._give_back(turn)

    def _hand_out(self) -> None:
        """Give one turn to each key in rotation, until no key may begin."""
        while [name for name in list(self._waiting) if self._gives_one(name)]:
            pass

    def _gives_one(self, name: str) -> bool:
        """Give the key a turn if it may begin, and return whether it got one. Then the key is last in the rotation."""
        key, wishes = self._keys[name], self._waiting[name]
        while wishes and wishes[0].done():  # their callers were cancelled
            wishes.popleft()
        given = bool(wishes) and self._may_begin(key)
        if given:
            wishes.popleft().set_result(self._begun(name, key))
            self._waiting.move_to_end(name)
        if not wishes:
            del self._waiting[name]
            self._forget(name)
        return given

    def _may_begin(self, key: _Key) -> bool:
        most = 1 if key.pace is _Pace.UNKNOWN else self._each
        return key.turns < most and self._taken[key.pace is _Pace.SLOW] < self._total

    def _begun(self, name: str, key: _Key) -> _Turn:
        turn = _Turn(name, is_apart=key.pace is _Pace.SLOW)
        if math.isfinite(self._slow_after):
            turn.timer = asyncio.get_running_loop().call_later(self._slow_after, self._is_late, turn)
        self._taken[turn.is_apart] += 1
        key.turns += 1
        return turn

    def _is_late(self, turn: _Turn) -> None:
        key = self._keys[turn.name]
        key.pace = _Pace.SLOW
        key.late += 1
        self._taken[turn.is_apart] -= 1
        self._taken[True] += 1
        turn.is_late = turn.is_apart = True
        self._hand_out()

    def _give_back(self, turn: _Turn) -> None:
        if turn.timer:
            turn.timer.cancel()
        key = self._keys[turn.name]
        self._taken[turn.is_apart] -= 1
        key.turns -= 1
        key.late -= turn.is_late
        if not turn.is_late and not key.late:
            key.pace = _Pace.QUICK
        self._forget(turn.name)
        self._hand_out()

    def _forget(self, name: str) -> None:
        """Delete the state of a key that has no turn and waits for none."""
        if not self._keys[name].turns and name not in self._waiting:
            del self._keys[name]
