"""Every handler of Kopf's, and nothing else: they only wake a pipeline's loop, which decides by what is there."""

import asyncio
import contextlib
import time
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, cast

import aiohttp
import kopf
import structlog
from kopf._core.intents.stoppers import DaemonStoppingReason  # Kopf keeps the name to itself
from mainstem.names import COMPONENT_LABEL, FINALIZER, MANAGED_LABEL, OPERATOR, driver_name
from mainstem.schema.crd import GROUP, PLURAL, VERSION

from mainstem_operator.cluster import NO_ANSWER, Cluster
from mainstem_operator.fence import Fence
from mainstem_operator.metrics import PIPELINES, RECONCILES
from mainstem_operator.observe import written_status
from mainstem_operator.reconcile import Pipeline, Reconciler
from mainstem_operator.report import Event
from mainstem_operator.settings import Settings
from mainstem_operator.turns import FairTurns
from mainstem_operator.validation import Validators


DRIVERS: Final = {COMPONENT_LABEL: "driver", MANAGED_LABEL: OPERATOR}
_AT_A_TIME: Final = 24
"""Pipelines that are looked at at a time; the others wait in line without taking memory."""
_OF_ONE_NAMESPACE: Final = 8
"""Pipelines of one namespace that are looked at at a time: as many as keep one core and one API server busy. The API
server may be slow for one namespace, because of an admission webhook, and its pipelines must not take every turn.
"""
_TURN_SECONDS: Final = 90.0
"""How long a pipeline has its turn: a first start makes several objects, each of which a webhook may hold up for 30
seconds. What is made by then is kept, and the next turn goes on from there.
"""
_STUCK_SECONDS: Final = 2 * _TURN_SECONDS
"""A turn that lasts so long was not ended by its own limit: the operator is broken, and has to be started again."""
_FIRST_SECONDS: Final = 30.0
"""How long a pipeline whose driver was just started stands back for those that have none yet: of many that are applied
at once in a namespace each shall have its driver before the finalizers and the words about them are written, which cost the API server
most of its time.
"""
_PACE_SECONDS: Final = 0.02
"""Then they come one after the other, about as fast as an API server takes them: a thousand at once take memory."""
_RETRY_SECONDS: Final = (1.0, 2.0, 5.0, 10.0, 30.0)
"""Pauses after errors of the API server in a row; the last one is repeated."""


@dataclass
class _Loop:
    """One pipeline's: what is known of it, what wakes it, since when it has been at work, and whether somebody carries it to
    where its document wants it.
    """

    pipeline: Pipeline = field(default_factory=Pipeline)
    wake: asyncio.Event = field(default_factory=asyncio.Event)
    busy_since: float | None = None
    is_carried: bool = False


@dataclass
class _FirstStarts:
    """Pipelines of one namespace that have no driver yet, while these are made."""

    count: int = 0
    are_done: asyncio.Event = field(default_factory=asyncio.Event)


