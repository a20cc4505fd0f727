"""Creates and deletes the pods that look at a changed document beside the driver, as the plan requests: of a trial and of a
preflight.
"""

from dataclasses import dataclass
from typing import Final

import structlog

from mainstem_operator.api import ownership
from mainstem_operator.api.kubernetes_api import (
    NO_ANSWER,
    POD,
    ApiError,
    ApiRejection,
    KubernetesApi,
    Object,
)
from mainstem_operator.decisions.actions import Plan
from mainstem_operator.loop import apply
from mainstem_operator.loop.pipeline_cache import PipelineCache
from mainstem_operator.loop.side_pod_cache import SidePodCache
from mainstem_operator.manifests import objects
from mainstem_operator.manifests.preflight_pod import preflight_pod
from mainstem_operator.manifests.trial_pod import trial_pod
from mainstem_operator.observed import pod_status, preflights
from mainstem_operator.observed.observation import Observation, last_revision
from mainstem_operator.observed.rejections import FailedPod
from mainstem_operator.settings import Settings
from mainstem_operator.validation.documents import DocumentChange, Revision


_LOG: Final = structlog.get_logger(component="operator")


@dataclass(frozen=True)
class SidePodSteps:
    """The steps of one plan.

    An error never reaches the driver's steps: the cache notes a rejection, and the next reconcile tries again after any other
    error.
    """

    cluster: KubernetesApi
    cache: PipelineCache
    observation: Observation
    settings: Settings

    async def carry_out(self, next_plan: Plan) -> bool:
        """Create or delete the pods; True if that has changed something."""
        tried = await self._trial(next_plan)
        return await self._preflight(next_plan) or tried

    async def _trial(self, next_plan: Plan) -> bool:
        cache, trial = self.cache.trial, next_plan.start_trial
        if next_plan.stop_trial and cache.pod is not None:
            return await self._stop(cache, cache.pod)
        if trial is None:
            return False
        wanted, running = self._documents()
        assert running is not None
        change = self.observation.change or DocumentChange()
        pod = trial_pod(self.observation.body, trial, wanted, running, change, self.settings)
        return await self._start(cache, trial.identity, pod)

    async def _preflight(self, next_plan: Plan) -> bool:
        cache, preflight, attempt = self.cache.preflight, next_plan.start_preflight, next_plan.next_attempt
        if next_plan.stop_preflight and cache.pod is not None:
            pod = cache.pod
            cache.failed = preflights.failed(pod) or cache.failed
            return await self._stop(cache, pod)
        if preflight is None:
            return False
        body, identity = self.observation.body, preflight.identity
        pod = preflight_pod(
            body, identity, *self._documents(), self.settings, against=self._against(), attempt=attempt
        )
        return await self._start(cache, identity, pod)

    def _documents(self) -> tuple[Revision, Revision | None]:
        """The changed document, and the one that runs; None if that is not known."""
        wanted = self.observation.validation.revision
        assert wanted is not None
        return wanted, self.observation.current

    def _against(self) -> str:
        """The revision that runs."""
        return last_revision(self.observation.body, self.observation.pod)

    async def _stop(self, cache: SidePodCache, pod: Object) -> bool:
        try:
            left = await self.cluster.delete(POD, pod, grace=0 if pod_status.leaving(pod) else None)
        except (ApiError, *NO_ANSWER) as error:
            self._warn(error)
            return False
        cache.observe(pod if left is None else left, deleted=left is None)
        return True

    async def _start(self, cache: SidePodCache, identity: str, pod: Object) -> bool:
        """Create the changed document, then the pod."""
        try:
            await self._create(cache, pod)
        except ApiRejection as refused:
            cache.reject(FailedPod(identity, ownership.refusal(refused)))
        except (ApiError, ownership.DeletionPending, *NO_ANSWER) as error:
            self._warn(error)
            return False
        return True

    async def _create(self, cache: SidePodCache, pod: Object) -> None:
        """Create the objects.

        Raises:
            NameTaken: an object of another owner has a name that the pod needs.
            DeletionPending: an object of a deleted pipeline has it.
            ApiRejection: the API server rejects the pod.
        """
        body, (wanted, running) = self.observation.body, self._documents()
        for manifest in (objects.document(body, wanted), *objects.access(body, wanted)):
            if manifest["kind"] in ("ConfigMap", "ServiceAccount"):
                await apply.made_once(self.cluster, body, manifest)
        created = await self.cluster.create(pod)
        if created is None:  # the operator was killed after it had created the pod, or the name is taken
            await apply.require_owned(self.cluster, body, pod)
            cache.read_at = None
            return
        cache.rejected_at = None
        cache.observe(created)
        # Each of them adds a document, although it may never run. New executors mount that of the driver's start.
        driver = self.cache.pod
        in_use = [wanted.name, *([pod_status.revision(driver)] if driver is not None else [])]
        if running is not None:
            await apply.prune(self.cluster, body, running, self.settings, in_use=in_use)

    def _warn(self, error: Exception) -> None:
        about = self.observation.body["metadata"]
        labels = {"namespace": about["namespace"], "pipeline": about["name"]}
        _LOG.warning("a pod beside the driver is neither created nor deleted", **labels, error=error)
