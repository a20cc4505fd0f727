"""The operator's own Prometheus metrics."""

from typing import Final

from prometheus_client import Counter, Gauge, Histogram


RECONCILES: Final = Counter(
    "mainstem_operator_reconciles", "Reconciles of a pipeline, by result: ok or error.", ["result"]
)
RECONCILE_SECONDS: Final = Histogram(
    "mainstem_operator_reconcile_seconds",
    "Duration of a reconcile, with its writes.",
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
)
WRITES: Final = Counter("mainstem_operator_api_writes", "Writes to the API server.", ["verb", "resource"])
STARTS: Final = Counter("mainstem_operator_driver_starts", "Driver pods that the operator created.")
LEADER: Final = Gauge("mainstem_operator_leader", "1 if this operator holds its Lease and may write, else 0.")
PIPELINES: Final = Gauge("mainstem_operator_pipelines", "Pipelines by phase.", ["phase"])
VALIDATORS_LOST: Final = Counter(
    "mainstem_operator_validators_lost", "Validation processes that ended while they validated a document."
)
