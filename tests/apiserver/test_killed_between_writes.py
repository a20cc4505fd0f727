"""The operator is killed after each single write of a life, and another one continues: the outcome is always the same.

A life is a start, a change that is handed over, a replacement or a deletion. `dies_after_writes` kills the operator when
the server has answered the write of a number; the next operator knows only what is on the server.
"""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from apiserver.operatorbed import ROOT, Bed, Operator, Ours, until
from apiserver.test_operator_updates import started, wanted, weight
from harness.sampling import only
from kubernetes.watch import Watch


pytestmark = [pytest.mark.faults, pytest.mark.timeout(900)]
NEVER = 0
"""The write after which an operator dies that is not killed."""


class Life(NamedTuple):
    """What happens to a pipeline.

    Attributes:
        before: brings the pipeline to where the life begins, with a healthy operator.
        ask: what a user does, once; the operator that may be killed runs afterwards.
        meanwhile: what kubelet and driver do, as far as it is possible now; called again and again.
        ended: whether the life has ended, as the API server shows it.
        writes: how many writes it is known to have at least.
        drivers: how many driver pods there are over its whole length.
    """

    before: Callable[[Ours], Any]
    ask: Callable[[Ours], Any]
    meanwhile: Callable[[Ours], Any]
    ended: Callable[[Ours], bool]
    writes: int
    drivers: int


def nothing(_ours: Ours) -> None:
    """Nobody does anything."""


def kubelet_ends_the_driver(ours: Ours) -> None:
    """A driver whose deletion is asked for drains and ends; a pod beside it that goes is none of its business."""
    drivers = (pod for pod in ours.pods() if pod.metadata.name == f"{ours.name}-driver")
    if any(pod.metadata.deletion_timestamp for pod in drivers):
        ours.ends(0, "drained")


def preflight_and_driver_end(ours: Ours) -> None:
    """The changed document passes its preflight; then the driver drains."""
    pod = ours.preflight()
    if pod is not None and pod.status.phase == "Pending":
        ours.passes_preflight()
    kubelet_ends_the_driver(ours)


def starting(attempt: int) -> Callable[[Ours], bool]:
    """Whether the status has a driver of this start number, and its pod is there, and no pod beside it."""

    def holds(ours: Ours) -> bool:
        status = ours.status
        alive = [pod for pod in ours.pods() if not pod.metadata.deletion_timestamp]
        attempts = [pod.metadata.annotations.get("mainstem.dev/attempt") for pod in alive]
        there = (status.get("phase"), status.get("attempt")) == ("Starting", attempt)
        return there and attempts == [str(attempt)]

    return holds


def applied(ours: Ours) -> bool:
    """Whether the status has the revision that the driver's pod was asked to take over."""
    return ours.status.get("revision") == wanted(ours) != ""


def driver_takes_it_over(ours: Ours) -> None:
    """A driver that is asked for another document reports it."""
    if (revision := wanted(ours)) and ours.status.get("reported", {}).get("revision") != revision:
        ours.reports(reported={"revision": revision})


def gone(ours: Ours) -> bool:
    """Whether the API server has neither the pipeline nor its driver."""
    return not ours.get() and not ours.pods()


LIVES = {
    "start": Life(nothing, lambda ours: ours.create(), nothing, starting(1), 7, 1),
    "handover": Life(started, lambda ours: ours.change(**weight(3)), driver_takes_it_over, applied, 4, 1),
    "replacement": Life(
        lambda ours: ours.start_running(),
        lambda ours: ours.change(timeZone="Europe/Zurich"),
        preflight_and_driver_end,
        starting(2),
        11,
        2,
    ),
    "deletion": Life(
        lambda ours: ours.start_running(), lambda ours: ours.delete(), kubelet_ends_the_driver, gone, 2, 1
    ),
}


class Drivers:
    """All driver pods that there are in a namespace from now on, however short they live."""

    def __init__(self, ours: Ours) -> None:
        self._ours = ours
        self._since = ours.bed.core.list_namespaced_pod(ours.namespace).metadata.resource_version

    def attempts(self) -> list[str]:
        """Their start numbers, in the order of their creation."""
        events = Watch().stream(
            self._ours.bed.core.list_namespaced_pod,
            self._ours.namespace,
            resource_version=self._since,
            timeout_seconds=1,
        )
        added = (event["object"] for event in events if event["type"] == "ADDED")
        drivers = (pod for pod in added if pod.metadata.name == f"{self._ours.name}-driver")
        return [pod.metadata.annotations["mainstem.dev/attempt"] for pod in drivers]


