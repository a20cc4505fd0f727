"""Tries a changed document beside the running driver before the driver gets it, with `spec.trial`; pure.

The trial only delays the hand-over: until it is promoted the running document remains in use, also after a failure of the
driver. So every decision here is about the changed document, and none is about the driver.
"""

from dataclasses import replace
from typing import Final

from mainstem import reasons
from mainstem.language.base import seconds
from mainstem.language.model.pipeline import Trial as TrialSettings
from mainstem.language.model.status.trial_status import TrialPhase

from mainstem_operator.decisions.beside import trial_results
from mainstem_operator.decisions.health import queries_active
from mainstem_operator.observed import hand_overs, pod_status, trials
from mainstem_operator.observed.conditions import DOCUMENT_APPLIED, FALSE, TRUE, Condition, timestamp
from mainstem_operator.observed.observation import Observation
from mainstem_operator.observed.revision_entries import is_healthy
from mainstem_operator.observed.trials import Trial
from mainstem_operator.validation.documents import Revision


_HOW_TO_APPLY: Final = (
    "To apply the change, set spec.trial.promote to {0}; to discard it, change the document"
)
_BY_PHASE: Final = {
    TrialPhase.PENDING: reasons.TRIAL_PENDING,
    TrialPhase.RUNNING: reasons.TRIAL_RUNNING,
    TrialPhase.PASSED: reasons.TRIAL_PASSED,
    TrialPhase.DIFFERS: reasons.TRIAL_DIFFERS,
    TrialPhase.FAILED: reasons.TRIAL_FAILED,
    TrialPhase.PROMOTED: reasons.TRIAL_PROMOTED,
    TrialPhase.SKIPPED: reasons.TRIAL_SKIPPED,
    TrialPhase.DISCARDED: reasons.TRIAL_DISCARDED,
}
_FOR_ITS_LOG: Final = (TrialPhase.DIFFERS, TrialPhase.FAILED)


def decided(observation: Observation) -> Observation:
    """The observation with the trial as it is now: begun, ended, promoted, skipped or discarded."""
    return replace(observation, decided_trial=(_decided(observation),))


def how_to_apply(trial: Trial) -> str:
    """What is on trial, and how it is applied or discarded."""
    return f"revision {trial.revision} is on trial. {_HOW_TO_APPLY.format(trial.revision)}"


def event_reason(phase: str) -> reasons.Reason:
    """The reason of the event of a trial that has reached a phase."""
    return _BY_PHASE[TrialPhase(phase)]


def document_on_trial(observation: Observation) -> tuple[Condition, ...]:
    """The condition `DocumentApplied` of a document on trial, while a driver runs with the one before: also in the plan that ends
    the trial, because only the next one applies the document.
    """
    trial, pod = observation.trial, observation.pod
    if not observation.on_trial or pod is None or not pod_status.running(pod):
        return ()
    if pod_status.leaving(pod) or observation.body["spec"].get("suspend"):
        return ()
    running = f"revision {observation.running_revision} runs on"
    if trial is None or not trial.holds:
        message = f"the trial of the document is over, and the document is applied next; until then {running}"
        return (Condition(DOCUMENT_APPLIED, FALSE, reasons.APPLYING, message),)
    message = f"the trial of revision {trial.revision} {_WORDS[trial.phase]}: {trial.message}; {running}"
    if trial.phase is not TrialPhase.RUNNING:
        message += f". {_HOW_TO_APPLY.format(trial.revision)}"
    return (Condition(DOCUMENT_APPLIED, FALSE, _BY_PHASE[trial.phase], message),)


_WORDS: Final = {
    TrialPhase.PENDING: "waits",
    TrialPhase.RUNNING: "runs",
    TrialPhase.PASSED: "has passed",
    TrialPhase.DIFFERS: "shows a difference",
    TrialPhase.FAILED: "has failed",
}


