"""Reads the webhook's certificate from its Secret for the server, and renews it while this operator holds its Lease.

A replica without a certificate also issues the first one without the Lease. It is not ready before, and while a release is
upgraded the holder may be an operator without a webhook, which ends only once its successor is ready. So the keeper's writes do
not pass the fence: each replaces only the object that was read.
"""

import asyncio
import base64
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Final

import structlog
from mainstem import reasons
from mainstem.logs import error_text
from mainstem.names import OPERATOR

from mainstem_operator.admission.certificates import (
    Certificates,
    encoded,
    ends_at,
    is_usable,
    issue,
    needs_renewal,
    trusted,
)
from mainstem_operator.admission.reach import Reach
from mainstem_operator.admission.server import ServerTls
from mainstem_operator.api.fence import Fence
from mainstem_operator.api.kubernetes_api import SECRET, WEBHOOKS, ApiError, Kind, KubernetesApi, Object
from mainstem_operator.metrics import WEBHOOK_CERTIFICATE_END


PAUSE_SECONDS: Final = 15.0
"""Between two reads of the Secret: a new certificate serves after this time, when API servers know its authority."""
_START_SECONDS: Final = 1.0
"""The same until API servers can reach the webhook."""
_READ_SECONDS: Final = 30.0


class _Missing(Exception):
    """The chart's object does not exist; the message names it."""


class CertificateKeeper:
    """Keeps a server's certificate equal to the Secret.

    Args:
        cluster: has no fence.
        fence: open while this operator holds its Lease.
        namespace: of the Secret.
        name: of the Secret and of the webhook configuration.
        hosts: the names of the server. Empty if something else, such as cert-manager, writes the Secret and the configuration.
        tls: the server's certificate.
        reach: learns that API servers can reach the server, or why they cannot yet.
        now: the clock.
    """

    def __init__(
        self,
        cluster: KubernetesApi,
        fence: Fence,
        namespace: str,
        name: str,
        hosts: Sequence[str],
        tls: ServerTls,
        reach: Reach,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._cluster = cluster
        self._fence = fence
        self._namespace = namespace
        self._name = name
        self._hosts = hosts
        self._tls = tls
        self._reach = reach
        self._now = now
        self._trouble = ""
        self._next: tuple[Certificates, datetime] | None = None
        self._log = structlog.get_logger(component="webhook")

    async def run(self) -> None:
        """Keep the certificate until the task is cancelled; log the first of consecutive errors."""
        while True:
            trouble = ""
            try:
                async with asyncio.timeout(_READ_SECONDS):
                    await self.step()
            except Exception as error:  # noqa: BLE001 - no error may end the keeper
                trouble = error_text(error)
                self._reach.failed(trouble)
                if trouble != self._trouble:
                    self._log.error(
                        "the webhook has a problem",
                        reason=reasons.WEBHOOK_CERTIFICATE_UNAVAILABLE,
                        error=trouble,
                    )
            self._trouble = trouble
            await asyncio.sleep(_START_SECONDS if self._reach.problem else PAUSE_SECONDS)

    async def step(self) -> None:
        """Load the certificate of the Secret, and issue another one if that is due."""
        secret = await self._read(SECRET, self._namespace)
        current = Certificates.of_secret(secret)
        if current is not None:
            self._load(current)
        if self._hosts and (self._fence.is_open or self._reach.problem):
            try:
                await self._maintain(secret, current)
            except ApiError as error:
                if error.reason != "Conflict":
                    raise
                # Another replica was first: the next step takes its certificate.
                self._next = None
                self._reach.failed("another replica has just written the certificate")
                return
        if self._is_serving():
            self._reach.begin()

    def _is_serving(self) -> bool:
        """Whether the server has a certificate that API servers accept, as far as this operator can know."""
        serving, now = self._tls.serving, self._now()
        if serving is None:
            return False
        # Something else publishes the authority, where it writes the certificate.
        return is_usable(serving, now) if self._hosts else now < ends_at(serving)

    async def _read(self, kind: Kind, namespace: str) -> Object:
        known = await self._cluster.get(kind, namespace, self._name)
        if known is None:
            where = f"{namespace}/{self._name}".lstrip("/")
            raise _Missing(f"the {kind.kind} {where} does not exist; the chart creates it")
        return known

    def _load(self, current: Certificates) -> None:
        try:
            self._tls.load(current)
            WEBHOOK_CERTIFICATE_END.set(ends_at(current).timestamp())
        except (OSError, ValueError) as error:
            if not self._hosts:
                raise
            # An operator that issues certificates replaces what is none.
            self._reach.failed(f"the certificate of the Secret cannot be loaded: {error_text(error)}")
            self._log.warning("the Secret has no certificate", secret=self._name, error=error)

    async def _maintain(self, secret: Object, current: Certificates | None) -> None:
        """Publish the authorities, before the Secret has the certificate: API servers trust it once replicas serve it."""
        configuration = await self._read(WEBHOOKS, "")
        serving = [each for each in (current, self._tls.serving) if each is not None]
        if not self._is_another_due(current):
            self._next = None
            await self._publish(configuration, serving, self._now())
            return
        # If the Secret cannot be written, each try publishes the same authority, and withdraws none.
        self._next = new, issued = self._next or (issue(self._hosts, self._now()), self._now())
        await self._publish(configuration, [new, *serving], issued)
        about = {**secret["metadata"], "managedFields": None}
        await self._cluster.replace(
            {**secret, "apiVersion": "v1", "kind": "Secret", "metadata": about, "data": new.data}
        )
        self._next = None
        self._log.info("the webhook has a new certificate", ends=ends_at(new).isoformat())

    def _is_another_due(self, current: Certificates | None) -> bool:
        may_issue = self._fence.is_open or not self._is_serving()
        return may_issue and needs_renewal(current, self._hosts, self._now())

    async def _publish(self, configuration: Object, serving: Sequence[Certificates], now: datetime) -> None:
        """Put the authorities into the webhook configuration, if it has others."""
        clients = {each["name"]: each["clientConfig"] for each in configuration.get("webhooks", ())}
        bundles = {client.get("caBundle") or "" for client in clients.values()}
        known = b"".join(map(base64.b64decode, sorted(bundles)))
        bundle = encoded(trusted(serving, known, now))
        if bundles <= {bundle}:
            return
        about = {
            "name": self._name,
            "namespace": "",
            "resourceVersion": configuration["metadata"]["resourceVersion"],
        }
        manifest = {
            "apiVersion": WEBHOOKS.api_version,
            "kind": WEBHOOKS.kind,
            "metadata": about,
            "webhooks": [{"name": name, "clientConfig": {"caBundle": bundle}} for name in clients],
        }
        await self._cluster.apply(manifest, OPERATOR)
