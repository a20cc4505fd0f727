"""An observation: all that the operator knows about a pipeline when it plans the next step; plain data."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from mainstem.changes.consequences import RefusedQuery
from mainstem.language.model.status.pipeline_status import UNOBSERVED
from mainstem.reasons import NEW_DRIVER_NEEDED

from mainstem_operator.observed import pod_status, rollbacks, trials, unanswered
from mainstem_operator.observed.conditions import parsed
from mainstem_operator.observed.pod_status import PodWarning
from mainstem_operator.observed.preflights import Preflight, PreflightPod, Verdict
from mainstem_operator.observed.rejections import Refusal, StepFailure
from mainstem_operator.observed.revision_entries import is_healthy
from mainstem_operator.observed.trials import Trial
from mainstem_operator.observed.unanswered import Unanswered
from mainstem_operator.settings import Settings
from mainstem_operator.validation.documents import DocumentChange, Revision, ValidationResult


@dataclass(frozen=True)
class Observation:
    """All that the operator knows about a pipeline.

    Attributes:
        body: the resource as the API server has it.
        pod: its driver pod; None if a read from the API server found none.
        gone: the last version of a deleted pod, with its final status.
        validation: the result of the validation of the document.
        current: the revision that runs or ran last, if the document is another one: it continues to run while the document
            is invalid, its change is refused, or no driver has checked it.
        unchecked: whether the next driver starts with that revision, because no driver has checked the document.
        refused_changes: the queries that must not start with the document, because their checkpoints do not fit it; empty
            unless a driver runs that would be stopped for it.
        change: what the wanted document does to the running one; None if they are equal, or if no driver runs.
        difference: the fields in which the wanted document differs from the newest one that ran.
        healthy: the last healthy revision, if a rollback is due, or if it runs in place of the document.
        way_back: what the change from the document to that revision does, while a rollback is due.
        decided: the rollback that the current plan has decided.
        trial_pod: the pod that tries the changed document; None if there is none.
        trial_refusal: why the API server rejects that pod; None if it does not.
        trial_warning: why that pod does not start, if only its events report it.
        trial_age: seconds since the operator noticed the start of the trial.
        decided_trial: the trial as the current plan has decided it, in a tuple; None before that.
        preflight_pod: the pod that checks a document that only a new driver can apply, and what is known of its end.
        preflight: that check of the document; None if it needs none, because a driver checks it, or none works.
        progress_age: seconds since the newest revision began; a pause that it cannot have caused begins them again.
        update_age: seconds since the operator noticed that a running driver has to take another document over.
        document_age: seconds since the operator noticed the document.
        refused: why the API server rejects the driver pod, or a name that it needs; None if it does not.
        now: the time.
        settings: the operator's settings.
        failure: the last step, if the API server did not carry it out.
        created: when the operator got the event of the creation; None if the resource existed before.
        report_age: seconds since the driver last reported, as the operator noticed.
        deletion_age: seconds since the operator noticed that the resource was deleted.
        start_age: seconds since the operator noticed the driver pod, if that has not run yet; by the pod's creation time after
            a restart of the operator.
        end: when the last driver ended, as the operator noticed; None if it does not know.
        end_age: seconds since then, by a clock that never jumps.
        driver_warning: why the driver pod does not start, if only its events report it.
        executors_warning: the same for executors.
    """

    body: Mapping[str, Any]
    pod: Mapping[str, Any] | None
    validation: ValidationResult
    now: datetime
    settings: Settings
    gone: Mapping[str, Any] | None = None
    current: Revision | None = None
    unchecked: bool = False
    refused_changes: tuple[RefusedQuery, ...] = ()
    change: DocumentChange | None = None
    difference: tuple[str, ...] = ()
    healthy: Revision | None = None
    way_back: DocumentChange | None = None
    decided: rollbacks.Rollback | None = None
    trial_pod: Mapping[str, Any] | None = None
    trial_refusal: Refusal | None = None
    trial_warning: PodWarning | None = None
    trial_age: float = 0.0
    decided_trial: tuple[Trial | None] | None = None
    preflight_pod: PreflightPod = field(default_factory=PreflightPod)
    preflight: Preflight | None = None
    progress_age: float = 0.0
    update_age: float = 0.0
    document_age: float = 0.0
    refused: Refusal | None = None
    failure: StepFailure | None = None
    created: datetime | None = None
    report_age: float = 0.0
    deletion_age: float = 0.0
    start_age: float = 0.0
    end: datetime | None = None
    end_age: float = 0.0
    driver_warning: PodWarning | None = None
    executors_warning: PodWarning | None = None

    @property
    def drivers_now(self) -> datetime:
        """The time by the driver's clock, to compare with the times in its report."""
        time = self.status.get("reported", {}).get("time")
        return parsed(time) + timedelta(seconds=self.report_age) if time else self.now

    @property
    def status(self) -> Mapping[str, Any]:
        """The status; empty at first."""
        return written_status(self.body)

    @property
    def running_revision(self) -> str:
        """The revision that the driver pod runs, as far as it has reported; empty without a pod."""
        return running_revision(self.body, self.pod)

    @property
    def last_revision(self) -> str:
        """The revision that runs or ran last; empty before the first start."""
        return last_revision(self.body, self.pod)

    @property
    def rollback(self) -> rollbacks.Rollback | None:
        """The rollback of the document's revision: decided now, or remembered in the status. Another document ends it, and
        another `restartNonce`.
        """
        return self.decided or rollbacks.remembered(
            self.status, self.validation.revision, self.requested_nonce
        )

    @property
    def rolled_back(self) -> bool:
        """Whether the last healthy revision runs in place of the document."""
        return self.rollback is not None and self.rollback.target is not None

    @property
    def trial(self) -> Trial | None:
        """The trial: as the current plan has decided it, or as the status remembers it."""
        return self.decided_trial[0] if self.decided_trial else trials.remembered(self.status)

    @property
    def on_trial(self) -> bool:
        """Whether a trial keeps the document from being applied: the revision before remains in use. The plan that ends a trial
        only writes that; the next observation has the document's age since then, and whether the API server accepts its pod.
        """
        trial, document = self.trial, self.validation.revision
        if document is None:
            return False
        is_held = trial is not None and trial.keeps(document.name)
        return is_held or trials.holds(self.status, document.name)

    @property
    def is_alive(self) -> bool:
        """Whether there is a driver pod that has not ended."""
        return self.pod is not None and not pod_status.over(self.pod)

    @property
    def awaits_preflight(self) -> bool:
        """Whether the document waits for the verdict of a preflight pod, or is refused by it: the document before remains in use."""
        preflight = self.preflight
        if preflight is None or preflight.verdict is Verdict.PASSED or self.on_trial:
            return False
        return self.is_alive or self.unchecked or preflight.verdict is Verdict.REFUSED

    @property
    def wanted_name(self) -> str | None:
        """The name of the wanted revision: of the document, or of the healthy revision in its place."""
        if self.rollback is not None and self.rollback.target is not None:
            return self.rollback.target
        return self.validation.revision.name if self.validation.revision else None

    @property
    def wanted(self) -> Revision | None:
        """The wanted revision; None if the document is invalid."""
        return self.healthy if self.rolled_back else self.validation.revision

    @property
    def awaits_report(self) -> bool:
        """Whether the driver has started, and has not reported yet whether it can take documents over."""
        return self.starts and self.pod is not None and pod_status.running(self.pod)

    @property
    def starts(self) -> bool:
        """Whether the driver has not reported yet whether it can take documents over; it may not run yet either."""
        return self.pod is not None and self.is_alive and not report_of(self.body, self.pod)

    @property
    def takes_documents(self) -> bool:
        """Whether a driver runs that can take a document over: it has reported its revision, which older drivers do not."""
        return (
            self.pod is not None
            and pod_status.running(self.pod)
            and "revision" in report_of(self.body, self.pod)
        )

    @property
    def refused_update(self) -> Mapping[str, Any] | None:
        """The report of the last driver about the document, if it did not apply it; or that several have failed before that."""
        refused: Mapping[str, Any] | None = self.status.get("reported", {}).get("refused")
        if refused and refused["revision"] == self.wanted_name:
            return refused
        never = self.unanswered
        is_final = never is not None and never.is_final and never.revision == self.wanted_name
        return never.refusal() if never is not None and is_final else None

    @property
    def unanswered(self) -> Unanswered | None:
        """The drivers that have failed while the changed document waits; None if none has, or if that does not matter any more:
        another document, another `restartNonce` and a suspension end it, and so does the end of the document before.
        """
        known, document = unanswered.remembered(self.status), self.validation.revision
        last = self.last_revision
        if known is None or self.restart_requested or self.body["spec"].get("suspend"):
            return None
        is_other = document is not None and document.name != known.revision
        return None if is_other or last == known.revision or not is_healthy(self.status, last) else known

    @property
    def finally_refused(self) -> bool:
        """Whether the last driver did not apply the document, and only another document helps."""
        refused = None if self.rolled_back else self.refused_update
        return refused is not None and not refused["retried"] and refused["reason"] != NEW_DRIVER_NEEDED

    @property
    def generation(self) -> int:
        """The generation of the resource."""
        return int(self.body["metadata"]["generation"])

    @property
    def started_nonce(self) -> str | None:
        """`spec.restartNonce` at the last start; None if there was none."""
        if self.pod is None:
            return self.status.get("restartNonce")
        return pod_status.restart_nonce(self.pod)

    @property
    def requested_nonce(self) -> str | None:
        """`spec.restartNonce` as text; None without one."""
        return requested_nonce(self.body)

    @property
    def restart_requested(self) -> bool:
        """True if no driver was started with the current `spec.restartNonce`."""
        requested = self.requested_nonce
        return requested is not None and requested != self.started_nonce

    @property
    def deleting(self) -> bool:
        """True if the resource was deleted and waits for the drain of its driver."""
        return bool(self.body["metadata"].get("deletionTimestamp"))

    @property
    def revision(self) -> Revision | None:
        """The revision that should run: of the document; the one that ran last, if the document or its change is refused,
        on trial (None if that is not known), in a preflight or unchecked; the last healthy one after a rollback.
        """
        if self.rolled_back:
            return self.healthy or self.current
        is_held = self.on_trial or self.awaits_preflight or self.unchecked
        remains = self.current if self.refused_changes or self.finally_refused or is_held else None
        return remains or (None if self.on_trial else self.validation.revision or self.current)


