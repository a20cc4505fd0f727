"""The plans that end a driver: the deletion of its pod, and the wait until it is gone; pure."""

from dataclasses import replace
from typing import Final

from mainstem import reasons
from mainstem.names import DRAIN_WAIT_SECONDS

from mainstem_operator.decisions import pipeline_status
from mainstem_operator.decisions.actions import CHANGING_SECONDS, STOP_FAILED, Object, Plan, with_failure
from mainstem_operator.decisions.history import DriverHistory
from mainstem_operator.manifests.pods import deletion_seconds, termination_seconds
from mainstem_operator.observed import pod_status
from mainstem_operator.observed.conditions import FALSE, Condition, find_condition, parsed
from mainstem_operator.observed.observation import Observation


CLEANUP_SECONDS: Final = 30.0
"""How long after its deadline a deleted driver pod delays the deletion of its resource."""


def deleting(observation: Observation, before: DriverHistory) -> Plan:
    """The plan for a deleted resource: it stays until its driver pod is gone, so that a new resource of its name finds no pod.
    A node that does not answer delays it only until the deadline.
    """
    wanted = deletion_seconds(observation.revision)
    pods_grace = pod_status.grace_seconds(observation.pod) if observation.pod else 0.0
    # A pod with `drain.onTimeout: wait` gets a shorter grace period, also if it drains already. Another pod may have the
    # longer grace period of an earlier document.
    waits = pods_grace >= DRAIN_WAIT_SECONDS
    grace = wanted if waits else max(wanted, pods_grace)
    left = grace + CLEANUP_SECONDS - observation.deletion_age
    if observation.pod is None or left <= 0:
        if observation.pod and observation.failure is None and _is_stuck(observation, observation.pod):
            return Plan({}, stop=True, grace=0.0)  # a new pipeline of this name needs the name of the pod
        return Plan({}, finished=True)  # the garbage collector deletes all that it owns
    message = with_failure(observation, "the driver finishes its running batches")
    driver_running = Condition("DriverRunning", FALSE, reasons.DELETING, message)
    status = pipeline_status.status(observation, before, "Deleting", driver_running, revision=before.revision)
    stop = waits or not pod_status.leaving(observation.pod)
    return Plan(
        status, stop=stop, grace=wanted if waits else _grace(observation), requeue=min(left, CHANGING_SECONDS)
    )


def _is_stuck(observation: Observation, pod: Object) -> bool:
    """Whether only a silent node keeps the pod, and the operator may delete it by force."""
    on_node = pod_status.leaving(pod) and pod["spec"].get("nodeName")
    return bool(on_node) and not pod_status.over(pod) and _may_force(observation, pod)


def drain(
    observation: Observation,
    before: DriverHistory,
    reason: reasons.Reason,
    message: str,
    *,
    is_deleted: bool = False,
) -> Plan:
    """The plan that deletes the driver pod, or waits until a pod that is being deleted is gone, for this reason."""
    driver_running = Condition(
        "DriverRunning", FALSE, reason, message if is_deleted else with_failure(observation, message)
    )
    status = pipeline_status.status(observation, before, "Draining", driver_running, revision=before.revision)
    return Plan(status, stop=not is_deleted, grace=_grace(observation), requeue=CHANGING_SECONDS)


def _grace(observation: Observation) -> float | None:
    """The grace period of a deletion: the pod's own, unless its driver has taken another document over since its start."""
    pod, revision = observation.pod, observation.revision
    if pod is None or revision is None or observation.running_revision == pod_status.revision(pod):
        return None
    return max(pod_status.grace_seconds(pod), float(termination_seconds(revision.pipeline.spec.drain)))


def leaving(observation: Observation, before: DriverHistory, pod: Object) -> Plan:
    """The plan while the driver pod is being deleted: wait for its end, or end the wait for a node that does not report."""
    left = _seconds_until_overdue(observation, pod)
    if left > 0:
        drains = drain(observation, before, *_reason_of_deletion(observation), is_deleted=True)
        return replace(drains, requeue=min(CHANGING_SECONDS, max(1.0, left)))
    force = _may_force(observation, pod)
    silent = drain(observation, before, *_node_silent(observation, pod), is_deleted=True)
    return replace(silent, stop=force, grace=0.0 if force else None)


def _seconds_until_overdue(observation: Observation, pod: Object) -> float:
    """Seconds until the pod is overdue by the API server's clock, and by the operator's own: clocks may differ."""
    if not pod["spec"].get("nodeName"):
        return CHANGING_SECONDS
    condition = _draining(observation)
    if condition is None:
        return pod_status.grace_seconds(pod) + pod_status.OVERDUE_SECONDS
    shown = (observation.now - parsed(condition["lastTransitionTime"])).total_seconds()
    own = pod_status.grace_seconds(pod) + pod_status.OVERDUE_SECONDS - shown
    return max(own, (pod_status.overdue_at(pod) - observation.now).total_seconds())


def _may_force(observation: Observation, pod: Object) -> bool:
    """Whether the operator may delete an overdue pod by force, and start the next driver although the first may run.

    It may if the store keeps the older driver from writing to the checkpoint: S3 with conditional writes does.
    """
    if observation.revision is None or pod_status.forced(pod):
        return False
    checkpoints = observation.revision.pipeline.spec.checkpoints
    return checkpoints.location.startswith("s3a://") and checkpoints.require_conditional_writes


def _node_silent(observation: Observation, pod: Object) -> tuple[reasons.Reason, str]:
    """Reason and message for a pod whose node does not report its end in time."""
    about, node = pod["metadata"], pod["spec"]["nodeName"]
    silent = (
        f"the pod {about['name']} had to end by {about['deletionTimestamp']}, and the node {node} does not report its end. "
        "The node is down or has no connection"
    )
    if pod_status.forced(pod):
        finalizers = ", ".join(about.get("finalizers", ())) or "none"
        return (
            reasons.NODE_SILENT,
            f"{silent}. The pod is deleted by force; its finalizers keep it: {finalizers}",
        )
    if _may_force(observation, pod):
        return reasons.NODE_SILENT, (
            f"{silent}. The operator deletes the pod by force. If its driver still runs, it cannot write to the checkpoint"
        )
    return reasons.NODE_SILENT, (
        f"{silent}, and the driver may still write. No other driver starts. Run kubectl get node {node}. If you are "
        f"certain that the node is down, run "
        f"kubectl delete pod {about['name']} --namespace {about['namespace']} --force"
    )


def _reason_of_deletion(observation: Observation) -> tuple[reasons.Reason, str]:
    """Why the pod is being deleted: from the status if the operator deleted it, else something else did."""
    condition = _draining(observation)
    if condition is None:
        return reasons.DRAINING, "the driver pod is being deleted; the driver finishes its running batches"
    return reasons.named(condition["reason"]), condition["message"].partition(f"; {STOP_FAILED}")[0]


def _draining(observation: Observation) -> Object | None:
    """The condition `DriverRunning` of a status in the phase `Draining`; else None."""
    return (
        find_condition(observation.status, "DriverRunning")
        if observation.status.get("phase") == "Draining"
        else None
    )
