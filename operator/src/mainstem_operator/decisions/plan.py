"""What to do next for a pipeline: from what was observed to writes; pure, and the same for the same input.

Nothing is decided by events, only by what is there. The order within a plan is fixed: the status first (the intent is
written before a pod is made, but for the very first), then the pod that goes, then objects and the pod that comes.
"""

from dataclasses import replace
from typing import Final

from mainstem.names import RESTARTED_AT

from mainstem_operator.decisions import pipeline_status
from mainstem_operator.decisions.actions import (
    CHANGING_SECONDS,
    LOOK_SECONDS,
    STOP_FAILED,
    Object,
    Plan,
    with_failure,
)
from mainstem_operator.decisions.health import data_flowing, data_stalled, degraded, queries_active, reported
from mainstem_operator.decisions.history import Past, past
from mainstem_operator.decisions.idle import down
from mainstem_operator.manifests.pods import grace_seconds, template_hash
from mainstem_operator.observed import pod_status
from mainstem_operator.observed.conditions import FALSE, TRUE, UNKNOWN, Condition, find_condition, parsed
from mainstem_operator.observed.observation import Observed


CLEANUP_SECONDS: Final = 30.0
"""How long after its deadline a driver that was told to go holds the deletion of its resource."""


def plan(seen: Observed) -> Plan:
    """The next step."""
    before = past(seen)
    if seen.deleting:
        found = _deleting(seen, before)
    elif seen.pod is not None and not pod_status.over(seen.pod):
        found = _living(seen, before, seen.pod)
    else:
        found = down(seen, before)
    if found.stop and seen.failure and seen.failure.retry_in > 0:
        found = replace(found, stop=False, requeue=seen.failure.retry_in)
    return replace(found, events=pipeline_status.events(seen.status, found.status))


def _deleting(seen: Observed, before: Past) -> Plan:
    """The resource goes once its driver's pod has, so that the next one of its name finds none; a node that is silent
    holds nobody up for ever.
    """
    # The pod may be of an earlier document, with a longer grace.
    grace = max(grace_seconds(seen.revision), pod_status.grace_seconds(seen.pod) if seen.pod else 0)
    left = grace + CLEANUP_SECONDS - seen.deletion_age
    if seen.pod is None or left <= 0:
        return Plan({}, finished=True)  # the garbage collector takes all that it owns
    message = with_failure(seen, "the driver finishes its running batches")
    goes = Condition("DriverRunning", FALSE, "Deleting", message)
    status = pipeline_status.status(seen, before, "Deleting", goes, revision=before.revision)
    return Plan(status, stop=not pod_status.leaving(seen.pod), requeue=min(left, CHANGING_SECONDS))


def _living(seen: Observed, before: Past, pod: Object) -> Plan:
    """A driver lives: it goes on, or is told to go."""
    if pod_status.leaving(pod):
        return _drain(seen, before, *(_node_silent(seen, pod) or _told_to_go(seen)), told=True)
    if seen.body["spec"].get("suspend"):
        return _drain(
            seen, before, "Suspending", "spec.suspend is true; the driver finishes its running batches"
        )
    if replaced := _replacement(seen, before, pod):
        return _drain(seen, before, *replaced)
    if not pod_status.running(pod):
        waits = Condition("DriverRunning", FALSE, *(seen.driver_warning or pod_status.waits_for(pod)))
        status = pipeline_status.status(seen, before, "Starting", waits, revision=pod_status.revision(pod))
        # The driver may be heard of before its container is.
        heard = reported(seen.status, before.attempt)
        part = None if heard else pipeline_status.driver_part(seen)
        return Plan(status, driver_part=part, requeue=CHANGING_SECONDS)
    return _running(seen, before, pod_status.revision(pod))


