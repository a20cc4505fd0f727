"""The handlers that Kopf calls: they wake the loops of pipelines, or run them. A loop decides by what exists, not by events."""

import asyncio
import contextlib
import time
from datetime import UTC, datetime
from typing import Any, Final, cast

import kopf
import structlog
from kopf._core.intents.stoppers import DaemonStoppingReason  # Kopf keeps the name to itself
from mainstem import reasons
from mainstem.logs import error_text
from mainstem.names import FINALIZER, GROUP, PLURAL, VERSION, driver_name, preflight_name, trial_name

from mainstem_operator.api.fence import Fence
from mainstem_operator.api.kubernetes_api import NO_ANSWER, ApiError, KubernetesApi
from mainstem_operator.decisions.pipeline_status import PipelineEvent
from mainstem_operator.kopf_settings import PODS, configure, fenced_session
from mainstem_operator.loop.admission import AdmissionQueue
from mainstem_operator.loop.pipeline_cache import PipelineCache
from mainstem_operator.loop.pipeline_loop import STUCK_SECONDS, TURN_SECONDS, PipelineLoop, pause_seconds
from mainstem_operator.loop.reconcile import Reconciler
from mainstem_operator.metrics import PIPELINES, RECONCILES
from mainstem_operator.observed.observation import written_status
from mainstem_operator.settings import Settings
from mainstem_operator.turns import FairTurns
from mainstem_operator.validation.worker_pool import Validators


_AT_A_TIME: Final = 24
"""Pipelines that the operator reconciles at a time; the others wait, without using memory."""
_OF_ONE_NAMESPACE: Final = 8
"""Pipelines of one namespace that it reconciles at a time: enough to keep one core and one API server busy."""
_SLOW_SECONDS: Final = 2.0
"""A namespace with a longer turn is slow: an admission webhook delays the API server's answers. Slow namespaces have a
limit of their own, so that they take no turns from the others.
"""


