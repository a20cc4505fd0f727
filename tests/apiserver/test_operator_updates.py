"""The operator on a real API server hands a changed document to the running driver."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from apiserver.operatorbed import SPEC, Ours, until
from kubernetes.aio import client as aio
from kubernetes.aio.config.kube_config import load_kube_config
from mainstem.names import UNFINISHED
from mainstem_operator.api.kubernetes_api import KubernetesApi
from mainstem_operator.decisions.updates import APPLY_SECONDS
from mainstem_operator.loop import observer
from mainstem_operator.loop.pipeline_cache import PipelineCache
from mainstem_operator.loop.reconcile import Reconciler
from mainstem_operator.observed.ages import Moment
from mainstem_operator.settings import Settings
from mainstem_operator.validation.worker_pool import Validators


def weight(number: int) -> dict[str, Any]:
    """The pipeline's queries with another weight of the pool: a change that needs no new driver."""
    return {"queries": [{**query, "pool": {"weight": number}} for query in SPEC["queries"]]}


def handed(ours: Ours) -> dict[str, str]:
    """The files of the documents that the operator has handed over: name -> text."""
    names = [name.partition("/")[2] for name in ours.belongings() if name.endswith("-update")]
    if not names:
        return {}
    read = ours.bed.core.read_namespaced_config_map(names[0], ours.namespace)
    return dict(read.data)


def started(ours: Ours) -> str:
    """Let a driver run that takes documents over; its revision."""
    pod = ours.start_running()
    revision = str(pod.metadata.annotations["mainstem.dev/revision"])
    ours.reports(reported={"revision": revision})
    return revision


def wanted(ours: Ours, attempt: int = 1) -> str:
    """The revision that the driver's pod has to take over."""
    revision = str(ours.pod(attempt).metadata.annotations.get("mainstem.dev/update", ""))
    return "" if revision == UNFINISHED else revision


def turns(ours: Ours, *bodies: dict[str, Any], between: Callable[[], None] = lambda: None) -> None:
    """Turns of an operator within this process, each with the resource as its watch would have it."""

    async def take() -> None:
        configuration = aio.Configuration()
        await load_kube_config(str(ours.bed.operator_kubeconfig), client_configuration=configuration)
        cluster, validators = KubernetesApi(aio.ApiClient(configuration)), Validators()
        reconciler = Reconciler(cluster, Settings(driver_image="registry.example/mainstem:1"), validators)
        try:
            await validators.start()
            cache = PipelineCache(body=bodies[0])
            for body in bodies:
                cache.body = body
                await reconciler.reconcile(cache, lambda _event: None)
                between()
        finally:
            validators.close()
            await cluster.close()

    asyncio.run(take())


def test_a_change_is_handed_to_the_driver_and_ready_is_true_only_once_it_runs(ours: Ours) -> None:
    first = started(ours)
    ours.change(**weight(3))
    until(lambda: ours.condition("Ready")["reason"] == "Applying")
    until(lambda: wanted(ours))
    second = wanted(ours)
    assert second != first
    assert sorted(handed(ours)) == [f"1-{second}.yaml", "1.number"]
    assert '"weight": 3' in handed(ours)[f"1-{second}.yaml"]
    assert ours.status["revision"] == first
    ours.change(**weight(4))
    until(lambda: wanted(ours) not in ("", second))
    third = wanted(ours)
    until(lambda: f"1-{third}.yaml" in handed(ours))
    assert handed(ours)["1.number"] == "2"
    ours.reports(reported={"revision": third, "answered": 2})
    until(lambda: ours.status["revision"] == third)
    assert ours.condition("Ready")["status"] == "True"
    assert ours.condition("Ready")["observedGeneration"] == 3
    [pod] = ours.pods()
    assert pod.metadata.deletion_timestamp is None
    ours.await_events("DriverStarting", "Ready", "DocumentApplied")
    assert f"ConfigMap/ticks-{third}" in ours.belongings()


@pytest.mark.full(
    gate="unit/test_operator_updates.py::test_after_a_refused_document_a_failed_driver_starts_with_the_previous_one"
)
@pytest.mark.faults
def test_a_document_that_spark_refuses_never_stops_the_driver_nor_its_successor(ours: Ours) -> None:
    first = started(ours)
    ours.change(restart={"backoff": "1 second"}, **weight(3))
    until(lambda: wanted(ours))
    refused = {
        "revision": wanted(ours),
        "reason": "UNRESOLVED_COLUMN",
        "message": "no column valu",
        "retried": False,
    }
    ours.reports(reported={"revision": first, "refused": refused})
    until(lambda: ours.condition("SpecValid")["reason"] == "UNRESOLVED_COLUMN")
    assert ours.condition("Stalled")["status"] == "True"
    assert (ours.status["phase"], ours.status["revision"]) == ("Running", first)
    ours.ends(4, "failed", "SinkRefused")
    second = ours.runs(2)
    assert second.metadata.annotations["mainstem.dev/revision"] == first
    ours.reports(attempt=2, reported={"revision": first})
    until(lambda: ours.condition("QueriesActive")["status"] == "True")
    ours.change(**weight(5))
    until(lambda: wanted(ours, 2) not in ("", refused["revision"]))
    now = wanted(ours, 2)
    assert now != first
    ours.reports(attempt=2, reported={"revision": now})
    until(lambda: ours.condition("Ready")["status"] == "True")
    assert ours.condition("SpecValid")["status"] == "True"


