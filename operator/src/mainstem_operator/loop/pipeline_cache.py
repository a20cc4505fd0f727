"""What the operator remembers of one pipeline between two looks, as events and answers of the API server have it."""

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
from mainstem_operator.observed import pod_status
from mainstem_operator.observed.ages import Ages
from mainstem_operator.observed.observation import Refusal, StepFailure, written_status
from mainstem_operator.validation.documents import Revision, ValidationResult


ASK_AGAIN_SECONDS: Final = 60.0
"""How long an answer of the API server that it refuses a driver holds, before it is asked again."""


class PodCheck(NamedTuple):
    """What the API server said of a revision's driver: why it refuses it, nothing where it takes it."""

    revision: str
    refusal: Refusal | None
    checked_at: float
    patience: float = ASK_AGAIN_SECONDS

    @property
    def seconds_left(self) -> float:
        """Until the API server is asked again."""
        return max(0.0, self.checked_at + self.patience - time.monotonic())

    def holds_for(self, revision: str) -> bool:
        """True while there is no reason to ask again: a quota may be raised, a policy lifted, a name given up."""
        return self.revision == revision and (not self.refusal or self.seconds_left > 0)


@dataclass
class PipelineCache:
    """What the operator remembers of one pipeline; all of it can be read anew.

    Attributes:
        body: the newest known version of the resource.
        pod: the newest known version of its driver pod.
        final_pod: the last version of a deleted pod, with its final status.
        deleted_uid: the uid of the last pod that is known to be deleted.
        read_at: when the pod was last read from the API server or an event had it, by the monotonic clock; None if it must be read.
        validation: the generation of the document, and its result.
        current: what ran last, if the document is invalid.
        pod_check: whether the API server accepts a revision's driver pod.
        failed_step: the last start or stop, where the API server did not carry it out.
        ages: since when its facts have their values, by the operator's clock.
        created: when the resource was created, by the operator's clock; None if it existed before the operator started.
        created_objects: names of the objects that the attempts of the current start have created.
        warnings: the warning events of pods that do not start.
        holds_first: True where the finalizer is written before the first start, not after it.
    """

    body: Object | None = None
    pod: Object | None = None
    final_pod: Object | None = None
    deleted_uid: str = ""
    read_at: float | None = None
    validation: tuple[int, ValidationResult] | None = None
    current: Revision | None = None
    pod_check: PodCheck | None = None
    failed_step: FailedStep | None = None
    created_objects: set[str] = field(default_factory=set)
    ages: Ages = field(default_factory=Ages)
    created: datetime | None = None
    warnings: PodWarnings = field(default_factory=PodWarnings)
    finalizer_first: bool = True

    @property
    def pod_uid(self) -> str:
        """The uid of the driver's pod, empty where there is none."""
        return str(self.pod["metadata"]["uid"]) if self.pod else ""

    @property
    def failure(self) -> StepFailure | None:
        """The failed step, as the next decision needs it."""
        failed = self.failed_step
        if failed is None or failed.pod_uid != self.pod_uid:
            return None
        return StepFailure(failed.message, failed.seconds_left(time.monotonic()), failed.is_pending)

    @property
    def is_new(self) -> bool:
        """True where nothing was ever told of it, so that a start is most likely what is due."""
        return self.body is not None and not written_status(self.body)

    @property
    def finalizers(self) -> list[str]:
        """The finalizers of the resource."""
        return list(self.body["metadata"].get("finalizers", ())) if self.body else []

    @property
    def is_held(self) -> bool:
        """True where the operator's finalizer holds the resource."""
        return FINALIZER in self.finalizers

    def observe(self, body: Mapping[str, Any]) -> None:
        """Take the resource as an event or an answer has it, unless a newer one is known."""
        if self.body is None or _version(body) >= _version(self.body):
            self.body = _lean(body)

    def observe_pod(self, pod: Mapping[str, Any], *, deleted: bool = False) -> None:
        """The same for the driver's pod."""
        if self.pod is not None and _version(pod) < _version(self.pod):
            return
        uid = pod["metadata"]["uid"]
        if uid == self.deleted_uid and not deleted:
            return  # an answer that the news of its end has overtaken
        if self.read_at is not None:
            self.read_at = time.monotonic()
        if deleted:
            self.final_pod, self.deleted_uid = _lean(pod), uid
        if not deleted:
            self.pod = _lean(pod)
        elif self.pod is None or self.pod["metadata"]["uid"] == pod["metadata"]["uid"]:
            self.pod = None

    def set_pod(self, pod: Object | None) -> None:
        """Take the pod as the server has it now."""
        self.pod, self.read_at = pod, time.monotonic()

    def must_read_pod(self, resync_seconds: float) -> bool:
        """True where the pod has to be read: no driver is judged lost by a cache, nor alive by one that is old.

        A watch that was broken off does not tell of what went meanwhile.
        """
        if self.pod is None or self.read_at is None:
            return True
        patience = min(CHANGING_SECONDS, resync_seconds) if pod_status.changing(self.pod) else resync_seconds
        return time.monotonic() - self.read_at >= patience


def _lean(thing: Mapping[str, Any]) -> Object:
    """Without the list of who wrote what, which is the larger half."""
    about = {key: value for key, value in thing["metadata"].items() if key != "managedFields"}
    return {**thing, "metadata": about}


def _version(thing: Mapping[str, Any]) -> int:
    return int(thing["metadata"]["resourceVersion"])