class Operator:
    """The handlers and the state that they share; `register` passes the handlers to Kopf."""

    def __init__(self, settings: Settings, fence: Fence, validators: Validators | None = None) -> None:
        self._settings = settings
        self._fence = fence
        self._login: tuple[kopf.ConnectionInfo, kopf.AiohttpSession] | None = None
        self._loops: dict[str, PipelineLoop] = {}
        self._phases: dict[str, str] = {}
        self._cluster: KubernetesApi | None = None
        self._reconciler: Reconciler | None = None
        self._turns = FairTurns(_AT_A_TIME, _OF_ONE_NAMESPACE, _SLOW_SECONDS)
        self._validators = validators or Validators()
        self._admission = AdmissionQueue()
        self._has_ended = False
        self._log = structlog.get_logger(component="operator")

    def register(self, registry: kopf.OperatorRegistry) -> None:
        """Pass all handlers to the registry."""
        kopf.on.startup(registry=registry)(self.started)
        kopf.on.cleanup(registry=registry)(self.ended)
        kopf.on.login(registry=registry)(self.login)
        kopf.on.event(GROUP, VERSION, PLURAL, registry=registry)(self.pipeline_seen)
        kopf.on.event("v1", "pods", labels=PODS, registry=registry)(self.pod_seen)
        kopf.daemon(GROUP, VERSION, PLURAL, backoff=5, registry=registry)(self.loop)

    async def started(self, settings: kopf.OperatorSettings, **_: Any) -> None:
        """Configure Kopf, and connect to the API server."""
        configure(settings)
        self._cluster = await KubernetesApi.connect(self._fence)
        if not self._settings.cluster_uid:
            uid = await _cluster_uid(self._cluster)
            self._settings = self._settings.model_copy(update={"cluster_uid": uid})
        self._reconciler = Reconciler(self._cluster, self._settings, self._validators)
        await self._validators.start()

    async def ended(self, **_: Any) -> None:
        """Disconnect. Turns that are under way fail by that, which is no error of a pipeline."""
        self._has_ended = True
        self._validators.close()
        if self._cluster is not None:
            await self._cluster.close()

    async def login(self, **kwargs: Any) -> kopf.AiohttpSession | None:
        """Log in with the pod's service account, whose rotated token is read again, or with a kubeconfig.

        Kopf's own writes (finalizers, events) pass the fence too. Equal credentials give the same session: so Kopf knows
        which credentials the API server has rejected.
        """
        info = kopf.login_with_service_account(**kwargs) or kopf.login_with_kubeconfig(**kwargs)
        if info is None:
            return None
        if self._login is None or self._login[0] != info:
            self._login = info, fenced_session(info, self._fence)
        return self._login[1]

    async def healthy(self) -> dict[str, int]:
        """The answer to the liveness probe. A slow API server does not fail it: each turn has its own time limit.

        Raises:
            kopf.PermanentError: a turn has exceeded its limit.
        """
        stuck = sum(loop.is_stuck for loop in self._loops.values())
        if stuck:
            raise kopf.PermanentError(
                f"{stuck} pipelines: a reconcile lasts longer than {STUCK_SECONDS:g} seconds"
            )
        return {"pipelines": len(self._loops)}

    async def pipeline_seen(
        self,
        uid: str,
        body: kopf.Body,
        event: kopf.RawEvent,
        type: str | None,  # noqa: A002
        **_: Any,
    ) -> None:
        """Take a change of the resource, or of its status by the driver."""
        metadata = cast("dict[str, Any]", event["object"]["metadata"])
        # Kopf keeps and compares whole resources; the list of field managers is the larger half of a resource.
        metadata.pop("managedFields", None)
        loop = self._loops.get(uid)
        if type == "DELETED":
            self._loops.pop(uid, None)
        elif _is_held(body) and not (loop and loop.is_carried):
            # The resource was deleted before Kopf called the loop for it. Kopf will not call the loop any more, and
            # removes the finalizer once this returns.
            await self._carry(uid, body)
        elif loop:
            loop.pipeline.observe(body)
            loop.wake.set()
        elif not written_status(body):
            loop = self._loop_for(uid, body)
            if type == "ADDED":
                loop.pipeline.created = datetime.now(UTC)
            # Kopf calls the loop once this returns, and would write the finalizer before.
            await self._reconcile(loop, body, failures=0)
            if loop.pipeline.is_held:  # as if Kopf had written the finalizer itself
                metadata["finalizers"] = loop.pipeline.finalizers

    async def pod_seen(self, meta: kopf.Meta, body: kopf.Body, type: str | None, **_: Any) -> None:  # noqa: A002
        """Take a change of a driver pod, or of a pod beside it. A copy of the pod with another name is neither."""
        for owner in meta.get("ownerReferences", ()):
            loop = self._loops.get(owner["uid"])
            if loop is None:
                continue
            pipeline, name = loop.pipeline, owner["name"]
            known = {
                driver_name(name): pipeline.observe_pod,
                trial_name(name): pipeline.trial.observe,
                preflight_name(name): pipeline.preflight.observe,
            }
            if observe := known.get(str(meta.name)):
                observe(body, deleted=type == "DELETED")
                loop.wake.set()

    async def loop(self, uid: str, body: kopf.Body, stopped: kopf.DaemonStopped, **_: Any) -> None:
        """Reconcile one pipeline until it is deleted or the operator ends."""
        await self._carry(uid, body, stopped)

    async def _carry(self, uid: str, body: kopf.Body, stopped: kopf.DaemonStopped | None = None) -> None:
        """Run the loop; without `stopped` until the driver of a deleted pipeline has ended."""
        loop = self._loop_for(uid, body)
        loop.is_carried = True
        failures = 0
        try:
            while not stopped or (body.meta.get("deletionTimestamp") and not _exiting(stopped)):
                loop.wake.clear()  # before observing: no later event is lost
                requeue, finished = await self._reconcile(loop, body, failures)
                if finished:
                    return
                failures = failures + 1 if requeue is None else 0
                await _pause(
                    loop.wake, stopped, pause_seconds(requeue, failures, self._settings.resync_seconds)
                )
        finally:
            self._loops.pop(uid, None)
            self._count_phase(uid, None)

    def _loop_for(self, uid: str, body: kopf.Body) -> PipelineLoop:
        """The loop of a pipeline, whose cache has the resource as it is now."""
        loop = self._loops.setdefault(uid, PipelineLoop())
        loop.pipeline.observe(body)
        return loop

    async def _reconcile(
        self, loop: PipelineLoop, body: kopf.Body, failures: int
    ) -> tuple[float | None, bool]:
        """Reconcile once; every driver starts here. A new pipeline passes the admission queue, once.

        Returns the seconds until the next time, None after an error; and whether Kopf may release the resource.
        """
        if not loop.pipeline.needs_admission:
            return await self._turn(loop, body, failures)
        loop.pipeline.is_admitted = True
        async with self._admission.first_start(str(body.meta.namespace)):
            loop.pipeline.finalizer_first = not self._admission.is_crowded
            return await self._turn(loop, body, failures)

    async def _turn(self, loop: PipelineLoop, body: kopf.Body, failures: int) -> tuple[float | None, bool]:
        """Wait for a turn of the namespace, and reconcile in it. An error is logged, and ends no loop."""
        assert self._reconciler is not None
        try:
            async with self._turns.turn(str(body.meta.namespace)), asyncio.timeout(TURN_SECONDS):
                loop.busy_since = time.monotonic()
                plan = await self._reconciler.reconcile(loop.pipeline, lambda event: _post(body, event))
        except Exception as error:  # noqa: BLE001 - no error ends the loop
            if not self._has_ended:
                RECONCILES.labels(result="error").inc()
                self._log_error(body, error, failures)
            return None, False
        finally:
            loop.busy_since = None
        self._log_failed_step(body, loop.pipeline)
        RECONCILES.labels(result="ok").inc()
        self._count_phase(str(body.meta.uid), plan.status.get("phase"))
        pause = float(self._settings.resync_seconds) if plan.requeue is None else plan.requeue
        return pause, plan.finished

    def _log_error(self, body: kopf.Body, error: Exception, failures: int) -> None:
        labels = {"namespace": body.meta.namespace, "pipeline": body.meta.name}
        text = error_text(error).splitlines()[0]
        log = self._log.error if failures == 0 else self._log.debug  # once for consecutive failures
        # What the API server answers, or that it does not, mends itself; a fault of the operator needs its place.
        is_fault = not isinstance(error, (ApiError, *NO_ANSWER))
        log(
            "cannot reconcile",
            **labels,
            error=text,
            kind=type(error).__name__,
            exc_info=is_fault and failures == 0,
        )
        # A server that does not answer accepts no event either.
        if failures == 0 and not isinstance(error, NO_ANSWER):
            _post(body, PipelineEvent("Warning", reasons.RECONCILE_FAILED, text))

    def _log_failed_step(self, body: kopf.Body, pipeline: PipelineCache) -> None:
        """Log the first of consecutive failures; the status and an event report the rest."""
        step = pipeline.failed_step
        if step is not None and step.count == 1 and not step.is_pending:
            labels = {"namespace": body.meta.namespace, "pipeline": body.meta.name}
            self._log.warning("the API server rejects a step", **labels, error=step.message)

    def _count_phase(self, uid: str, phase: str | None) -> None:
        before = self._phases.pop(uid, None)
        if before:
            PIPELINES.labels(phase=before).dec()
        if phase:
            PIPELINES.labels(phase=phase).inc()
            self._phases[uid] = phase