def running_revision(body: Mapping[str, Any], pod: Mapping[str, Any] | None) -> str:
    """The revision that a driver pod runs: the one of its start, or the one that it has reported since; empty without a pod."""
    return "" if pod is None else str(report_of(body, pod).get("revision") or pod_status.revision(pod))


def last_revision(body: Mapping[str, Any], pod: Mapping[str, Any] | None) -> str:
    """The revision that runs or ran last; empty before the first start. A driver may have taken it over just before its pod
    was gone.
    """
    status = written_status(body)
    reported: Mapping[str, Any] = status.get("reported", {})
    is_last = "attempt" in status and reported.get("attempt") == status["attempt"]
    last = reported.get("revision") if is_last else None
    return running_revision(body, pod) or str(last or status.get("revision", ""))


def report_of(body: Mapping[str, Any], pod: Mapping[str, Any]) -> Mapping[str, Any]:
    """`status.reported` if the driver of this pod has written it; else empty."""
    reported: Mapping[str, Any] = written_status(body).get("reported", {})
    return reported if reported.get("attempt") == pod_status.attempt(pod) else {}


def requested_nonce(body: Mapping[str, Any]) -> str | None:
    """`spec.restartNonce` of a resource as text; None without one. The document may be invalid otherwise."""
    nonce = body["spec"].get("restartNonce")
    return None if nonce is None else str(nonce)


def written_status(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """The status that operator or driver have written; empty if it has only the default of the definition."""
    status: Mapping[str, Any] = body.get("status") or {}
    if status.get("observedGeneration") != UNOBSERVED:
        return status
    return {key: value for key, value in status.items() if key != "observedGeneration"}
