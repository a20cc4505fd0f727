"""Faults strike a pipeline that runs on the cluster; it recovers by itself, and each record is in each sink once.

One pipeline runs through all faults of this file. MAINSTEM_FAULT_SECONDS sets how long the faults of `make test-faults`
last; `make test-full` also runs a few of them for a shorter time.
"""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from typing import Any, NamedTuple

import pytest
from cluster import node_processes
from cluster.faultbed import MEMORY, ClusterFaultBed, kill_operators
from harness.errors import HarnessError
from harness.waiting import lasts


pytestmark = [
    pytest.mark.bare,
    pytest.mark.faults,
    pytest.mark.timeout(3600),
    pytest.mark.full(
        gate="cluster/test_story.py::test_after_a_kill_within_a_batch_the_next_driver_continues"
    ),
]
SECONDS = float(os.environ.get("MAINSTEM_FAULT_SECONDS", "60"))
BRIEF = 15.0
FENCED = 8
"""The exit code of a driver that a later one has replaced."""
Record = Callable[[str, object], None]
Bed = ClusterFaultBed


class Fault(NamedTuple):
    """What breaks, and how it is mended.

    Attributes:
        strike: breaks it.
        heal: mends it.
        lasts: whether it lasts until it is mended.
        feeds: whether records can come while it lasts.
        arrives: whether they reach the sinks while it lasts.
        drivers: how many drivers the operator starts because of it.
    """

    strike: Callable[[Bed], Any]
    heal: Callable[[Bed], Any] = lambda _bed: None
    lasts: bool = True
    feeds: bool = True
    arrives: bool = False
    drivers: int = 0


def kill_in_a_batch(bed: Bed) -> None:
    """SIGKILL to the driver once a batch is planned and not committed."""
    uid = bed.uid()
    bed.await_a_batch()
    node_processes.kill(uid)
    bed.next_driver(uid)


def evict_in_a_batch(bed: Bed) -> None:
    """Evict the driver pod, as `kubectl drain` does."""
    uid = bed.uid()
    bed.await_a_batch()
    bed.evict("faults-driver")
    bed.next_driver(uid)


def kill_the_operator_at_a_start(bed: Bed) -> None:
    """SIGKILL to driver and operator; the operator dies again once it has created the next driver pod."""
    uid = bed.uid()
    node_processes.kill(uid)
    kill_operators(bed.cluster)
    next_uid = bed.next_driver(uid, runs=False)
    kill_operators(bed.cluster)
    assert bed.next_driver(uid) == next_uid


def use_up_the_memory(bed: Bed) -> None:
    """More processes in the driver's container than its memory limit allows; the kernel kills the largest, Java."""
    uid = bed.uid()
    with suppress(HarnessError):  # the container ends, and the command with it
        bed.pipeline.kubectl("exec", "faults-driver", "--", "python", "-c", HOGS)
    bed.next_driver(uid)


HOGS = """
import subprocess, sys
hog = "import time; kept = bytearray(b'x' * (1 << 20)) * 100; time.sleep(60)"
hogs = [subprocess.Popen([sys.executable, "-c", hog]) for _ in range(16)]
for each in hogs:
    each.wait()
"""


def api_server(number: signal.Signals) -> Callable[[Bed], None]:
    """A signal to the API server."""

    def strike(_bed: Bed) -> None:
        for pid in node_processes.of_server("kube-apiserver"):
            os.kill(pid, number)

    return strike


FAULTS = {
    "driver killed in a batch": Fault(kill_in_a_batch, lasts=False, drivers=1),
    "driver evicted in a batch": Fault(evict_in_a_batch, lasts=False, drivers=1),
    "operator killed at a start": Fault(kill_the_operator_at_a_start, lasts=False, drivers=1),
    "API server suspended": Fault(api_server(signal.SIGSTOP), api_server(signal.SIGCONT), arrives=True),
    "store answers 503": Fault(lambda bed: bed.store.refuse(), lambda bed: bed.store.heal()),
    "store silent": Fault(lambda bed: bed.store.silence(), lambda bed: bed.store.heal()),
    "store cuts connections": Fault(lambda bed: bed.store.cut(), lambda bed: bed.store.heal()),
    "broker restarted": Fault(lambda bed: bed.kafka.restart(), lasts=False),
    "broker away": Fault(lambda bed: bed.kafka.kill(), lambda bed: bed.kafka.start(), feeds=False),
}
SELECTED = ("driver killed in a batch", "API server suspended")


def rows() -> Iterator[Any]:
    """The selected faults for a short time, then all of them."""
    for name in SELECTED:
        yield pytest.param(FAULTS[name], BRIEF, id=f"{name}, brief" if FAULTS[name].lasts else name)
    for name, fault in FAULTS.items():
        if fault.lasts or name not in SELECTED:
            yield pytest.param(fault, SECONDS, id=name, marks=pytest.mark.full)


@pytest.mark.parametrize(("fault", "seconds"), list(rows()))
def test_after_a_fault_each_record_is_there_once(
    bed: Bed, fault: Fault, seconds: float, record_property: Record
) -> None:
    bed.ready()
    before, uid = bed.attempt(), bed.uid()
    fault.strike(bed)
    try:
        if fault.feeds:
            bed.feed()
        if fault.arrives:
            bed.caught_up()
        lasts(seconds if fault.lasts else 0)
    finally:
        fault.heal(bed)
    bed.feed()
    record_property("recovery", bed.caught_up())
    bed.check()
    bed.ready()
    record_property("drivers", bed.attempt() - before)
    assert bed.attempt() - before == fault.drivers
    assert (bed.uid() == uid) == (fault.drivers == 0)