def must_stop(observation: Observation) -> bool:
    """Whether the operator deletes the trial pod. An ended pod with a difference or a failure stays, for its log."""
    pod, trial = observation.trial_pod, observation.trial
    if pod is None or pod_status.leaving(pod):
        return False
    if observation.deleting or trial is None or trials.identity(pod) != trial.identity:
        return True
    ended_for_its_log = trial.phase in _FOR_ITS_LOG and pod_status.over(pod)
    return not (trial.phase is TrialPhase.RUNNING or ended_for_its_log)


def to_start(observation: Observation) -> Trial | None:
    """The trial whose pod the operator creates; None if there is none to create."""
    trial, running = observation.trial, observation.current
    if trial is None or trial.phase is not TrialPhase.RUNNING or not observation.on_trial:
        return None
    if observation.trial_pod is not None or observation.deleting:
        return None
    return trial if running is not None and running.name == trial.against else None


def seconds_left(observation: Observation) -> float | None:
    """Seconds until the time of a running trial is over; None if none runs."""
    settings, trial = _settings(observation), observation.trial
    if settings is None or trial is None or trial.phase is not TrialPhase.RUNNING:
        return None
    return max(1.0, seconds(settings.timeout) - observation.trial_age + 1)


def _settings(observation: Observation) -> TrialSettings | None:
    document = observation.validation.revision
    return document.pipeline.spec.trial if document is not None else None


def _decided(observation: Observation) -> Trial | None:
    known, document = trials.remembered(observation.status), observation.validation.revision
    if document is None or observation.deleting:
        return known
    settings = _settings(observation)
    if settings is None:
        return _without_settings(observation, known)
    if document.name == _running(observation):
        return _unchanged(observation, known, document)
    if observation.rollback is not None:
        return known
    if known is None or known.revision != document.name or known.phase is TrialPhase.DISCARDED:
        return _new(observation, known, settings, document)
    return _continued(observation, known, settings)


def _running(observation: Observation) -> str:
    """The revision that runs, or ran last."""
    return observation.running_revision or str(observation.status.get("revision", ""))


def _without_settings(observation: Observation, known: Trial | None) -> Trial | None:
    """Without `spec.trial` nothing remains of a trial, once its pod is gone."""
    if known is None or observation.trial_pod is None:
        return None
    return _skipped(observation, known, "spec.trial was removed") if known.holds else known


def _unchanged(observation: Observation, known: Trial | None, document: Revision) -> Trial | None:
    """The document runs: a trial of another revision is over."""
    if known is None and "revision" not in observation.status:
        why = "nothing has run before, so there is nothing to compare with"
        return Trial(document.name, TrialPhase.SKIPPED, reasons.TRIAL_SKIPPED, why)
    if known is not None and known.revision == document.name and known.holds:
        why = "the driver had taken the document before its trial could begin"
        return _skipped(observation, known, why)
    if known is None or known.revision == document.name or known.phase is TrialPhase.DISCARDED:
        return known
    return _discarded(observation, known, f"the document has changed to revision {document.name}, which runs")


def _new(
    observation: Observation, known: Trial | None, settings: TrialSettings, document: Revision
) -> Trial | None:
    """The trial of a revision that had none: it begins, waits, or is skipped."""
    if observation.refused or observation.refused_changes or observation.finally_refused:
        replaced = f"the document has changed to revision {document.name}, which is refused"
        is_open = known is not None and known.holds
        return _discarded(observation, known, replaced) if known is not None and is_open else known
    trial = Trial(
        document.name,
        TrialPhase.PENDING,
        reasons.TRIAL_PENDING,
        "",
        against=_running(observation),
        requested=_requested(observation, settings),
    )
    if settings.promote == document.name:
        return _promoted(observation, trial, "by spec.trial.promote, without a trial")
    if why := _why_skipped(observation):
        return _skipped(observation, trial, why)
    return _begun(observation, trial)


def _why_skipped(observation: Observation) -> str:
    """Why there is nothing to try a changed document against; empty if there is."""
    pod, running = observation.pod, observation.running_revision
    if not observation.unchecked:  # otherwise the next driver starts with the document before
        if pod is None or not pod_status.running(pod):
            return "no driver runs"
        if why := _not_healthy(observation, running):
            return why
    if observation.change is None or observation.current is None:
        return f"the document of the running revision {running} is not known"
    if not observation.change.replaced and not observation.change.driver:
        return "the change restarts no query"
    return ""


