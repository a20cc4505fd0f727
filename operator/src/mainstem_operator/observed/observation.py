"""What is known of a pipeline when its next step is decided; plain data."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

from mainstem.language.model.status.pipeline_status import UNOBSERVED
from mainstem.names import RESTARTED_AT

from mainstem_operator.observed.conditions import parsed
from mainstem_operator.observed.pod_status import PodWarning
from mainstem_operator.settings import Settings
from mainstem_operator.validation.documents import Revision, ValidationResult


_LONGEST: Final = 256
"""Characters of a request for a restart, as the status bounds them."""


class Refusal(NamedTuple):
    """Why the API server rejects what the document asks for.

    Attributes:
        reason: of the condition `SpecValid`.
        message: in the server's words, where it has any.
    """

    reason: str
    message: str


@dataclass(frozen=True)
class StepFailure:
    """A start or a stop of a driver that the API server has not carried out.

    Attributes:
        message: what is wrong, in the API server's words where it answered.
        retry_in: seconds until it is tried again, 0 where that is due.
        is_pending: True while the API server has not answered yet, or something has to go first that goes by itself.
    """

    message: str
    retry_in: float
    is_pending: bool = False


@dataclass(frozen=True)
class Observation:
    """One look at a pipeline.

    Attributes:
        body: the resource as the API server has it.
        pod: its driver's pod; None where a live read found none.
        gone: the pod's last words where it was seen to go, for a pod that is there no more.
        judgement: of the document.
        current: the revision that runs or ran last, where the document is refused: it is kept running.
        refused: where the API server refuses what the document asks for: the driver's pod, or a name that it needs.
        now: the time.
        settings: the operator's.
        failure: the last step, where the API server did not carry it out.
        created: when the operator heard that the resource was made; None where it was there before.
        report_age: seconds since the driver last reported, as the operator noticed.
        deletion_age: seconds since the operator noticed that the resource was deleted.
        end: when the last driver ended, as the operator noticed; None before it knows.
        end_age: seconds since then, by a clock that never jumps.
        driver_warning: why the driver's pod does not start, where only its events say so.
        executors_warning: the same for executors.
    """

    body: Mapping[str, Any]
    pod: Mapping[str, Any] | None
    validation: ValidationResult
    now: datetime
    settings: Settings
    gone: Mapping[str, Any] | None = None
    current: Revision | None = None
    refused: Refusal | None = None
    failure: StepFailure | None = None
    created: datetime | None = None
    report_age: float = 0.0
    deletion_age: float = 0.0
    end: datetime | None = None
    end_age: float = 0.0
    driver_warning: PodWarning | None = None
    executors_warning: PodWarning | None = None

    @property
    def drivers_now(self) -> datetime:
        """The time by the driver's clock, with which the times that it reports are compared."""
        time = self.status.get("reported", {}).get("time")
        return parsed(time) + timedelta(seconds=self.report_age) if time else self.now

    @property
    def status(self) -> Mapping[str, Any]:
        """The status, empty at first."""
        return written_status(self.body)

    @property
    def generation(self) -> int:
        """Of the document."""
        return int(self.body["metadata"]["generation"])

    @property
    def restarted_at(self) -> str | None:
        """The request for a restart that the newest driver was started after; None where there was none."""
        if self.pod is None:
            return self.status.get("restartedAt")
        return requested_restart(self.pod)

    @property
    def restart_requested(self) -> bool:
        """True where the resource's annotation asks for a start that no driver has had yet."""
        requested = requested_restart(self.body)
        return requested is not None and requested != self.restarted_at

    @property
    def deleting(self) -> bool:
        """True where the resource was deleted, and waits for its drain."""
        return bool(self.body["metadata"].get("deletionTimestamp"))

    @property
    def revision(self) -> Revision | None:
        """What shall run: the document, or, where it is refused, what ran last."""
        return self.validation.revision or self.current


def requested_restart(thing: Mapping[str, Any]) -> str | None:
    """The annotation `mainstem.dev/restartedAt` of a resource, or of a pod that was made under it."""
    requested: str | None = thing["metadata"].get("annotations", {}).get(RESTARTED_AT)
    return requested[:_LONGEST] if requested else None


def written_status(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """What somebody has written of the status; empty where there is only the definition's default."""
    status: Mapping[str, Any] = body.get("status") or {}
    if status.get("observedGeneration") != UNOBSERVED:
        return status
    return {key: value for key, value in status.items() if key != "observedGeneration"}
