"""The operator's cache of the trial pod of one pipeline, and of a refusal of that pod by the API server."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mainstem_operator.api.kubernetes_api import Object
from mainstem_operator.decisions.actions import CHANGING_SECONDS
from mainstem_operator.observed.rejections import Refusal


@dataclass
class TrialCache:
    """The newest known version of the trial pod; the operator can read it again.

    Attributes:
        pod: the pod; None if there is none, or if it must be read.
        deleted_uid: the uid of the last pod that is known to be deleted.
        read_at: when the pod was last read or an event had it, by the monotonic clock; None before that.
        refusal: the trial whose pod the API server rejects, and its error; None if it rejects none.
    """

    pod: Object | None = None
    deleted_uid: str = ""
    read_at: float | None = None
    refusal: tuple[str, Refusal] | None = None

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
        self.read_at = time.monotonic()
        if not deleted:
            self.pod = dict(pod)
            return
        self.deleted_uid = uid
        if self.pod is not None and self.pod["metadata"]["uid"] == uid:
            self.pod = None

    def replace(self, pod: Object | None) -> None:
        """Take the pod from a read of the API server."""
        self.pod, self.read_at = pod, time.monotonic()

    def refused(self, trial: str) -> Refusal | None:
        """Why the API server rejects the pod of a trial; None if it does not."""
        return self.refusal[1] if self.refusal is not None and self.refusal[0] == trial else None


def _version(pod: Mapping[str, Any]) -> int:
    return int(pod["metadata"]["resourceVersion"])
