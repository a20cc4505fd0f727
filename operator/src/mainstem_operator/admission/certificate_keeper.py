"""Reads the webhook's certificate from its Secret for the server, and renews it while this operator holds its Lease."""

import asyncio
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Final

import structlog
from mainstem import reasons
from mainstem.logs import error_text
from mainstem.names import OPERATOR

from mainstem_operator.admission.certificates import Certificates, encoded, ends_at, issue, needs_renewal
from mainstem_operator.admission.server import ServerTls
from mainstem_operator.api.fence import Fence
from mainstem_operator.api.kubernetes_api import SECRET, WEBHOOKS, KubernetesApi, Object
from mainstem_operator.metrics import WEBHOOK_CERTIFICATE_END


PAUSE_SECONDS: Final = 15.0
"""Between two reads of the Secret: a new certificate serves after this time, when API servers know its authority."""
_START_SECONDS: Final = 1.0
"""The same while the server has no certificate yet."""
_READ_SECONDS: Final = 30.0


class _Missing(Exception):
    """The chart's object does not exist; the message names it."""


class CertificateKeeper:
    """Keeps a server's certificate equal to the Secret.

    Args:
        cluster: its writes pass the fence.
        fence: open while this operator holds its Lease.
        namespace: of the Secret.
        name: of the Secret and of the webhook configuration.
        hosts: the names of the server. Empty if something else, such as cert-manager, writes the Secret and the configuration.
        tls: the server's certificate.
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
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._cluster = cluster
        self._fence = fence
        self._namespace = namespace
        self._name = name
        self._hosts = hosts
        self._tls = tls
        self._now = now
        self._trouble = ""
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
                if trouble != self._trouble:
                    self._log.error(
                        "the webhook has a problem",
                        reason=reasons.WEBHOOK_CERTIFICATE_UNAVAILABLE,
                        error=trouble,
                    )
            self._trouble = trouble
            await asyncio.sleep(PAUSE_SECONDS if self._tls.is_loaded else _START_SECONDS)

    async def step(self) -> None:
        """Load the certificate of the Secret, and renew it if that is due and this operator holds its Lease."""
        secret = await self._cluster.get(SECRET, self._namespace, self._name)
        if secret is None:
            raise _Missing(f"the Secret {self._namespace}/{self._name} does not exist; the chart creates it")
        current = Certificates.of_secret(secret)
        if current is not None:
            self._load(current)
        if self._hosts and self._fence.is_open:
            await self._maintain(secret, current)

    def _load(self, current: Certificates) -> None:
        try:
            self._tls.load(current)
            WEBHOOK_CERTIFICATE_END.set(ends_at(current).timestamp())
        except (OSError, ValueError) as error:
            if not self._hosts:
                raise
            # The leader replaces what is not a certificate.
            self._log.warning("the Secret has no certificate", secret=self._name, error=error)

    async def _maintain(self, secret: Object, current: Certificates | None) -> None:
        """Publish the authorities, before the Secret has the certificate: API servers trust it once replicas serve it."""
        if current is not None and not needs_renewal(current, self._hosts, self._now()):
            await self._publish(current)
            return
        new = issue(self._hosts, self._now(), current)
        await self._publish(new)
        about = {**secret["metadata"], "managedFields": None}
        await self._cluster.replace(
            {**secret, "apiVersion": "v1", "kind": "Secret", "metadata": about, "data": new.data}
        )
        self._log.info("the webhook has a new certificate", ends=ends_at(new).isoformat())

    async def _publish(self, certificates: Certificates) -> None:
        """Put the authorities into the webhook configuration, if it has others."""
        configuration = await self._cluster.get(WEBHOOKS, "", self._name)
        if configuration is None:
            raise _Missing(
                f"the ValidatingWebhookConfiguration {self._name} does not exist; the chart creates it"
            )
        bundle = encoded(certificates.authorities)
        hooks = [each["name"] for each in configuration.get("webhooks", ())]
        if all(each["clientConfig"].get("caBundle") == bundle for each in configuration.get("webhooks", ())):
            return
        manifest = {
            "apiVersion": WEBHOOKS.api_version,
            "kind": WEBHOOKS.kind,
            "metadata": {"name": self._name, "namespace": ""},
            "webhooks": [{"name": name, "clientConfig": {"caBundle": bundle}} for name in hooks],
        }
        await self._cluster.apply(manifest, OPERATOR)
