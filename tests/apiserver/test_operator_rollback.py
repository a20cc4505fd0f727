"""The operator on a real API server returns to the last healthy revision, and remembers the one that failed."""

from typing import Any

import pytest
from apiserver.operatorbed import SPEC, Ours, until, windowed
from apiserver.test_operator_updates import handed, started, wanted, weight


pytestmark = pytest.mark.faults
SOON = {"progressDeadline": "4 seconds"}


def outcomes(ours: Ours) -> list[str]:
    return [entry["outcome"] for entry in ours.status.get("history", ())]


def healthy(ours: Ours, spec: Any = SPEC) -> str:
    """A pipeline whose driver runs and has reported all its queries as active; its revision."""
    pod = ours.start_running(spec)
    revision = str(pod.metadata.annotations["mainstem.dev/revision"])
    ours.reports(reported={"revision": revision})
    until(lambda: outcomes(ours) == ["Healthy"])
    return revision


def is_rolled_back(ours: Ours) -> None:
    until(
        lambda: ours.condition("Ready")["reason"] == "RolledBack",
        why=f"not rolled back: {ours.condition('Ready')}",
    )
    assert ours.condition("RolledBack")["status"] == "True"
    assert ours.condition("Stalled")["reason"] == "RolledBack"


@pytest.mark.full(
    gate="unit/test_operator_rollback.py::test_the_healthy_revision_starts_and_starts_again_after_a_failure_and_a_restart_of_the_operator"
)
def test_an_image_that_does_not_exist_is_rolled_back_and_remembered(ours: Ours) -> None:
    first = healthy(ours, SPEC | {"restart": {"backoff": "1 second"}})
    ours.change(image="registry.example/missing:1", rollback=SOON)
    ours.passes_preflight()
    ours.await_driver_deletion()
    ours.ends(0, "drained")
    failed = str(ours.pod(2).metadata.annotations["mainstem.dev/revision"])
    ours.waits("ImagePullBackOff", "no such image")
    is_rolled_back(ours)
    until(lambda: ours.pod().metadata.annotations["mainstem.dev/attempt"] == "3")
    assert ours.pod(3).metadata.annotations["mainstem.dev/revision"] == first
    rollback = ours.status["rollback"]
    assert (rollback["revision"], rollback["target"]) == (failed, first)
    assert (rollback["reason"], rollback["message"]) == ("ImagePullBackOff", "no such image")
    ours.runs(3)
    ours.reports(attempt=3, reported={"revision": first})
    until(lambda: outcomes(ours) == ["Healthy", "RolledBack", "Healthy"])
    assert ours.status["history"][1]["changes"] == ["image"]
    assert ours.condition("QueriesActive")["status"] == "True"
    assert ours.events().count("RolledBack") == 1
    ours.bed.operator.kill()
    ours.bed.operator.up()
    ours.ends(1)
    assert ours.runs(4).metadata.annotations["mainstem.dev/revision"] == first
    ours.reports(attempt=4, reported={"revision": first})
    until(lambda: ours.condition("QueriesActive")["status"] == "True")
    assert ours.condition("Ready")["reason"] == "RolledBack"
    ours.change(image=None)
    until(lambda: ours.condition("Ready")["status"] == "True")
    assert "rollback" not in ours.status
    assert ours.condition("RolledBack")["status"] == "-"
    [pod] = ours.pods()
    assert pod.metadata.annotations["mainstem.dev/attempt"] == "4"


