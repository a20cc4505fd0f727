"""Hands a changed document to the running driver, which restarts only the queries that it touches; pure.

A new driver replaces the running one if only that can apply the document, or if the running one does not apply it in time.
"""

from typing import Final

from mainstem import reasons

from mainstem_operator.observed import pod_status
from mainstem_operator.observed.conditions import DOCUMENT_APPLIED, FALSE, Condition
from mainstem_operator.observed.observation import Observation
from mainstem_operator.observed.pod_status import Object
from mainstem_operator.validation.documents import Revision


APPLY_SECONDS: Final = 60.0
"""Time that a running driver has to take a document over."""


def wanted(observation: Observation) -> Revision | None:
    """The revision that a driver should run; None while the document is invalid, or its change is refused."""
    if observation.refused or observation.refused_changes:
        return None
    return observation.validation.revision


def needs_driver(observation: Observation, want: Revision) -> str | None:
    """Why another driver has to run the wanted revision; None if the running one runs it or can take it over."""
    refusal = observation.refused_update
    if want.name == observation.running_revision or observation.finally_refused:
        return None
    if not observation.takes_documents:
        return "the running driver cannot apply a document"
    if observation.change is None:
        return "the running document is not known"
    if observation.change.driver:
        return f"only a new driver can apply {', '.join(observation.change.driver)}"
    if refusal is not None:
        return str(refusal["message"]) if refusal["reason"] == reasons.NEW_DRIVER_NEEDED else None
    late = observation.update_age > APPLY_SECONDS
    return f"the driver has not applied the document within {APPLY_SECONDS:g} seconds" if late else None


def handed(observation: Observation, pod: Object) -> Revision | None:
    """The revision to hand to the running driver now; None if it has it already."""
    want = wanted(observation)
    if want is None or pod_status.handed_revision(pod) == want.name or not observation.takes_documents:
        return None
    failure = observation.failure
    return want if failure is None or failure.retry_in <= 0 else None


def document_applied(observation: Observation) -> tuple[Condition, ...]:
    """The condition `DocumentApplied`, while a running driver does not run the wanted revision and may still take it over."""
    pod, want = observation.pod, wanted(observation)
    if pod is None or want is None or not pod_status.running(pod) or pod_status.leaving(pod):
        return ()
    running = observation.running_revision
    if want.name == running or needs_driver(observation, want) is not None:
        return ()
    refusal = observation.refused_update
    if refusal is None:
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