@pytest.fixture
def fresh(bed: Bed) -> Iterator[Bed]:
    """No operator runs, before and after."""
    bed.operator.stop()
    yield bed
    bed.operator.stop()


def lived(bed: Bed, name: str, write: int, log: Path) -> tuple[bool, dict[str, Any]]:
    """Live a life with an operator that dies after a write; whether it has died, and the outcome."""
    life, ours = LIVES[name], Ours(bed, bed.namespace())
    drivers = Drivers(ours)
    if life.before is not nothing:
        bed.operator.up()
        life.before(ours)
        bed.operator.stop()
    log.unlink(missing_ok=True)
    mortal = Operator(
        bed.plane,
        bed.operator_kubeconfig,
        argv=(sys.executable, "-m", "apiserver.dies_after_writes"),
        MAINSTEM_NAMESPACES=ours.namespace,
        PYTHONPATH=str(ROOT / "tests"),
        DIES_AFTER=str(write),
        DIES_LOG=str(log),
    )
    with mortal:
        mortal.up()
        life.ask(ours)

        def over() -> bool:
            life.meanwhile(ours)
            return not mortal.alive or life.ended(ours)

        until(over, why=f"{name}: neither the end of the life nor of the operator")
        settled(mortal, log)
        died = not mortal.alive
    with Operator(bed.plane, bed.operator_kubeconfig, MAINSTEM_NAMESPACES=ours.namespace) as heir:
        heir.up()

        def ended() -> bool:
            life.meanwhile(ours)
            return life.ended(ours)

        until(
            ended, why=f"{name}: killed after write {write}, the next operator does not end it: {ours.status}"
        )
        outcome = described(ours, drivers)
    return died, outcome


def settled(operator: Operator, log: Path) -> None:
    """Until the operator has died, or has written nothing more for a second: what follows the end of a life counts too."""
    count = -1
    while operator.alive and count != (count := len(log.read_text().splitlines()) if log.exists() else 0):
        try:
            until(lambda: not operator.alive, 1.0)
        except AssertionError:
            continue


def described(ours: Ours, drivers: Drivers) -> dict[str, Any]:
    """What is left on the server, without times, uids and hashes."""
    status = ours.status
    about = ours.get().get("metadata", {})
    return {
        "drivers": drivers.attempts(),
        "phase": status.get("phase"),
        "attempt": status.get("attempt"),
        "failures": status.get("failures"),
        "conditions": {each["type"]: each["status"] for each in status.get("conditions", ())},
        "finalizers": about.get("finalizers"),
        "pods": [
            (pod.metadata.name, pod.metadata.annotations.get("mainstem.dev/attempt")) for pod in ours.pods()
        ],
    }


SOME = [("start", 6), ("replacement", 2), ("handover", 3), ("deletion", 1)]
"""Before and after the pod, where another driver could start, or a start count twice."""


@pytest.mark.parametrize(("name", "write"), only(SOME, SOME[:1]))
def test_killed_after_a_write_the_next_operator_continues(
    fresh: Bed, name: str, write: int, tmp_path: Path
) -> None:
    log, life = tmp_path / "writes.log", LIVES[name]
    died, outcome = lived(fresh, name, write, log)
    print(f"{name}: killed after write {write}: {log.read_text(encoding='utf-8').splitlines()[-1]}")
    assert died, f"it had fewer than {write} writes"
    assert outcome["drivers"] == [str(number + 1) for number in range(life.drivers)]
    assert outcome["attempt"] == (None if name == "deletion" else life.drivers)


@pytest.mark.full
@pytest.mark.parametrize("name", LIVES)
def test_killed_after_any_write_of_a_life_its_outcome_is_the_same(
    fresh: Bed, name: str, tmp_path: Path
) -> None:
    log, life = tmp_path / "writes.log", LIVES[name]
    died, expected = lived(fresh, name, NEVER, log)
    assert not died
    writes = log.read_text(encoding="utf-8").splitlines()
    print(f"{name}: {len(writes)} writes", *writes, sep="\n  ")
    assert len(writes) >= life.writes
    assert expected["drivers"] == [str(number + 1) for number in range(life.drivers)]
    for write in range(1, len(writes) + 1):
        died, outcome = lived(fresh, name, write, log)
        print(f"{name}: killed after write {write}: {log.read_text(encoding='utf-8').splitlines()[-1]}")
        assert died, f"it had fewer than {write} writes"
        assert outcome == expected, f"killed after write {write}"
