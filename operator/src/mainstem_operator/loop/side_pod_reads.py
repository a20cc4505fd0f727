"""Reads the pods that look at a changed document beside the driver, as often as is due."""

from collections.abc import Callable, Mapping
from typing import Any

from mainstem.names import preflight_name, trial_name

from mainstem_operator.api import ownership
from mainstem_operator.api.kubernetes_api import POD, KubernetesApi
from mainstem_operator.loop.pipeline_cache import PipelineCache
from mainstem_operator.loop.side_pod_cache import SidePodCache
from mainstem_operator.observed.observation import last_revision, report_of, written_status
from mainstem_operator.validation.documents import ValidationResult


async def read(
    cluster: KubernetesApi,
    cache: PipelineCache,
    body: Mapping[str, Any],
    validation: ValidationResult,
    resync_seconds: float,
) -> None:
    """Read the trial pod and the preflight pod, if that is due. A pipeline without trials, whose document has run for a while, costs
    no request.
    """

    async def read_pod(side: SidePodCache, name: Callable[[str], str]) -> None:
        if side.is_due(resync_seconds):
            about = body["metadata"]
            pod = await cluster.get(POD, about["namespace"], name(about["name"]))
            side.replace(pod if pod is not None and ownership.owned(pod, body) else None)

    if cache.is_new:
        return
    if body["spec"].get("trial") is not None or "trial" in written_status(body):
        await read_pod(cache.trial, trial_name)
    if cache.preflight.pod is not None or _may_have_preflight(cache, body, validation):
        await read_pod(cache.preflight, preflight_name)


def _may_have_preflight(cache: PipelineCache, body: Mapping[str, Any], validation: ValidationResult) -> bool:
    """Whether a preflight pod may exist that the cache does not know: for a changed document, or from before a driver's start."""
    wanted, pod = validation.revision, cache.pod
    is_changed = wanted is not None and wanted.name != last_revision(body, pod)
    return is_changed or (pod is not None and not report_of(body, pod))
