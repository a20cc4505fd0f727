"""Promises about time of the operator, on a real API server: `make test-timing` prints what each takes."""

from datetime import UTC, datetime

import pytest
from apiserver.operatorbed import PATIENCE, Bed, Operator, Ours, until
from apiserver.test_operator_tenants import HARMFUL, costly, served


pytestmark = pytest.mark.timing
SERVED_SECONDS = 5.0
TAKEN_OVER_SECONDS = 20.0
"""docs/cluster.md, "The operator"."""


def test_a_plain_pipeline_waits_hardly_longer_beside_expensive_ones(bed: Bed) -> None:
    bed.operator.up()
    calm = slowest(served(bed, bed.namespace()))
    tenant = bed.namespace()
    for name, views in HARMFUL.items():
        Ours(bed, tenant, name).create(costly(views))
    beside = slowest(served(bed, bed.namespace()))
    print(f"the slowest of 20 drivers: {calm:.0f} s alone, {beside:.0f} s beside expensive documents")
    assert beside <= calm + SERVED_SECONDS


def slowest(pipelines: list[Ours]) -> float:
    """Seconds from a resource to its driver's pod, by the server's clock: how long a test takes to ask is no matter."""
    return max(waited(ours) for ours in pipelines)


def waited(ours: Ours) -> float:
    asked = datetime.fromisoformat(ours.get()["metadata"]["creationTimestamp"])
    made: datetime = ours.pod(1).metadata.creation_timestamp
    return (made - asked).total_seconds()


def test_another_operator_takes_over_from_one_that_crashed(bed: Bed) -> None:
    bed.operator.stop()
    namespace = bed.namespace()
    with operator(bed, namespace, "first") as first, operator(bed, namespace, "second") as second:
        first.up()
        second.start(second.healthy, PATIENCE)
        first.kill()
        crashed = datetime.now(UTC)
        until(second.is_holder, why="the second does not follow")
    took = (bed.lease(namespace).spec.acquire_time - crashed).total_seconds()
    print(f"the second operator has the Lease {took:.1f} s after the first one crashed")
    assert took <= TAKEN_OVER_SECONDS


def operator(bed: Bed, namespace: str, name: str) -> Operator:
    return Operator(bed.plane, bed.operator_kubeconfig, MAINSTEM_NAMESPACES=namespace, MAINSTEM_POD_NAME=name)
