"""The operator's clock is wrong by an hour, and those of the API server, the kubelet and the driver are right."""

from datetime import timedelta

import pytest
from apiserver.operatorbed import Bed, Operator, Ours, until
from harness.clocks import HOUR, shifted
from mainstem_operator.leadership.lease import DURATION_SECONDS


pytestmark = [pytest.mark.faults, pytest.mark.timeout(600)]


@pytest.mark.full(gate="unit/test_clocks.py::test_backoff_after_a_driver_that_this_operator_observed_running")
@pytest.mark.parametrize("seconds", [HOUR, -HOUR], ids=["ahead", "behind"])
def test_an_operator_with_a_wrong_clock_does_all_in_time(bed: Bed, seconds: int) -> None:
    bed.operator.stop()
    namespace = bed.namespace()
    with Operator(
        bed.plane, bed.operator_kubeconfig, MAINSTEM_NAMESPACES=namespace, **shifted(seconds)
    ) as operator:
        operator.up()
        ours = Ours(bed, namespace)
        first = ours.start_running(restart={"backoff": "3 seconds"})
        # Longer than the Lease lasts: it is renewed, and the driver counts as reporting.
        acquired = bed.lease(namespace).spec.acquire_time
        enough = acquired + timedelta(seconds=DURATION_SECONDS + 5)

        def renewed() -> bool:
            assert ours.status["phase"] == "Running"
            assert ours.condition("Degraded")["status"] != "True", ours.condition("Degraded")
            return bool(bed.lease(namespace).spec.renew_time > enough)

        until(renewed, why="the Lease is not renewed")
        assert operator.is_holder()
        assert bed.lease(namespace).spec.acquire_time == acquired
        # A failed driver is replaced after the backoff, neither at once nor an hour later.
        ours.ends(1, "failed", reason="QueryFailed")
        until(lambda: "BackingOff" in ours.events(), why="the backoff was left out")
        ours.runs(2)
        ours.reports(attempt=2)
        status = ours.phase("Running")
        assert status["lastTermination"]["reason"] == "QueryFailed"
        # A suspended driver gets its grace period, and is not deleted by force.
        ours.change(suspend=True)
        ours.await_driver_deletion()
        ours.looked_at_again()
        [pod] = ours.pods()
        assert pod.metadata.uid != first.metadata.uid
        assert pod.metadata.deletion_grace_period_seconds > 1, "deleted by force"
        ours.ends(0, "drained")
        ours.phase("Suspended")
        ours.delete()
        ours.gone()
