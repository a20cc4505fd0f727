"""Which of several operators may write, by tables; and that no write passes the fence."""

import asyncio
from collections.abc import Iterator
from typing import Any, cast

import aiohttp
import pytest
from aiohttp import web
from mainstem_operator.api import fence as fences
from mainstem_operator.api.fence import Fence, NotTheHolder
from mainstem_operator.leadership.election import Election
from mainstem_operator.leadership.lease import (
    Candidate,
    Decision,
    LeaseObserver,
    LeaseRecord,
    decide,
    lease_name,
    lease_record,
    manifest,
)


ME = Candidate("me", "one/mainstem", ("a", "b"))
EVERYWHERE = Candidate("me", "one/mainstem", ())
EARLIER, NOW, LATER = (f"2026-03-01T1{hour}:00:00.000000Z" for hour in (1, 2, 3))


def lease(
    holder: str, namespaces: tuple[str, ...] = ("a", "b"), release: str = "one/mainstem", version: str = "1"
) -> LeaseRecord:
    return LeaseRecord(lease_name(namespaces), holder, release, namespaces, 15.0, 3, EARLIER, version)


MINE, THEIRS, FREE = lease("me"), lease("other"), lease("")
ALL = lease("other", ())
OVERLAPS, APART = lease("other", ("b", "c")), lease("other", ("c",))

TABLE = [
    # leases, which are live -> taken, and who is waited for
    ([], [], ME, Decision(take=True)),
    ([FREE], [], ME, Decision(take=True, own=FREE)),
    ([MINE], [MINE], ME, Decision(take=True, own=MINE)),
    ([THEIRS], [], ME, Decision(take=True, own=THEIRS)),
    ([THEIRS], [THEIRS], ME, Decision(take=False, own=THEIRS, blocker=THEIRS)),
    ([FREE, APART], [APART], ME, Decision(take=True, own=FREE)),
    ([FREE, OVERLAPS], [OVERLAPS], ME, Decision(take=False, own=FREE, blocker=OVERLAPS)),
    ([FREE, OVERLAPS], [], ME, Decision(take=True, own=FREE)),
    ([MINE, ALL], [MINE, ALL], ME, Decision(take=False, own=MINE, blocker=ALL)),
    ([ALL, THEIRS], [ALL, THEIRS], ME, Decision(take=False, own=THEIRS, blocker=THEIRS)),
    ([APART], [APART], EVERYWHERE, Decision(take=False, blocker=APART)),
    ([ALL], [], EVERYWHERE, Decision(take=True, own=ALL)),
    ([lease("me", ())], [lease("me", ())], ME, Decision(take=True)),
]


@pytest.mark.parametrize(("leases", "live", "candidate", "wanted"), TABLE)
def test_the_leases_decide_which_operator_writes(
    leases: list[LeaseRecord], live: list[LeaseRecord], candidate: Candidate, wanted: Decision
) -> None:
    assert decide(leases, [candidate_lease.name for candidate_lease in live], candidate) == wanted


def test_a_lease_is_live_while_it_changes_within_its_duration() -> None:
    witness = LeaseObserver()
    assert witness.is_live(lease("other"), 100)
    assert witness.is_live(lease("other"), 114.9)
    assert not witness.is_live(lease("other"), 115)
    assert witness.is_live(lease("other", version="2"), 115), "renewed"
    assert not witness.is_live(lease("", version="3"), 116), "released"


def test_a_written_lease_is_read_back() -> None:
    written = manifest(ME, "kube-system", None, NOW)
    assert "resourceVersion" not in written["metadata"]
    written["metadata"]["resourceVersion"] = "7"
    lease_held = lease_record(written)
    assert lease_held == LeaseRecord(ME.lease, "me", "one/mainstem", ("a", "b"), 15.0, 0, NOW, "7")
    renewed = manifest(ME, "kube-system", lease_held, LATER)
    assert (renewed["spec"]["acquireTime"], renewed["spec"]["renewTime"]) == (NOW, LATER)
    assert renewed["metadata"]["resourceVersion"] == "7"
    assert (renewed["spec"]["leaseTransitions"], renewed["spec"]["holderIdentity"]) == (0, "me")
    taken = manifest(ME, "kube-system", lease("other"), LATER)["spec"]
    assert (taken["leaseTransitions"], taken["acquireTime"]) == (4, LATER)
    released = manifest(ME, "kube-system", lease_held, LATER, is_held=False)
    assert (released["spec"]["leaseTransitions"], released["spec"]["holderIdentity"]) == (0, "")


