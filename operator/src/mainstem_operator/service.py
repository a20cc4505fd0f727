"""The operator's process: it serves its health endpoint, waits for its Lease, and runs Kopf while it holds the Lease."""

import asyncio
import contextlib
import os
import signal
import socket
import sys
from secrets import token_hex

import kopf
import structlog
from aiohttp import web
from mainstem import reasons
from mainstem.reasons import Exit

from mainstem_operator.admission.reach import Reach
from mainstem_operator.api.fence import Fence
from mainstem_operator.api.kubernetes_api import KubernetesApi
from mainstem_operator.handlers import Operator
from mainstem_operator.leadership.election import Election
from mainstem_operator.leadership.lease import Candidate
from mainstem_operator.settings import Settings
from mainstem_operator.validation.worker_pool import Validators


async def serve(settings: Settings) -> None:
    """Run until a signal; end the process at once if another operator has taken the Lease."""
    fence = Fence()
    validators = Validators()
    operator, cluster = Operator(settings, fence, validators), await KubernetesApi.connect(None)
    election = Election(cluster, candidate(settings), settings.lease_namespace, fence)
    reach = Reach() if settings.webhook else None
    health = await _health_endpoint(operator, election, reach, settings.health_port)
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):  # until Kopf handles them
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    elected = asyncio.create_task(election.run(), name="election")
    try:
        async with _webhook(settings, fence, validators, reach):
            await _first(election.is_holder, stop)
            if not stop.is_set():
                watching = asyncio.create_task(_end_when_superseded(election), name="lease-watch")
                await _watch_pipelines(operator, settings)
                watching.cancel()
    finally:
        validators.close()
        elected.cancel()
        await asyncio.wait([elected])
        await election.release()
        await health.cleanup()
        await cluster.close()


def candidate(settings: Settings) -> Candidate:
    """The candidate of this process. Its identity is the pod's name, so a restarted container continues with the pod's Lease."""
    identity = settings.pod_name or f"{socket.gethostname()}-{token_hex(4)}"
    return Candidate(identity, settings.release, tuple(sorted(settings.namespaces)))


def _webhook(
    settings: Settings, fence: Fence, validators: Validators, reach: Reach | None
) -> contextlib.AbstractAsyncContextManager[None]:
    """The admission webhook, if the settings have one."""
    if reach is None:
        return contextlib.nullcontext()
    # Only a process that serves the webhook needs the memory of a library for certificates.
    from mainstem_operator.admission import webhook

    return webhook.running(settings, fence, validators, reach)


async def _watch_pipelines(operator: Operator, settings: Settings) -> None:
    """Run Kopf until a signal, which Kopf handles."""
    registry = kopf.OperatorRegistry()
    operator.register(registry)
    await kopf.operator(
        registry=registry,
        standalone=True,  # the Lease decides which operator works; Kopf's peering uses priorities, and prevents no write
        clusterwide=not settings.namespaces,
        namespaces=settings.namespaces,
    )


async def _end_when_superseded(election: Election) -> None:
    """End the process once another operator has the Lease: the state of this one is old. The new process is on standby."""
    await election.is_superseded.wait()
    structlog.get_logger(component="election").error(
        "the operator ends",
        reason=reasons.LEASE_LOST,
        message="another operator has taken the Lease; this operator starts again and stands by",
    )
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(Exit.NOT_READY)


async def _first(*events: asyncio.Event) -> None:
    """Wait until one of the events is set."""
    waits = [asyncio.create_task(event.wait()) for event in events]
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in waits:
            task.cancel()


async def _health_endpoint(
    operator: Operator, election: Election, reach: Reach | None, port: int
) -> web.AppRunner:
    """Serve `/healthz`, which fails if a restart would help, and `/readyz`, which fails if this release manages no pipelines, and
    until API servers can reach its webhook.
    """

    async def healthz(_: web.Request) -> web.Response:
        try:
            loops = await operator.healthy()
        except kopf.PermanentError as error:
            return web.Response(status=500, text=str(error))
        return web.json_response({"loops": loops, "holder": election.is_holder.is_set()})

    async def readyz(_: web.Request) -> web.Response:
        problem = election.problem
        if not problem and reach is not None and reach.problem:
            problem = f"{reasons.WEBHOOK_CERTIFICATE_UNAVAILABLE}: {reach.problem}"
        return web.Response(status=503 if problem else 200, text=problem or "ok")

    app = web.Application()
    app.add_routes([web.get("/healthz", healthz), web.get("/readyz", readyz)])
    runner = web.AppRunner(app, handle_signals=False, access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    await web.TCPSite(runner, "0.0.0.0", port).start()  # noqa: S104 - the kubelet asks from outside the pod
    return runner
