"""Reads the events of pods that do not start: failed mounts, missing Secrets and sandboxes stand nowhere else."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from mainstem.names import PIPELINE_LABEL

from mainstem_operator.api.kubernetes_api import POD, ApiError, KubernetesApi
from mainstem_operator.observed.pod_status import PodWarning, newest_warning, running, starts_silently


Object = Mapping[str, Any]
FIRST_SECONDS: Final = 5.0
"""How long a scheduled pod may take without a look at its events: most pods run by then."""
_LONGEST_SECONDS: Final = 40.0


@dataclass
class PodWatch:
    """One pod that does not start, and when its events are read next.

    Attributes:
        uid: of the pod.
        due: when its events are read next, by the monotonic clock, in seconds.
        wait: seconds until the read after that one; doubled each time.
        warning: what the last read found.
    """

    uid: str
    due: float = field(default_factory=lambda: time.monotonic() + FIRST_SECONDS)
    wait: float = 2 * FIRST_SECONDS
    warning: PodWarning | None = None

    async def read(self, cluster: KubernetesApi, pod: Object) -> None:
        """Read the events, where that is due."""
        now = time.monotonic()
        if now < self.due:
            return
        about = pod["metadata"]
        self.due, self.wait = now + self.wait, min(2 * self.wait, _LONGEST_SECONDS)
        try:
            warning = newest_warning(await cluster.events(about["namespace"], about["uid"]))
        except ApiError:  # for example the rights of an older chart: the status goes without
            warning = None
        self.warning = warning and warning._replace(message=f"{about['name']}: {warning.message}")


@dataclass
class PodWarnings:
    """Of one pipeline: its driver's pod, and one of its executors' pods.

    Attributes:
        driver: None while the driver's pod runs, or says itself what it waits for.
        executors: None while no executor is missing, or the driver knows why.
    """

    driver: PodWatch | None = None
    executors: PodWatch | None = None

    async def read(self, cluster: KubernetesApi, body: Object, pod: Object | None) -> None:
        """Look at what does not start; a pipeline whose pods run costs no request."""
        silent = pod if pod is not None and starts_silently(pod) else None
        self.driver = await _followed(cluster, self.driver, silent)
        if pod is None or not running(pod) or not _executors_missing(body):
            self.executors = None
        elif self.executors is None or time.monotonic() >= self.executors.due:
            self.executors = await _followed(cluster, self.executors, await _silent_executor(cluster, body))

    def seconds_left(self, most: float) -> float:
        """Seconds until the next read; at most as many as given."""
        now = time.monotonic()
        return max(0.0, min([most, *(watch.due - now for watch in (self.driver, self.executors) if watch)]))


async def _followed(cluster: KubernetesApi, watch: PodWatch | None, pod: Object | None) -> PodWatch | None:
    """The watch over the pod that does not start; a new one for a pod that is new."""
    if pod is None:
        return None
    if watch is None or watch.uid != pod["metadata"]["uid"]:
        watch = PodWatch(pod["metadata"]["uid"])
    await watch.read(cluster, pod)
    return watch


def _executors_missing(body: Object) -> bool:
    """True where the driver reports fewer executors than are wanted, and not why."""
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
