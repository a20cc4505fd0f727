"""What to do next for a pipeline: from what was observed to writes; pure, and the same for the same input.

Nothing is decided by events, only by what is there. The order within a plan is fixed: the status first (the intent is
written before a pod is made, but for the very first), then the pod that goes, then objects and the pod that comes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final

from mainstem.errors import Exit
from mainstem.names import RESTARTED_AT, driver_name

from mainstem_operator import driverpod, report, schedule
from mainstem_operator.conditions import FALSE, TRUE, UNKNOWN, Condition, parsed, timestamp
from mainstem_operator.driverpod import Ended
from mainstem_operator.health import data_flowing, data_stalled, degraded, queries_active, reported
from mainstem_operator.judge import Revision
from mainstem_operator.observe import Observed, StepFailure, requested_restart
from mainstem_operator.past import Past, past, run_of
from mainstem_operator.pods import grace_seconds, template_hash
from mainstem_operator.report import Event
from mainstem_operator.restart import wait_seconds


Object = Mapping[str, Any]
CLEANUP_SECONDS: Final = 30.0
"""How long after its deadline a driver that was told to go holds the deletion of its resource."""
SOON_SECONDS: Final = 0.1
"""When to look again after a pipeline's first start, of which its status does not tell yet."""
LOOK_SECONDS: Final = 60.0
"""How often a driver is looked at that says nothing, and an API server asked again that refused its pod."""
CHANGING_SECONDS: Final = 30.0
"""How often a driver that starts or goes is read from the server: a watch that was broken off does not tell of what
happened meanwhile.
"""


START_AGAIN: Final = "the start is tried again, at least once a minute"
STOP_FAILED: Final = "the API server does not delete the pod, which is tried again, at least once a minute"


@dataclass(frozen=True)
class Start:
    """A driver to be started: all it needs is applied, then its pod is made.

    Attributes:
        revision: what it runs.
        attempt: which start of the pipeline it is.
        run: the run of the pipeline that it begins or continues.
    """

    revision: Revision
    attempt: int
    run: str


@dataclass(frozen=True)
class Plan:
    """What is to be done.

    Attributes:
        status: the operator's part of the status, whole; empty where it stays.
        driver_part: the driver's part, where there is no driver that writes it.
        stop: True where the driver's pod is told to go, or, being over, is removed.
        start: a driver to be started.
        events: what to tell.
        requeue: seconds until the next look; None where only an event or the resync asks for one.
        finished: True where the resource may go.
    """

    status: Object
    driver_part: dict[str, Any] | None = None
    stop: bool = False
    start: Start | None = None
    events: tuple[Event, ...] = ()
    requeue: float | None = None
    finished: bool = False


def plan(seen: Observed) -> Plan:
    """The next step."""
    before = past(seen)
    if seen.deleting:
        found = _deleting(seen, before)
    elif seen.pod is not None and not driverpod.over(seen.pod):
        found = _living(seen, before, seen.pod)
    else:
        found = _down(seen, before)
    if found.stop and seen.failure and seen.failure.retry_in > 0:
        found = replace(found, stop=False, requeue=seen.failure.retry_in)
    return replace(found, events=report.events(seen.status, found.status))


def _living(seen: Observed, before: Past, pod: Object) -> Plan:
    """A driver lives: it goes on, or is told to go."""
    if driverpod.leaving(pod):
        return _drain(seen, before, *(_node_silent(seen, pod) or _told_to_go(seen)), told=True)
    if seen.body["spec"].get("suspend"):
        return _drain(seen, before, "Suspending", "the pipeline is suspended")
    if replaced := _replacement(seen, before, pod):
        return _drain(seen, before, *replaced)
    if not driverpod.running(pod):
        waits = Condition("DriverRunning", FALSE, *(seen.driver_warning or driverpod.waits_for(pod)))
        status = report.status(seen, before, "Starting", waits, revision=driverpod.revision(pod))
        # The driver may be heard of before its container is.
        heard = reported(seen.status, before.attempt)
        part = None if heard else report.driver_part(seen)
        return Plan(status, driver_part=part, requeue=CHANGING_SECONDS)
    return _running(seen, before, driverpod.revision(pod))


def _replacement(seen: Observed, before: Past, pod: Object) -> tuple[str, str] | None:
    """Reason and message where another driver takes the place of one that lives; None where it goes on."""
    if seen.refused:
        return None
    want = seen.judgement.revision
    if want is not None and want.name != driverpod.revision(pod):
        return "Updating", f"the document has changed, to revision {want.name}"
    if seen.restart_requested and seen.revision is not None:
        return "Restarting", f"the annotation {RESTARTED_AT} asks for a new driver"
    if not driverpod.running(pod) and _is_outdated(seen, before, pod):
        return "Updating", "the driver has not run yet, and the operator would make its pod otherwise now"
    return None