class Operator:
    """The handlers, over what they share; `register` gives them to Kopf."""

    def __init__(self, settings: Settings, fence: Fence) -> None:
        self._settings = settings
        self._fence = fence
        self._login: tuple[kopf.ConnectionInfo, kopf.AiohttpSession] | None = None
        self._loops: dict[str, _Loop] = {}
        self._phases: dict[str, str] = {}
        self._cluster: Cluster | None = None
        self._turns = FairTurns(_AT_A_TIME, _OF_ONE_NAMESPACE)
        self._validators = Validators()
        self._first_starts: dict[str, _FirstStarts] = defaultdict(_FirstStarts)
        self._afterwards = asyncio.Lock()
        self._log = structlog.get_logger(component="operator")

    def register(self, registry: kopf.OperatorRegistry) -> None:
        """Give all handlers to the registry."""
        kopf.on.startup(registry=registry)(self.started)
        kopf.on.cleanup(registry=registry)(self.ended)
        kopf.on.login(registry=registry)(self.login)
        kopf.on.event(GROUP, VERSION, PLURAL, registry=registry)(self.pipeline_seen)
        kopf.on.event("v1", "pods", labels=DRIVERS, registry=registry)(self.pod_seen)
        kopf.daemon(GROUP, VERSION, PLURAL, backoff=5, registry=registry)(self.loop)

    async def started(self, settings: kopf.OperatorSettings, **_: Any) -> None:
        """Set Kopf up, and connect."""
        configure(settings)
        self._cluster = await Cluster.connect(self._fence)
        await self._validators.start()

    async def ended(self, **_: Any) -> None:
        """Disconnect."""
        self._validators.close()
        if self._cluster is not None:
            await self._cluster.close()

    async def login(self, **kwargs: Any) -> kopf.AiohttpSession | None:
        """By the pod's service account, whose token is read anew when it was rotated, or by a kubeconfig.

        Kopf's own writes (finalizers, events) pass the fence too. Equal credentials give the same session: Kopf knows by
        that which ones the API server has refused.
        """
        info = kopf.login_with_service_account(**kwargs) or kopf.login_with_kubeconfig(**kwargs)
        if info is None:
            return None
        if self._login is None or self._login[0] != info:
            self._login = info, _fenced(info, self._fence)
        return self._login[1]

    async def healthy(self) -> dict[str, int]:
        """What the probe answers with. A slow API server is no reason to fail: each turn has a limit of its own.

        Raises:
            kopf.PermanentError: a turn has outlasted its own limit.
        """
        now = time.monotonic()
        stuck = [
            uid
            for uid, loop in self._loops.items()
            if loop.busy_since and now - loop.busy_since > _STUCK_SECONDS
        ]
        if stuck:
            raise kopf.PermanentError(
                f"{len(stuck)} pipelines have had their turn for {_STUCK_SECONDS:g} seconds"
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
        """The resource has changed, or its driver has written to its status."""
        # Kopf keeps each resource, and compares whole ones: the list of who wrote what is the larger half of it.
        cast("dict[str, Any]", event["object"]["metadata"]).pop("managedFields", None)
        loop = self._loops.get(uid)
        if type == "DELETED":
            self._loops.pop(uid, None)
        elif _is_held(body) and not (loop and loop.is_carried):
            # It was deleted before Kopf called the loop for it. Kopf does not call it any more, and takes the finalizer
            # off once this returns.
            await self._carry(uid, body)
        elif loop:
            loop.pipeline.saw(body)
            loop.wake.set()
        elif not written_status(body):
            await self._first_start(uid, body, is_news=type == "ADDED")

    async def _first_start(self, uid: str, body: kopf.Body, *, is_news: bool) -> None:
        """Start a new pipeline's driver; Kopf writes the finalizer and calls the loop once this returns."""
        assert self._cluster is not None
        loop = self._loops.setdefault(uid, _Loop())
        loop.pipeline.saw(body)
        if is_news:
            loop.pipeline.created = datetime.now(UTC)
        others = self._first_starts[str(body.meta.namespace)]
        others.count += 1
        others.are_done.clear()
        try:
            reconciler = Reconciler(self._cluster, self._settings, self._validators)
            await self._turn(reconciler, loop, body, failures=0)
        finally:
            others.count -= 1
            if others.count == 0:
                others.are_done.set()
                self._first_starts.pop(str(body.meta.namespace), None)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(others.are_done.wait(), _FIRST_SECONDS)
        async with self._afterwards:
            await asyncio.sleep(_PACE_SECONDS)

    async def pod_seen(self, meta: kopf.Meta, body: kopf.Body, type: str | None, **_: Any) -> None:  # noqa: A002
        """A driver's pod has changed. A copy of it under another name is nobody's driver."""
        for owner in meta.get("ownerReferences", ()):
            loop = self._loops.get(owner["uid"])
            if loop is not None and meta.name == driver_name(owner["name"]):
                loop.pipeline.saw_pod(body, deleted=type == "DELETED")
                loop.wake.set()

    async def loop(self, uid: str, body: kopf.Body, stopped: kopf.DaemonStopped, **_: Any) -> None:
        """Carry one pipeline to where its document wants it, until it or the operator goes."""
        await self._carry(uid, body, stopped)

    async def _carry(self, uid: str, body: kopf.Body, stopped: kopf.DaemonStopped | None = None) -> None:
        """The same; without `stopped` until the driver of a pipeline that was deleted has gone."""
        assert self._cluster is not None
        loop = self._loops.setdefault(uid, _Loop())
        loop.is_carried = True
        loop.pipeline.saw(body)
        reconciler = Reconciler(self._cluster, self._settings, self._validators)
        failures = 0
        try:
            while not stopped or (body.meta.get("deletionTimestamp") and not _exiting(stopped)):
                loop.wake.clear()  # before looking: nothing that comes later is lost
                requeue, finished = await self._turn(reconciler, loop, body, failures)
                if finished:
                    return
                failures = failures + 1 if requeue is None else 0
                await _pause(loop.wake, stopped, self._next(requeue, failures))
        finally:
            self._loops.pop(uid, None)
            self._tell_phase(uid, None)

    def _next(self, requeue: float | None, failures: int) -> float:
        if requeue is None:
            return _RETRY_SECONDS[min(failures, len(_RETRY_SECONDS)) - 1]
        return min(max(requeue, 0.1), float(self._settings.resync_seconds))

    async def _turn(
        self, reconciler: Reconciler, loop: _Loop, body: kopf.Body, failures: int
    ) -> tuple[float | None, bool]:
        """Seconds until the next turn, None after an error; and whether the pipeline may go."""
        try:
            async with self._turns.turn(str(body.meta.namespace)), asyncio.timeout(_TURN_SECONDS):
                loop.busy_since = time.monotonic()
                plan = await reconciler.turn(loop.pipeline, lambda event: _post(body, event))
        except Exception as error:  # noqa: BLE001 - whatever it is, the loop goes on
            RECONCILES.labels(result="error").inc()
            self._complain(body, error, failures)
            return None, False
        finally:
            loop.busy_since = None
        self._log_failed_step(body, loop.pipeline)
        RECONCILES.labels(result="ok").inc()
        self._tell_phase(str(body.meta.uid), plan.status.get("phase"))
        return plan.requeue or float(self._settings.resync_seconds), plan.finished

    def _complain(self, body: kopf.Body, error: Exception, failures: int) -> None:
        of = {"namespace": body.meta.namespace, "pipeline": body.meta.name}
        text = (str(error) or type(error).__name__).splitlines()[0]
        tell = self._log.error if failures == 0 else self._log.debug  # once for each row of failures
        tell("cannot reconcile", **of, error=text, kind=type(error).__name__, exc_info=failures == 0)
        if failures == 0 and not isinstance(
            error, NO_ANSWER
        ):  # where no server answers, none takes an event either
            _post(body, Event("Warning", "ReconcileFailed", text))

    def _log_failed_step(self, body: kopf.Body, pipeline: Pipeline) -> None:
        """One line for the first failure of a row; the status and an event have the rest."""
        if pipeline.failed_step is not None and pipeline.failed_step.count == 1:
            of = {"namespace": body.meta.namespace, "pipeline": body.meta.name}
            self._log.warning("the API server refuses a step", **of, error=pipeline.failed_step.message)

    def _tell_phase(self, uid: str, phase: str | None) -> None:
        before = self._phases.pop(uid, None)
        if before:
            PIPELINES.labels(phase=before).dec()
        if phase:
            PIPELINES.labels(phase=phase).inc()
            self._phases[uid] = phase


def _fenced(info: kopf.ConnectionInfo, fence: Fence) -> kopf.AiohttpSession:
    """The session that Kopf would make of these credentials, behind the fence."""
    session = aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, ssl=info.as_ssl_context()),
        headers=info.as_http_headers(),
        proxy=info.proxy_url,
        trust_env=bool(info.trust_env),
        trace_configs=[fence.trace()],
    )
    return kopf.AiohttpSession(
        server=info.server,
        priority=info.priority,
        default_namespace=info.default_namespace,
        expiration=info.expiration,
        aiohttp_session=session,
    )


