"""Turns, by a clock that goes on only while all wait."""

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mainstem_operator.turns import FairTurns
from unit.virtual_time import run


TOTAL, EACH, SLOW_AFTER = 24, 8, 2.0


class Tenants:
    """Pieces of work of some keys: how long each waited for its turn, and how many had one at a time."""

    def __init__(self, **limits: Any) -> None:
        self.turns = FairTurns(**{"total": TOTAL, "each": EACH, "slow_after": SLOW_AFTER, **limits})
        self.order: list[str] = []
        self.busy: dict[str, int] = {}
        self.most: dict[str, int] = {}
        self._tasks: list[asyncio.Task[float]] = []

    def add(self, key: str, seconds: float, *, at: float = 0.0) -> asyncio.Task[float]:
        task = asyncio.ensure_future(self._work(key, seconds, at))
        self._tasks.append(task)
        return task

    async def _work(self, key: str, seconds: float, at: float) -> float:
        loop = asyncio.get_running_loop()
        await asyncio.sleep(at)
        asked = loop.time()
        async with self.turns.turn(key):
            waited = loop.time() - asked
            self.order.append(key)
            self.busy[key] = self.busy.get(key, 0) + 1
            self.most[key] = max(self.most.get(key, 0), self.busy[key])
            await asyncio.sleep(seconds)
            self.busy[key] -= 1
        return waited

    async def done(self) -> None:
        """All have had their turn, and nothing is left of them."""
        await asyncio.gather(*self._tasks, return_exceptions=True)
        assert (self.turns._keys, self.turns._waiting) == ({}, {})
        assert self.turns._taken == {False: 0, True: 0}


def test_keys_take_turns_with_each_other() -> None:
    async def work() -> None:
        tenants = Tenants(total=2, each=2)
        for key in "aaaabbcc":
            tenants.add(key, 1.0)
        await tenants.done()
        assert "".join(tenants.order) == "ababcaca"

    run(work())


def test_a_key_has_one_turn_until_one_has_ended_and_then_its_share() -> None:
    async def work() -> None:
        tenants = Tenants()
        waits = [tenants.add("a", 1.0) for _ in range(20)]
        await tenants.done()
        assert [await wait for wait in waits] == [0.0] + [1.0] * 8 + [2.0] * 8 + [3.0] * 3
        assert tenants.most == {"a": EACH}

    run(work())


def test_a_cancelled_waiter_takes_no_turn() -> None:
    async def work() -> None:
        tenants = Tenants(total=1)
        tenants.add("a", 1.0)
        gone, second, last = tenants.add("a", 1.0), tenants.add("a", 1.0), tenants.add("b", 1.0)
        await asyncio.sleep(0.5)
        gone.cancel()
        await tenants.done()
        assert tenants.order == ["a", "a", "b"]
        assert (await second, await last) == (1.0, 2.0)

    run(work())


def test_a_turn_that_is_cancelled_on_arrival_is_returned() -> None:
    async def work() -> None:
        tenants = Tenants(total=1, each=1)
        first, second = tenants.add("a", 0.0), tenants.add("a", 0.0)
        await first
        second.cancel()
        await asyncio.wait_for(tenants.add("a", 0.0), 30)
        await tenants.done()

    run(work())


@pytest.mark.parametrize("slow", [1, 2, 3, 23, 24, 100])
def test_slow_keys_delay_no_other_key_once_they_are_known(slow: int) -> None:
    """Three of them would hold every turn by their shares; a hundred by one turn each."""

    async def work() -> None:
        tenants = Tenants()
        for number in range(slow):
            for _ in range(10):
                tenants.add(f"slow-{number}", 25.0)
        known = SLOW_AFTER * (slow // TOTAL + 1)
        waits = [tenants.add(f"quick-{at % 5}", 0.1, at=known + at) for at in range(40)]
        assert {await wait for wait in waits} == {0.0}
        await tenants.done()

    run(work())


def test_keys_that_become_slow_delay_the_others_only_for_a_moment() -> None:
    async def work() -> None:
        tenants = Tenants()
        for number in range(3):
            tenants.add(f"slow-{number}", 0.1)
            for _ in range(30):
                tenants.add(f"slow-{number}", 25.0)
        during, after = tenants.add("quick", 0.1, at=1.0), tenants.add("quick", 0.1, at=3.0)
        assert await during == pytest.approx(0.1 + SLOW_AFTER - 1.0)
        assert await after == 0.0
        await tenants.done()

    run(work())


def test_a_slow_key_has_its_share_of_turns() -> None:
    async def work() -> None:
        tenants = Tenants()
        waits = [tenants.add("a", 25.0) for _ in range(EACH + 1)]
        await tenants.done()
        assert [await wait for wait in waits] == [0.0] + [SLOW_AFTER] * (EACH - 1) + [25.0]

    run(work())


def test_a_slow_key_is_quick_again_after_a_quick_turn() -> None:
    async def work() -> None:
        tenants = Tenants(total=1)
        tenants.add("a", 25.0)
        apart, among_others = tenants.add("a", 0.5), tenants.add("a", 0.5)
        tenants.add("b", 1.5, at=24.5)
        await tenants.done()
        assert (await apart, await among_others) == (25.0, 26.0)

    run(work())


@given(
    slow=st.lists(
        st.tuples(st.integers(1, 12), st.floats(0, 60), st.sampled_from([2.5, 25.0, 90.0])), max_size=40
    ),
    quick=st.lists(st.tuples(st.integers(0, 5), st.floats(0, 100)), min_size=1, max_size=30),
)
def test_no_key_waits_longer_than_slow_keys_take_to_be_recognised(
    slow: list[tuple[int, float, float]], quick: list[tuple[int, float]]
) -> None:
    async def work() -> None:
        tenants = Tenants()
        for number, (count, at, seconds) in enumerate(slow):
            for _ in range(count):
                tenants.add(f"slow-{number}", seconds, at=at)
        waits = [tenants.add(f"quick-{key}", 0.01, at=at) for key, at in quick]
        await tenants.done()
        longest = max([await wait for wait in waits])
        assert longest <= SLOW_AFTER * (len(slow) // TOTAL + 1) + 0.01 * len(quick)

    run(work())
