"""Checks a document that only a new driver can apply in a pod of its own, before that driver replaces one that works; pure.

A driver checks each document that it takes over itself. Where it cannot, `mainstem driver --preflight-against` does the same in a
pod beside it. The verdict is in no field of the status: the pod has it, and stays until its document runs or changes.
"""

from typing import Final

from mainstem import reasons
from mainstem.changes.consequences import new_driver
from mainstem.names import preflight_name

from mainstem_operator.decisions import unchecked, updates
from mainstem_operator.manifests.pods import template_hash
from mainstem_operator.manifests.preflight_pod import LONGEST_SECONDS
from mainstem_operator.observed import pod_status, preflights
from mainstem_operator.observed.conditions import AT_REST, DOCUMENT_APPLIED, FALSE, Condition
from mainstem_operator.observed.observation import Observation
from mainstem_operator.observed.preflights import Preflight, Verdict
from mainstem_operator.observed.revision_entries import is_healthy
from mainstem_operator.validation.documents import Revision


PAUSE_SECONDS: Final = 60.0
"""Seconds after a preflight without a verdict, before the operator checks the same document again."""


def required(observation: Observation) -> Preflight | None:
    """The preflight that the document needs, with its verdict; None if the running driver checks the document, if no document that
    works would be replaced, or if that must not happen anyway. A refusal holds also once the document before has failed.
    """
    wanted, body = observation.validation.revision, observation.body
    if wanted is None or observation.deleting or body["spec"].get("suspend") or observation.rolled_back:
        return None
    if observation.refused_changes or observation.finally_refused or not _is_compared(observation):
        return None
    why, is_there = _why(observation, wanted), observation.preflight_pod.pod is not None
    if why is None and not is_there:
        return None
    preflight = _polled(observation, _identity(observation, wanted), why or "")
    if why is None and preflight.is_open:  # a verdict holds also once the driver that hung has ended
        return None
    is_kept = preflight.verdict is Verdict.REFUSED and observation.status.get("phase") not in AT_REST
    remains = unchecked.may_remain(body, observation.pod) and unchecked.has_time(observation)
    return preflight if is_kept or remains else None


def _is_compared(observation: Observation) -> bool:
    """Whether the document is compared with the one that ran last, and that does not end by itself. If the one of a running driver is
    not known, as one that the operator's rules refuse by now, nothing can be compared, and no driver could start with it.
    """
    current = observation.current
    if current is None:
        return observation.is_alive
    return observation.change is not None and not current.ends


def _why(observation: Observation, wanted: Revision) -> str | None:
    """Why only a new driver can apply the document; None if the driver that runs, or the next one, can take it over."""
    running = observation.last_revision
    if wanted.name != running and unchecked.driver_has_failed(observation):
        return f"a driver of revision {running} has failed, and another one might fail at the check"
    if observation.is_alive:
        return updates.needs_driver(observation, wanted)
    change, refusal = observation.change, observation.refused_update
    if change is not None and change.driver:
        return new_driver(change.driver)
    if refusal is not None and refusal["reason"] == reasons.NEW_DRIVER_NEEDED:
        return str(refusal["message"])
    takes_documents = "revision" in observation.status.get("reported", {})
    return None if takes_documents else "the last driver could not apply a document"


def _identity(observation: Observation, wanted: Revision) -> str:
    """What tells this preflight from another one: also another `restartNonce`, and another image or setting of the operator."""
    running = observation.last_revision
    sent = template_hash(observation.body, wanted, observation.settings)
    return f"{wanted.name}/{running}/{observation.requested_nonce or ''}/{sent}"


def _polled(observation: Observation, identity: str, why: str) -> Preflight:
    """The preflight, as its pod shows it; while that starts again after an end without a verdict, as the last one has ended."""
    known, pod = observation.preflight_pod, observation.preflight_pod.pod
    own = pod if pod is not None and preflights.identity(pod) == identity else None
    is_leaving = own is not None and pod_status.leaving(own)
    if own is not None and not is_leaving and (shown := _shown(own, known.warning)):
        return Preflight(identity, why, *shown)
    if failure := known.failure(identity):
        return Preflight(identity, why, Verdict.OPEN, *failure)
    return Preflight(identity, why, message=_BEING_DELETED if is_leaving else "")


_BEING_DELETED: Final = "the pod that checks the document is being deleted"


