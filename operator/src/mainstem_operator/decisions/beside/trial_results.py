"""How a trial that runs ends: by the report of its pod, by an error of the pod, or because its time is over; pure."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from mainstem import reasons
from mainstem.language.base import seconds
from mainstem.language.model.pipeline import Trial as TrialSettings
from mainstem.language.model.status.trial_status import TrialPhase

from mainstem_operator.decisions.start_deadlines import deadline
from mainstem_operator.observed import pod_status, trials
from mainstem_operator.observed.conditions import timestamp
from mainstem_operator.observed.observation import Observation
from mainstem_operator.observed.trials import Trial


_IMAGE: Final = "spec.image"


def polled(observation: Observation, trial: Trial, settings: TrialSettings) -> Trial:
    """A running trial: its result, or why it has failed."""
    pod, now = observation.trial_pod, timestamp(observation.now)
    if observation.body["spec"].get("suspend"):
        waits = "the pipeline is suspended"
        return replace(trial.at(TrialPhase.PENDING, reasons.TRIAL_PENDING, waits), start=None)
    if pod is not None and trials.identity(pod) != trial.identity:
        pod = None
    if pod is not None and pod_status.over(pod):
        return _with_result(observation, trial, trials.result(pod))
    if observation.trial_refusal is not None:
        return trial.at(TrialPhase.FAILED, *observation.trial_refusal, end=now)
    reason, message, limit = _overdue(observation, pod, seconds(settings.timeout))
    if observation.trial_age <= limit:
        return trial
    message = f"the trial has not ended within {limit:g} seconds: {message}"
    return trial.at(TrialPhase.FAILED, reason, message, end=now)


def _with_result(observation: Observation, trial: Trial, result: trials.Result) -> Trial:
    """The ended trial. A pod that finds no checkpoint shows nothing where the driver has committed batches."""
    phase = result.phase
    if phase is TrialPhase.SKIPPED and _has_committed(observation):
        phase = TrialPhase.FAILED
    message = result.message
    if phase is TrialPhase.PASSED and _IMAGE in _driver_changes(observation):
        message += (
            "; both documents ran with the code of the changed image, so its effect on rows is not shown"
        )
    ended = trial.at(phase, result.reason, message, end=timestamp(observation.now))
    return replace(ended, queries=result.queries)


def _has_committed(observation: Observation) -> bool:
    change, queries = observation.change, observation.status.get("queries", ())
    chosen = None if change is None or change.driver else change.replaced
    return any("batch" in query for query in queries if chosen is None or query["name"] in chosen)


def is_proved(observation: Observation, trial: Trial) -> bool:
    """Whether a passed trial may promote its document by itself: every tried query was compared, and with its own code."""
    return _IMAGE not in _driver_changes(observation) and all(
        query["outcome"] == "equal" for query in trial.queries
    )


def _driver_changes(observation: Observation) -> tuple[str, ...]:
    return observation.change.driver if observation.change is not None else ()


def _overdue(
    observation: Observation, pod: Mapping[str, Any] | None, timeout: float
) -> tuple[reasons.Reason, str, float]:
    """Why a trial has failed that takes longer than the returned seconds: a pod that does not start has less time."""
    if pod is None:
        return reasons.TRIAL_TIMED_OUT, "there is no pod", timeout
    if pod_status.running(pod):
        return reasons.TRIAL_TIMED_OUT, "its pod still runs", timeout
    reason, message = observation.trial_warning or pod_status.waits_for(pod)
    limit = deadline(reason, has_node=bool(pod["spec"].get("nodeName"))).seconds
    reason = reasons.TRIAL_TIMED_OUT if reason == reasons.DRIVER_STARTING else reason
    return reason, f"its pod has not started: {message}", min(timeout, limit)
