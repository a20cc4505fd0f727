"""A driver pod that does not start: its deadline by cause, and ever later another pod."""

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mainstem.language.model.deployment import larger_memory
from mainstem_operator.decisions.actions import Plan
from mainstem_operator.decisions.failure_classes import FailureClass, Failures
from mainstem_operator.decisions.observed_ages import with_ages
from mainstem_operator.decisions.plan import plan
from mainstem_operator.decisions.start_deadlines import LONGEST_SECONDS, deadline, replaced_after
from mainstem_operator.observed.ages import Ages
from mainstem_operator.observed.conditions import timestamp
from unit.operator_steps import (
    at,
    body,
    condition,
    ended,
    moment,
    next_step,
    observation,
    pod,
    reported,
    running,
    status,
)


PULL = {"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}}
UNSCHEDULABLE = {
    "conditions": [
        {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes"}
    ]
}
CAUSES = [
    ({"state": PULL}, "node-1", 300, "its image"),
    (
        {"state": {"waiting": {"reason": "CreateContainerConfigError"}}},
        "node-1",
        300,
        "its volumes and Secrets",
    ),
    ({"state": {"waiting": {"reason": "CreateContainerError"}}}, "node-1", 600, "its container"),
    ({}, "node-1", 600, "its container"),
    (UNSCHEDULABLE, None, 600, "a node"),
]


def waits(pipeline: dict[str, Any], *, node: str | None = "node-1", **given: Any) -> dict[str, Any]:
    made = pod(pipeline, **given)
    if node:
        made["spec"]["nodeName"] = node
    return made


def step(pipeline: dict[str, Any], its_pod: dict[str, Any], age: float) -> Plan:
    its_pod["metadata"]["creationTimestamp"] = timestamp(at(-age))
    return plan(with_ages(observation(pipeline, its_pod), Ages(), moment(at(0))))


@pytest.mark.parametrize(("given", "node", "limit", "kind"), CAUSES)
def test_a_pod_beyond_its_deadline_is_stalled_with_its_cause(
    given: dict[str, Any], node: str | None, limit: int, kind: str
) -> None:
    pipeline = body(status=status("Starting", body()))
    early = step(pipeline, waits(pipeline, node=node, **given), limit - 1)
    assert early.status["phase"] == "Starting"
    assert condition(early, "Reconciling")[0] == "True"
    late = step(pipeline, waits(pipeline, node=node, **given), limit + 1)
    assert (late.status["phase"], late.stop) == ("Failed", False), "the kubelet goes on trying"
    cause = condition(early, "DriverRunning")
    assert condition(late, "Stalled")[:2] == ("True", cause[1])
    assert condition(late, "Stalled")[2].startswith(
        f"{cause[2]}; the driver has waited for {kind} for more than {limit // 60} minutes, in 1 pod. "
    )
    assert ("Warning", "Failed") in {(event.type, event.reason) for event in late.events}
    written = {**pipeline, "status": late.status}
    again = step(written, waits(pipeline, node=node, **given), limit + 100)
    assert (again.status, again.events) == (late.status, ())
    runs = next_step(written, running(pipeline))
    assert runs.status["phase"] == "Starting"


def test_a_pod_on_a_node_is_replaced_ever_later_without_a_budget() -> None:
    pipeline = body(status=status("Failed", body()), restart={"maxDriverRetries": 0})
    pipeline["status"]["revision"] = status("Failed", pipeline)["revision"]
    for attempt, minutes in enumerate((10, 20, 40, 60, 60), start=1):
        stuck = waits(pipeline, attempt=attempt, state=PULL)
        stays = step(pipeline, stuck, 60 * minutes - 1)
        assert (stays.status["phase"], stays.stop) == ("Failed", False)
        assert f"waited for {minutes} minutes" in condition(stays, "Ready")[2]
        goes = step(pipeline, stuck, 60 * minutes + 1)
        assert (goes.status["phase"], goes.stop, goes.status["restarts"]) == ("Draining", True, 0)
        failure = goes.status["lastFailure"]
        assert (failure["class"], failure["reason"], failure["inARow"]) == (
            "Infrastructure",
            "ImagePullBackOff",
            attempt,
        )
        pipeline = {**pipeline, "status": goes.status}
        assert step(pipeline, stuck, 60 * minutes + 2).status["lastFailure"] == failure, "counted once"
        gone = stuck if attempt % 2 else ended(pipeline, 137, attempt=attempt, why="ContainerStatusUnknown")
        starts = next_step(pipeline, gone=gone)
        assert starts.start is not None
        assert (starts.start.attempt, starts.status["lastFailure"]["inARow"]) == (attempt + 1, attempt)
        pipeline = {**pipeline, "status": starts.status}


def test_a_pod_without_a_node_is_never_replaced() -> None:
    pipeline = body(status=status("Failed", body()))
    assert not step(pipeline, waits(pipeline, node=None, **UNSCHEDULABLE), 10**6).stop


def test_the_wait_before_a_replacement_never_exceeds_its_limit() -> None:
    limit = deadline("ImagePullBackOff", has_node=True)
    waits_for = [
        replaced_after(limit, Failures(0, FailureClass.INFRASTRUCTURE, "Evicted", 1, count))
        for count in range(9)
    ]
    assert waits_for == sorted(waits_for)
    assert waits_for[-1] == LONGEST_SECONDS


NODE_CAUSES = [given for given, node, _, _ in CAUSES if node]


@settings(max_examples=40)
@given(st.lists(st.tuples(st.sampled_from(NODE_CAUSES), st.integers(1, 200)), min_size=2, max_size=12))
def test_a_pod_that_is_overdue_stays_so_until_it_runs_or_is_replaced(
    looks: list[tuple[dict[str, Any], int]],
) -> None:
    """Each cause has another deadline, and the kubelet reports one cause after the other."""
    pipeline, age, phases = body(status=status("Starting", body())), 0, ["Starting"]
    for cause, seconds in looks:
        age += seconds
        next_plan = step(pipeline, waits(pipeline, **cause), age)
        if next_plan.stop:
            break
        phases.append(next_plan.status["phase"])
        assert (phases[-2], phases[-1]) != ("Failed", "Starting")
        message = condition(next_plan, "DriverRunning")[2]
        if claimed := re.search(r"for more than (\d+) minutes", message):
            assert age >= 60 * int(claimed[1])
        pipeline = {**pipeline, "status": next_plan.status}
    ran = next_step(pipeline, running(pipeline))
    assert ran.status["phase"] == "Starting"


# -- out of memory ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limit", "want"),
    [
        ("1Gi", "1536Mi"),
        ("2Gi", "3Gi"),
        ("2048Mi", "3Gi"),
        ("3Gi", "4608Mi"),
        ("2G", "3Gi"),
        ("2147483648", "3Gi"),
        ("2147483648000m", "3Gi"),
        ("2e9", "3Gi"),
        ("0.5Gi", "768Mi"),
        ("1Ei", f"{3 * 2**29}Gi"),
        ("1E", "1396983862Gi"),
    ],
)
def test_the_next_memory_limit_is_half_as_much_again(limit: str, want: str) -> None:
    assert larger_memory(limit) == want


def test_a_driver_out_of_memory_names_container_limit_and_the_next_limit() -> None:
    pipeline = body(status=status("Running", body()))
    killed = next_step(pipeline, ended(pipeline, 137, why="OOMKilled")).status["lastTermination"]
    assert killed["message"] == (
        "the container 'driver' exceeded its memory limit of 2Gi; it reported no peak. "
        "Set driver.resources.limits.memory to 3Gi"
    )
    heap = next_step(pipeline, ended(pipeline, 4, "failed", "OutOfMemory")).status["lastTermination"]
    assert heap["message"] == (
        "because; the container 'driver' has a memory limit of 2Gi; it reported no peak. "
        "Set driver.resources.limits.memory to 3Gi"
    )


def test_a_driver_out_of_memory_shows_the_peak_that_this_driver_reported() -> None:
    pipeline = body(status=status("Running", body()) | reported("Running"))
    pipeline["status"]["reported"] |= {"memoryPeakBytes": 1_900_000_000}
    killed = next_step(pipeline, ended(pipeline, 137, why="OOMKilled")).status["lastTermination"]
    assert "of 2Gi; the last peak that it reported is 1812Mi. Set" in killed["message"]
    pipeline["status"]["reported"]["attempt"] = 0
    killed = next_step(pipeline, ended(pipeline, 137, why="OOMKilled")).status["lastTermination"]
    assert "it reported no peak" in killed["message"], "another driver reported the number"