def _is_outdated(seen: Observed, before: Past, pod: Object) -> bool:
    """True where a driver that has never run would be made otherwise now: of another image, or by other settings.

    What the operator sent is compared with what it would send, for admission may change what the server has.
    """
    sent, revision = driverpod.template_hash(pod), seen.revision
    if not sent or revision is None or reported(seen.status, before.attempt):
        return False
    same = revision.name == driverpod.revision(pod)
    return same and template_hash(seen.body, revision, seen.settings) != sent


def _running(seen: Observed, before: Past, revision: str) -> Plan:
    active = queries_active(seen.status, before.attempt)
    impaired = degraded(seen.status, before.attempt, seen.drivers_now, seen.executors_warning)
    status = report.status(
        seen,
        before,
        _running_phase(seen, active, impaired),
        Condition("DriverRunning", TRUE, "Running", "the driver's container runs"),
        active,
        data_flowing(seen.status, before.attempt),
        impaired,
        data_stalled(seen.status, before.attempt, seen.drivers_now),
        revision=revision,
    )
    dead = active.status == UNKNOWN  # the numbers are of the driver before
    return Plan(status, driver_part=report.driver_part(seen) if dead else None, requeue=LOOK_SECONDS)


def _running_phase(seen: Observed, active: Condition, impaired: Condition) -> str:
    """The phase of a driver that runs. Once all queries were active it is no longer starting: one of them may be."""
    if impaired.status == TRUE:
        return "Degraded"
    was = seen.status.get("phase") in ("Running", "Degraded") and active.status != UNKNOWN
    return "Running" if active.status == TRUE or was else "Starting"


def _drain(seen: Observed, before: Past, reason: str, message: str, *, told: bool = False) -> Plan:
    goes = Condition("DriverRunning", FALSE, reason, message if told else _with_failure(seen, message))
    status = report.status(seen, before, "Draining", goes, revision=before.revision)
    return Plan(status, stop=not told, requeue=CHANGING_SECONDS)


def _with_failure(seen: Observed, message: str) -> str:
    """The message of a driver's end, with the reason why the API server has not carried that out, where it has not."""
    return f"{message}; {STOP_FAILED}: {seen.failure.message}" if seen.failure else message


def _node_silent(seen: Observed, pod: Object) -> tuple[str, str] | None:
    """Reason and message where the node does not let the pod go; by the operator's clock too, which says since when."""
    if not driverpod.overdue(pod, seen.now) or not _drains_for(seen, driverpod.OVERDUE_SECONDS):
        return None
    about, node = pod["metadata"], pod["spec"]["nodeName"]
    return "NodeSilent", (
        f"the node {node} has not let the pod {about['name']} go since {about['deletionTimestamp']}: it is down, or cut "
        f"off, and its driver may still write. No other driver starts. Look at it: kubectl get node {node}. Once it is "
        f"certain that the node is down: kubectl delete pod {about['name']} --namespace {about['namespace']} --force"
    )


def _drains_for(seen: Observed, least: float) -> bool:
    """Whether the status has had this driver leaving for some seconds, by the operator's clock."""
    for condition in seen.status.get("conditions", ()):
        if condition["type"] == "DriverRunning" and seen.status.get("phase") == "Draining":
            return (seen.now - parsed(condition["lastTransitionTime"])).total_seconds() > least
    return False


def _told_to_go(seen: Observed) -> tuple[str, str]:
    """Why the driver was told to go: as it was said when we did it; otherwise it was somebody else."""
    if seen.status.get("phase") == "Draining":
        for condition in seen.status.get("conditions", ()):
            if condition["type"] == "DriverRunning":
                return condition["reason"], condition["message"].partition(f"; {STOP_FAILED}")[0]
    return "Draining", "the driver was told to go, and ends its running batches"


def _down(seen: Observed, before: Past) -> Plan:
    """No driver lives: whether there may be one."""
    if seen.body["spec"].get("suspend"):
        message = "spec.suspend is true; false goes on from the checkpoints"
        return _rest(seen, before, "Suspended", "Suspended", message, remove=True)
    if seen.revision is None:
        return _rest(seen, before, "Refused", "SpecInvalid", "no driver runs a document that is refused")
    if seen.refused:
        return _rest(seen, before, "Failed", *seen.refused, requeue=LOOK_SECONDS)
    return _allowed(seen, before, seen.revision)


