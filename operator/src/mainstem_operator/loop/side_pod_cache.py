"""The operator's cache of one pod beside the driver of a pipeline, and of how the last such pod failed."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mainstem_operator.api.kubernetes_api import Object
from mainstem_operator.decisions.actions import CHANGING_SECONDS
from mainstem_operator.observed import pod_status
from mainstem_operator.observed.rejections import FailedPod, Refusal


@dataclass
class SidePodCache:
    """The newest known version of the trial pod, or of the preflight pod; the operator can read it again.

    Attributes:
        pod: the pod; None if there is none, or if it must be read.
        deleted_uid: the uid of the last pod that is known to be deleted.
        read_at: when the pod was last read or an event had it, by the monotonic clock; None before that.
        ended_at: when the pod was first known to have ended, by the same clock; None if it has not.
        failed: the last one that the API server rejected, or that was deleted without a result; None if there is none.
        rejected_at: when the API server rejected that; None if it did not.
    """

    pod: Object | None = None
    deleted_uid: str = ""
    read_at: float | None = None
    ended_at: float | None = None
    failed: FailedPod | None = None
    rejected_at: float | None = None

    def is_due(self, resync_seconds: float) -> bool:
        """Whether the pod must be read: after an interruption a watch does not report a deletion."""
        patience = resync_seconds if self.pod is None else min(CHANGING_SECONDS, resync_seconds)
        return self.read_at is None or time.monotonic() - self.read_at >= patience

    def observe(self, pod: Mapping[str, Any], *, deleted: bool = False) -> None:
        """Take the pod from an event or an answer, unless a newer version is known."""
        uid = pod["metadata"]["uid"]
        if self.pod is not None and _version(pod) < _version(self.pod):
            return
        if uid == self.deleted_uid and not deleted:
            return
        if not deleted:
            self.replace(dict(pod))
            return
        self.deleted_uid = uid
        self.replace(None if self.pod is None or self.pod["metadata"]["uid"] == uid else self.pod)

    def replace(self, pod: Object | None) -> None:
        """Take the pod from a read of the API server."""
        self.pod, self.read_at = pod, time.monotonic()
        has_ended = pod is not None and pod_status.over(pod)
        self.ended_at = (self.ended_at or self.read_at) if has_ended else None

    def reject(self, failed: FailedPod) -> None:
        """Note that the API server rejects the pod."""
        self.failed, self.rejected_at = failed, time.monotonic()

    def refused(self, identity: str) -> Refusal | None:
        """Why the API server rejects the pod with this identity; None if it does not."""
        return self.failed.why if self.failed is not None and self.failed.identity == identity else None

    def pause(self, seconds: float) -> float:
        """What is left of a pause after the end of the pod, or after its rejection; 0 if neither was, or if the pause is over."""
        since = self.rejected_at if self.pod is None else self.ended_at
        return 0.0 if since is None else max(0.0, seconds - (time.monotonic() - since))


def _version(pod: Mapping[str, Any]) -> int:
    return int(pod["metadata"]["resourceVersion"])
