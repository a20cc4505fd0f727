"""The operator as a process: killed, restarted, cut off, without its definition, with rights in some namespaces only."""

import random

import pytest
from apiserver.operatorbed import Bed, Operator, Ours, run, until
from harness.waiting import LIMIT, at_any_moment, lasts
from mainstem.names import SCHEMA
from mainstem_operator.leadership.lease import lease_name
from mainstem_operator.manifests.rbac import IN_CLUSTER, IN_NAMESPACES, to_leases


pytestmark = pytest.mark.faults


def one_line(output: str) -> str:
    [line] = output.strip().splitlines()
    return line


def test_without_its_definition_the_operator_reports_one_line(bed: Bed) -> None:
    code, output = bed.without_definition
    assert code == 5
    assert "the cluster has no CustomResourceDefinition streamingpipelines.mainstem.dev" in one_line(output)
    assert "kubectl apply" in output


@pytest.mark.full(
    gate="apiserver/test_operator_upgrade.py::test_the_operator_rejects_the_previous_definition_in_one_line"
)
def test_a_definition_older_than_the_operator_is_rejected_in_one_line(bed: Bed) -> None:
    definitions = bed.dynamic.resources.get(
        api_version="apiextensions.k8s.io/v1", kind="CustomResourceDefinition"
    )
    name = "streamingpipelines.mainstem.dev"
    newest = definitions.get(name=name).metadata.annotations[SCHEMA]

    def annotate(value: str | None) -> None:
        body = {"metadata": {"name": name, "annotations": {SCHEMA: value}}}
        definitions.patch(body=body, content_type="application/merge-patch+json")

    try:
        for older in ("0", None):
            annotate(older)
            code, output = run(bed.operator_kubeconfig)
            assert code == 5
            assert f"has revision 0; this operator needs revision {newest}" in one_line(output)
    finally:
        annotate(newest)


def test_an_api_server_that_does_not_answer_is_reported_in_one_line(bed: Bed, tmp_path) -> None:
    kubeconfig = tmp_path / "nobody.kubeconfig"
    text = bed.operator_kubeconfig.read_text(encoding="utf-8")
    kubeconfig.write_text(text.replace(bed.plane.url, "https://127.0.0.1:9"), encoding="utf-8")
    code, output = run(kubeconfig)
    assert code == 5
    assert "127.0.0.1:9" in one_line(output)


def test_without_a_driver_image_the_operator_does_not_start(bed: Bed) -> None:
    code, output = run(bed.operator_kubeconfig, MAINSTEM_DRIVER_IMAGE="")
    assert code == 2
    assert "MAINSTEM_DRIVER_IMAGE" in one_line(output)


@pytest.mark.full(
    gate="apiserver/test_killed_between_writes.py::test_killed_after_a_write_the_next_operator_continues"
)
def test_after_a_kill_at_any_moment_there_is_one_driver_and_the_right_count(bed: Bed) -> None:
    """Before or after any step: finalizer, status, objects or pod."""
    namespace = bed.namespace()
    bed.operator.up()
    made = []
    chance = random.Random(4)
    for number in range(4):
        ours = Ours(bed, namespace, f"killed-{number}")
        ours.create()
        at_any_moment(chance, 0.1)
        bed.operator.kill()
        made.append(ours)
        bed.operator.up()
    for ours in made:
        pod = ours.pod(1)
        status = ours.phase("Starting")
        assert status["attempt"] == 1
        assert status["revision"] == pod.metadata.annotations["mainstem.dev/revision"]
        assert len(ours.pods()) == 1


@pytest.mark.full(
    gate="apiserver/test_killed_between_writes.py::test_killed_after_a_write_the_next_operator_continues"
)
def test_after_a_kill_between_driver_and_first_status_the_driver_is_adopted(ours: Ours) -> None:
    """Also if the pod's event comes before the operator waits for it; hiding the pod from the watch simulates this."""
    bed = ours.bed
    ours.create()
    first = ours.pod(1)
    ours.phase("Starting")
    bed.operator.kill()
    ours.without_status()
    ours.unwatched()
    bed.operator.up()
    assert ours.phase("Starting")["attempt"] == 1
    assert [pod.metadata.uid for pod in ours.pods()] == [first.metadata.uid]


def test_a_change_that_the_watch_missed_is_read_by_the_resync(bed: Bed) -> None:
    """The pod lacks the label of the watch, so no event reports its start and its end."""
    namespace = bed.namespace()
    bed.operator.stop()
    with Operator(
        bed.plane, bed.operator_kubeconfig, MAINSTEM_NAMESPACES=namespace, MAINSTEM_RESYNC_SECONDS="1"
    ) as slow_operator:
        slow_operator.up()
        ours = Ours(bed, namespace)
        ours.create()
        ours.pod(1)
        ours.phase("Starting")
        ours.unwatched()
        ours.runs()
        ours.reports()
        ours.phase("Running")
        ours.change(timeZone="Europe/Zurich")
        ours.passes_preflight()
        ours.await_driver_deletion()
        ours.ends(0, "drained")
        ours.pod(2)


