"""The trial of a changed document as the status remembers it, and the result that its pod reports; pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

from mainstem import reasons
from mainstem.language.model.status.trial_status import HOLDING, TrialPhase, TrialQuery
from mainstem.names import TRIAL
from mainstem.reasons import Exit
from pydantic import ValidationError

from mainstem_operator.observed import pod_status


_LONGEST: Final = 1024
_MOST_QUERIES: Final = 64
_PHASES: Final[Mapping[int | None, TrialPhase]] = {
    int(Exit.OK): TrialPhase.PASSED,
    int(Exit.TRIAL_DIFFERS): TrialPhase.DIFFERS,
}


class Requested(NamedTuple):
    """What a user has requested of a trial: another request tries the same revision again."""

    restartNonce: str | None  # noqa: N815 - names of the status
    batches: int
    timeout: str


@dataclass(frozen=True)
class Trial:
    """The trial of one revision.

    Attributes:
        revision: the revision of the changed document.
        phase: what has become of it.
        reason: why, in one word.
        message: why, in words.
        against: the revision that runs; empty without a comparison.
        start: when the operator started it; None before.
        end: when it ended.
        requested: `spec.restartNonce`, or None without one, and `batches` and `timeout` of `spec.trial`, when it began.
        queries: the queries as the status has them.
    """

    revision: str
    phase: TrialPhase
    reason: reasons.Reason
    message: str
    against: str = ""
    start: str | None = None
    end: str | None = None
    requested: Requested | None = None
    queries: tuple[Mapping[str, Any], ...] = field(default=())

    @property
    def holds(self) -> bool:
        """Whether the changed document is not applied because of the trial."""
        return self.phase in HOLDING

    def keeps(self, revision: str | None) -> bool:
        """Whether the revision with this name is not applied because of the trial."""
        return self.holds and self.revision == revision

    @property
    def identity(self) -> str:
        """What tells the pod of this trial from that of another one."""
        return f"{self.revision}/{self.against}/{self.start}"

    def at(
        self, phase: TrialPhase, reason: reasons.Reason, message: str, *, end: str | None = None
    ) -> "Trial":
        """The trial in a phase."""
        return replace(self, phase=phase, reason=reason, message=message[:_LONGEST], end=end)

    def written(self) -> dict[str, Any]:
        """`status.trial`."""
        fields = {
            "revision": self.revision,
            "against": self.against or None,
            "phase": str(self.phase),
            "reason": self.reason[:128],
            "message": self.message[:_LONGEST],
            "startTime": self.start,
            "endTime": self.end,
            **(self.requested._asdict() if self.requested else {}),
            "queries": [dict(query) for query in self.queries] or None,
        }
        return {key: value for key, value in fields.items() if value is not None}


def remembered(status: Mapping[str, Any]) -> Trial | None:
    """The trial of a status; None without one."""
    written = status.get("trial")
    if written is None:
        return None
    return Trial(
        written["revision"],
        TrialPhase(written["phase"]),
        reasons.named(written["reason"]),
        written["message"],
        written.get("against", ""),
        written.get("startTime"),
        written.get("endTime"),
        _requested(written),
        tuple(written.get("queries", ())),
    )


def _requested(written: Mapping[str, Any]) -> Requested | None:
    if "batches" not in written or "timeout" not in written:
        return None
    return Requested(written.get("restartNonce"), written["batches"], written["timeout"])


def holds(status: Mapping[str, Any], revision: str | None) -> bool:
    """Whether a status remembers a trial that keeps this revision from being applied."""
    trial = remembered(status)
    return trial is not None and trial.keeps(revision)


def identity(pod: Mapping[str, Any]) -> str:
    """The trial that a pod carries out."""
    return str(pod["metadata"].get("annotations", {}).get(TRIAL, ""))


@dataclass(frozen=True)
class Result:
    """How a trial pod ended."""

    phase: TrialPhase
    reason: reasons.Reason
    message: str
    queries: tuple[Mapping[str, Any], ...] = ()


def result(pod: Mapping[str, Any]) -> Result:
    """The result of an ended trial pod: from its exit code and its own report, else from the kubelet."""
    end, queries = pod_status.ended(pod), _queries(pod_status.termination_report(pod).get("trial"))
    phase = _PHASES.get(end.exit_code)
    if phase is not None and queries:
        return Result(phase, end.reason, end.message, queries)
    if phase is not None:
        message = f"the trial pod ended with exit code {end.exit_code} and reported no result"
        return Result(TrialPhase.FAILED, reasons.TRIAL_NO_RESULT, message)
    if end.reason == reasons.CHECKPOINT_NOT_FOUND:
        return Result(TrialPhase.SKIPPED, end.reason, end.message, queries)
    return Result(TrialPhase.FAILED, end.reason, end.message, queries)


def _queries(listed: Any) -> tuple[Mapping[str, Any], ...]:
    """The queries of a report. User code in the container can write it too, so the model checks each one."""
    known: dict[str, Mapping[str, Any]] = {}
    for each in listed[:_MOST_QUERIES] if isinstance(listed, list) else ():
        try:
            query = TrialQuery.model_validate(each)
        except ValidationError:
            continue
        known[query.name] = query.model_dump(by_alias=True, exclude_none=True, mode="json")
    return tuple(known.values())
