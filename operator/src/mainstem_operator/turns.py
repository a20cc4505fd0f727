"""Turns for work that is limited in number, given fairly to those who want them, however slow the work of some is."""

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
    """What is known of a key while it has turns, or waits for one.

    Attributes:
        pace: by its turns so far.
        turns: how many it has.
        late: how many of them have lasted longer than they should.
    """

    pace: _Pace = _Pace.UNKNOWN
    turns: int = 0
    late: int = 0


@dataclass
class _Turn:
    """A turn that somebody has.

    Attributes:
        name: of its key.
        is_apart: True where it is counted among the turns of slow keys.
        is_late: True once it has lasted longer than it should.
        timer: makes it late.
    """

    name: str
    is_apart: bool
    is_late: bool = False
    timer: asyncio.TimerHandle | None = None


class FairTurns:
    """At most `total` turns at a time, at most `each` of them for one key; keys that wait take turns with each other.

    A key begins with one turn, and may have `each` once a turn of it has ended. A key with a turn that lasts longer than
    `slow_after` seconds is slow, until a turn of it ends sooner. The turns of slow keys are counted apart: `total` as well,
    and those that were begun before their key was known to be slow. So a key delays the others for `slow_after` seconds,
    however many keys are slow.
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
        """Wait for a turn of the key `name`, and have it."""
        wish: asyncio.Future[_Turn] = asyncio.get_running_loop().create_future()
        self._keys.setdefault(name, _Key())
        self._waiting.setdefault(name, deque()).append(wish)
        self._hand_out()
        try:
            turn = await wish
        except asyncio.CancelledError:
            if wish.done() and not wish.cancelled():  # it came in the same moment
                self._give_back(wish.result())
            raise
        try:
            yield
        finally:
            self._give_back(turn)

    def _hand_out(self) -> None:
        """Give turns, one for each key after the other, until none may be given."""
        while [name for name in list(self._waiting) if self._gives_one(name)]:
            pass

    def _gives_one(self, name: str) -> bool:
        """Whether a turn was given to the key; it is last in the line then, and in none where nobody waits any more."""
        key, wishes = self._keys[name], self._waiting[name]
        while wishes and wishes[0].done():  # whoever waited has gone
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
        """Keep nothing of a key that has no turn and wants none."""
        if not self._keys[name].turns and name not in self._waiting:
            del self._keys[name]