def _not_healthy(observation: Observation, running: str) -> str:
    """That the changed document may be the correction of the one that runs; empty if that one was healthy."""
    return "" if is_healthy(observation.status, running) else f"the running revision {running} is not healthy"


def _begun(observation: Observation, trial: Trial) -> Trial:
    """The trial, which runs now if every query of the running document is active; otherwise it waits."""
    if why := _why_pending(observation):
        return trial.at(TrialPhase.PENDING, reasons.TRIAL_PENDING, why)
    message = f"the operator tries revision {trial.revision} against the running revision {trial.against}"
    begun = replace(trial, start=timestamp(observation.now))
    return begun.at(TrialPhase.RUNNING, reasons.TRIAL_RUNNING, message)


def _why_pending(observation: Observation) -> str:
    """What is missing before a trial can begin; empty if nothing is."""
    pod = observation.pod
    if observation.body["spec"].get("suspend"):
        return "the pipeline is suspended"
    if pod is None or not pod_status.running(pod) or pod_status.leaving(pod) or observation.restart_requested:
        return "no driver runs, or it restarts"
    if (handed := pod_status.handed_revision(pod)) not in (
        observation.running_revision,
        _refused(observation),
    ):
        return f"the driver takes revision {handed} over"
    if handed == observation.running_revision and hand_overs.may_apply_another(observation.body, pod, handed):
        return "the driver has not answered yet that a change is undone"
    if observation.current is None or observation.change is None:
        return "the document of the running revision is not known"
    active = queries_active(observation.status, pod_status.attempt(pod))
    is_active = active.status == TRUE
    return "" if is_active else f"not every query of the running document is active: {active.message}"


def _refused(observation: Observation) -> str:
    """The revision that the driver has refused; empty if it has refused none."""
    return str(observation.status.get("reported", {}).get("refused", {}).get("revision", ""))


def _requested(observation: Observation, settings: TrialSettings) -> trials.Requested:
    return trials.Requested(observation.requested_nonce, settings.batches, settings.timeout)


def _continued(observation: Observation, known: Trial, settings: TrialSettings) -> Trial:
    """The trial of the document, which has begun."""
    if not known.holds:
        return known
    if settings.promote == known.revision:
        return _promoted(observation, known, f"by spec.trial.promote, after the trial was {known.phase}")
    requested, running = _requested(observation, settings), _running(observation)
    again = known.requested != requested or known.against != running
    if again:
        known = replace(known, against=running, requested=requested, start=None, queries=())
    if known.phase is TrialPhase.PENDING and (why := _not_healthy(observation, running)):
        return _skipped(observation, known, why)
    if again or known.phase is TrialPhase.PENDING:
        return _begun(observation, known)
    if known.phase is TrialPhase.RUNNING:
        known = trial_results.polled(observation, known, settings)
    if (
        known.phase is TrialPhase.PASSED
        and settings.promotion == "Automatic"
        and trial_results.is_proved(observation, known)
    ):
        return _promoted(observation, known, f"by promotion: Automatic: {known.message}")
    return known


def _skipped(observation: Observation, trial: Trial, why: str) -> Trial:
    return trial.at(TrialPhase.SKIPPED, reasons.TRIAL_SKIPPED, why, end=timestamp(observation.now))


def _promoted(observation: Observation, trial: Trial, why: str) -> Trial:
    end = trial.end or timestamp(observation.now)
    return trial.at(TrialPhase.PROMOTED, reasons.TRIAL_PROMOTED, f"promoted {why}", end=end)


def _discarded(observation: Observation, trial: Trial, why: str) -> Trial:
    end = trial.end or timestamp(observation.now)
    return trial.at(TrialPhase.DISCARDED, reasons.TRIAL_DISCARDED, why, end=end)
