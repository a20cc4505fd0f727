"""The operator's cache of one pipeline: the newest objects from events and answers of the API server."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, NamedTuple

from mainstem.names import FINALIZER

from mainstem_operator.api.kubernetes_api import Object
from mainstem_operator.api.pod_warnings import PodWarnings
from mainstem_operator.decisions.actions import CHANGING_SECONDS
from mainstem_operator.loop.retries import FailedStep
from mainstem_operator.loop.side_pod_cache import SidePodCache
from mainstem_operator.observed import pod_status
from mainstem_operator.observed.ages import Ages
from mainstem_operator.observed.observation import written_status
from mainstem_operator.observed.rejections import Refusal, StepFailure
from mainstem_operator.validation.documents import DocumentChange, Revision, ValidationResult


ASK_AGAIN_SECONDS: Final = 60.0
"""How long a rejection of a driver pod by the API server counts, before the operator asks again."""


class PodCheck(NamedTuple):
    """Whether the API server accepts the driver pod of a revision: the refusal is None if it does."""

    revision: str
    refusal: Refusal | None
    checked_at: float
    patience: float = ASK_AGAIN_SECONDS

    @property
    def seconds_left(self) -> float:
        """Seconds until the operator asks the API server again."""
        return max(0.0, self.checked_at + self.patience - time.monotonic())

    def holds_for(self, revision: str) -> bool:
        """True while the answer counts. A rejection expires: a quota, a policy or the owner of a name may change."""
        return self.revision == revision and (not self.refusal or self.seconds_left > 0)


class Comparison(NamedTuple):
    """What the change from a revision to a wanted one does."""

    running: str
    wanted: str
    change: DocumentChange


@dataclass
class PipelineCache:
    """What the operator knows about one pipeline; it can read everything again.

    Attributes:
        body: the newest known version of the resource.
        pod: the newest known version of its driver pod.
        final_pod: the last version of a deleted pod, with its final status.
        deleted_uid: the uid of the last pod that is known to be deleted.
        read_at: when the pod was last read from the API server or an event had it, by the monotonic clock; None if it must be read.
        validation: the generation of the document, and its result.
        current: the revision that was read last from its ConfigMap: what runs, if the document is another one.
        comparison: what the change from one revision to another does.
        pod_check: whether the API server accepts a revision's driver pod.
        failed_step: the last start or deletion, if the API server did not carry it out.
        ages: since when its facts have their values, by the operator's clock.
        created: when the resource was created, by the operator's clock; None if it existed before the operator started.
        created_objects: names of the objects that the attempts of the current start have created.
        trial: the pod that tries a changed document.
        preflight: the pod that checks a document before a new driver starts with it.
        warnings: the warning events of pods that do not start.
        finalizer_first: True if the finalizer is written before the first start, not after it.
        is_admitted: True once the pipeline has entered the admission queue of first starts.
    """

    body: Object | None = None
    pod: Object | None = None
    final_pod: Object | None = None
    deleted_uid: str = ""
    read_at: float | None = None
    validation: tuple[int, ValidationResult] | None = None
    current: Revision | None = None
    comparison: Comparison | None = None
    pod_check: PodCheck | None = None
    failed_step: FailedStep | None = None
    created_objects: set[str] = field(default_factory=set)
    ages: Ages = field(default_factory=Ages)
    created: datetime | None = None
    trial: SidePodCache = field(default_factory=SidePodCache)
    preflight: SidePodCache = field(default_factory=SidePodCache)
    warnings: PodWarnings = field(default_factory=PodWarnings)
    finalizer_first: bool = True
    is_admitted: bool = False

    @property
    def pod_uid(self) -> str:
        """The uid of the driver pod, empty if there is none."""
        return str(self.pod["metadata"]["uid"]) if self.pod else ""

    @property
    def failure(self) -> StepFailure | None:
        """The failed step, for the next decision."""
        failed = self.failed_step
        if failed is None or failed.pod_uid != self.pod_uid:
            return None
        return StepFailure(failed.message, failed.seconds_left(time.monotonic()), failed.is_pending)

    @property
    def is_new(self) -> bool:
        """True while the resource has no status, so that a first start is most likely due."""
        return self.body is not None and not written_status(self.body)

    @property
    def needs_admission(self) -> bool:
        """True for a new pipeline that is not deleted and has not entered the admission queue."""
        return self.is_new and not self.is_admitted and not self.is_deleted

    @property
    def is_deleted(self) -> bool:
        """True if the resource was deleted."""
        return bool(self.body and self.body["metadata"].get("deletionTimestamp"))

    @property
    def finalizers(self) -> list[str]:
        """The finalizers of the resource."""
        return list(self.body["metadata"].get("finalizers", ())) if self.body else []

    @property
    def is_held(self) -> bool:
        """True if the resource has the operator's finalizer."""
        return FINALIZER in self.finalizers

    def observe(self, body: Mapping[str, Any]) -> None:
        """Take the resource from an event or an answer, unless a newer version is known."""
        if self.body is None or _version(body) >= _version(self.body):
            self.body = _lean(body)

    def observe_pod(self, pod: Mapping[str, Any], *, deleted: bool = False) -> None:
        """Take the driver pod in the same way."""
        if self.pod is not None and _version(pod) < _version(self.pod):
            return
        uid = pod["metadata"]["uid"]
        if uid == self.deleted_uid and not deleted:
            return  # an answer that is older than the event of the deletion
        if self.read_at is not None:
            self.read_at = time.monotonic()
        if deleted:
            self.final_pod, self.deleted_uid = _lean(pod), uid
        if not deleted:
            self.pod = _lean(pod)
        elif self.pod is None or self.pod["metadata"]["uid"] == pod["metadata"]["uid"]:
            self.pod = None

    def set_pod(self, pod: Object | None) -> None:
        """Take the pod from a read of the API server."""
        self.pod, self.read_at = pod, time.monotonic()

    def must_read_pod(self, resync_seconds: float) -> bool:
        """True if the pod must be read: the operator reports no driver as lost by its cache, nor as alive by an old cache.

        After an interruption a watch does not report pods that were deleted meanwhile.
        """
        if self.pod is None or self.read_at is None:
            return True
        patience = min(CHANGING_SECONDS, resync_seconds) if pod_status.changing(self.pod) else resync_seconds
        return time.monotonic() - self.read_at >= patience


def _lean(thing: Mapping[str, Any]) -> Object:
    """Without the list of field managers, which is the larger half."""
    about = {key: value for key, value in thing["metadata"].items() if key != "managedFields"}
    return {**thing, "metadata": about}


def _version(thing: Mapping[str, Any]) -> int:
    return int(thing["metadata"]["resourceVersion"])
