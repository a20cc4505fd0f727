"""Plans without a running driver: start one now, or report why none starts and look again later; pure."""

from dataclasses import replace
from datetime import datetime, timedelta

from mainstem import reasons
from mainstem.backoff import steady_jitter
from mainstem.language.model.pipeline import Restart

from mainstem_operator.decisions import pipeline_status, schedule
from mainstem_operator.decisions.actions import LOOK_SECONDS, REPLACED, Object, Plan, with_failure
from mainstem_operator.decisions.beside import trials
from mainstem_operator.decisions.failure_classes import FailureClass, Failures
from mainstem_operator.decisions.history import DriverHistory
from mainstem_operator.decisions.starts import start
from mainstem_operator.observed import pod_status
from mainstem_operator.observed.conditions import FALSE, TRUE, Condition, find_condition, parsed, timestamp
from mainstem_operator.observed.observation import Observation
from mainstem_operator.observed.pod_status import DriverEnd
from mainstem_operator.validation.documents import Revision


def down(observation: Observation, before: DriverHistory) -> Plan:
    """The plan if no driver runs: first whether one may run."""
    if observation.body["spec"].get("suspend"):
        message = "spec.suspend is true; set it to false to continue from the checkpoints"
        return _rest(observation, before, "Suspended", reasons.SUSPENDED, message, remove=True)
    if observation.revision is None and observation.trial is not None and observation.on_trial:
        message = f"the document of the revision that ran last is not known, and {trials.how_to_apply(observation.trial)}"
        return _rest(observation, before, "Failed", observation.trial.reason, message)
    if observation.revision is None:
        return _rest(
            observation,
            before,
            "Invalid",
            reasons.SPEC_INVALID,
            "no driver runs, because the document is invalid",
        )
    if observation.refused:
        return _rest(observation, before, "Failed", *observation.refused, requeue=LOOK_SECONDS)
    return _allowed(observation, before, observation.revision)


def _allowed(observation: Observation, before: DriverHistory, revision: Revision) -> Plan:
    """The plan if a driver may run: whether one should."""
    if revision.pipeline.spec.schedule:
        return _scheduled(observation, before, revision)
    return _wanted(observation, before, revision)


def _wanted(observation: Observation, before: DriverHistory, revision: Revision) -> Plan:
    """The plan if a run is due or continues: a changed document starts at once, an unchanged one depends on the last end."""
    if before.revision != revision.name:
        return start(observation, before, revision, fresh=True)
    if before.ended is None:
        return start(observation, before, revision)
    return _again(observation, before, revision, before.ended)


def _again(observation: Observation, before: DriverHistory, revision: Revision, ended: DriverEnd) -> Plan:
    """The plan if the same revision has run before: it is completed, continues, or waits after a failure."""
    resumed = observation.status.get("phase") == "Suspended" or observation.restart_requested
    if ended.outcome == "completed" and revision.bounded and not resumed:
        done = Condition("Complete", TRUE, reasons.COMPLETED, "every query has read all its data")
        return _rest(observation, before, "Completed", reasons.COMPLETED, done.message, done, remove=True)
    if resumed:
        return start(observation, before, revision, fresh=True)
    if observation.status.get("phase") == "Draining":
        return start(observation, before, revision, fresh=not _is_replaced(observation))
    if ended.drained:
        return start(
            observation, before, revision
        )  # something else deleted the pod, such as the drain of a node
    return _after_failure(observation, before, revision, ended)


def _is_replaced(observation: Observation) -> bool:
    """True if the operator has deleted the pod because it did not start."""
    condition = find_condition(observation.status, "DriverRunning")
    return condition is not None and REPLACED in condition["message"]