@pytest.mark.full(
    gate="unit/test_unchecked_documents.py::test_the_successor_of_a_driver_that_has_not_answered_starts_with_the_document_before"
)
def test_a_driver_that_dies_with_a_change_at_hand_is_followed_by_one_with_the_document_before(
    ours: Ours,
) -> None:
    first = started(ours)
    ours.change(restart={"backoff": "1 second"}, **weight(3))
    until(lambda: wanted(ours))
    second = wanted(ours)
    ours.ends(137)
    assert ours.runs(2).metadata.annotations["mainstem.dev/revision"] == first
    assert ours.status["unanswered"] == {"revision": second, "drivers": 1, "starts": 0, "reason": "Killed"}
    ours.reports(attempt=2, reported={"revision": first})
    until(lambda: wanted(ours, 2) == second)
    ours.reports(attempt=2, reported={"revision": second})
    until(lambda: ours.condition("Ready")["status"] == "True")
    assert ours.status["revision"] == second
    assert "unanswered" not in ours.status


def test_an_undone_change_is_ready_only_once_the_driver_has_answered_it(ours: Ours) -> None:
    """Until then the driver may apply what is undone, and `kubectl wait` must not end."""
    first = started(ours)
    ours.reports(reported={"revision": first, "answered": 0})
    ours.change(**weight(3))
    until(lambda: wanted(ours))
    assert wanted(ours) != first
    ours.change(queries=SPEC["queries"])
    until(lambda: wanted(ours) == first)
    assert handed(ours)["1.number"] == "2"
    until(lambda: ours.condition("Ready")["observedGeneration"] == 3)
    assert (ours.condition("Ready")["status"], ours.condition("Ready")["reason"]) == ("False", "Applying")
    assert "is undone" in ours.condition("DocumentApplied")["message"]
    ours.reports(reported={"revision": first, "answered": 2})
    until(lambda: ours.condition("Ready")["status"] == "True")
    assert ours.status["revision"] == first


def test_a_change_that_is_undone_meanwhile_stops_no_driver(ours: Ours) -> None:
    """The operator does not trust its watch, which may be late, before it stops a living driver."""
    started(ours)
    ours.bed.operator.kill()
    spec = ours.get()["spec"]
    ours.change(image="registry.example/other:2")
    late = ours.get()
    ours.change(image=spec.get("image"))
    driver = ours.pods()[0]

    turns(ours, late)
    [pod] = ours.pods()
    assert (pod.metadata.uid, pod.metadata.deletion_timestamp) == (driver.metadata.uid, None)


def test_a_driver_that_is_silent_for_a_minute_keeps_its_document(
    ours: Ours, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody has checked the other one: a process that the kernel does not let run is no reason to stop what works."""
    first = started(ours)
    until(lambda: ours.condition("Ready")["status"] == "True")
    ours.change(**weight(3))
    until(lambda: wanted(ours))
    ours.bed.operator.kill()
    driver = ours.pods()[0]
    passed = 0.0

    def wait() -> None:
        nonlocal passed
        passed += APPLY_SECONDS + 1

    monkeypatch.setattr(observer, "Moment", lambda now, seconds: Moment(now, seconds + passed))
    body = ours.get()
    turns(ours, body, body, between=wait)
    assert ours.condition("DocumentApplied")["reason"] == "NotAnswered"
    assert ours.condition("Ready")["reason"] == "NotAnswered"
    [pod] = ours.pods()
    assert (pod.metadata.uid, pod.metadata.deletion_timestamp) == (driver.metadata.uid, None)
    assert pod.metadata.annotations["mainstem.dev/revision"] == first


def test_repeated_edits_leave_a_start_alone_and_the_last_one_follows(ours: Ours) -> None:
    """Otherwise they could keep a pipeline down."""
    ours.create()
    pod = ours.runs()
    first = str(pod.metadata.annotations["mainstem.dev/revision"])
    for number in range(2, 7):
        ours.change(**weight(number))
        until(lambda: ours.condition("DocumentApplied").get("observedGeneration") == number)  # noqa: B023
        assert ours.condition("DocumentApplied")["status"] == "False"
        assert [entry.metadata.uid for entry in ours.pods()] == [pod.metadata.uid]
    ours.reports(reported={"revision": first})
    until(lambda: '"weight": 6' in handed(ours).get(f"1-{wanted(ours)}.yaml", ""))
    last = wanted(ours)
    ours.reports(reported={"revision": last})
    until(lambda: ours.condition("Ready")["status"] == "True")
    assert (ours.pod().metadata.uid, ours.status["revision"]) == (pod.metadata.uid, last)


@pytest.mark.full(
    gate="unit/test_operator_updates.py::test_a_new_driver_replaces_one_that_cannot_or_does_not_apply_the_document"
)
def test_a_change_that_only_a_new_driver_can_apply_replaces_it(ours: Ours) -> None:
    first = started(ours)
    ours.change(image="registry.example/other:2")
    ours.passes_preflight()
    ours.await_driver_deletion()
    assert "only a new driver can apply spec.image" in ours.condition("DriverRunning")["message"]
    assert handed(ours) == {}
    ours.ends(0, "drained")
    assert ours.runs(2).metadata.annotations["mainstem.dev/revision"] != first
