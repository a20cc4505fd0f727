"""Reconciles one pipeline: observe, plan, write, until nothing is left to write."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from dataclasses import replace
from math import inf
from typing import Any, Final

from mainstem_operator.api import ownership
from mainstem_operator.api.kubernetes_api import (
    NO_ANSWER,
    PIPELINE,
    ApiError,
    ApiRejection,
    KubernetesApi,
    Object,
)
from mainstem_operator.decisions.actions import Plan
from mainstem_operator.decisions.pipeline_status import PipelineEvent
from mainstem_operator.decisions.plan import plan
from mainstem_operator.loop import apply, hand_over
from mainstem_operator.loop.observer import Observer
from mainstem_operator.loop.pipeline_cache import PipelineCache, PodCheck
from mainstem_operator.loop.retries import failed_step
from mainstem_operator.loop.side_pod_steps import SidePodSteps
from mainstem_operator.metrics import RECONCILE_SECONDS
from mainstem_operator.observed import pod_status
from mainstem_operator.observed.observation import Observation
from mainstem_operator.observed.rejections import StepFailure
from mainstem_operator.settings import Settings
from mainstem_operator.validation.documents import Revision
from mainstem_operator.validation.worker_pool import Validators


PostEvent = Callable[[PipelineEvent], None]
SLOW_SECONDS: Final = 3.0
"""After so long without an answer to a first start the status reports it; webhooks may hang for half a minute."""
_STEPS: Final = 5
"""Plans in one reconcile: each write needs another plan, and no sequence is longer than this."""


class Reconciler:
    """Brings pipelines to the state that their documents describe."""

    def __init__(self, cluster: KubernetesApi, settings: Settings, validators: Validators) -> None:
        self._cluster = cluster
        self._settings = settings
        self._observer = Observer(cluster, settings, validators)

    async def reconcile(self, cache: PipelineCache, post_event: PostEvent) -> Plan:
        """Observe and apply plans until nothing is left to write. The last plan has the time of the next reconcile.

        Raises:
            Exception: the API server's errors; the caller waits and tries again.
        """
        started = time.perf_counter()
        for _ in range(_STEPS):
            observation = await self._observer.observe(cache)
            next_plan = plan(observation)
            changed = await self._apply(cache, observation, next_plan, post_event)
            if not changed:
                beside = SidePodSteps(self._cluster, cache, observation, self._settings)
                changed = await beside.carry_out(next_plan)
            is_first_start = next_plan.is_first_start and cache.failed_step is None
            if not changed or next_plan.finished or is_first_start:
                break  # the status of a first start is written after the other first starts
        RECONCILE_SECONDS.observe(time.perf_counter() - started)
        if observation.refused and cache.pod_check is not None and next_plan.requeue is not None:
            next_plan = replace(next_plan, requeue=min(next_plan.requeue, cache.pod_check.seconds_left))
        if next_plan.requeue is not None:
            next_plan = replace(next_plan, requeue=cache.warnings.seconds_left(next_plan.requeue))
        return next_plan

    async def _apply(
        self, cache: PipelineCache, observation: Observation, next_plan: Plan, post_event: PostEvent
    ) -> bool:
        """Apply the plan; True if something was written, or is newer than the plan, so that another plan is due."""
        if next_plan.stop and await self._has_news(cache, observation.body["metadata"]):
            return True
        written = await self._write_status(cache, next_plan, post_event)
        if next_plan.stop and cache.pod is not None:
            await self._attempt(cache, self._stop(cache, cache.pod, next_plan.grace))
            return True
        if next_plan.start is not None:
            async with self._reported_when_slow(cache, post_event):
                await self._attempt(cache, self._start(cache, next_plan))
            return True
        if next_plan.update is not None and cache.pod is not None:
            await self._attempt(cache, self._hand_over(cache, cache.pod, next_plan.update))
            return True
        return written

    async def _has_news(self, cache: PipelineCache, about: Mapping[str, Any]) -> bool:
        """Whether the resource is newer than the one of the plan, asked before a living driver is stopped.

        Its event may still be under way: the user has undone the change, or the driver has applied it. If the API server
        refuses to answer, the plan holds.
        """
        assert cache.body is not None
        if cache.pod is None or pod_status.over(cache.pod) or pod_status.leaving(cache.pod):
            return False
        with contextlib.suppress(ApiError):
            body = await self._cluster.get(PIPELINE, about["namespace"], about["name"])
            if body is not None and body["metadata"]["uid"] == about["uid"]:
                cache.observe(body)
        return bool(cache.body["metadata"]["resourceVersion"] != about["resourceVersion"])

    async def _attempt(self, cache: PipelineCache, step: Coroutine[Any, Any, None]) -> None:
        """Run a step. If the API server does not carry it out, remember the error and the time of the next attempt."""
        try:
            await step
        except (ApiError, ownership.DeletionPending, *NO_ANSWER) as error:
            pending, now = isinstance(error, ownership.DeletionPending), time.monotonic()
            cache.failed_step = failed_step(cache.failed_step, cache.pod_uid, error, now, is_pending=pending)
        else:
            cache.failed_step = None
            cache.created_objects.clear()

    @contextlib.asynccontextmanager
    async def _reported_when_slow(self, cache: PipelineCache, post_event: PostEvent) -> AsyncIterator[None]:
        """Report a first start in the status if the API server does not answer: a webhook may hang for minutes."""
        if not cache.is_new:
            yield
            return
        report = asyncio.ensure_future(self._report_slow_start(cache, post_event))
        try:
            yield
        finally:
            report.cancel()
            await asyncio.wait([report])

    async def _report_slow_start(self, cache: PipelineCache, post_event: PostEvent) -> None:
        await asyncio.sleep(SLOW_SECONDS)
        message = f"the API server has not answered for {SLOW_SECONDS:g} seconds"
        failure = StepFailure(message, retry_in=inf, is_pending=True)
        await self._write_status(
            cache, plan(replace(await self._observer.observe(cache), failure=failure)), post_event
        )

    async def _write_status(self, cache: PipelineCache, next_plan: Plan, post_event: PostEvent) -> bool:
        assert cache.body is not None
        written = await apply.write_status(self._cluster, cache.body, next_plan)
        if written is None:
            return False
        cache.observe(written)
        for event in next_plan.events:
            post_event(event)
        return True

    async def _stop(self, cache: PipelineCache, pod: Object, grace: float | None) -> None:
        if pod_status.over(pod):
            cache.final_pod = pod
        left = await apply.stop(self._cluster, pod, grace)
        if left is None:
            cache.pod, cache.deleted_uid = None, pod["metadata"]["uid"]
        else:
            cache.observe_pod(left)

    async def _hand_over(self, cache: PipelineCache, pod: Object, revision: Revision) -> None:
        assert cache.body is not None
        marked = await hand_over.announce(self._cluster, cache.body, pod, revision)
        cache.observe_pod(marked)
        cache.observe_pod(
            await hand_over.hand_over(self._cluster, cache.body, marked, revision, self._settings)
        )

    async def _start(self, cache: PipelineCache, next_plan: Plan) -> None:
        assert cache.body is not None
        assert next_plan.start is not None
        revision = next_plan.start.revision
        try:
            if cache.finalizer_first and (resource := await apply.hold(self._cluster, cache.body)):
                cache.observe(resource)
            pod = await apply.start(
                self._cluster, cache.body, next_plan.start, self._settings, cache.created_objects
            )
            if pod is None:  # the operator created this pod before it was killed, or its name is taken
                await self._observer.require_pod(cache, cache.body)
                return
        except apply.PipelineDeleted:
            return  # its event will follow
        except ApiRejection as refused:
            cache.created_objects.clear()  # one of these objects may be the missing one
            cache.pod_check = PodCheck(revision.name, ownership.refusal(refused), time.monotonic())
            return
        cache.observe_pod(pod)
        if next_plan.start.attempt > apply.KEPT_REVISIONS:
            await apply.prune(self._cluster, cache.body, revision, self._settings)
