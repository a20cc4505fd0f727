"""The next plan for a pipeline, from an observation; pure: the same input gives the same plan.

Only the state decides, never an event. The order within a plan is fixed: first the status (with the number of a start before
its pod exists, except for the very first start), then the deletion of the old pod, then the objects and the new pod.
"""

from dataclasses import replace
from typing import Final

from mainstem import reasons
from mainstem.language.model.pipeline import Restart
from mainstem.names import DRAIN_WAIT_SECONDS

from mainstem_operator.decisions import pipeline_status
from mainstem_operator.decisions.actions import (
    CHANGING_SECONDS,
    LOOK_SECONDS,
    REPLACED,
    STOP_FAILED,
    Object,
    Plan,
    with_failure,
)
from mainstem_operator.decisions.health import data_flowing, data_stalled, degraded, queries_active, reported
from mainstem_operator.decisions.history import DriverHistory, driver_history
from mainstem_operator.decisions.idle import down
from mainstem_operator.decisions.start_deadlines import deadline, overdue_message, replaced_after
from mainstem_operator.manifests.pods import deletion_seconds, template_hash
from mainstem_operator.observed import pod_status
from mainstem_operator.observed.conditions import FALSE, TRUE, UNKNOWN, Condition, find_condition, parsed
from mainstem_operator.observed.observation import Observation
from mainstem_operator.observed.pod_status import DriverEnd


CLEANUP_SECONDS: Final = 30.0
"""How long after its deadline a deleted driver pod delays the deletion of its resource."""


def plan(observation: Observation) -> Plan:
    """The next plan of the pipeline."""
    before = driver_history(observation)
    if observation.deleting:
        next_plan = _deleting(observation, before)
    elif observation.pod is not None and not pod_status.over(observation.pod):
        next_plan = _living(observation, before, observation.pod)
    else:
        next_plan = down(observation, before)
    if next_plan.stop and observation.failure and observation.failure.retry_in > 0:
        next_plan = replace(next_plan, stop=False, requeue=observation.failure.retry_in)
    return replace(next_plan, events=pipeline_status.events(observation.status, next_plan.status))


def _deleting(observation: Observation, before: DriverHistory) -> Plan:
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
    return Plan(status, stop=stop, grace=wanted if waits else None, requeue=min(left, CHANGING_SECONDS))


def _is_stuck(observation: Observation, pod: Object) -> bool:
    """Whether only a silent node keeps the pod, and the operator may delete it by force."""
    on_node = pod_status.leaving(pod) and pod["spec"].get("nodeName")
    return bool(on_node) and not pod_status.over(pod) and _may_force(observation, pod)


def _living(observation: Observation, before: DriverHistory, pod: Object) -> Plan:
    """The plan if a driver pod exists and has not ended: it continues, or the operator deletes it."""
    if pod_status.leaving(pod):
        return _leaving(observation, before, pod)
    if observation.body["spec"].get("suspend"):
        return _drain(
            observation,
            before,
            reasons.SUSPENDING,
            "spec.suspend is true; the driver finishes its running batches",
        )
    if replaced := _replacement(observation, before, pod):
        return _drain(observation, before, *replaced)
    if not pod_status.running(pod):
        return _starting(observation, before, pod)
    return _running(observation, before, pod_status.revision(pod))


def _starting(observation: Observation, before: DriverHistory, pod: Object) -> Plan:
    """The plan while a driver pod has not run yet: it waits, also beyond its deadline, or the operator replaces it."""
    reason, message = observation.driver_warning or pod_status.waits_for(pod)
    has_node = bool(pod["spec"].get("nodeName"))
    limit = deadline(reason, has_node=has_node)
    failures, phase = before.failures, "Starting"
    if observation.start_age > limit.seconds:
        replaced_in = replaced_after(limit, failures) if has_node else None
        if replaced_in is not None and observation.start_age > replaced_in:
            return _replace_unstarted(observation, before, reason, message)
        phase = "Failed"
        message = overdue_message(message, limit, failures.infrastructure + 1, replaced_in)
    driver_running = Condition("DriverRunning", FALSE, reason, message)
    status = pipeline_status.status(
        observation, before, phase, driver_running, revision=pod_status.revision(pod)
    )
    # The driver may report before the kubelet reports its container.
    has_reported = reported(observation.status, before.attempt)
    part = None if has_reported else pipeline_status.driver_part(observation)
    return Plan(status, driver_part=part, requeue=CHANGING_SECONDS)


