"""The operator on a real API server tries a changed document in a pod of its own. The test plays the kubelet's part."""

from typing import Any

import pytest
from apiserver.operatorbed import SPEC, Ours, until
from apiserver.test_operator_updates import started, wanted
from mainstem_operator.loop.apply import KEPT_REVISIONS


TRIED: dict[str, Any] = {
    "queries": [{**SPEC["queries"][0], "trigger": {"processingTime": "1 second"}}],
    "trial": {"batches": 2},
}
DIFFERS = {
    "outcome": "completed",
    "reason": "TrialDiffers",
    "message": "1 of 1 query compared; different: show",
    "trial": [
        {"name": "show", "outcome": "differs", "batches": "5-6", "same": 3, "onlyOld": 1, "onlyNew": 0}
    ],
}
PASSED = {
    "outcome": "completed",
    "reason": "TrialPassed",
    "message": "1 of 1 query compared, and all rows are equal",
    "trial": [{"name": "show", "outcome": "equal", "batches": "5-6", "same": 4}],
}


def tried(ours: Ours) -> Any:
    """The trial pod; None if there is none."""
    return next((each for each in ours.pods() if each.metadata.name == f"{ours.name}-trial"), None)


def trial(ours: Ours, phase: str) -> dict[str, Any]:
    """`status.trial`, once it has a phase."""
    reached: dict[str, Any] = until(
        lambda: (known := ours.status.get("trial", {})).get("phase") == phase and known,
        why=f"no trial {phase}",
    )
    return reached


def ends(ours: Ours, code: int, report: dict[str, Any]) -> None:
    """End the container of the trial pod on a node."""
    ours.ends_beside(until(lambda: tried(ours), why="no trial pod"), code, report)


def healthy(ours: Ours) -> str:
    """Let a healthy driver run; its revision."""
    first = started(ours)
    until(lambda: ours.status.get("history", [{}])[0].get("outcome") == "Healthy", why="not healthy")
    return first


def gone(ours: Ours) -> None:
    """Wait until this trial pod is gone; the kubelet's part is to remove it. The next one may be in its place at once."""
    first = tried(ours)

    def is_gone() -> bool:
        pod = tried(ours)
        if first is None or pod is None or pod.metadata.uid != first.metadata.uid:
            return True
        if pod.metadata.deletion_timestamp:
            ours._remove(pod)
        return False

    until(is_gone, why="the trial pod is not deleted")


def test_a_change_is_tried_beside_the_driver_and_applied_only_on_request(ours: Ours) -> None:
    first = healthy(ours)
    ours.change(**TRIED)
    pod = until(lambda: tried(ours), why="no trial pod")
    assert pod.spec.containers[0].args[0] == "trial"
    assert pod.spec.automount_service_account_token is False
    second = trial(ours, "Running")["revision"]
    assert second != first
    assert f"ConfigMap/ticks-{second}" in ours.belongings()
    ends(ours, 9, DIFFERS)
    result = trial(ours, "Differs")
    assert result["against"] == first
    assert result["queries"] == DIFFERS["trial"]
    assert ours.condition("DocumentApplied")["reason"] == "TrialDiffers"
    assert ours.condition("Stalled")["status"] == "True"
    assert (ours.status["phase"], ours.status["revision"], wanted(ours)) == ("Running", first, "")
    assert tried(ours) is not None, "the pod stays for its log"
    ours.change(trial={"promote": second})
    until(lambda: wanted(ours) == second, why="not handed over")
    gone(ours)
    ours.reports(reported={"revision": second})
    until(lambda: ours.status["revision"] == second)
    assert trial(ours, "Promoted")["queries"] == DIFFERS["trial"]
    until(lambda: ours.condition("Ready")["status"] == "True")
    ours.await_events(
        "DriverStarting", "Ready", "TrialRunning", "TrialDiffers", "TrialPromoted", "DocumentApplied"
    )


