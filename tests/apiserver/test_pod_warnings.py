"""The reason why a pod does not run is in the pipeline's condition, also if only the pod's events have it."""

import pytest
from apiserver.operatorbed import Ours, until
from harness.sampling import sampled


NO_SECRET = 'MountVolume.SetUp failed for volume "mainstem-secrets-0" : secret "nope" not found'
SANDBOX = "Failed to create pod sandbox: rpc error: code = Unknown"


@pytest.mark.parametrize(
    ("reason", "message"),
    sampled([("FailedMount", NO_SECRET), ("FailedCreatePodSandBox", SANDBOX)], every=2),
)
def test_a_reason_that_only_an_event_of_the_driver_pod_has_is_in_the_condition(
    ours: Ours, reason: str, message: str
) -> None:
    ours.create()
    pod = ours.scheduled()
    ours.kubelet_says(pod, "Scheduled", "Successfully assigned", "Normal")
    ours.kubelet_says(pod, reason, message)
    until(lambda: ours.condition("Ready")["reason"] == reason, why=f"not Ready False {reason}")
    assert ours.condition("DriverRunning")["message"] == f"ticks-driver: {message}"
    assert (ours.status["phase"], ours.status["reason"]) == ("Starting", reason)
    ours.runs()
    until(lambda: ours.condition("DriverRunning")["status"] == "True")


def test_a_reason_that_only_an_event_of_an_executor_pod_has_is_in_the_condition(ours: Ours) -> None:
    ours.create(executors={"instances": 2})
    ours.runs()
    executor = ours.executor("ticks-1-exec-1")
    ours.kubelet_says(executor, "FailedMount", NO_SECRET)
    ours.reports("Idle", summary={"queries": "1 active", "executors": "0/2"})
    until(lambda: ours.condition("Degraded")["status"] == "True", why="not Degraded")
    assert ours.condition("Degraded")["reason"] == "ExecutorsUnschedulable"
    assert ours.condition("Degraded")["message"] == f"FailedMount: ticks-1-exec-1: {NO_SECRET}"
    ours.reports("Idle", summary={"queries": "1 active", "executors": "2/2"})
    until(lambda: ours.condition("Degraded")["status"] == "False")
