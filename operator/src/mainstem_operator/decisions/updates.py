"""Hands a changed document to the running driver, which restarts only the queries that it touches; pure.

A new driver replaces the running one if only that can apply the document. A driver whose document has been healthy is never
replaced because it is slow, or hangs: no driver has checked the changed document.
"""

import math
from typing import Final

from mainstem import reasons
from mainstem.changes.consequences import new_driver

from mainstem_operator.decisions.health import has_begun
from mainstem_operator.observed import hand_overs, pod_status
from mainstem_operator.observed.conditions import DOCUMENT_APPLIED, FALSE, Condition, find_condition
from mainstem_operator.observed.observation import Observation
from mainstem_operator.observed.pod_status import Object
from mainstem_operator.observed.preflights import Verdict
from mainstem_operator.observed.revision_entries import is_healthy
from mainstem_operator.validation.documents import DocumentChange, Revision


APPLY_SECONDS: Final = 60.0
"""Time that a driver has to report, and to take a document over, if its own document has not been healthy. Otherwise the time
after which the condition shows that it has not answered.
"""


WAYS_OUT: Final = (
    "Change the document, or set another spec.restartNonce to try it again. If the previous document is at fault, set "
    "spec.suspend to true, and to false once the phase is Suspended: a driver starts with the changed document"
)


def wanted(observation: Observation) -> Revision | None:
    """The revision that a driver should run; None while the document is invalid, on trial or in a preflight, or its change is
    refused.
    """
    if observation.refused or observation.refused_changes or _is_beside(observation):
        return None
    return observation.wanted


def _is_beside(observation: Observation) -> bool:
    """Whether a pod beside the driver looks at the document first."""
    return observation.on_trial or observation.awaits_preflight


def needs_driver(observation: Observation, want: Revision) -> str | None:
    """Why another driver has to run the wanted revision; None if the running one runs it or can take it over."""
    if want.name == observation.running_revision or observation.finally_refused:
        return None
    change, waits = observation.change, _reports_later(observation, want)
    if not observation.takes_documents and not waits:
        return "the running driver cannot apply a document"
    if change is None:
        return "the running document is not known"
    if change.driver:
        return new_driver(change.driver)
    return _driver_failed(observation, change)


def _reports_later(observation: Observation, want: Revision) -> bool:
    """Whether the driver may report later that it takes documents over: a start goes on, so that no number of edits keeps a
    pipeline down. One that has not run yet is awaited only if no Secret can be missing that the wanted document does not need.
    """
    if not observation.starts or observation.rolled_back:
        return False
    current = observation.current
    return observation.awaits_report or (current is not None and current.required <= want.required)


def _has_been_healthy(observation: Observation) -> bool:
    return is_healthy(observation.status, observation.running_revision)


def _driver_failed(observation: Observation, change: DocumentChange) -> str | None:
    """Why the running driver cannot take the document over, although it should be able to."""
    if observation.rolled_back and change.refused:
        return "only a new driver compares the document with the checkpoints"
    if late := _late(observation):
        return late
    if (refusal := observation.refused_update) is not None:
        is_final = refusal["reason"] == reasons.NEW_DRIVER_NEEDED or observation.rolled_back
        return str(refusal["message"]) if is_final else None
    return None


def _late(observation: Observation) -> str | None:
    """That the driver has not reported, or not answered, in the time that it has; None if its time is not over."""
    has_not_run = observation.starts and not observation.awaits_report  # its start has a deadline of its own
    if has_not_run or _has_been_healthy(observation) or observation.update_age <= APPLY_SECONDS:
        return None
    if observation.awaits_report:
        return f"the driver has not reported within {APPLY_SECONDS:g} seconds"
    if observation.refused_update is not None:
        return None
    return f"the driver has not applied the document within {APPLY_SECONDS:g} seconds"


def seconds_left(observation: Observation) -> float:
    """Seconds until the next plan may differ because a driver has not answered; infinite if no document waits for it."""
    left = APPLY_SECONDS - observation.update_age
    waits = is_pending(observation) or _is_undone(observation)
    return max(1.0, left + 1) if waits and left > -1 else math.inf


def handed(observation: Observation, pod: Object) -> Revision | None:
    """The revision to hand to the running driver now; None if it has it already.

    While a document is on trial or in a preflight that is the running one, in place of an older document that the driver has not
    applied: otherwise it would apply that later.
    """
    is_beside = _is_beside(observation)
    want = observation.current if is_beside else wanted(observation)
    if want is not None and is_beside and want.name != observation.running_revision:
        return None
    if want is None or observation.finally_refused or not observation.takes_documents:
        return None
    if is_beside and _needs_another(observation, pod_status.handed_revision(pod)):
        return None
    has_it = pod_status.handed_revision(pod) == want.name and not hand_overs.was_cut_off(
        observation.body, pod
    )
    if has_it or not _may_check(observation, want):
        return None
    failure = observation.failure
    return want if failure is None or failure.retry_in <= 0 else None


def _needs_another(observation: Observation, revision: str) -> bool:
    """Whether the driver has reported that only another one can apply the wanted document, which it was given: with the next
    document it would forget that.
    """
    refused = observation.refused_update
    is_wanted = revision == observation.wanted_name
    return is_wanted and refused is not None and refused["reason"] == reasons.NEW_DRIVER_NEEDED