def _replacement(seen: Observed, before: Past, pod: Object) -> tuple[str, str] | None:
    """Reason and message where another driver takes the place of one that lives; None where it goes on."""
    if seen.refused:
        return None
    want = seen.judgement.revision
    if want is not None and want.name != pod_status.revision(pod):
        return "Updating", f"the document has changed; its revision is now {want.name}"
    if seen.restart_requested and seen.revision is not None:
        return "Restarting", f"the annotation {RESTARTED_AT} requests a new driver"
    if not pod_status.running(pod) and _is_outdated(seen, before, pod):
        return "Updating", "the driver has not run yet, and settings of the operator have changed"
    return None


def _is_outdated(seen: Observed, before: Past, pod: Object) -> bool:
    """True where a driver that has never run would be made otherwise now: of another image, or by other settings.

    What the operator sent is compared with what it would send, for admission may change what the server has.
    """
    sent, revision = pod_status.template_hash(pod), seen.revision
    if not sent or revision is None or reported(seen.status, before.attempt):
        return False
    same = revision.name == pod_status.revision(pod)
    return same and template_hash(seen.body, revision, seen.settings) != sent


def _running(seen: Observed, before: Past, revision: str) -> Plan:
    active = queries_active(seen.status, before.attempt)
    impaired = degraded(seen.status, before.attempt, seen.drivers_now, seen.executors_warning)
    status = pipeline_status.status(
        seen,
        before,
        _running_phase(seen, active, impaired),
        Condition("DriverRunning", TRUE, "Running", "the driver container runs"),
        active,
        data_flowing(seen.status, before.attempt),
        impaired,
        data_stalled(seen.status, before.attempt, seen.drivers_now),
        revision=revision,
    )
    dead = active.status == UNKNOWN  # the numbers are of the driver before
    return Plan(status, driver_part=pipeline_status.driver_part(seen) if dead else None, requeue=LOOK_SECONDS)


def _running_phase(seen: Observed, active: Condition, impaired: Condition) -> str:
    """The phase of a driver that runs. Once all queries were active it is no longer starting: one of them may be."""
    if impaired.status == TRUE:
        return "Degraded"
    was = seen.status.get("phase") in ("Running", "Degraded") and active.status != UNKNOWN
    return "Running" if active.status == TRUE or was else "Starting"


def _drain(seen: Observed, before: Past, reason: str, message: str, *, told: bool = False) -> Plan:
    goes = Condition("DriverRunning", FALSE, reason, message if told else with_failure(seen, message))
    status = pipeline_status.status(seen, before, "Draining", goes, revision=before.revision)
    return Plan(status, stop=not told, requeue=CHANGING_SECONDS)


def _node_silent(seen: Observed, pod: Object) -> tuple[str, str] | None:
    """Reason and message where the node does not let the pod go; by the operator's clock too, which says since when."""
    if not pod_status.overdue(pod, seen.now) or not _drains_for(seen, pod_status.OVERDUE_SECONDS):
        return None
    about, node = pod["metadata"], pod["spec"]["nodeName"]
    return "NodeSilent", (
        f"the pod {about['name']} had to end by {about['deletionTimestamp']}, and the node {node} does not report its end. "
        "The node is down or has no connection, and the driver may still write. No other driver starts. Run kubectl get "
        f"node {node}. If you are certain that the node is down, run "
        f"kubectl delete pod {about['name']} --namespace {about['namespace']} --force"
    )


def _drains_for(seen: Observed, least: float) -> bool:
    """Whether the status has had this driver leaving for some seconds, by the operator's clock."""
    condition = _draining(seen)
    if condition is None:
        return False
    return (seen.now - parsed(condition["lastTransitionTime"])).total_seconds() > least


def _told_to_go(seen: Observed) -> tuple[str, str]:
    """Why the driver was told to go: as it was said when we did it; otherwise it was somebody else."""
    condition = _draining(seen)
    if condition is None:
        return "Draining", "the driver pod is being deleted; the driver finishes its running batches"
    return condition["reason"], condition["message"].partition(f"; {STOP_FAILED}")[0]


def _draining(seen: Observed) -> Object | None:
    """The condition `DriverRunning` of a status that has the driver leaving; None of any other status."""
    return find_condition(seen.status, "DriverRunning") if seen.status.get("phase") == "Draining" else None