def test_an_empty_lease_is_free() -> None:
    bare = {"metadata": {"name": "mainstem-operator", "resourceVersion": "1"}}
    assert lease_record(bare).holder == ""
    assert lease_record(bare).overlaps(ME)


# -- the fence


@pytest.fixture
def ticking(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    now = [100.0]
    monkeypatch.setattr(fences, "clock", lambda: now[0])
    return now


def test_the_fence_opens_for_a_while_and_closes_by_itself(ticking: list[float]) -> None:
    fence = Fence()
    with pytest.raises(NotTheHolder):
        fence.check()
    fence.open(110.0)
    fence.check()
    assert fence.seconds_left == 10.0
    ticking[0] = 110.0
    with pytest.raises(NotTheHolder):
        fence.check()
    fence.open(120.0)
    fence.close()
    assert not fence.is_open


def test_no_write_passes_a_closed_fence(ticking: list[float]) -> None:
    """Neither a write that begins later, nor an earlier one that gets its connection later."""
    arrived: list[str] = []

    async def scenario() -> list[str]:
        has_arrived, may_answer = asyncio.Event(), asyncio.Event()
        may_answer.set()

        async def answer(request: web.Request) -> web.Response:
            arrived.append(request.method)
            has_arrived.set()
            await may_answer.wait()
            return web.Response()

        app = web.Application()
        app.router.add_route("*", "/", answer)
        runner = web.AppRunner(app)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        url = f"http://127.0.0.1:{runner.addresses[0][1]}/"
        fence, errors = Fence(), []

        async def send(method: str) -> None:
            try:
                async with session.request(method, url) as response:
                    await response.read()
            except NotTheHolder:
                errors.append(method)

        async def count(*_: object) -> None:
            nonlocal queued
            queued += 1
            has_queued.set()

        queued, has_queued, counting = 0, asyncio.Event(), aiohttp.TraceConfig()
        counting.on_connection_queued_start.append(count)
        connector = aiohttp.TCPConnector(limit=1)
        traces = [fence.trace(), counting]
        async with aiohttp.ClientSession(connector=connector, trace_configs=traces) as session:
            await asyncio.gather(*(send(method) for method in ("GET", "POST", "PATCH", "PUT", "DELETE")))
            fence.open(110.0)
            await send("POST")
            has_arrived.clear()
            may_answer.clear()
            queued = 0
            first = asyncio.create_task(send("GET"))
            await has_arrived.wait()  # it keeps the one connection
            waiting = [asyncio.create_task(send(method)) for method in ("PATCH", "GET")]
            while queued < 2:
                await has_queued.wait()
                has_queued.clear()
            ticking[0] = 111.0  # while they wait for the connection
            may_answer.set()
            await asyncio.gather(first, *waiting)
        await runner.cleanup()
        return errors

    errors = asyncio.run(scenario())
    assert sorted(errors) == ["DELETE", "PATCH", "PATCH", "POST", "PUT"]
    assert sorted(arrived) == ["GET", "GET", "GET", "POST"]


def test_a_rejected_write_looks_like_a_server_that_does_not_answer() -> None:
    """So that Kopf, and whoever else writes, tries again later and goes on."""
    error: Any = NotTheHolder()
    assert isinstance(error, aiohttp.ClientConnectionError)
    assert isinstance(error, OSError)
    assert "does not hold its Lease" in str(error)


@pytest.mark.parametrize(
    ("blocker", "problem"),
    [
        (None, "LeaseUnavailable"),  # it is taken in this moment, or somebody else was faster
        (lease("other"), ""),  # a replica of the same release, beside which this one stands by
        (lease("other", release="two/mainstem"), "AnotherOperatorHolds"),
    ],
)
def test_an_operator_without_its_lease_is_ready_only_as_a_standby(
    blocker: LeaseRecord | None, problem: str
) -> None:
    async def problem_name() -> str:
        election = Election(cast("Any", None), ME, "kube-system", Fence())
        election.trouble, election.blocker = "", blocker
        return election.problem.partition(":")[0]

    assert asyncio.run(problem_name()) == problem
