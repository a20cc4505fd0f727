"""The operator's own metrics, in Prometheus' words."""

from typing import Final

from prometheus_client import Counter, Gauge, Histogram


RECONCILES: Final = Counter(
    "mainstem_operator_reconciles", "Looks at a pipeline, by how they ended.", ["result"]
)
RECONCILE_SECONDS: Final = Histogram(
    "mainstem_operator_reconcile_seconds",
    "How long a look took, its writes included.",
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
)
WRITES: Final = Counter("mainstem_operator_api_writes", "Writes to the API server.", ["verb", "resource"])
STARTS: Final = Counter("mainstem_operator_driver_starts", "Drivers' pods that were made.")
LEADER: Final = Gauge("mainstem_operator_leader", "1 where this operator holds its Lease, and writes.")
PIPELINES: Final = Gauge("mainstem_operator_pipelines", "Pipelines by phase.", ["phase"])
VALIDATORS_LOST: Final = Counter(
    "mainstem_operator_validators_lost", "Processes that ended while they validated a document."
)
