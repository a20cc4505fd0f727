"""Observes a pipeline: from the cache, and from the API server what the cache lacks."""

import time
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final

from mainstem.names import DOCUMENT_KEY, driver_name, revision_name

from mainstem_operator.api import ownership
from mainstem_operator.api.kubernetes_api import (
    CONFIG_MAP,
    POD,
    ApiError,
    ApiRejection,
    KubernetesApi,
    Object,
)
from mainstem_operator.api.pod_warnings import PodWatch
from mainstem_operator.decisions import checkpoints, rollback, unchecked
from mainstem_operator.decisions.beside import preflights
from mainstem_operator.decisions.history import driver_history
from mainstem_operator.decisions.observed_ages import with_ages
from mainstem_operator.loop import apply, side_pod_reads
from mainstem_operator.loop.pipeline_cache import ASK_AGAIN_SECONDS, Comparison, PipelineCache, PodCheck
from mainstem_operator.observed import pod_status
from mainstem_operator.observed.ages import Moment
from mainstem_operator.observed.conditions import find_condition
from mainstem_operator.observed.observation import (
    Observation,
    last_revision,
    running_revision,
    written_status,
)
from mainstem_operator.observed.pod_status import PodWarning
from mainstem_operator.observed.preflights import PreflightPod
from mainstem_operator.observed.rejections import Refusal
from mainstem_operator.observed.revision_entries import newest
from mainstem_operator.settings import Settings
from mainstem_operator.validation.documents import DocumentChange, Revision, ValidationResult
from mainstem_operator.validation.worker_pool import Validators


UNKNOWN_SECONDS: Final = 10.0
"""The same as `ASK_AGAIN_SECONDS`, for an error that is not about the pod, such as a webhook that does not answer."""