def configure(settings: kopf.OperatorSettings) -> None:
    """Kopf's settings that differ from its own, each with its why."""
    settings.persistence.finalizer = FINALIZER
    settings.persistence.progress_storage = _NoProgress(prefix="mainstem.dev", v1=False)
    settings.persistence.diffbase_storage = _NoDifferences()
    settings.scanning.disabled = True  # the definition is there before the operator, and namespaces are given
    settings.posting.enabled = True
    settings.posting.reporting_component = OPERATOR
    settings.posting.event_name_prefix = "mainstem-"
    # A namespace that goes takes no event, however often it is asked.
    settings.posting.default_backoffs = (1, 5)
    settings.background.cancellation_polling = 2  # how soon a drained pipeline is let go
    settings.queueing.worker_limit = None
    settings.networking.request_timeout = 60
    settings.watching.connect_timeout = 10
    # Executors, and everybody else's pods, stay out of the watch.
    settings.watching.label_selectors["v1", "pods"] = ",".join(
        f"{key}={value}" for key, value in DRIVERS.items()
    )


class _NoProgress(kopf.AnnotationsProgressStorage):
    """No handler keeps state in the resource. While one is let go Kopf touches an annotation, to be woken by that."""

    def clear(self, *, essence: Any) -> Any:
        """As it is: there is nothing in it."""
        return essence


class _NoDifferences(kopf.DiffBaseStorage):
    """Nobody asks Kopf what has changed; it would copy each resource several times an event to know."""

    def build(self, **_: Any) -> Any:
        """All resources look the same."""
        return {}

    def fetch(self, **_: Any) -> Any:
        """And did so before."""
        return {}

    def store(self, **_: Any) -> None:
        """Nothing is kept."""


def _post(body: kopf.Body, event: Event) -> None:
    kopf.event(body, type=event.type, reason=event.reason, message=event.message)


def _exiting(stopped: kopf.DaemonStopped) -> bool:
    """True where the operator goes, and not only the resource."""
    return bool(stopped.reason and stopped.reason & DaemonStoppingReason.OPERATOR_EXITING)


def _is_held(body: kopf.Body) -> bool:
    """True where the resource was deleted and waits for the operator's finalizer."""
    return bool(body.meta.get("deletionTimestamp")) and FINALIZER in body.meta.get("finalizers", ())


async def _pause(wake: asyncio.Event, stopped: kopf.DaemonStopped | None, seconds: float) -> None:
    """Until woken, or stopped, or the time is over; waiting on the first alone would hold the operator's end up."""
    waiters: list[asyncio.Future[Any]] = [asyncio.ensure_future(wake.wait())]
    if stopped is not None and not stopped:  # while a resource drains, it is set already
        waiters.append(asyncio.ensure_future(cast("Any", stopped.wait())))
    try:
        await asyncio.wait(waiters, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for waiter in waiters:
            waiter.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await waiter