@pytest.mark.full(
    gate="apiserver/test_killed_between_writes.py::test_killed_after_a_write_the_next_operator_continues"
)
def test_after_a_kill_within_a_change_the_change_continues(ours: Ours) -> None:
    bed = ours.bed
    ours.start_running()
    ours.change(timeZone="Europe/Zurich")
    at_any_moment(random.Random(3), 0.1)
    bed.operator.kill()
    bed.operator.up()
    ours.passes_preflight()
    ours.await_driver_deletion()
    bed.operator.kill()
    ours.ends(0, "drained")
    bed.operator.up()
    ours.pod(2)
    assert ours.phase("Starting")["attempt"] == 2


def test_a_restarted_operator_adopts_drivers_without_a_write(ours: Ours) -> None:
    bed = ours.bed
    first = ours.start_running()
    suspended = Ours(bed, ours.namespace, "suspended")
    suspended.create(suspend=True)
    suspended.phase("Suspended")
    refused = Ours(bed, ours.namespace, "refused")
    refused.create(driver={"template": {"spec": {"tolerations": [{"operator": "Whatever"}]}}})
    refused.phase("Failed")
    mine = (ours, suspended, refused)
    bed.quiet()
    bed.operator.stop()
    before = [entry.versions() for entry in mine]
    bed.operator.up()
    bed.heard(ours.namespace)
    # Not counted for the whole server: pipelines of other tests may be due for another start.
    assert [entry.versions() for entry in mine] == before
    assert [pod.metadata.uid for pod in ours.pods()] == [first.metadata.uid]


@pytest.mark.full(gate="unit/test_operator_plan.py::test_a_driver_that_vanished_after_a_report_is_lost")
def test_changes_during_an_absence_of_the_operator_are_handled(ours: Ours) -> None:
    bed = ours.bed
    ours.start_running(restart={"backoff": "1 second"})
    bed.operator.stop()
    ours.vanishes()
    new = Ours(bed, ours.namespace, "new")
    new.create()
    bed.operator.up()
    ours.pod(2)
    assert ours.status["lastTermination"]["reason"] == "DriverLost"
    new.pod(1)


@pytest.mark.full(
    gate="apiserver/test_operator_upgrade.py::test_an_upgrade_restarts_no_driver_and_writes_nothing"
)
def test_another_default_image_restarts_no_driver(ours: Ours) -> None:
    bed = ours.bed
    first = ours.start_running()
    bed.operator.stop()
    with Operator(
        bed.plane, bed.operator_kubeconfig, MAINSTEM_DRIVER_IMAGE="registry.example/mainstem:2"
    ) as upgraded:
        upgraded.up()
        new = Ours(bed, ours.namespace, "new")
        new.create()
        assert new.pod(1).spec.containers[0].image == "registry.example/mainstem:2"
        assert [pod.metadata.uid for pod in ours.pods()] == [first.metadata.uid]
        assert ours.pods()[0].metadata.deletion_timestamp is None
        assert ours.status["phase"] == "Running"


def test_the_operator_survives_an_outage_of_the_api_server(ours: Ours) -> None:
    bed = ours.bed
    first = ours.start_running()
    bed.plane.kill()  # in good order it would wait for its watches, for 15 seconds
    lasts(1)
    bed.plane.start()
    bed.client.rest_client.pool_manager.clear()
    until(bed.operator.healthy)
    new = Ours(bed, ours.namespace, "new")
    new.create()
    new.pod(1)
    ours.change(timeZone="Europe/Zurich")
    ours.passes_preflight()
    ours.await_driver_deletion()
    ours.ends(0, "drained")
    assert ours.pod(2).metadata.uid != first.metadata.uid
    assert bed.operator.alive


def test_with_a_list_of_namespaces_the_operator_ignores_others(bed: Bed) -> None:
    bed.operator.stop()
    watched, other = bed.namespace(), bed.namespace()
    kubeconfig = bed.user(
        "operator-of-one",
        IN_CLUSTER,
        {watched: IN_NAMESPACES, "kube-system": to_leases(lease_name([watched]))},
    )
    outside = Ours(bed, other)
    outside.create()
    with Operator(bed.plane, kubeconfig, MAINSTEM_NAMESPACES=watched) as few:
        few.up()
        inside = Ours(bed, watched)
        inside.create()
        inside.pod(1)
        inside.delete()
        inside.gone()
        inside.cleared()
        assert outside.status == {"observedGeneration": -1}, "as the definition has it"
        assert outside.pods() == []
        assert "finalizers" not in outside.get()["metadata"]


def test_the_operator_ends_at_once_on_a_signal(ours: Ours) -> None:
    ours.start_running()
    ours.held()
    ours.bed.operator.stop(LIMIT)
    assert not ours.bed.lease().spec.holder_identity, "the next operator would wait for the end of its Lease"
    assert ours.get()["metadata"]["finalizers"] == ["mainstem.dev/drain"]
    assert ours.pods()[0].metadata.deletion_timestamp is None
