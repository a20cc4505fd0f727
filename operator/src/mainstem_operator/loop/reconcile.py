"""One pipeline's loop: look, decide, write, until it is as it should be; woken by whatever may have changed it."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import replace
from math import inf
from typing import Any, Final

from mainstem_operator.api import ownership
from mainstem_operator.api.kubernetes_api import NO_ANSWER, ApiError, Cluster, Object, Refused
from mainstem_operator.decisions.actions import Plan
from mainstem_operator.decisions.pipeline_status import Event
from mainstem_operator.decisions.plan import plan
from mainstem_operator.loop import apply
from mainstem_operator.loop.observer import Observer
from mainstem_operator.loop.pipeline_cache import Answer, Pipeline
from mainstem_operator.loop.retries import failed_step
from mainstem_operator.metrics import RECONCILE_SECONDS
from mainstem_operator.observed import pod_status
from mainstem_operator.observed.observation import StepFailure
from mainstem_operator.settings import Settings
from mainstem_operator.validation.worker_pool import Validators


Tell = Callable[[Event], None]
SLOW_SECONDS: Final = 3.0
"""After so long without an answer to a first start the status says so; webhooks may hang for half a minute."""
_STEPS: Final = 5
"""Steps in one look: each write is followed by another decision, and this is more than any chain of them needs."""


class Reconciler:
    """Carries pipelines to where their documents want them."""

    def __init__(self, cluster: Cluster, settings: Settings, validators: Validators) -> None:
        self._cluster = cluster
        self._settings = settings
        self._observer = Observer(cluster, settings, validators)

    async def turn(self, of: Pipeline, tell: Tell) -> Plan:
        """Look and act until nothing is left to write; the last plan says when to look again.

        Raises:
            Exception: the API server's errors; whoever calls waits and comes again.
        """
        started = time.perf_counter()
        for _ in range(_STEPS):
            seen = await self._observer.observed(of)
            found = plan(seen)
            changed = await self._carried_out(of, found, tell)
            waits_for_others = found.start and not found.status and of.failed_step is None
            if not changed or found.finished or waits_for_others:
                break  # what there is to tell of a first start waits for the others' starts
        RECONCILE_SECONDS.observe(time.perf_counter() - started)
        if seen.refused and of.refused is not None and found.requeue is not None:
            found = replace(found, requeue=min(found.requeue, of.refused.seconds_left))
        if found.requeue is not None:
            found = replace(found, requeue=of.warnings.seconds_left(found.requeue))
        return found

    async def _carried_out(self, of: Pipeline, found: Plan, tell: Tell) -> bool:
        """Do what the plan says; True where something was written, so that another look is due."""
        written = await self._write_status(of, found, tell)
        if found.stop and of.pod is not None:
            await self._attempted(of, self._stopped(of, of.pod))
            return True
        if found.start is not None:
            async with self._reported_when_slow(of, tell):
                await self._attempted(of, self._started(of, found))
            return True
        return written

    async def _attempted(self, of: Pipeline, step: Coroutine[Any, Any, None]) -> None:
        """Carry a step out; where the API server does not, remember why, and when it is tried again."""
        try:
            await step
        except (ApiError, ownership.NotYet, *NO_ANSWER) as error:
            pending, now = isinstance(error, ownership.NotYet), time.monotonic()
            of.failed_step = failed_step(of.failed_step, of.pod_uid, error, now, is_pending=pending)
        else:
            of.failed_step = None
            of.made.clear()

    @contextlib.asynccontextmanager
    async def _reported_when_slow(self, of: Pipeline, tell: Tell) -> AsyncIterator[None]:
        """The status reports a first start to which the API server does not answer: a webhook may hang for minutes."""
        if not of.new:
            yield
            return
        report = asyncio.ensure_future(self._report_slow_start(of, tell))
        try:
            yield
        finally:
            report.cancel()
            await asyncio.wait([report])

    async def _report_slow_start(self, of: Pipeline, tell: Tell) -> None:
        await asyncio.sleep(SLOW_SECONDS)
        message = f"the API server has not answered for {SLOW_SECONDS:g} seconds"
        failure = StepFailure(message, retry_in=inf, is_pending=True)
        await self._write_status(of, plan(replace(await self._observer.observed(of), failure=failure)), tell)

    async def _write_status(self, of: Pipeline, found: Plan, tell: Tell) -> bool:
        assert of.body is not None
        written = await apply.write_status(self._cluster, of.body, found)
        if written is None:
            return False
        of.saw(written)
        for event in found.events:
            tell(event)
        return True

    async def _stopped(self, of: Pipeline, pod: Object) -> None:
        if pod_status.over(pod):
            of.gone = pod
        left = await apply.stop(self._cluster, pod)
        if left is None:
            of.pod, of.buried = None, pod["metadata"]["uid"]
        else:
            of.saw_pod(left)

    async def _started(self, of: Pipeline, found: Plan) -> None:
        assert of.body is not None
        assert found.start is not None
        revision = found.start.revision
        try:
            if of.holds_first and (held := await apply.hold(self._cluster, of.body)):
                of.saw(held)
            pod = await apply.start(self._cluster, of.body, found.start, self._settings, of.made)
            if pod is None:  # this driver was made before the operator was killed; or its name is not free
                await self._observer.require_pod(of, of.body)
                return
        except apply.Gone:
            return  # its event is about to come
        except Refused as refused:
            of.made.clear()  # what was made may be what is missing
            of.refused = Answer(revision.name, ownership.refusal(refused), time.monotonic())
            return
        of.saw_pod(pod)
        if found.start.attempt > apply.KEPT_REVISIONS:
            await apply.prune(self._cluster, of.body, revision, self._settings)
