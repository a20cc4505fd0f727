"""The ages of what an operator observes, by its own clock; pure."""

from dataclasses import replace

from mainstem import reasons

from mainstem_operator.decisions import revisions, rollback
from mainstem_operator.decisions.health import SILENT_SECONDS
from mainstem_operator.decisions.history import DriverHistory, driver_history
from mainstem_operator.observed import hand_overs, pod_status
from mainstem_operator.observed.ages import Ages, Moment
from mainstem_operator.observed.conditions import find_condition, parsed
from mainstem_operator.observed.observation import Observation
from mainstem_operator.observed.revision_entries import newest


def with_ages(observation: Observation, ages: Ages, now: Moment) -> Observation:
    """The observation with the ages of facts, by the operator's own clock.

    If the operator knew the driver while it ran, the end is as old as its event. An operator that has just started takes
    ages from the status and the node, as far as they are possible by its own clock.
    """
    report_age = (
        now.monotonic
        - ages.notice(
            "report",
            observation.status.get("reported", {}).get("time"),
            now,
            age=_silent_seconds(observation),
        ).monotonic
    )
    deletion_age = now.monotonic - ages.notice("deleting", observation.deleting, now).monotonic
    start_age = now.monotonic - _start_noticed(observation, ages, now).monotonic
    wanted, pod, update = observation.wanted_name, observation.pod, None
    is_running = pod is not None and pod_status.running(pod) and not observation.on_trial
    if pod is not None and is_running and wanted is not None:
        runs = wanted == observation.running_revision
        update = (
            wanted,
            pod_status.attempt(pod),
            hand_overs.handed_number(pod) if runs else observation.awaits_report,
        )
    update_age = now.monotonic - ages.notice("update", update, now).monotonic
    document = observation.validation.revision
    document_age = now.monotonic - ages.notice("document", document and document.name, now).monotonic
    known = replace(
        observation,
        report_age=report_age,
        deletion_age=deletion_age,
        start_age=start_age,
        update_age=update_age,
        document_age=document_age,
        trial_age=_trial_age(observation, ages, now),
    )
    before = driver_history(known)
    known = replace(known, progress_age=_progress_age(known, before, ages, now))
    if before.ended is None or before.ended.finished is None:
        ages.notice("end", None, now)
        return known
    lasted = max(0.0, (now.wall - before.ended.finished).total_seconds())
    end = ages.notice("end", before.ended.attempt, now, age=lasted)
    return replace(known, end=end.wall, end_age=now.monotonic - end.monotonic)


def _start_noticed(observation: Observation, ages: Ages, now: Moment) -> Moment:
    """When the operator noticed a driver pod that has not run yet; now if there is none."""
    pod = observation.pod
    if pod is None or pod_status.running(pod) or pod_status.over(pod):
        ages.notice("start", None, now)
        return now
    about = pod["metadata"]
    created = parsed(about["creationTimestamp"]) if "creationTimestamp" in about else now.wall
    lasted = max(0.0, (now.wall - created).total_seconds())
    return ages.notice("start", about["uid"], now, age=lasted)


def _trial_age(observation: Observation, ages: Ages, now: Moment) -> float:
    """Seconds since the start of the trial; after a restart of the operator by the time that the status has."""
    trial = observation.trial
    start = trial.start if trial is not None else None
    lasted = max(0.0, (now.wall - parsed(start)).total_seconds()) if start else 0.0
    noticed = ages.notice("trial", trial.identity if trial and start else None, now, age=lasted)
    return now.monotonic - noticed.monotonic


def _silent_seconds(observation: Observation) -> float:
    """Seconds without a report when an operator starts: a driver with the condition `DriverNotReporting` keeps it."""
    for condition in observation.status.get("conditions", ()):
        if condition["reason"] == reasons.DRIVER_NOT_REPORTING:
            return SILENT_SECONDS + 1
    return 0.0


def _progress_age(observation: Observation, before: DriverHistory, ages: Ages, now: Moment) -> float:
    """Seconds of the newest revision's deadline; after a restart of the operator as far as the status shows."""
    entry, running = newest(observation.status), find_condition(observation.status, "DriverRunning")
    key = rollback.progress_key(observation, before)
    is_new = revisions.is_progressing(observation.status)
    lasted = 0.0
    if entry is not None:
        paused = [parsed(running["lastTransitionTime"])] if is_new and running else []
        lasted = max(0.0, (now.wall - max([parsed(entry["startTime"]), *paused])).total_seconds())
    notice = ages.notice if is_new else ages.notice_beginning
    return now.monotonic - notice("progress", key, now, age=lasted).monotonic