@pytest.mark.full(
    gate="unit/test_operator_rollback.py::test_the_running_driver_gets_the_healthy_document_back"
)
def test_a_query_that_fails_after_a_change_gets_the_healthy_document_in_the_same_driver(ours: Ours) -> None:
    first = healthy(ours)
    ours.change(**weight(3))
    until(lambda: wanted(ours))
    second = wanted(ours)
    ours.reports("Failed", reason="SinkRefused", message="no such table", reported={"revision": second})
    is_rolled_back(ours)
    until(lambda: wanted(ours) == first)
    assert set(handed(ours)) == {f"1-{first}.yaml", "1.number"}
    message = ours.condition("RolledBack")["message"]
    assert f"revision {second} failed: SinkRefused: show: no such table" in message
    ours.reports(reported={"revision": first})
    until(lambda: outcomes(ours) == ["Healthy", "RolledBack", "Healthy"])
    assert ours.condition("Ready")["reason"] == "RolledBack"
    [pod] = ours.pods()
    assert pod.metadata.deletion_timestamp is None
    ours.change(restartNonce="again")
    ours.await_driver_deletion()
    ours.ends(0, "drained")
    assert ours.runs(2).metadata.annotations["mainstem.dev/revision"] == first, (
        "it works, and checks the other one"
    )
    ours.reports(attempt=2, reported={"revision": first})
    until(lambda: wanted(ours, 2) == second)
    ours.reports(attempt=2, reported={"revision": second})
    until(lambda: ours.condition("Ready")["status"] == "True")
    assert outcomes(ours) == ["Healthy", "Healthy", "RolledBack", "Healthy"]


@pytest.mark.full(
    gate="unit/test_operator_rollback.py::test_no_rollback_to_a_checkpoint_that_the_changed_document_has_written"
)
def test_no_rollback_to_a_checkpoint_that_the_healthy_document_would_misread(ours: Ours) -> None:
    healthy(ours, windowed("1 minute"))
    ours.change(**windowed("5 minutes", generation=2))
    until(lambda: wanted(ours))
    second = wanted(ours)
    ours.reports("Failed", reason="SinkRefused", message="m", batch=3, reported={"revision": second})
    until(lambda: ours.condition("RolledBack")["reason"] == "RollbackNotPossible")
    assert "'show' cannot continue from its checkpoint" in ours.condition("RolledBack")["message"]
    assert ours.condition("Ready")["reason"] == "SinkRefused"
    assert ours.condition("Stalled")["status"] == "True"
    assert (wanted(ours), outcomes(ours)) == (second, ["Failed", "Healthy"])
    assert "target" not in ours.status["rollback"]
    ours.reports(batch=4, reported={"revision": second})
    until(lambda: ours.condition("Ready")["status"] == "True")
    assert "rollback" not in ours.status


@pytest.mark.full(
    gate="unit/test_operator_rollback.py::test_documents_that_a_rollback_may_need_are_protected"
)
def test_the_document_of_the_healthy_revision_stays_while_unhealthy_ones_come_and_go(ours: Ours) -> None:
    started(ours)
    ours.change(**weight(2))
    until(lambda: wanted(ours))
    kept = wanted(ours)
    ours.reports(reported={"revision": kept})
    until(lambda: ours.status["revision"] == kept and outcomes(ours)[0] == "Healthy")
    last = kept
    for number in range(3, 10):
        ours.change(**weight(number))
        until(lambda before=last: wanted(ours) not in {"", before})  # type: ignore[misc]
        last = wanted(ours)
        ours.reports("Starting", reported={"revision": last})
        until(lambda now=last: ours.status["revision"] == now)  # type: ignore[misc]
    until(lambda: f"ConfigMap/ticks-{kept}" in ours.belongings())
    assert outcomes(ours)[:2] == ["Progressing", "Replaced"]
    ours.reports("Failed", reason="SinkRefused", message="m", reported={"revision": last})
    until(lambda: wanted(ours) == kept)
    documents = [each for each in ours.belongings() if each.startswith("ConfigMap/ticks-")]
    assert len(documents) <= 9, documents


@pytest.mark.full(
    gate="unit/test_operator_updates.py::test_a_driver_that_has_started_and_not_reported_yet_gets_the_document_once_it_has_reported"
)
def test_a_changed_document_waits_for_the_report_of_a_driver_that_starts(ours: Ours) -> None:
    ours.create()
    pod = ours.runs()
    ours.change(**weight(3))
    until(lambda: ours.condition("DocumentApplied")["reason"] == "Applying")
    assert "once a query runs" in ours.condition("DocumentApplied")["message"]
    ours.reports("Starting", reported={"revision": pod.metadata.annotations["mainstem.dev/revision"]})
    until(lambda: wanted(ours))
    assert ours.pod(1).metadata.deletion_timestamp is None
