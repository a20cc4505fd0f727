"""Kopf's settings: what differs from its defaults, what it need not store, and a session that passes the fence."""

from typing import Any, Final

import aiohttp
import kopf
from mainstem.names import COMPONENT_LABEL, FINALIZER, GROUP, MANAGED_LABEL, OPERATOR

from mainstem_operator.api.fence import Fence


PODS: Final = {MANAGED_LABEL: OPERATOR}
"""Labels of the pods that the handler of pods takes."""
_WATCHED: Final = f"{COMPONENT_LABEL} in (driver,preflight,trial),{MANAGED_LABEL}={OPERATOR}"
"""The selector of the pods that the operator watches."""


def configure(settings: kopf.OperatorSettings) -> None:
    """Set what differs from Kopf's defaults, each with its reason."""
    settings.persistence.finalizer = FINALIZER
    settings.persistence.progress_storage = _NoProgress(prefix=GROUP, v1=False)
    settings.persistence.diffbase_storage = _NoDifferences()
    settings.scanning.disabled = (
        True  # the definition exists before the operator starts, and namespaces are settings
    )
    settings.posting.enabled = True
    settings.posting.reporting_component = OPERATOR
    settings.posting.event_name_prefix = "mainstem-"
    # A namespace that is being deleted accepts no event, however often Kopf tries.
    settings.posting.default_backoffs = (1, 5)
    settings.background.cancellation_polling = 2  # seconds until Kopf notices that a pipeline has drained
    settings.queueing.worker_limit = None
    settings.networking.request_timeout = 60
    settings.watching.connect_timeout = 10
    # The watch excludes executors and all pods of others.
    settings.watching.label_selectors["v1", "pods"] = _WATCHED


def fenced_session(info: kopf.ConnectionInfo, fence: Fence) -> kopf.AiohttpSession:
    """The session that Kopf would create from these credentials; its writes pass the fence."""
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


class _NoProgress(kopf.AnnotationsProgressStorage):
    """Stores nothing: no handler keeps state in the resource. Before it releases a resource Kopf changes an annotation, to wake up."""

    def clear(self, *, essence: Any) -> Any:
        """Return it unchanged: it holds no progress."""
        return essence


class _NoDifferences(kopf.DiffBaseStorage):
    """Stores nothing: no handler needs differences, for which Kopf would copy each resource several times an event."""

    def build(self, **_: Any) -> Any:
        """Return the same for all resources."""
        return {}

    def fetch(self, **_: Any) -> Any:
        """Return the same as `build`."""
        return {}

    def store(self, **_: Any) -> None:
        """Store nothing."""