@pytest.mark.full
def test_a_driver_out_of_memory_is_reported_with_container_limit_and_the_next_limit(
    bed: Bed, record_property: Record
) -> None:
    bed.ready()
    before = bed.attempt()
    use_up_the_memory(bed)
    bed.feed()
    record_property("recovery", bed.caught_up())
    bed.check()
    bed.ready()
    termination = bed.pipeline.status()["lastTermination"]
    print(termination)
    assert termination["reason"] == "OOMKilled"
    assert bed.pipeline.status()["lastFailure"]["class"] == "OutOfMemory"
    exceeded = f"the container 'driver' exceeded its memory limit of {MEMORY['limits']['memory']}"
    assert exceeded in termination["message"]
    assert "Set driver.resources.limits.memory to 2304Mi" in termination["message"]
    assert bed.attempt() - before == 1
    record_property("drivers", 1)


@pytest.mark.full
def test_twenty_kills_within_batches_change_no_count(bed: Bed, record_property: Record) -> None:
    seconds = []
    for _ in range(20):
        bed.ready()
        kill_in_a_batch(bed)
        bed.feed()
        seconds.append(bed.caught_up())
        bed.check()
    print("recovery in seconds:", sorted(round(each) for each in seconds))
    record_property("recovery", max(seconds))
    record_property("drivers", len(seconds))


def delete_by_force(bed: Bed) -> None:
    """`kubectl delete pod --force` of the driver."""
    bed.pipeline.kubectl("delete", "pod", "faults-driver", "--grace-period=0", "--force")


def silence_the_node(bed: Bed) -> None:
    """The kubelet does not run until the operator has deleted the driver pod by force and created the next one."""
    uid = bed.uid()
    with node_processes.silent_node():
        bed.pipeline.kubectl("delete", "pod", "faults-driver", "--grace-period=1", "--wait=false")
        bed.next_driver(uid, runs=False)


@pytest.mark.full(gate="services/test_checkpoint_files.py::test_an_older_driver_creates_no_plan")
@pytest.mark.parametrize(
    ("lose", "times"),
    [
        pytest.param(delete_by_force, 1, id="two drivers, pod deleted by force"),
        pytest.param(silence_the_node, 1, id="two drivers, node silent and back", marks=pytest.mark.full),
        pytest.param(
            delete_by_force, 10, id="two drivers, pod deleted by force, 10 times", marks=pytest.mark.full
        ),
        pytest.param(
            silence_the_node, 10, id="two drivers, node silent and back, 10 times", marks=pytest.mark.full
        ),
    ],
)
def test_the_older_of_two_live_drivers_is_fenced(
    bed: Bed, lose: Callable[[Bed], None], times: int, record_property: Record
) -> None:
    """Containerd cannot end the older driver's container: its shim, the only process that could, does not run."""
    before, seconds = bed.attempt(), []
    for _ in range(times):
        bed.ready()
        uid = bed.uid()
        first, shim = node_processes.first_of_container(uid), node_processes.shim(uid)
        with node_processes.suspended(shim):
            output = node_processes.Output(first)
            bed.await_a_batch()
            lose(bed)
            bed.next_driver(uid)
            assert node_processes.exit_code(first) is None, "both drivers run"
            bed.feed()
            seconds.append(bed.caught_up())
            bed.ready()
            bed.feed()  # if the older driver wrote the records before, it ends by writing these
            assert node_processes.wait_for_end(first, output, 120) == FENCED
            assert "Fenced" in output.text
        bed.feed()
        bed.caught_up()
        bed.check()
    assert bed.attempt() - before == times
    record_property("recovery", max(seconds))
    record_property("drivers", times)


@pytest.mark.full
def test_a_drained_node_takes_driver_and_executors_and_gives_them_back(
    bed: Bed, record_property: Record
) -> None:
    bed.ready()
    with ExitStack() as mended:
        bed.pipeline.patch(executors={"instances": 1, "cores": 1, "resources": MEMORY})
        mended.callback(bed.pipeline.patch, executors=None)
        bed.until("1/1", lambda: bed.pipeline.status()["summary"].get("executors") == "1/1", 240)
        uid, before = bed.uid(), bed.attempt()
        [node] = bed.cluster.kubectl("get", "nodes", "-o", "name").split()
        bed.cluster.kubectl("cordon", node)
        with ExitStack() as cordoned:
            cordoned.callback(bed.cluster.kubectl, "uncordon", node)
            bed.await_a_batch()
            executors = [pod["metadata"]["name"] for pod in bed.pipeline.executors()]
            bed.evict("faults-driver")
            for executor in executors:
                bed.evict(executor)
            bed.next_driver(uid, runs=False)
            bed.feed()
            bed.until(
                "the next driver waits for a node",
                lambda: bed.pipeline.condition("DriverRunning").get("reason") == "DriverUnschedulable",
            )
        bed.feed()
        record_property("recovery", bed.caught_up())
        bed.check()
        assert bed.attempt() == before + 1
        record_property("drivers", 1)
    bed.until("no executors", lambda: bed.pipeline.executors() == [], 240)
    bed.ready()