def _shown(
    pod: pod_status.Object, warning: pod_status.PodWarning | None
) -> tuple[Verdict, reasons.Reason, str] | None:
    """Verdict, reason and message of a pod that has ended, or does not start; None while nothing is wrong."""
    if pod_status.over(pod):
        return preflights.ended(pod)
    if pod_status.running(pod):
        return None
    reason, message = warning or pod_status.waits_for(pod)
    if reason == reasons.DRIVER_STARTING:
        return None
    return Verdict.OPEN, reason, f"the pod that checks the document has not started: {message}"


def _awaited(observation: Observation) -> Preflight | None:
    """The preflight without a verdict for which the document waits; None if it waits for none."""
    preflight = observation.preflight
    return preflight if observation.awaits_preflight and preflight is not None and preflight.is_open else None


def document_waits(observation: Observation) -> tuple[Condition, ...]:
    """The condition `DocumentApplied` of a document without a verdict. A refusal is shown like that of a driver."""
    preflight, wanted = _awaited(observation), observation.validation.revision
    if preflight is None or wanted is None or observation.refused:  # `SpecValid` shows why there is no pod
        return ()
    running = observation.last_revision
    lives = observation.pod is not None and pod_status.running(observation.pod)
    remains = f"revision {running} runs on" if lives else f"the next driver starts with revision {running}"
    if not is_healthy(observation.status, running):
        remains += f", for {unchecked.MOST_SECONDS / 60:g} minutes at most, because it has not been healthy"
    if not preflight.message:
        pod = preflight_name(observation.body["metadata"]["name"])
        checks = (
            "checks"
            if observation.is_alive or observation.preflight_pod.pod or to_start(observation)
            else "will check"
        )
        message = (
            f"the pod {pod} {checks} revision {wanted.name}, for at most {LONGEST_SECONDS // 60} minutes: {preflight.why}; until then "
            f"{remains}"
        )
        return (Condition(DOCUMENT_APPLIED, FALSE, reasons.APPLYING, message),)
    message = f"{preflight.message}; revision {wanted.name} is not checked, and {remains}. {_AGAIN}. {updates.WAYS_OUT}"
    return (Condition(DOCUMENT_APPLIED, FALSE, preflight.reason, message),)


_AGAIN: Final = "The operator checks again a minute after each end without a result"


def goes_on(observation: Observation) -> bool:
    """Whether a preflight has neither ended nor any trouble: then a requested restart waits, because the new driver may be one.
    It waits in any case if the document that runs is not known: only the changed one could start.
    """
    preflight = _awaited(observation)
    if observation.current is None:
        return observation.awaits_preflight
    return preflight is not None and not preflight.message


def to_start(observation: Observation) -> Preflight | None:
    """The preflight whose pod the operator creates, once a driver has its own, or pauses after a failure that the document may mend;
    None if there is none to create.
    """
    preflight, is_there = _awaited(observation), observation.preflight_pod.pod is not None
    if preflight is None or is_there or observation.refused:
        return None
    if not observation.is_alive and not unchecked.driver_has_failed(observation):
        return None
    return None if _pause(observation, preflight) > 0 else preflight


def _pause(observation: Observation, preflight: Preflight) -> float:
    """What is left of the pause after the last end of this preflight, in seconds."""
    known = observation.preflight_pod
    return known.pause if known.pod is not None or known.failure(preflight.identity) else 0.0


def must_stop(observation: Observation) -> bool:
    """Whether the operator deletes the preflight pod: it belongs to another preflight, has ended without a verdict long ago, or
    takes what the driver needs to start. A pod whose node does not report is deleted by force: it writes nothing that lasts.
    """
    pod, preflight = observation.preflight_pod.pod, observation.preflight
    if pod is None or pod_status.forced(pod):
        return False
    if pod_status.leaving(pod):
        return observation.now >= pod_status.overdue_at(pod)
    if preflight is None or observation.on_trial or preflights.identity(pod) != preflight.identity:
        return True
    if not preflight.is_open:
        return False
    is_in_the_way = observation.refused is not None and not observation.is_alive
    return is_in_the_way or (pod_status.over(pod) and observation.preflight_pod.pause <= 0)


def seconds_left(observation: Observation, most: float) -> float | None:
    """Seconds until the next look at a preflight, at most `most`; None if the document waits for none."""
    preflight = _awaited(observation)
    if preflight is None:
        return None
    pause = _pause(observation, preflight)
    return min(most, pause + 1) if pause > 0 else most
