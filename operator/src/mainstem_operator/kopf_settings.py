"""Kopf set up: its settings that differ from its own, what it need not keep, and its session behind the fence."""

from typing import Any, Final

import aiohttp
import kopf
from mainstem.names import COMPONENT_LABEL, FINALIZER, MANAGED_LABEL, OPERATOR

from mainstem_operator.api.fence import Fence


DRIVERS: Final = {COMPONENT_LABEL: "driver", MANAGED_LABEL: OPERATOR}
"""Labels of the pods that are watched."""


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


def fenced_session(info: kopf.ConnectionInfo, fence: Fence) -> kopf.AiohttpSession:
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
