"""Reads the events of pods that do not start: only events report failed mounts, missing Secrets and sandboxes."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from mainstem.names import PIPELINE_LABEL

from mainstem_operator.api.kubernetes_api import POD, ApiError, KubernetesApi
from mainstem_operator.observed.pod_status import PodWarning, newest_warning, running, starts_silently


Object = Mapping[str, Any]
FIRST_SECONDS: Final = 5.0
"""How long a scheduled pod may take before the operator reads its events: most pods run by then."""
_LONGEST_SECONDS: Final = 40.0


@dataclass
class PodWatch:
    """One pod that does not start, and when its events are read next.

    Attributes:
        uid: the uid of the pod.
        due: when its events are read next, by the monotonic clock, in seconds.
        wait: seconds until the read after that one; doubled each time.
        warning: the warning that the last read found.
    """

    uid: str
    due: float = field(default_factory=lambda: time.monotonic() + FIRST_SECONDS)
    wait: float = 2 * FIRST_SECONDS
    warning: PodWarning | None = None

    async def read(self, cluster: KubernetesApi, pod: Object) -> None:
        """Read the events, if that is due."""
        now = time.monotonic()
        if now < self.due:
            return
        about = pod["metadata"]
        self.due, self.wait = now + self.wait, min(2 * self.wait, _LONGEST_SECONDS)
        try:
            warning = newest_warning(await cluster.events(about["namespace"], about["uid"]))
        except ApiError:  # for example the permissions of an older chart: the status has no warning then
            warning = None
        self.warning = warning and warning._replace(message=f"{about['name']}: {warning.message}")


@dataclass
class PodWarnings:
    """The pods of one pipeline that do not start: its driver pod, the pods beside it, and one of its executor pods.

    Attributes:
        driver: None while the driver pod runs, or while its status has the reason.
        trial: the same as `driver`, for the trial pod.
        preflight: the same for the preflight pod.
        executors: None while no executor is missing, or while the driver knows the reason.
    """

    driver: PodWatch | None = None
    executors: PodWatch | None = None
    trial: PodWatch | None = None
    preflight: PodWatch | None = None

    async def read(
        self,
        cluster: KubernetesApi,
        body: Object,
        pod: Object | None,
        trial_pod: Object | None = None,
        preflight_pod: Object | None = None,
    ) -> None:
        """Read the events of pods that do not start; a pipeline whose pods run costs no request."""
        self.driver = await _followed(cluster, self.driver, _silent(pod))
        self.trial = await _followed(cluster, self.trial, _silent(trial_pod))
        self.preflight = await _followed(cluster, self.preflight, _silent(preflight_pod))
        if pod is None or not running(pod) or not _executors_missing(body):
            self.executors = None
        elif self.executors is None or time.monotonic() >= self.executors.due:
            self.executors = await _followed(cluster, self.executors, await _silent_executor(cluster, body))

    def seconds_left(self, most: float) -> float:
        """Seconds until the next read, at most `most`."""
        now, watches = time.monotonic(), (self.driver, self.executors, self.trial, self.preflight)
        return max(0.0, min([most, *(watch.due - now for watch in watches if watch)]))


def _silent(pod: Object | None) -> Object | None:
    """The pod, if it starts without a reason in its status."""
    return pod if pod is not None and starts_silently(pod) else None


async def _followed(cluster: KubernetesApi, watch: PodWatch | None, pod: Object | None) -> PodWatch | None:
    """The watch of the pod that does not start; a new one for another pod."""
    if pod is None:
        return None
    if watch is None or watch.uid != pod["metadata"]["uid"]:
        watch = PodWatch(pod["metadata"]["uid"])
    await watch.read(cluster, pod)
    return watch


def _executors_missing(body: Object) -> bool:
    """True if the driver reports fewer executors than requested, without a reason."""
    summary = (body.get("status") or {}).get("summary", {})
    registered, _, wanted = str(summary.get("executors", "")).partition("/")
    return registered != wanted and not summary.get("executorsMessage")


async def _silent_executor(cluster: KubernetesApi, body: Object) -> Object | None:
    about = body["metadata"]
    try:
        pods = await cluster.list(
            POD, about["namespace"], {"spark-role": "executor", PIPELINE_LABEL: about["name"]}
        )
    except ApiError:
        return None
    return next((pod for pod in pods if starts_silently(pod)), None)
