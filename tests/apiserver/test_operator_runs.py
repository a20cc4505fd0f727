"""One run of a pipeline whose driver ends, also while the operator is away. The test plays kubelet and driver."""

from typing import Any

import pytest
from apiserver.operatorbed import BOUNDED, Operator, Ours, until
from harness.waiting import LIMIT
from kubernetes.client import ApiException, PolicyV1Api


pytestmark = pytest.mark.faults


# -- a run is not done twice ----------------------------------------------------------------------------------------


@pytest.mark.full(
    gate="unit/test_operator_plan.py::test_a_first_driver_that_ended_before_the_first_status_is_evaluated_by_its_pod"
)
@pytest.mark.parametrize(
    ("code", "outcome", "policy", "phase"),
    [
        (0, "completed", "OnFailure", "Completed"),
        (4, "failed", "Never", "Failed"),
        (3, "failed", "OnFailure", "Failed"),
    ],
)
def test_after_a_kill_before_the_first_status_an_ended_driver_is_not_started_again(
    ours: Ours, code: int, outcome: str, policy: str, phase: str
) -> None:
    bed = ours.bed
    ours.create(BOUNDED, restart={"policy": policy})
    first = ours.pod(1)
    ours.phase("Starting")
    bed.operator.kill()
    ours.without_status()
    ours.runs()
    ours.reports("Completed" if outcome == "completed" else "Failed")
    ours.ends(code, outcome)
    bed.operator.up()
    status = ours.phase(phase)
    assert (status["attempt"], status["run"], status["lastTermination"]["exitCode"]) == (
        1,
        "generation-1",
        code,
    )
    if phase == "Completed":
        assert status["restarts"] == 0
        until(lambda: ours.pods() == [], why="the pod of the completed run stays")
    else:
        assert [pod.metadata.uid for pod in ours.pods()] == [first.metadata.uid], "the pod stays, for its log"
    ours.change(schedule=None)  # a look that changes nothing
    bed.quiet()
    assert ours.status["attempt"] == 1


@pytest.mark.full(
    gate="unit/test_operator_plan.py::test_a_run_that_completes_while_its_node_drains_is_complete"
)
def test_a_run_that_completes_while_its_node_drains_is_complete(ours: Ours) -> None:
    pod = ours.start_running(BOUNDED)
    ours.bed.core.delete_namespaced_pod(pod.metadata.name, ours.namespace)
    ours.phase("Draining")
    ours.ends(0, "completed")
    status = ours.phase("Completed")
    assert (status["attempt"], status["restarts"]) == (1, 0)
    assert ours.pods() == []


# -- a driver that has never run ------------------------------------------------------------------------------------


@pytest.mark.full(
    gate="unit/test_operator_plan.py::test_a_driver_that_never_ran_is_replaced_when_settings_change"
)
def test_a_driver_that_never_ran_is_replaced_after_its_image_is_corrected(ours: Ours) -> None:
    bed = ours.bed
    ours.create()
    first = ours.pod(1)
    ours.waits("ImagePullBackOff", "no such image")
    until(lambda: ours.condition("Ready")["reason"] == "ImagePullBackOff")
    bed.operator.stop()
    with Operator(
        bed.plane, bed.operator_kubeconfig, MAINSTEM_DRIVER_IMAGE="registry.example/mainstem:2"
    ) as mended:
        mended.up()
        second = ours.pod(2)
        assert second.metadata.uid != first.metadata.uid
        assert second.spec.containers[0].image == "registry.example/mainstem:2"
        assert ours.phase("Starting")["restarts"] == 0
        bed.quiet()
        assert [pod.metadata.uid for pod in ours.pods()] == [second.metadata.uid], "replaced once"


# -- deletion -------------------------------------------------------------------------------------------------------


def test_a_resource_deleted_while_the_operator_is_away_waits_for_its_driver(ours: Ours) -> None:
    bed = ours.bed
    ours.start_running()
    ours.held()
    bed.operator.kill()
    ours.delete()
    bed.operator.up()
    ours.await_driver_deletion()
    ours.phase("Deleting")
    bed.quiet()
    assert ours.get(), "the resource is gone, and its driver runs"
    ours.ends(0, "drained")
    ours.gone()


@pytest.mark.full(gate="apiserver/test_operator_process.py::test_the_operator_ends_at_once_on_a_signal")
def test_an_operator_that_waits_for_a_driver_ends_at_once_and_the_next_one_waits_too(ours: Ours) -> None:
    bed = ours.bed
    ours.start_running()
    ours.held()
    ours.delete()
    ours.await_driver_deletion()
    ours.phase("Deleting")
    bed.operator.stop(LIMIT)
    bed.operator.up()
    bed.quiet()
    assert ours.get()["metadata"]["finalizers"] == ["mainstem.dev/drain"]
    ours.ends(0, "drained")
    ours.gone()


# -- eviction -------------------------------------------------------------------------------------------------------


def evict(ours: Ours) -> int:
    """The HTTP status of an eviction of the driver."""
    name = f"{ours.name}-driver"
    body = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": name, "namespace": ours.namespace},
    }
    try:
        ours.bed.core.create_namespaced_pod_eviction(name, ours.namespace, body)
    except ApiException as error:
        return int(error.status)
    return 201


def observed(ours: Ours) -> Any:
    """The status of the driver's budget, once the disruption controller has looked at the pod."""
    read = PolicyV1Api(ours.bed.client).read_namespaced_pod_disruption_budget

    def current() -> Any:
        budget = read(f"{ours.name}-driver", ours.namespace)
        return budget.status if budget.status and budget.status.current_healthy else None

    return until(current, why="no healthy pod in the budget")


@pytest.mark.full(gate="unit/test_operator_plan.py::test_a_driver_that_others_drained_restarts_at_once")
def test_an_eviction_drains_a_driver_if_its_budget_allows_it(ours: Ours) -> None:
    ours.start_running(driver={"podDisruptionBudget": {"maxUnavailable": 1}})
    assert observed(ours).disruptions_allowed == 1
    assert evict(ours) == 201
    ours.await_driver_deletion()
    ours.phase("Draining")
    ours.ends(0, "drained")
    ours.pod(2)


def test_a_budget_of_zero_protects_a_running_driver_and_not_one_that_never_became_ready(ours: Ours) -> None:
    ours.start_running(driver={"podDisruptionBudget": {}})
    assert observed(ours).disruptions_allowed == 0
    assert evict(ours) == 429
    ours.waits("ImagePullBackOff", "no such image")
    until(lambda: evict(ours) == 201, why="the eviction of a driver that does not run")
