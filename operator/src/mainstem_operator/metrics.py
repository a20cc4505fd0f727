"""The operator's own Prometheus metrics."""

from typing import Final

from mainstem.names import METRIC_PREFIX
from prometheus_client import Counter, Gauge, Histogram


_PREFIX: Final = f"{METRIC_PREFIX}operator_"

RECONCILES: Final = Counter(
    f"{_PREFIX}reconciles", "Reconciles of a pipeline, by result: ok or error.", ["result"]
)
RECONCILE_SECONDS: Final = Histogram(
    f"{_PREFIX}reconcile_seconds",
    "Duration of a reconcile, with its writes.",
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
)
WRITES: Final = Counter(f"{_PREFIX}api_writes", "Writes to the API server.", ["verb", "resource"])
STARTS: Final = Counter(f"{_PREFIX}driver_starts", "Driver pods that the operator created.")
LEADER: Final = Gauge(f"{_PREFIX}leader", "1 if this operator holds its Lease and may write, else 0.")
PIPELINES: Final = Gauge(f"{_PREFIX}pipelines", "Pipelines by phase.", ["phase"])
VALIDATORS_LOST: Final = Counter(
    f"{_PREFIX}validators_lost", "Validation processes that ended while they validated a document."
)
WEBHOOK_REVIEWS: Final = Counter(
    f"{_PREFIX}webhook_reviews", "Documents that the webhook reviewed, by result.", ["result"]
)
WEBHOOK_CERTIFICATE_END: Final = Gauge(
    f"{_PREFIX}webhook_certificate_end_timestamp_seconds",
    "When the webhook's certificate ends, in Unix time.",
)
