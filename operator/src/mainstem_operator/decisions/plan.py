"""The next plan for a pipeline, from an observation; pure: the same input gives the same plan.

Only the state decides, never an event. The order within a plan is fixed: first the status (with the number of a start before
its pod exists, except for the very first start), then the deletion of the old pod, then the objects and the new pod.
"""

from dataclasses import replace

from mainstem import reasons
from mainstem.language.model.pipeline import Restart

from mainstem_operator.decisions import pipeline_status, rollback, updates
from mainstem_operator.decisions.actions import (
    CHANGING_SECONDS,
    LOOK_SECONDS,
    REPLACED,
    Object,
    Plan,
)
from mainstem_operator.decisions.beside import preflights, trials
from mainstem_operator.decisions.driver_deletion import deleting, drain, leaving
from mainstem_operator.decisions.health import data_flowing, data_stalled, degraded, queries_active, reported
from mainstem_operator.decisions.history import DriverHistory, driver_history
from mainstem_operator.decisions.idle import down
from mainstem_operator.decisions.start_deadlines import deadline, overdue_message, replaced_after
from mainstem_operator.manifests.pods import template_hash
from mainstem_operator.observed import pod_status
from mainstem_operator.observed.conditions import FALSE, TRUE, UNKNOWN, Condition
from mainstem_operator.observed.observation import Observation
from mainstem_operator.observed.pod_status import DriverEnd


def plan(observation: Observation) -> Plan:
    """The next plan of the pipeline."""
    before = driver_history(observation)
    observation = trials.decided(rollback.decided(observation, before))
    if observation.deleting:
        next_plan = deleting(observation, before)
    elif observation.pod is not None and not pod_status.over(observation.pod):
        next_plan = _living(observation, before, observation.pod)
    else:
        next_plan = down(observation, before)
    if next_plan.stop and observation.failure and observation.failure.retry_in > 0:
        next_plan = replace(next_plan, stop=False, requeue=observation.failure.retry_in)
    if next_plan.requeue is not None and (left := rollback.seconds_left(observation)) is not None:
        next_plan = replace(next_plan, requeue=min(next_plan.requeue, left))
    next_plan = _with_preflight(observation, before, _with_trial(observation, next_plan))
    return replace(next_plan, events=pipeline_status.events(observation.status, next_plan.status))


def _with_trial(observation: Observation, next_plan: Plan) -> Plan:
    """The plan with what happens to the trial pod; it never changes what happens to the driver."""
    start, stop = trials.to_start(observation), trials.must_stop(observation)
    left = trials.seconds_left(observation)
    if left is None or next_plan.finished:
        return replace(next_plan, start_trial=start, stop_trial=stop)
    requeue = min(left, CHANGING_SECONDS, next_plan.requeue or CHANGING_SECONDS)
    return replace(next_plan, start_trial=start, stop_trial=stop, requeue=requeue)


def _with_preflight(observation: Observation, before: DriverHistory, next_plan: Plan) -> Plan:
    """The plan with what happens to the preflight pod."""
    left = preflights.seconds_left(observation, min(CHANGING_SECONDS, next_plan.requeue or CHANGING_SECONDS))
    return replace(
        next_plan,
        start_preflight=preflights.to_start(observation),
        stop_preflight=preflights.must_stop(observation),
        next_attempt=before.attempt + 1,
        requeue=next_plan.requeue if left is None else left,
    )


def _living(observation: Observation, before: DriverHistory, pod: Object) -> Plan:
    """The plan if a driver pod exists and has not ended: it continues, or the operator deletes it."""
    if pod_status.leaving(pod):
        return leaving(observation, before, pod)
    if observation.body["spec"].get("suspend"):
        return drain(
            observation,
            before,
            reasons.SUSPENDING,
            "spec.suspend is true; the driver finishes its running batches",
        )
    if replaced := _replacement(observation, before, pod):
        return drain(observation, before, *replaced)
    if not pod_status.running(pod):
        return _starting(observation, before, pod)
    return _running(observation, before, pod)


def _starting(observation: Observation, before: DriverHistory, pod: Object) -> Plan:
    """The plan while a driver pod has not run yet: it waits, also beyond its deadline, or the operator replaces it."""
    reason, message = observation.driver_warning or pod_status.waits_for(pod)
    has_node = bool(pod["spec"].get("nodeName"))
    limit = deadline(reason, has_node=has_node)
    failures, phase = before.failures, "Starting"
    was_overdue = (observation.status.get("phase"), observation.status.get("attempt")) == (
        "Failed",
        before.attempt,
    )
    if was_overdue and observation.start_age <= limit.seconds:
        limit = limit.shortened()  # the cause has changed, and the pod has not run
    if was_overdue or observation.start_age > limit.seconds:
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
    return drain(
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
    want = updates.wanted(observation)
    why = updates.needs_driver(observation, want) if want is not None else None
    if want is not None and why is not None and observation.rolled_back:
        return reasons.ROLLED_BACK, f"the driver ends, and revision {want.name} starts again; {why}"
    if want is not None and why is not None:
        return reasons.UPDATING, f"the document has changed; its revision is now {want.name}; {why}"
    is_awaited = preflights.goes_on(observation)
    if observation.restart_requested and observation.revision is not None and not is_awaited:
        return (
            reasons.RESTARTING,
            f"spec.restartNonce is now {observation.requested_nonce}; the driver finishes its running batches",
        )
    if not pod_status.running(pod) and _is_outdated(observation, before, pod):
        return reasons.RESTARTING, "the driver has not run yet, and settings of the operator have changed"
    return None


def _is_outdated(observation: Observation, before: DriverHistory, pod: Object) -> bool:
    """True if a driver that has never run would now get another pod: with another image, or by other settings.

    Compares what the operator sent with what it would send, because admission may change the pod on the server.
    """
    sent, name = pod_status.template_hash(pod), pod_status.revision(pod)
    if not sent or reported(observation.status, before.attempt):
        return False
    own = next(
        (each for each in (observation.revision, observation.current) if each and each.name == name), None
    )
    return own is not None and template_hash(observation.body, own, observation.settings) != sent


def _running(observation: Observation, before: DriverHistory, pod: Object) -> Plan:
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
        revision=observation.running_revision,
    )
    dead = active.status == UNKNOWN  # the previous driver wrote the numbers
    return Plan(
        status,
        driver_part=pipeline_status.driver_part(observation) if dead else None,
        update=updates.handed(observation, pod),
        requeue=min(LOOK_SECONDS, updates.seconds_left(observation)),
    )


def _running_phase(observation: Observation, active: Condition, degradation: Condition) -> str:
    """The phase of a running driver. It is `Starting` only until all queries were active once."""
    if degradation.status == TRUE:
        return "Degraded"
    was = observation.status.get("phase") in ("Running", "Degraded") and active.status != UNKNOWN
    return "Running" if active.status == TRUE or was else "Starting"