def _after_failure(
    observation: Observation, before: DriverHistory, revision: Revision, ended: DriverEnd
) -> Plan:
    """The plan after a failure, by the policy of its class: no retry, or a retry after a growing pause."""
    restart, failures = revision.pipeline.spec.restart, before.failures
    jitter = steady_jitter(observation.body["metadata"]["uid"], ended.attempt)
    wait = failures.pause_seconds(restart, jitter)
    if wait is None:
        return _rest(
            observation, before, "Failed", ended.reason, f"{ended.message}{_why_none(failures, restart)}"
        )
    left = wait - observation.end_age
    if left <= 0:
        return start(observation, before, revision)
    next_start = (observation.end or observation.now) + timedelta(seconds=wait)
    message = f"{ended.message}; the next start is at {timestamp(next_start)}"
    return _rest(
        observation, before, "BackingOff", ended.reason, message, requeue=left, next_start=next_start
    )


def _why_none(failures: Failures, restart: Restart) -> str:
    """Why the operator starts no driver after a failure, as the end of a message."""
    if failures.last is FailureClass.DOCUMENT:
        return ""
    if restart.policy == "Never":
        return "; no restart, because restart.policy is Never"
    return (
        f"; no restart after {failures.counted} failures in a row, because restart.maxDriverRetries is "
        f"{restart.max_driver_retries}. Change the document, or set another restartNonce"
    )


def _scheduled(observation: Observation, before: DriverHistory, revision: Revision) -> Plan:
    """The plan of a scheduled pipeline: a failed run is tried again until the next run is due."""
    spec, run_times = revision.pipeline.spec.schedule, observation.status.get("schedule", {})
    assert spec is not None
    if run_times.get("lastTime"):
        last = schedule.last_run(spec, parsed(run_times["lastTime"]), observation.now)
        run_times = {**run_times, "lastTime": timestamp(last)}
    else:
        last = _waiting_since(observation)
    due, following = schedule.slots(spec, last, observation.now)
    if due is not None:
        times = {"lastTime": timestamp(due), "nextTime": timestamp(following)}
        return start(observation, before, revision, fresh=True, schedule=times)
    ended, left = before.ended, (following - observation.now).total_seconds()
    if run_times.get("lastTime") and (ended is None or ended.outcome != "completed"):
        tried = _wanted(observation, before, revision)
        return tried if tried.start else replace(tried, requeue=min(left, tried.requeue or left))
    complete = Condition("Complete", TRUE, reasons.COMPLETED, "the last run has read all its data")
    return _rest(
        observation,
        before,
        "Scheduled",
        reasons.SCHEDULED,
        f"the next run is at {timestamp(following)}",
        *([complete] if ended else []),
        remove=True,
        requeue=left,
        schedule={**run_times, "nextTime": timestamp(following)},
    )


def _waiting_since(observation: Observation) -> datetime:
    """Since when a pipeline waits for its first scheduled run, by the operator's clock if it knows."""
    if condition := find_condition(observation.status, "SpecValid"):
        return min(parsed(condition["lastTransitionTime"]), observation.now)
    return observation.created or min(
        parsed(observation.body["metadata"]["creationTimestamp"]), observation.now
    )


def _rest(
    observation: Observation,
    before: DriverHistory,
    phase: str,
    reason: reasons.Reason,
    message: str,
    *more: Condition,
    remove: bool = False,
    requeue: float | None = None,
    schedule: Object | None = None,
    next_start: datetime | None = None,
) -> Plan:
    """A plan that starts no driver, with the reason. `remove` deletes an ended pod; else the pod stays, for its log."""
    stop = remove and observation.pod is not None and not pod_status.leaving(observation.pod)
    driver_running = Condition(
        "DriverRunning", FALSE, reason, with_failure(observation, message) if stop else message
    )
    status = pipeline_status.status(
        observation,
        before,
        phase,
        driver_running,
        *more,
        revision=before.revision,
        schedule=schedule,
        next_start=next_start,
    )
    return Plan(status, driver_part=pipeline_status.driver_part(observation), stop=stop, requeue=requeue)
