"""No driver lives: whether one starts now, and otherwise why none does, and when to look again; pure."""

from dataclasses import replace
from datetime import datetime, timedelta

from mainstem.errors import Exit

from mainstem_operator.decisions import pipeline_status, schedule
from mainstem_operator.decisions.actions import LOOK_SECONDS, Object, Plan, with_failure
from mainstem_operator.decisions.history import Past
from mainstem_operator.decisions.restart import wait_seconds
from mainstem_operator.decisions.starts import start
from mainstem_operator.observed import pod_status
from mainstem_operator.observed.conditions import FALSE, TRUE, Condition, find_condition, parsed, timestamp
from mainstem_operator.observed.observation import Observed
from mainstem_operator.observed.pod_status import Ended
from mainstem_operator.validation.documents import Revision


def down(seen: Observed, before: Past) -> Plan:
    """No driver lives: whether there may be one."""
    if seen.body["spec"].get("suspend"):
        message = "spec.suspend is true; set it to false to continue from the checkpoints"
        return _rest(seen, before, "Suspended", "Suspended", message, remove=True)
    if seen.revision is None:
        return _rest(
            seen, before, "Invalid", "SpecInvalid", "no driver runs, because the document is invalid"
        )
    if seen.refused:
        return _rest(seen, before, "Failed", *seen.refused, requeue=LOOK_SECONDS)
    return _allowed(seen, before, seen.revision)


def _allowed(seen: Observed, before: Past, revision: Revision) -> Plan:
    """A driver may run: whether one shall."""
    if revision.pipeline.spec.schedule:
        return _scheduled(seen, before, revision)
    return _wanted(seen, before, revision)


def _wanted(seen: Observed, before: Past, revision: Revision) -> Plan:
    """A run is due, or goes on: a changed document starts at once, one that has run before by how that ended."""
    if before.revision != revision.name:
        return start(seen, before, revision, fresh=True)
    if before.ended is None:
        return start(seen, before, revision)
    return _again(seen, before, revision, before.ended)


def _again(seen: Observed, before: Past, revision: Revision, ended: Ended) -> Plan:
    """The same revision has run before: it is done, or goes on, or waits for its turn."""
    resumed = seen.status.get("phase") == "Suspended" or seen.restart_requested
    if ended.outcome == "completed" and revision.bounded and not resumed:
        done = Condition("Complete", TRUE, "Completed", "every query has read all its data")
        return _rest(seen, before, "Completed", "Completed", done.message, done, remove=True)
    if resumed or seen.status.get("phase") == "Draining":
        return start(seen, before, revision, fresh=True)
    if ended.drained:
        return start(seen, before, revision)  # by somebody else: a node that was emptied
    return _after_failure(seen, before, revision, ended)


def _after_failure(seen: Observed, before: Past, revision: Revision, ended: Ended) -> Plan:
    """A document that Spark refuses is not tried again; all else is, ever later, for outages end."""
    restart = revision.pipeline.spec.restart
    if ended.exit_code == Exit.SPEC_INVALID:
        return _rest(seen, before, "Failed", ended.reason, ended.message)
    if restart.policy == "Never":
        return _rest(
            seen,
            before,
            "Failed",
            ended.reason,
            f"{ended.message}; no restart, because restart.policy is Never",
        )
    wait = wait_seconds(restart, before.restarts)
    left = wait - seen.end_age
    if left <= 0:
        return start(seen, before, revision)
    message = (
        f"{ended.message}; the next start is at {timestamp((seen.end or seen.now) + timedelta(seconds=wait))}"
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
        return start(seen, before, revision, fresh=True, schedule=times)
    ended, left = before.ended, (following - seen.now).total_seconds()
    if told.get("lastTime") and (ended is None or ended.outcome != "completed"):
        tried = _wanted(seen, before, revision)
        return tried if tried.start else replace(tried, requeue=min(left, tried.requeue or left))
    complete = Condition("Complete", TRUE, "Completed", "the last run has read all its data")
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
    if condition := find_condition(seen.status, "SpecValid"):
        return min(parsed(condition["lastTransitionTime"]), seen.now)
    return seen.created or min(parsed(seen.body["metadata"]["creationTimestamp"]), seen.now)


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
    stop = remove and seen.pod is not None and not pod_status.leaving(seen.pod)
    rests = Condition("DriverRunning", FALSE, reason, with_failure(seen, message) if stop else message)
    status = pipeline_status.status(
        seen, before, phase, rests, *more, revision=before.revision, schedule=schedule
    )
    return Plan(status, driver_part=pipeline_status.driver_part(seen), stop=stop, requeue=requeue)