class Observer:
    """Observes pipelines."""

    def __init__(self, cluster: KubernetesApi, settings: Settings, validators: Validators) -> None:
        self._cluster = cluster
        self._settings = settings
        self._validators = validators

    async def observe(self, cache: PipelineCache) -> Observation:
        """The current observation of a pipeline; it reads from the API server what is due.

        Raises:
            Exception: the API server's errors.
        """
        assert cache.body is not None
        body = cache.body
        validation = await self._validation(cache, body)
        if cache.must_read_pod(self._settings.resync_seconds) and not (
            cache.is_new and _starts_at_once(body, validation)
        ):
            await self._find_pod(cache, body)
        await side_pod_reads.read(self._cluster, cache, body, validation, self._settings.resync_seconds)
        warnings = cache.warnings
        await warnings.read(self._cluster, body, cache.pod, cache.trial.pod, cache.preflight.pod)
        observation = Observation(
            body=body,
            pod=cache.pod,
            gone=cache.final_pod,
            validation=validation,
            current=await self._current(cache, body, validation),
            now=datetime.now(UTC),
            settings=self._settings,
            failure=cache.failure,
            created=cache.created,
            driver_warning=_warning(warnings.driver),
            executors_warning=_warning(warnings.executors),
            trial_pod=cache.trial.pod,
            trial_warning=_warning(warnings.trial),
            preflight_pod=PreflightPod(
                cache.preflight.pod,
                _warning(warnings.preflight),
                cache.preflight.failed,
                cache.preflight.pause(preflights.PAUSE_SECONDS),
            ),
        )
        if observation.trial is not None:
            observation = replace(observation, trial_refusal=cache.trial.refused(observation.trial.identity))
        observation = with_ages(observation, cache.ages, Moment(observation.now, time.monotonic()))
        observation = await self._with_way_back(cache, observation)
        observation = await self._with_change(cache, observation)
        return replace(observation, refused=await self._refusal(cache, body, observation))

    async def _with_way_back(self, cache: PipelineCache, observation: Observation) -> Observation:
        """The observation with the last healthy revision, if a rollback is due, or if that revision runs."""
        name = rollback.target(observation, driver_history(observation))
        if name is None:
            return observation
        healthy, failed = await self._revision(cache, observation.body, name), observation.validation.revision
        if healthy is None or failed is None:
            return replace(observation, healthy=healthy)
        return replace(
            observation, healthy=healthy, way_back=await self._compared(cache, observation, failed, healthy)
        )

    async def _with_change(self, cache: PipelineCache, observation: Observation) -> Observation:
        """The observation with what the wanted document does to the running one, and to the newest one that ran."""
        running, wanted = self._running(observation), observation.wanted
        if wanted is None:
            return observation
        is_guarded = checkpoints.guarded(observation)
        remains = (
            observation.is_alive or is_guarded or unchecked.may_remain(observation.body, observation.pod)
        )
        if running is not None and running.name != wanted.name and remains:
            change = await self._compared(cache, observation, running, wanted)
            in_use = (
                checkpoints.in_use(observation, change) if is_guarded and not observation.rolled_back else ()
            )
            observation = replace(observation, change=change, refused_changes=in_use)
        observation = replace(observation, preflight=preflights.required(observation))
        observation = replace(observation, unchecked=unchecked.is_unchecked(observation))
        return replace(observation, difference=await self._difference(cache, observation, wanted))

    def _running(self, observation: Observation) -> Revision | None:
        """The revision that runs, if it is not the wanted one. After a failure the document's own may run."""
        document = observation.validation.revision
        is_document = document is not None and document.name == observation.running_revision
        return document if is_document else observation.current

    async def _difference(
        self, cache: PipelineCache, observation: Observation, wanted: Revision
    ) -> tuple[str, ...]:
        """The fields in which the wanted revision differs from the newest one that ran."""
        entry = newest(observation.status)
        if entry is None or entry["revision"] == wanted.name:
            return ()
        known = cache.comparison
        if known is not None and known[:2] == (entry["revision"], wanted.name):
            return known.change.fields
        last = await self._revision(cache, observation.body, entry["revision"])
        return () if last is None else (await self._compared(cache, observation, last, wanted)).fields

    async def _compared(
        self, cache: PipelineCache, observation: Observation, running: Revision, wanted: Revision
    ) -> DocumentChange:
        """What a change does; each is compared once."""
        known = cache.comparison
        if known is None or known[:2] != (running.name, wanted.name):
            namespace = str(observation.body["metadata"]["namespace"])
            change = await self._validators.change(namespace, running, wanted)
            known = cache.comparison = Comparison(running.name, wanted.name, change)
        return known.change

    async def _validation(self, cache: PipelineCache, body: Mapping[str, Any]) -> ValidationResult:
        generation = int(body["metadata"]["generation"])
        if cache.validation is None or cache.validation[0] != generation:
            cache.validation = (generation, await self._validators.validate(body))
            cache.pod_check = None
            cache.failed_step = None
            cache.created_objects.clear()
        return cache.validation[1]

    async def _current(
        self, cache: PipelineCache, body: Mapping[str, Any], validation: ValidationResult
    ) -> Revision | None:
        """The revision that runs or ran last, read from its ConfigMap, if the current document is invalid or another one."""
        name = last_revision(body, cache.pod)
        wanted = validation.revision
        if not name:
            return None
        if wanted is not None and (
            wanted.name == name or not checkpoints.remains(body, cache.pod, wanted.name)
        ):
            return None
        return await self._revision(cache, body, name)

    async def _revision(self, cache: PipelineCache, body: Mapping[str, Any], name: str) -> Revision | None:
        """A revision that runs or ran, from the cache or its ConfigMap."""
        if cache.current is None or cache.current.name != name:
            cache.current = await self._recall(body, name)
        return cache.current

    async def _recall(self, body: Mapping[str, Any], name: str) -> Revision | None:
        about = body["metadata"]
        config_map = await self._cluster.get(
            CONFIG_MAP, about["namespace"], revision_name(about["name"], name)
        )
        if config_map is None:
            return None
        return await self._validators.recall(about["namespace"], config_map["data"][DOCUMENT_KEY], name)

    async def _refusal(
        self, cache: PipelineCache, body: Mapping[str, Any], observation: Observation
    ) -> Refusal | None:
        """Why the API server rejects the driver pod; asked before the operator stops a running driver for a document, and before it
        checks that in a pod beside the driver.
        """
        # A preflight pod may use up the quota itself, and is the better answer.
        is_checked = observation.awaits_preflight and observation.is_alive and cache.preflight.pod is None
        revision = observation.validation.revision if is_checked else observation.revision
        if (
            observation.validation.revision is None
            or revision is None
            or body["metadata"].get("deletionTimestamp")
        ):
            return None
        if cache.pod_check is not None and cache.pod_check.holds_for(revision.name):
            return cache.pod_check.refusal
        again = (
            _was_rejected_before(body)
            if cache.pod_check is None
            else cache.pod_check.revision == revision.name
        )
        runs = cache.pod is not None and not pod_status.over(cache.pod)
        if not again and (not runs or running_revision(body, cache.pod) == revision.name):
            return None
        pod, refusal, patience = await self._read(body), None, ASK_AGAIN_SECONDS
        try:
            _require(pod, body)
            await apply.probe(self._cluster, body, revision, self._settings)
        except ApiRejection as refused:
            refusal = ownership.refusal(refused)
        except (ApiError, ownership.DeletionPending, TimeoutError) as error:
            if isinstance(error, ownership.DeletionPending) and not runs:
                return None  # the start waits for the deletion
            message = f"the operator does not know whether the API server accepts the driver pod: {error}"
            refusal, patience = Refusal(ownership.POD_REFUSED, message), UNKNOWN_SECONDS
        cache.pod_check = PodCheck(revision.name, refusal, time.monotonic(), patience)
        return refusal

    async def require_pod(self, cache: PipelineCache, body: Mapping[str, Any]) -> None:
        """Take the pod with the driver's name as the driver.

        Raises:
            NameTaken: it has another owner.
            DeletionPending: it belongs to a deleted pipeline of the same name, or was deleted meanwhile.
        """
        pod = await self._find_pod(cache, body)
        if pod is None:
            raise ownership.DeletionPending("the pod of the previous driver is being deleted")
        _require(pod, body)

    async def _find_pod(self, cache: PipelineCache, body: Mapping[str, Any]) -> Object | None:
        """The pod with the driver's name; the cache takes it if it is the driver."""
        pod = await self._read(body)
        cache.set_pod(pod if pod is not None and ownership.owned(pod, body) else None)
        return pod

    async def _read(self, body: Mapping[str, Any]) -> Object | None:
        about = body["metadata"]
        return await self._cluster.get(POD, about["namespace"], driver_name(about["name"]))


def _warning(watch: PodWatch | None) -> PodWarning | None:
    """Why a pod does not start, if only its events report it."""
    return watch.warning if watch is not None else None


def _require(pod: Object | None, body: Mapping[str, Any]) -> None:
    """Return if no pod has the driver's name, or if that pod is the driver; raises like `ownership.require`."""
    if pod is not None:
        ownership.require(POD.kind, pod, body)


def _starts_at_once(body: Mapping[str, Any], validation: ValidationResult) -> bool:
    """True if a new pipeline gets its driver now: the creation of the pod shows whether one exists."""
    suspended, deleted = body["spec"].get("suspend"), body["metadata"].get("deletionTimestamp")
    return validation.revision is not None and not suspended and not deleted


def _was_rejected_before(body: Mapping[str, Any]) -> bool:
    """True if the status reports a rejected driver: then an operator that starts asks again before it reports a start."""
    status = written_status(body)
    spec_valid = find_condition(status, "SpecValid")
    is_current = status.get("observedGeneration") == body["metadata"]["generation"]
    return (
        is_current
        and spec_valid is not None
        and spec_valid["reason"] in (ownership.NAME_TAKEN, ownership.POD_REFUSED)
    )
