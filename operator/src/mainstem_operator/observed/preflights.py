"""The preflight of a changed document that only a new driver can apply: its pod, and what that shows; pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from mainstem import reasons
from mainstem.names import PREFLIGHT
from mainstem.reasons import Exit

from mainstem_operator.observed import pod_status
from mainstem_operator.observed.pod_status import PodWarning
from mainstem_operator.observed.rejections import FailedPod, Refusal


_LONGEST: Final = 1024


@dataclass(frozen=True)
class PreflightPod:
    """What the operator knows about the preflight pod of a pipeline.

    Attributes:
        pod: the pod; None if there is none.
        warning: why it does not start, if only its events report it.
        failed: the last preflight without a verdict, after its pod was rejected or deleted; None if there is none.
        pause: seconds until the operator may check again after such an end; 0 if it may now.
    """

    pod: Mapping[str, Any] | None = None
    warning: PodWarning | None = None
    failed: FailedPod | None = None
    pause: float = 0.0

    def failure(self, identity: str) -> Refusal | None:
        """How the preflight with this identity ended without a verdict; None if it did not."""
        return self.failed.why if self.failed is not None and self.failed.identity == identity else None


class Verdict(StrEnum):
    """What a preflight shows about a document."""

    OPEN = "open"
    PASSED = "passed"
    REFUSED = "refused"


@dataclass(frozen=True)
class Preflight:
    """The preflight that the document needs before a new driver replaces the running one.

    Attributes:
        identity: which one it is.
        why: why only a new driver can apply the document.
        verdict: what it shows so far. A refusal holds until another document or another `restartNonce`.
        reason: why the document is refused, or why there is no verdict yet; `Applying` while the check goes on.
        message: the same for people; empty while the check goes on.
    """

    identity: str
    why: str
    verdict: Verdict = Verdict.OPEN
    reason: reasons.Reason = reasons.APPLYING
    message: str = ""

    @property
    def is_open(self) -> bool:
        """Whether there is no verdict yet."""
        return self.verdict is Verdict.OPEN


def identity(pod: Mapping[str, Any]) -> str:
    """The preflight that a pod carries out."""
    return str(pod["metadata"].get("annotations", {}).get(PREFLIGHT, ""))


def ended(pod: Mapping[str, Any]) -> tuple[Verdict, reasons.Reason, str]:
    """How an ended preflight pod ended: its verdict, reason and message. Without a report of the driver it shows nothing about the
    document: it was evicted or killed, or its time was over.
    """
    end, report = pod_status.ended(pod), pod_status.termination_report(pod)
    if end.exit_code == Exit.OK and end.outcome == "completed":
        return Verdict.PASSED, end.reason, end.message
    if end.exit_code in _REFUSALS and end.outcome == "failed" and report.get("retried") is False:
        # A sidecar may run until its time is over, and that is no reason of the document.
        reason, message = (str(report.get(field) or end.reason) for field in ("reason", "message"))
        return Verdict.REFUSED, reasons.named(reason[:128]), message[:_LONGEST]
    if not end.message:
        no_report = f"the pod that checks the document ended with exit code {end.exit_code} and no report"
        return Verdict.OPEN, reasons.ERROR if end.exit_code == Exit.OK else end.reason, no_report
    return Verdict.OPEN, end.reason, end.message


_REFUSALS: Final = (Exit.SPEC_INVALID, Exit.NOT_READY)


def failed(pod: Mapping[str, Any]) -> FailedPod | None:
    """An ended preflight pod without a verdict; None if it has one, or has not ended."""
    if not pod_status.over(pod):
        return None
    verdict, reason, message = ended(pod)
    return FailedPod(identity(pod), Refusal(reason, message)) if verdict is Verdict.OPEN else None