def _may_check(observation: Observation, want: Revision) -> bool:
    """Whether the driver may get the document. If the one that it runs has been healthy, only once a query runs, or has had the time
    for that: if the driver fails before, that document is the cause, and afterwards the check of the other one may be.
    """
    if (
        want.name == observation.running_revision
        or not _has_been_healthy(observation)
        or observation.pod is None
    ):
        return True
    has_run = has_begun(observation.status, pod_status.attempt(observation.pod))
    return has_run or observation.update_age > APPLY_SECONDS


def is_pending(observation: Observation) -> bool:
    """Whether a running driver does not run the wanted revision, and may still take it over."""
    pod, want = observation.pod, wanted(observation)
    if pod is None or want is None or pod_status.over(pod) or pod_status.leaving(pod):
        return False
    return want.name != observation.running_revision and needs_driver(observation, want) is None


def document_applied(observation: Observation) -> tuple[Condition, ...]:
    """The condition `DocumentApplied`, while the driver, or the next one, does not run the wanted revision and may take it over,
    or while none gets it again.
    """
    want = wanted(observation)
    if want is None or observation.rolled_back:
        return ()
    if want.name == observation.running_revision:
        shown = _undone(observation, want) if _is_undone(observation) else None
    else:
        shown = _not_applied(observation, want)
    return () if shown is None else (Condition(DOCUMENT_APPLIED, FALSE, *shown),)


def _is_undone(observation: Observation) -> bool:
    """Whether a running driver runs the wanted revision, and does not know yet that a change of it is undone."""
    pod, want = observation.pod, wanted(observation)
    return (
        pod is not None
        and want is not None
        and observation.takes_documents
        and want.name == observation.running_revision
        and hand_overs.may_apply_another(observation.body, pod, want.name)
    )


def _undone(observation: Observation, want: Revision) -> tuple[reasons.Reason, str]:
    """Reason and message while the driver runs the wanted revision, and may still apply another one."""
    reason = reasons.NOT_ANSWERED if _has_not_answered(observation) else reasons.APPLYING
    return reason, (
        f"the driver runs revision {want.name}, and has not answered yet that a change of it is undone: until then it may "
        "apply another one"
    )


def _not_applied(observation: Observation, want: Revision) -> tuple[reasons.Reason, str] | None:
    """Reason and message of the condition; None if other conditions show why the document is not applied."""
    final = final_refusal(observation)
    if final is not None:
        return (final[0], f"{final[1]}. {WAYS_OUT}") if final[0] == reasons.NEVER_ANSWERED else None
    if observation.unchecked and observation.current is not None:
        return reasons.APPLYING, (
            f"no driver has checked revision {want.name}; the next one starts with revision {observation.current.name}, and "
            "takes the other over once a query runs"
        )
    return _applying(observation, want) if is_pending(observation) else None


def _applying(observation: Observation, want: Revision) -> tuple[reasons.Reason, str]:
    """The same while a driver lives that may take the document over."""
    running = observation.running_revision
    is_silent = observation.awaits_report and _has_not_answered(observation)
    if is_silent:
        return reasons.NOT_ANSWERED, (
            f"the driver has not reported, so it has not got revision {want.name}; it starts with revision {running}"
        )
    if observation.starts or not _may_check(observation, want):
        return reasons.APPLYING, (
            f"the driver starts with revision {running}, and takes revision {want.name} over once a query runs"
        )
    refusal, failure = observation.refused_update, observation.failure
    if refusal is not None:
        message = f"{refusal['message']}; the driver runs revision {running}, and tries again"
        return reasons.named(refusal["reason"]), message
    if failure is None and _has_not_answered(observation):
        return reasons.NOT_ANSWERED, (
            f"the driver has neither applied nor refused revision {want.name}; it continues with revision {running}"
        )
    if failure is not None:
        return (
            reasons.APPLYING,
            f"the driver takes revision {want.name} over; it runs {running}; {failure.message}",
        )
    return reasons.APPLYING, (
        f"the driver checks revision {want.name}, and then applies or refuses it; until then it runs revision {running}. Without "
        f"an answer within {APPLY_SECONDS:g} seconds the reason is {reasons.NOT_ANSWERED}"
    )


def _has_not_answered(observation: Observation) -> bool:
    """Whether the driver has had the document for long; an operator that starts takes that from the status."""
    known = find_condition(observation.status, DOCUMENT_APPLIED) or {}
    late = (reasons.NOT_ANSWERED, observation.generation)
    return (
        observation.update_age > APPLY_SECONDS
        or (known.get("reason"), known.get("observedGeneration")) == late
    )


def final_refusal(observation: Observation) -> tuple[reasons.Reason, str] | None:
    """Reason and message if the driver did not apply the document and only another document helps, or if a preflight has refused
    it.
    """
    preflight = observation.preflight
    if preflight is not None and preflight.verdict is Verdict.REFUSED and observation.awaits_preflight:
        return preflight.reason, f"{preflight.message}; the previous document remains in use. {WAYS_OUT}"
    refusal = observation.refused_update
    if refusal is None or not observation.finally_refused:
        return None
    message = f"{refusal['message']}; the previous document remains in use"
    return reasons.named(refusal["reason"]), message
