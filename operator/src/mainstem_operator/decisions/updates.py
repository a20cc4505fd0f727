"""Hands a changed document to the running driver, which restarts only the queries that it touches; pure.

A new driver replaces the running one if only that can apply the document, or if the running one does not apply it in time.
"""

from typing import Final

from mainstem import reasons
from mainstem.changes.consequences import new_driver

from mainstem_operator.observed import pod_status
from mainstem_operator.observed.conditions import DOCUMENT_APPLIED, FALSE, Condition
from mainstem_operator.observed.observation import Observation
from mainstem_operator.observed.pod_status import Object
from mainstem_operator.validation.documents import DocumentChange, Revision


APPLY_SECONDS: Final = 60.0
"""Time that a running driver has to take a document over. A driver that has not reported yet has the same time to do so."""


def wanted(observation: Observation) -> Revision | None:
    """The revision that a driver should run; None while the document is invalid or on trial, or its change is refused."""
    if observation.refused or observation.refused_changes or observation.on_trial:
        return None
    return observation.wanted


def needs_driver(observation: Observation, want: Revision) -> str | None:
    """Why another driver has to run the wanted revision; None if the running one runs it or can take it over."""
    if want.name == observation.running_revision or observation.finally_refused:
        return None
    change, waits = observation.change, observation.awaits_report and not observation.rolled_back
    if not observation.takes_documents and not waits:
        return "the running driver cannot apply a document"
    if change is None:
        return "the running document is not known"
    if change.driver:
        return new_driver(change.driver)
    return _driver_failed(observation, change)


def _driver_failed(observation: Observation, change: DocumentChange) -> str | None:
    """Why the running driver cannot take the document over, although it should be able to."""
    if observation.rolled_back and change.refused:
        return "only a new driver compares the document with the checkpoints"
    if (refusal := observation.refused_update) is not None:
        is_final = refusal["reason"] == reasons.NEW_DRIVER_NEEDED or observation.rolled_back
        return str(refusal["message"]) if is_final else None
    late = observation.update_age > APPLY_SECONDS
    return f"the driver has not applied the document within {APPLY_SECONDS:g} seconds" if late else None


def handed(observation: Observation, pod: Object) -> Revision | None:
    """The revision to hand to the running driver now; None if it has it already.

    While a document is on trial that is the running one, in place of an older document that the driver has not applied:
    otherwise it would apply that later.
    """
    want = observation.current if observation.on_trial else wanted(observation)
    if want is not None and observation.on_trial and want.name != observation.running_revision:
        return None
    if want is None or pod_status.handed_revision(pod) == want.name or not observation.takes_documents:
        return None
    failure = observation.failure
    return want if failure is None or failure.retry_in <= 0 else None


def is_pending(observation: Observation) -> bool:
    """Whether a running driver does not run the wanted revision, and may still take it over."""
    pod, want = observation.pod, wanted(observation)
    if pod is None or want is None or not pod_status.running(pod) or pod_status.leaving(pod):
        return False
    return want.name != observation.running_revision and needs_driver(observation, want) is None


def document_applied(observation: Observation) -> tuple[Condition, ...]:
    """The condition `DocumentApplied`, while a running driver does not run the wanted revision and may still take it over."""
    want, running = wanted(observation), observation.running_revision
    if want is None or observation.rolled_back or not is_pending(observation):
        return ()
    refusal = observation.refused_update
    if observation.awaits_report:
        reason = reasons.APPLYING
        message = f"the driver starts with revision {running}; once it has reported, it takes revision {want.name} over"
    elif refusal is None:
        reason, message = reasons.APPLYING, f"the driver takes revision {want.name} over; it runs {running}"
        message += f"; {observation.failure.message}" if observation.failure else ""
    elif refusal["retried"]:
        reason = reasons.named(refusal["reason"])
        message = f"{refusal['message']}; the driver runs revision {running}, and tries again"
    else:
        return ()
    return (Condition(DOCUMENT_APPLIED, FALSE, reason, message),)


def final_refusal(observation: Observation) -> tuple[reasons.Reason, str] | None:
    """Reason and message if the driver did not apply the document and only another document helps."""
    refusal = observation.refused_update
    if refusal is None or not observation.finally_refused:
        return None
    message = f"{refusal['message']}; the previous document remains in use"
    return reasons.named(refusal["reason"]), message
