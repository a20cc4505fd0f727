"""The webhook of one operator process: its server, and the keeper of its certificate."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from mainstem_operator.admission.certificate_keeper import CertificateKeeper
from mainstem_operator.admission.reach import Reach
from mainstem_operator.admission.server import AdmissionServer, ServerTls
from mainstem_operator.api.fence import Fence
from mainstem_operator.api.kubernetes_api import KubernetesApi
from mainstem_operator.settings import Settings
from mainstem_operator.validation.worker_pool import Validators


@contextlib.asynccontextmanager
async def running(
    settings: Settings, fence: Fence, validators: Validators, reach: Reach
) -> AsyncIterator[None]:
    """Answer reviews within the block, whether this operator holds its Lease or not."""
    namespace, name = settings.webhook.split("/")
    tls = ServerTls()
    hosts = server_names(namespace, name) if settings.webhook_certificates == "operator" else ()
    cluster = await KubernetesApi.connect(None)
    await validators.start()  # the first review does not wait for it
    server = await AdmissionServer(validators, tls).start(settings.webhook_port)
    keeper = CertificateKeeper(cluster, fence, namespace, name, hosts, tls, reach)
    keeping = asyncio.create_task(keeper.run(), name="webhook-certificate")
    try:
        yield
    finally:
        keeping.cancel()
        await asyncio.wait([keeping])
        await server.cleanup()
        await cluster.close()


def server_names(namespace: str, service: str) -> tuple[str, ...]:
    """The names of the server: those of its Service, and the loopback address, for a port that kubectl forwards."""
    return f"{service}.{namespace}.svc", f"{service}.{namespace}.svc.cluster.local", "localhost", "127.0.0.1"