def _allowed(seen: Observed, before: Past, revision: Revision) -> Plan:
    """A driver may run: whether one shall."""
    if revision.pipeline.spec.schedule:
        return _scheduled(seen, before, revision)
    if before.revision != revision.name:
        return _start(seen, before, revision, fresh=True)
    if before.ended is None:
        return _start(seen, before, revision)
    return _again(seen, before, revision, before.ended)


def _again(seen: Observed, before: Past, revision: Revision, ended: Ended) -> Plan:
    """The same revision has run before: it is done, or goes on, or waits for its turn."""
    resumed = seen.status.get("phase") == "Suspended" or seen.restart_requested
    if ended.outcome == "completed" and revision.bounded and not resumed:
        done = Condition("Complete", TRUE, "Completed", "every query has read all that there was")
        return _rest(seen, before, "Completed", "Completed", done.message, done, remove=True)
    if resumed or seen.status.get("phase") == "Draining":
        return _start(seen, before, revision, fresh=True)
    if ended.drained:
        return _start(seen, before, revision)  # by somebody else: a node that was emptied
    return _after_failure(seen, before, revision, ended)


def _after_failure(seen: Observed, before: Past, revision: Revision, ended: Ended) -> Plan:
    """A document that Spark refuses is not tried again; all else is, ever later, for outages end."""
    restart = revision.pipeline.spec.restart
    if ended.exit_code == Exit.SPEC_INVALID:
        return _rest(seen, before, "Failed", ended.reason, ended.message)
    if restart.policy == "Never":
        return _rest(seen, before, "Failed", ended.reason, f"{ended.message}; restart.policy is Never")
    wait = wait_seconds(restart, before.restarts)
    left = wait - seen.end_age
    if left <= 0:
        return _start(seen, before, revision)
    message = (
        f"{ended.message}; starts again at {timestamp((seen.end or seen.now) + timedelta(seconds=wait))}"
    )
    return _rest(seen, before, "BackingOff", ended.reason, message, requeue=left)


def _scheduled(seen: Observed, before: Past, revision: Revision) -> Plan:
    """Between two runs, or at the time of one; a run that failed is tried again until the next is due."""
    spec, told = revision.pipeline.spec.schedule, seen.status.get("schedule", {})
    assert spec is not None
    if told.get("lastTime"):
        last = schedule.last_run(spec, parsed(told["lastTime"]), seen.now)
        told = {**told, "lastTime": timestamp(last)}
    else:
        last = _waiting_since(seen)
    due, following = schedule.slots(spec, last, seen.now)
    if due is not None:
        times = {"lastTime": timestamp(due), "nextTime": timestamp(following)}
        return _start(seen, before, revision, fresh=True, schedule=times)
    ended, left = before.ended, (following - seen.now).total_seconds()
    if told.get("lastTime") and (ended is None or ended.outcome != "completed"):
        tried = _run_again(seen, before, revision)
        return tried if tried.start else replace(tried, requeue=min(left, tried.requeue or left))
    complete = Condition("Complete", TRUE, "Completed", "the last run has read all that there was")
    return _rest(
        seen,
        before,
        "Scheduled",
        "Scheduled",
        f"the next run is at {timestamp(following)}",
        *([complete] if ended else []),
        remove=True,
        requeue=left,
        schedule={**told, "nextTime": timestamp(following)},
    )


def _waiting_since(seen: Observed) -> datetime:
    """Since when a pipeline that has never run waits for its first slot, by the operator's clock where it knows."""
    for condition in seen.status.get("conditions", ()):
        if condition["type"] == "SpecValid":
            return min(parsed(condition["lastTransitionTime"]), seen.now)
    return seen.created or min(parsed(seen.body["metadata"]["creationTimestamp"]), seen.now)


def _run_again(seen: Observed, before: Past, revision: Revision) -> Plan:
    """The run of a slot that did not come to its end; a changed document is tried at once."""
    if before.revision != revision.name:
        return _start(seen, before, revision, fresh=True)
    if before.ended is None:
        return _start(seen, before, revision)
    fresh = seen.status.get("phase") in ("Suspended", "Draining") or seen.restart_requested
    if before.ended.drained or fresh:
        return _start(seen, before, revision, fresh=True)
    return _after_failure(seen, before, revision, before.ended)