async def _cluster_uid(cluster: KubernetesApi) -> str:
    """The uid of the cluster, once the API server answers; empty if the operator may not read it."""
    while True:
        try:
            return await cluster.cluster_uid()
        except (ApiError, *NO_ANSWER):
            await asyncio.sleep(1.0)


def _post(body: kopf.Body, event: PipelineEvent) -> None:
    kopf.event(body, type=event.type, reason=event.reason, message=event.message)


def _exiting(stopped: kopf.DaemonStopped) -> bool:
    """True if the operator ends, and not only the resource."""
    return bool(stopped.reason and stopped.reason & DaemonStoppingReason.OPERATOR_EXITING)


def _is_held(body: kopf.Body) -> bool:
    """True if the resource was deleted and waits for the operator to remove the finalizer."""
    return bool(body.meta.get("deletionTimestamp")) and FINALIZER in body.meta.get("finalizers", ())


async def _pause(wake: asyncio.Event, stopped: kopf.DaemonStopped | None, seconds: float) -> None:
    """Wait until an event wakes the loop, the loop is stopped, or the time is over."""
    waiters: list[asyncio.Future[Any]] = [asyncio.ensure_future(wake.wait())]
    if stopped is not None and not stopped:  # while a resource drains, it is already set
        waiters.append(asyncio.ensure_future(cast("Any", stopped.wait())))
    try:
        await asyncio.wait(waiters, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for waiter in waiters:
            waiter.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await waiter
