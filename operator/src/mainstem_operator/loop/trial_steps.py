"""Creates and deletes the trial pod of a pipeline, as its plan requests."""

from typing import Final

import structlog

from mainstem_operator.api import ownership
from mainstem_operator.api.kubernetes_api import NO_ANSWER, POD, ApiError, ApiRejection, KubernetesApi
from mainstem_operator.decisions.actions import Plan
from mainstem_operator.loop import apply
from mainstem_operator.loop.pipeline_cache import PipelineCache
from mainstem_operator.manifests import objects
from mainstem_operator.manifests.trial_pod import trial_pod
from mainstem_operator.observed import pod_status
from mainstem_operator.observed.observation import Observation
from mainstem_operator.observed.trials import Trial
from mainstem_operator.settings import Settings
from mainstem_operator.validation.documents import DocumentChange


_LOG: Final = structlog.get_logger(component="operator")


async def carry_out(
    cluster: KubernetesApi,
    cache: PipelineCache,
    observation: Observation,
    next_plan: Plan,
    settings: Settings,
) -> bool:
    """Create or delete the trial pod; True if that has changed something.

    An error never reaches the driver's steps: a rejection becomes the result of the trial, and the next reconcile tries
    again after any other error.
    """
    try:
        if next_plan.stop_trial and cache.trial.pod is not None:
            return await _stop(cluster, cache)
        if next_plan.start_trial is not None:
            return await _start(cluster, cache, observation, next_plan.start_trial, settings)
    except ApiRejection as refused:
        if next_plan.stop_trial or next_plan.start_trial is None:
            _warn(observation, refused)
            return False
        cache.trial.refusal = next_plan.start_trial.identity, ownership.refusal(refused)
        return True
    except (ApiError, ownership.DeletionPending, *NO_ANSWER) as error:
        _warn(observation, error)
    return False


def _warn(observation: Observation, error: Exception) -> None:
    about = observation.body["metadata"]
    labels = {"namespace": about["namespace"], "pipeline": about["name"]}
    _LOG.warning("the trial pod is neither created nor deleted", **labels, error=error)


async def _stop(cluster: KubernetesApi, cache: PipelineCache) -> bool:
    pod = cache.trial.pod
    assert pod is not None
    left = await cluster.delete(POD, pod)
    if left is not None:
        cache.trial.observe(left)
    else:
        cache.trial.observe(pod, deleted=True)
    return True


async def _start(
    cluster: KubernetesApi, cache: PipelineCache, observation: Observation, trial: Trial, settings: Settings
) -> bool:
    """Create the document of the trial, then its pod.

    Raises:
        NameTaken: an object of another owner has a name that the trial needs.
        DeletionPending: an object of a deleted pipeline has it.
        ApiRejection: the API server rejects the pod.
    """
    body, wanted, running = observation.body, observation.validation.revision, observation.current
    assert wanted is not None
    assert running is not None
    await apply.made_once(cluster, body, objects.document(body, wanted))
    pod = trial_pod(body, trial, wanted, running, observation.change or DocumentChange(), settings)
    created = await cluster.create(pod)
    if created is None:  # the operator was killed after it had created the pod, or the name is taken
        await apply.require_owned(cluster, body, pod)
        cache.trial.read_at = None
        return True
    cache.trial.observe(created)
    # Each tried revision adds a document, although it may never run. New executors mount that of the driver's start.
    in_use = [wanted.name, *([pod_status.revision(cache.pod)] if cache.pod is not None else [])]
    await apply.prune(cluster, body, running, settings, in_use=in_use)
    return True