@pytest.mark.full(
    gate="apiserver/test_operator_life.py::test_old_documents_are_deleted_and_never_the_running_one"
)
def test_however_many_documents_are_tried_those_in_use_stay(ours: Ours) -> None:
    first = healthy(ours)
    tried_before: set[str] = set()
    for number in range(2, 9):
        query = {**SPEC["queries"][0], "trigger": {"processingTime": f"{number} seconds"}}
        ours.change(queries=[query], trial={"batches": 2})
        until(
            lambda: (
                (known := ours.status.get("trial", {})).get("phase") == "Running"
                and known["revision"] not in tried_before
                and f"ConfigMap/ticks-{known['revision']}" in ours.belongings()
            ),
            why="not tried",
        )
        tried_before.add(ours.status["trial"]["revision"])
    documents = {name.rpartition("-")[2] for name in ours.belongings() if name.startswith("ConfigMap/ticks-")}
    assert {first, ours.status["trial"]["revision"]} <= documents
    assert len(documents & (tried_before | {first})) <= KEPT_REVISIONS + 1


@pytest.mark.full(
    gate="unit/test_operator_trials.py::test_a_document_that_is_changed_back_discards_the_trial_and_its_pod"
)
@pytest.mark.faults
def test_a_discarded_document_is_never_applied_and_the_driver_that_fails_starts_with_the_one_before(
    ours: Ours,
) -> None:
    first = healthy(ours)
    ours.change(**TRIED)
    ends(ours, 9, DIFFERS)
    second = trial(ours, "Differs")["revision"]
    ours.ends(1)
    pod = until(lambda: next((each for each in ours.pods() if _attempt(each) == "2"), None))
    assert pod.metadata.annotations["mainstem.dev/revision"] == first
    ours.runs(2)
    ours.reports(attempt=2, reported={"revision": first})
    until(lambda: ours.condition("QueriesActive")["status"] == "True")
    assert trial(ours, "Differs")["revision"] == second
    ours.change(queries=SPEC["queries"])
    trial(ours, "Discarded")
    gone(ours)
    until(lambda: ours.condition("Ready")["status"] == "True")
    assert ours.status["revision"] == first
    assert wanted(ours, 2) == ""


def _attempt(pod: Any) -> str:
    return str(pod.metadata.annotations.get("mainstem.dev/attempt", ""))


@pytest.mark.full(
    gate="unit/test_operator_trials.py::test_with_automatic_promotion_only_a_trial_that_has_passed_is_promoted"
)
def test_a_trial_that_passes_is_promoted_by_itself_and_leaves_no_pod(ours: Ours) -> None:
    healthy(ours)
    ours.change(**{**TRIED, "trial": {"promotion": "Automatic"}})
    ends(ours, 0, PASSED)
    second = trial(ours, "Promoted")["revision"]
    until(lambda: wanted(ours) == second, why="not handed over")
    gone(ours)


@pytest.mark.faults
def test_a_trial_whose_pod_cannot_be_created_has_failed_and_the_driver_runs_on(ours: Ours) -> None:
    first = healthy(ours)
    other = {"metadata": {"name": "ticks-trial"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    ours.bed.core.create_namespaced_pod(ours.namespace, other)
    ours.change(**TRIED)
    failed = trial(ours, "Failed")
    assert failed["reason"] == "NameTaken"
    assert "the Pod ticks-trial exists" in failed["message"]
    assert (ours.status["phase"], ours.status["revision"], wanted(ours)) == ("Running", first, "")
    ours.change(trial={"promote": failed["revision"]})
    until(lambda: wanted(ours) == failed["revision"], why="not handed over")


@pytest.mark.full(
    gate="unit/test_operator_trials.py::test_without_something_to_compare_the_document_is_applied_and_the_status_shows_why"
)
def test_a_first_start_is_not_tried_and_a_live_change_is_applied_at_once(ours: Ours) -> None:
    ours.create(trial={})
    pod = ours.runs()
    ours.reports(reported={"revision": pod.metadata.annotations["mainstem.dev/revision"]})
    assert trial(ours, "Skipped")["message"].startswith("nothing has run before")
    until(lambda: ours.condition("Ready")["status"] == "True")
    ours.change(queries=[{**SPEC["queries"][0], "pool": {"weight": 3}}])
    until(lambda: wanted(ours), why="not handed over")
    assert trial(ours, "Skipped")["message"] == "the change restarts no query"
    assert tried(ours) is None
