"""Documents that cost more than any should: the process that reads them ends, and nobody else is held up."""

import asyncio
import sys
import time
from collections.abc import Coroutine
from typing import Any

import pytest
from click.testing import CliRunner
from mainstem import cli
from mainstem.errors import Exit, SpecInvalid
from mainstem.limits import within_limits
from mainstem_operator.turns import FairTurns
from mainstem_operator.validation import Validators


SPEC: dict[str, Any] = {
    "sources": [{"name": "ticks", "rate": {}}],
    "queries": [{"name": "show", "from": "ticks", "to": [{"name": "out", "console": {}}]}],
    "checkpoints": {"location": "s3a://checkpoints/ticks"},
}
HARMFUL = """
import os, signal, time
from mainstem_operator import judge, validator
real = judge.judge
def harmful(body):
    what = body["spec"].get("harm")
    if what == "cpu":
        while True: pass
    if what == "memory":
        bytearray(1 << 34)
    if what == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    if what == "fault":
        raise ZeroDivisionError
    return real(body)
judge.judge = harmful
from mainstem import limits
limits.CPU_SECONDS = 1
validator.main()
"""
"""The validating process, with documents that do harm by their own word: what reaches a limit is not to be had else."""


def resource(namespace: str, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "mainstem.dev/v1alpha1",
        "kind": "StreamingPipeline",
        "metadata": {"name": "ticks", "namespace": namespace},
        "spec": {**SPEC, **spec},
    }


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(work, 120))


def test_a_document_is_judged_in_another_process() -> None:
    async def work() -> None:
        validators = Validators()
        try:
            accepted = await validators.judge(resource("a"))
            assert accepted.revision is not None
            assert not accepted.revision.bounded
            text = accepted.revision.text
            recalled = await validators.recall("a", text, accepted.revision.name)
            assert recalled == accepted.revision
            assert await validators.recall("a", "kind: Other", "x") is None
            refused = await validators.judge(resource("a", timeZone="Nowhere/Else"))
            assert (refused.revision, refused.reason) == (None, "UnknownTimeZone")
        finally:
            validators.close()

    run(work())


def test_the_death_of_its_process_is_the_refusal_of_a_document_and_of_no_other() -> None:
    async def work() -> None:
        validators = Validators((sys.executable, "-c", HARMFUL))
        try:
            await validators.judge(resource("warm"))
            harmful = [
                asyncio.ensure_future(validators.judge(resource("tenant", harm=harm)))
                for harm in ("cpu", "memory", "crash")
            ]
            started = time.monotonic()
            others = [await validators.judge(resource("other", timeZone="UTC")) for _ in range(20)]
            assert not all(task.done() for task in harmful)
            assert time.monotonic() - started < 30
            assert {judgement.reason for judgement in others} == {"Accepted"}
            found = await asyncio.gather(*harmful)
            assert [judgement.reason for judgement in found] == ["DocumentTooComplex"] * 3
            assert (await validators.judge(resource("tenant"))).reason == "Accepted"
            with pytest.raises(Exception, match="ZeroDivisionError"):
                await validators.judge(resource("tenant", harm="fault"))
            assert (await validators.judge(resource("tenant"))).reason == "Accepted"
        finally:
            validators.close()

    run(work())


def test_a_validating_process_that_goes_is_replaced() -> None:
    async def work() -> None:
        validators = Validators()
        try:
            await validators.judge(resource("a"))
            process = validators._process
            assert process is not None
            process.kill()
            process.wait()
            assert (await validators.judge(resource("a"))).reason == "Accepted"
        finally:
            validators.close()

    run(work())


def test_turns_are_shared_between_keys() -> None:
    async def work() -> None:
        turns, order = FairTurns(total=3, each=2), []
        block = asyncio.Event()

        async def hold(key: str, *, until_released: bool) -> None:
            async with turns.turn(key):
                order.append(key)
                await (block.wait() if until_released else asyncio.sleep(0))

        slow = [asyncio.ensure_future(hold("slow", until_released=True)) for _ in range(30)]
        await asyncio.sleep(0)
        quick = [asyncio.ensure_future(hold(key, until_released=False)) for key in "aabbc"]
        await asyncio.wait_for(asyncio.gather(*quick), 30)
        assert order == ["slow", "slow", "a", "a", "b", "c", "b"]
        slow[5].cancel()
        block.set()
        await asyncio.gather(*slow, return_exceptions=True)
        assert order.count("slow") == 29
        await hold("again", until_released=False)

    run(work())


def test_a_turn_that_is_cancelled_as_it_comes_is_given_back() -> None:
    async def work() -> None:
        turns = FairTurns(total=1, each=1)

        async def take() -> None:
            async with turns.turn("a"):
                await asyncio.sleep(0)

        first = asyncio.ensure_future(take())
        second = asyncio.ensure_future(take())
        await asyncio.sleep(0)
        await first
        second.cancel()
        await asyncio.gather(second, return_exceptions=True)
        await asyncio.wait_for(take(), 30)

    run(work())


def _spin() -> None:
    while True:
        pass


def _hoard() -> int:
    return len(bytearray(1 << 34))


@pytest.mark.parametrize("work", [_spin, _hoard])
def test_work_in_a_child_ends_at_its_limits(work: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mainstem.limits.CPU_SECONDS", 1)
    with pytest.raises(SpecInvalid) as refused:
        within_limits(work, "a.yaml")
    [problem] = refused.value.problems
    assert problem.reason == "DocumentTooComplex"


def test_a_fault_in_a_child_is_no_refusal() -> None:
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        within_limits(lambda: 1 // 0, "a.yaml")


def test_validate_refuses_what_reaches_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mainstem.limits.CPU_SECONDS", 1)
    monkeypatch.setattr(cli, "_validated", lambda *_: _spin())
    done = CliRunner().invoke(cli.main, ["validate", "a.yaml"])
    assert done.exit_code == Exit.SPEC_INVALID
    assert "[DocumentTooComplex]" in done.output
