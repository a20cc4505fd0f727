"""Documents that are too expensive: the process that reads them ends, and no other document waits."""

import asyncio
import os
import signal
import sys
from collections.abc import Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from harness.sampling import sampled
from harness.waiting import eventually
from mainstem import cli, cli_validate
from mainstem.errors import SpecInvalid
from mainstem.limits import within_limits
from mainstem.reasons import Exit
from mainstem_operator.metrics import VALIDATORS_LOST
from mainstem_operator.validation import worker_pool
from mainstem_operator.validation.worker import HEADER
from mainstem_operator.validation.worker_pool import ValidatorLost, Validators


SPEC: dict[str, Any] = {
    "sources": [{"name": "ticks", "rate": {}}],
    "queries": [{"name": "show", "from": "ticks", "to": [{"name": "out", "console": {}}]}],
    "checkpoints": {"location": "s3a://checkpoints/ticks"},
}
HARMFUL = """
import os, signal, time
from mainstem_operator.validation import documents, worker as validator
real = documents.validate
def harmful(body):
    what = body["spec"].get("harm")
    if gate := body["spec"].get("gate"):
        open(gate).close()
    if what == "cpu":
        while True: pass
    if what == "memory":
        bytearray(1 << 34)
    if what == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    if what == "fault":
        raise ZeroDivisionError
    return real(body)
documents.validate = harmful
from mainstem import limits
limits.CPU_SECONDS = 1
validator.main()
"""
"""The validating process, with documents that do harm by their own word: what reaches a limit is not to be had else.

One with a gate, a named pipe, does it once the test has opened that.
"""


def resource(namespace: str, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "mainstem.dev/v1alpha1",
        "kind": "StreamingPipeline",
        "metadata": {"name": "ticks", "namespace": namespace},
        "spec": {**SPEC, **spec},
    }


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(work, 120))


def test_a_document_is_checked_in_another_process() -> None:
    async def work() -> None:
        validators = Validators()
        try:
            accepted = await validators.validate(resource("a"))
            assert accepted.revision is not None
            assert not accepted.revision.bounded
            text = accepted.revision.text
            recalled = await validators.recall("a", text, accepted.revision.name)
            assert recalled == accepted.revision
            assert await validators.recall("a", "kind: Other", "x") is None
            refused = await validators.validate(resource("a", timeZone="Nowhere/Else"))
            assert (refused.revision, refused.reason) == (None, "UnknownTimeZone")
        finally:
            validators.close()

    run(work())


def test_a_killed_validation_rejects_only_its_own_document(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)

    async def work() -> None:
        validators = Validators((sys.executable, "-c", HARMFUL))
        try:
            await validators.validate(resource("warm"))
            harmful = [
                asyncio.ensure_future(validators.validate(resource("tenant", harm=harm, gate=str(gate))))
                for harm in ("cpu", "memory", "crash")
            ]
            others = [await validators.validate(resource("other", timeZone="UTC")) for _ in range(20)]
            assert not any(task.done() for task in harmful)
            assert {validation.reason for validation in others} == {"Accepted"}
            opened = os.open(gate, os.O_RDWR)  # as reader too, so that it waits for none
            results = await asyncio.gather(*harmful)
            os.close(opened)
            assert [validation.reason for validation in results] == ["DocumentTooComplex"] * 3
            assert (await validators.validate(resource("tenant"))).reason == "Accepted"
            with pytest.raises(Exception, match="ZeroDivisionError"):
                await validators.validate(resource("tenant", harm="fault"))
            assert (await validators.validate(resource("tenant"))).reason == "Accepted"
        finally:
            validators.close()

    run(work())


def children(process: int) -> set[int]:
    numbers = Path(f"/proc/{process}/task/{process}/children").read_text(encoding="ascii").split()
    return {int(child) for child in numbers}


def sleeps(process: int) -> bool:
    """Whether it waits for something."""
    status = Path(f"/proc/{process}/stat").read_text(encoding="ascii")
    return status.rpartition(") ")[2].startswith("S")


@pytest.mark.parametrize("number", sampled([signal.SIGKILL, signal.SIGXCPU, signal.SIGSEGV], every=3))
def test_a_process_that_dies_between_two_documents_rejects_none(number: int) -> None:
    async def work() -> None:
        validators = Validators((sys.executable, "-c", HARMFUL))
        try:
            await asyncio.gather(*(validators.validate(resource(key)) for key in "ab"))
            assert validators._process is not None
            main = validators._process.pid
            before = children(main)
            eventually("each has sent its answer, and waits", lambda: all(map(sleeps, before)))
            for child in before:
                os.kill(child, number)
            eventually("there are new ones", lambda: len(children(main) - before) == len(before))
            assert validators._process.poll() is None
            lost = VALIDATORS_LOST._value.get()
            results = [await validators.validate(resource(key)) for key in "abcd"]
            assert [validation.reason for validation in results] == ["Accepted"] * 4
            assert VALIDATORS_LOST._value.get() == lost
            # Only the harmful document is rejected, not those before and after it.
            reasons = [
                (await validators.validate(resource("a", **harm))).reason
                for harm in ({"harm": "cpu"}, {}, {"harm": "crash"}, {})
            ]
            assert reasons == ["DocumentTooComplex", "Accepted"] * 2
        finally:
            validators.close()

    run(work())


def test_a_death_within_a_message_restarts_the_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next process would take the rest of the message for a request. No deadline has to show that."""
    monkeypatch.setattr(worker_pool, "DEADLINE_SECONDS", 3600.0)

    async def work() -> None:
        validators = Validators()
        try:
            await validators.validate(resource("a"))
            assert validators._process is not None
            main = validators._process.pid
            for lane in validators._lanes:
                lane.writer.write(HEADER.pack(lane.sent + 1, 1000) + b"half")
            eventually("each waits for the rest", lambda: all(map(sleeps, children(main))))
            for child in children(main):
                os.kill(child, signal.SIGKILL)
            with suppress(ValidatorLost):
                await validators.validate(resource("a"))
            assert (await validators.validate(resource("a"))).reason == "Accepted"
        finally:
            validators.close()

    run(work())


def test_a_dead_validation_process_is_replaced() -> None:
    async def work() -> None:
        validators = Validators()
        try:
            await validators.validate(resource("a"))
            process = validators._process
            assert process is not None
            process.kill()
            process.wait()
            assert (await validators.validate(resource("a"))).reason == "Accepted"
        finally:
            validators.close()

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


def test_an_error_in_a_child_is_no_rejection() -> None:
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        within_limits(lambda: 1 // 0, "a.yaml")


def test_validate_rejects_a_document_that_reaches_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mainstem.limits.CPU_SECONDS", 1)
    monkeypatch.setattr(cli_validate, "check_file", lambda *_: _spin())
    done = CliRunner().invoke(cli.main, ["validate", "a.yaml"])
    assert done.exit_code == Exit.SPEC_INVALID
    assert "[DocumentTooComplex]" in done.output