def _replace_unstarted(
    observation: Observation, before: DriverHistory, reason: reasons.Reason, message: str
) -> Plan:
    """The plan that deletes a pod that does not start, and counts that as a failure of infrastructure."""
    end = DriverEnd(before.attempt, None, None, reason, message)
    restart = observation.revision.pipeline.spec.restart if observation.revision else Restart()
    failures = before.failures
    if failures.attempt != before.attempt:  # otherwise the API server has not deleted the pod yet
        failures = failures.next(end, restart)
    return _drain(
        observation,
        replace(before, failures=failures),
        reason,
        f"{message}; {REPLACED}",
    )


def _replacement(
    observation: Observation, before: DriverHistory, pod: Object
) -> tuple[reasons.Reason, str] | None:
    """Reason and message if another driver replaces the current one; None if it continues."""
    if observation.refused:
        return None
    want = None if observation.refused_changes else observation.validation.revision
    if want is not None and want.name != pod_status.revision(pod):
        return reasons.UPDATING, f"the document has changed; its revision is now {want.name}"
    if observation.restart_requested and observation.revision is not None:
        return (
            reasons.RESTARTING,
            f"spec.restartNonce is now {observation.requested_nonce}; the driver finishes its running batches",
        )
    if not pod_status.running(pod) and _is_outdated(observation, before, pod):
        return reasons.UPDATING, "the driver has not run yet, and settings of the operator have changed"
    return None


def _is_outdated(observation: Observation, before: DriverHistory, pod: Object) -> bool:
    """True if a driver that has never run would now get another pod: with another image, or by other settings.

    Compares what the operator sent with what it would send, because admission may change the pod on the server.
    """
    sent, revision = pod_status.template_hash(pod), observation.revision
    if not sent or revision is None or reported(observation.status, before.attempt):
        return False
    same = revision.name == pod_status.revision(pod)
    return same and template_hash(observation.body, revision, observation.settings) != sent


def _running(observation: Observation, before: DriverHistory, revision: str) -> Plan:
    active = queries_active(observation.status, before.attempt)
    degradation = degraded(
        observation.status, before.attempt, observation.drivers_now, observation.executors_warning
    )
    status = pipeline_status.status(
        observation,
        before,
        _running_phase(observation, active, degradation),
        Condition("DriverRunning", TRUE, reasons.RUNNING, "the driver container runs"),
        active,
        data_flowing(observation.status, before.attempt),
        degradation,
        data_stalled(observation.status, before.attempt, observation.drivers_now),
        revision=revision,
    )
    dead = active.status == UNKNOWN  # the previous driver wrote the numbers
    return Plan(
        status, driver_part=pipeline_status.driver_part(observation) if dead else None, requeue=LOOK_SECONDS
    )


def _running_phase(observation: Observation, active: Condition, degradation: Condition) -> str:
    """The phase of a running driver. It is `Starting` only until all queries were active once."""
    if degradation.status == TRUE:
        return "Degraded"
    was = observation.status.get("phase") in ("Running", "Degraded") and active.status != UNKNOWN
    return "Running" if active.status == TRUE or was else "Starting"


def _drain(
    observation: Observation,
    before: DriverHistory,
    reason: reasons.Reason,
    message: str,
    *,
    is_deleted: bool = False,
) -> Plan:
    driver_running = Condition(
        "DriverRunning", FALSE, reason, message if is_deleted else with_failure(observation, message)
    )
    status = pipeline_status.status(observation, before, "Draining", driver_running, revision=before.revision)
    return Plan(status, stop=not is_deleted, requeue=CHANGING_SECONDS)


def _leaving(observation: Observation, before: DriverHistory, pod: Object) -> Plan:
    """The plan while the driver pod is being deleted: wait for its end, or end the wait for a node that does not report."""
    left = _seconds_until_overdue(observation, pod)
    if left > 0:
        drains = _drain(observation, before, *_reason_of_deletion(observation), is_deleted=True)
        return replace(drains, requeue=min(CHANGING_SECONDS, max(1.0, left)))
    force = _may_force(observation, pod)
    silent = _drain(observation, before, *_node_silent(observation, pod), is_deleted=True)
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