def _rest(
    seen: Observed,
    before: Past,
    phase: str,
    reason: str,
    message: str,
    *more: Condition,
    remove: bool = False,
    requeue: float | None = None,
    schedule: Object | None = None,
) -> Plan:
    """No driver runs, for a reason. `remove` takes the pod away that is over; else it stays, for its log."""
    stop = remove and seen.pod is not None and not driverpod.leaving(seen.pod)
    rests = Condition("DriverRunning", FALSE, reason, _with_failure(seen, message) if stop else message)
    status = report.status(seen, before, phase, rests, *more, revision=before.revision, schedule=schedule)
    return Plan(status, driver_part=report.driver_part(seen), stop=stop, requeue=requeue)


def _start(
    seen: Observed,
    before: Past,
    revision: Revision,
    *,
    fresh: bool = False,
    schedule: Object | None = None,
) -> Plan:
    """Write the intent, then start. The pod of the driver before has to go first; `fresh` forgets its failures.

    The first start of all goes without: of a thousand pipelines applied at once all shall have their driver before the
    first is told of its own, and the pod's name keeps it from being made twice.
    """
    run = run_of(seen, before, revision, schedule)
    if not seen.status and seen.pod is None and schedule is None and seen.failure is None:
        return Plan({}, start=Start(revision, 1, run), requeue=SOON_SECONDS)
    starts = Condition("DriverRunning", FALSE, "DriverStarting", driverpod.STARTING)
    part = report.driver_part(seen)
    if seen.pod is not None:
        # The phase is why it is a fresh start; it stays until the intent is written.
        phase = seen.status.get("phase", "Starting") if fresh else "Starting"
        starts = starts._replace(message=_with_failure(seen, starts.message))
        status = report.status(seen, before, phase, starts, revision=before.revision)
        return Plan(status, driver_part=part, stop=not driverpod.leaving(seen.pod))
    phases = ("Starting", "Failed", "BackingOff")
    intended = seen.status.get("phase") in phases and before.ended is None and before.attempt > 0
    attempt = before.attempt if intended else before.attempt + 1
    known = replace(before, attempt=attempt, restarts=0 if fresh else before.restarts, run=run)
    if failure := _start_failure(seen):
        return _start_again(seen, known, Start(revision, attempt, run), failure, schedule)
    status = report.status(seen, known, "Starting", starts, revision=revision.name, schedule=schedule)
    name = driver_name(seen.body["metadata"]["name"])
    status = {**status, "driver": {"pod": name}, **_restarted(seen)}
    return Plan(status, driver_part=part, start=Start(revision, attempt, run))


def _restarted(seen: Observed) -> dict[str, str]:
    """What the start that is about to be made answers."""
    requested = requested_restart(seen.body)
    return {"restartedAt": requested} if requested else {}


def _start_failure(seen: Observed) -> StepFailure | None:
    """Why the start under way has failed: as the API server said, or, for an operator that is new, as the status says."""
    if seen.failure or seen.status.get("phase") != "BackingOff":
        return seen.failure
    for condition in seen.status.get("conditions", ()):
        same = condition["observedGeneration"] == seen.generation
        if condition["type"] == "DriverRunning" and condition["reason"] == "StartFailed" and same:
            return StepFailure(condition["message"].partition(f"; {START_AGAIN}")[0], retry_in=0.0)
    return None


def _start_again(
    seen: Observed, before: Past, start: Start, failure: StepFailure, schedule: Object | None
) -> Plan:
    """A start that the API server has not carried out: the status says so, and stays as it is while it is tried again."""
    phase, reason = ("Starting", "DriverStarting") if failure.is_pending else ("BackingOff", "StartFailed")
    message = failure.message if failure.is_pending else f"{failure.message}; {START_AGAIN}"
    waits = Condition("DriverRunning", FALSE, reason, message)
    status = report.status(seen, before, phase, waits, revision=start.revision.name, schedule=schedule)
    is_due = failure.retry_in <= 0
    return Plan(
        status,
        driver_part=report.driver_part(seen),
        start=start if is_due else None,
        requeue=None if is_due else failure.retry_in,
    )


def _deleting(seen: Observed, before: Past) -> Plan:
    """The resource goes once its driver's pod has, so that the next one of its name finds none; a node that is silent
    holds nobody up for ever.
    """
    left = grace_seconds(seen.revision) + CLEANUP_SECONDS - seen.deletion_age
    if seen.pod is None or left <= 0:
        return Plan({}, finished=True)  # the garbage collector takes all that it owns
    message = _with_failure(seen, "the driver ends its running batches")
    goes = Condition("DriverRunning", FALSE, "Deleting", message)
    status = report.status(seen, before, "Deleting", goes, revision=before.revision)
    return Plan(status, stop=not driverpod.leaving(seen.pod), requeue=min(left, CHANGING_SECONDS))
