"""The operator on a real API server: a changed document with which a running query would misread its checkpoint."""

import pytest
from apiserver.operatorbed import Ours, until, windowed


pytestmark = pytest.mark.faults


def is_refused(ours: Ours, generation: int) -> bool:
    """Whether the resource shows that the change of this generation is refused."""
    ready = ours.condition("Ready")
    return (ready["reason"], ready["observedGeneration"]) == ("CheckpointIncompatible", generation)


def test_a_change_that_misreads_a_checkpoint_never_stops_the_driver_and_undoing_it_clears_the_condition(
    ours: Ours,
) -> None:
    first = ours.start_running(windowed("1 minute"))
    revision = first.metadata.annotations["mainstem.dev/revision"]
    documents = [name for name in ours.belongings() if name.startswith("ConfigMap/")]
    ours.change(**windowed("5 minutes"))
    until(lambda: is_refused(ours, 2))
    condition = ours.condition("CheckpointCompatible")
    assert (condition["status"], condition["reason"]) == ("False", "CheckpointIncompatible")
    assert "the query 'show' cannot continue from its checkpoint" in condition["message"]
    assert "spec.views[windows]" in condition["message"]
    assert "checkpoint.generation" in condition["message"]
    assert ours.condition("Stalled")["status"] == "True"
    assert [ours.condition(kind)["status"] for kind in ("SpecValid", "DriverRunning", "QueriesActive")] == [
        "True"
    ] * 3
    assert (ours.status["phase"], ours.status["revision"]) == ("Running", revision)
    ours.await_events("DriverStarting", "Ready", "CheckpointIncompatible")
    ours.reports("Running", batch=7)
    [pod] = ours.pods()
    assert (pod.metadata.uid, pod.metadata.deletion_timestamp) == (first.metadata.uid, None)
    assert [name for name in ours.belongings() if name.startswith("ConfigMap/")] == documents
    ours.change(**windowed("1 minute"))
    until(
        lambda: (
            ours.condition("Ready")["observedGeneration"] == 3 and ours.condition("Ready")["status"] == "True"
        )
    )
    assert not [
        each for each in ours.status["conditions"] if each["type"] in ("CheckpointCompatible", "Stalled")
    ]
    assert ours.pod(1).metadata.uid == first.metadata.uid
    assert ours.pod(1).metadata.deletion_timestamp is None


@pytest.mark.full(
    gate="unit/test_operator_changes.py::test_the_earlier_document_restarts_while_its_change_is_refused"
)
def test_a_failed_driver_restarts_with_the_earlier_document_until_the_change_is_accepted(ours: Ours) -> None:
    spec = windowed("1 minute") | {"restart": {"backoff": "1 second"}}
    first = ours.start_running(spec)
    ours.change(**windowed("5 minutes"))
    until(lambda: is_refused(ours, 2))
    ours.ends(4, "failed", "SinkRefused")
    second = ours.runs(2)
    revisions = [each.metadata.annotations["mainstem.dev/revision"] for each in (first, second)]
    assert revisions[0] == revisions[1]
    assert ours.condition("CheckpointCompatible")["status"] == "False"
    ours.reports(attempt=2)
    ours.change(**windowed("5 minutes", onChange="keep"))
    ours.passes_preflight()  # the driver has not reported that it can apply a document
    ours.await_driver_deletion()
    ours.ends(0, "drained")
    third = ours.runs(3)
    assert third.metadata.annotations["mainstem.dev/revision"] not in revisions
    assert not [each for each in ours.status["conditions"] if each["type"] == "CheckpointCompatible"]
