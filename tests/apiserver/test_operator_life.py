"""The operator on a real API server: the life of one pipeline from outside. The test plays the kubelet and the driver."""

from datetime import UTC, datetime, timedelta

import pytest
from apiserver.operatorbed import Bed, Operator, Ours, until
from documents import OURS_ONLY, Edit
from kubernetes.client import ApiException, PolicyV1Api
from mainstem_operator.manifests.rbac import IN_CLUSTER, IN_NAMESPACES, rules
from mainstem_operator.validation.documents import validate


def test_create_makes_the_objects_of_the_driver_and_reports_them(ours: Ours) -> None:
    ours.create()
    pod = ours.pod(1)
    revision = pod.metadata.annotations["mainstem.dev/revision"]
    assert ours.belongings() == [
        f"ConfigMap/ticks-{revision}",
        "Pod/ticks-driver",
        "Role/ticks-driver",
        "RoleBinding/ticks-driver",
        "ServiceAccount/ticks-driver",
    ]
    assert pod.spec.service_account_name == "ticks-driver"
    assert pod.spec.containers[0].image == "registry.example/mainstem:1"
    assert [owner.kind for owner in pod.metadata.owner_references] == ["StreamingPipeline"]
    status = ours.phase("Starting")
    assert (status["revision"], status["attempt"], status["observedGeneration"]) == (revision, 1, 1)
    managers = {
        (entry["manager"], entry.get("subresource")): entry["operation"]
        for entry in ours.get()["metadata"]["managedFields"]
    }
    assert managers["mainstem-operator", "status"] == "Apply"
    ours.held()
    assert not {key for key in ours.get()["metadata"].get("annotations", {}) if "kopf" in key}


def test_a_pipeline_goes_from_apply_to_ready_to_deleted(ours: Ours) -> None:
    ours.create()
    ours.pod()
    ours.waits("ImagePullBackOff", "no such image")
    until(lambda: ours.condition("Ready")["reason"] == "ImagePullBackOff")
    ours.runs()
    until(lambda: ours.condition("Ready")["reason"] == "NotYetReported")
    ours.reports("Idle", rowsPerSecond=0)
    ours.phase("Running")
    assert ours.condition("Ready")["status"] == "True"
    assert ours.condition("DataFlowing")["status"] == "Unknown"
    ours.reports("Running", batch=3)
    until(lambda: ours.condition("DataFlowing")["status"] == "True")
    ours.delete()
    ours.await_driver_deletion()
    assert ours.phase("Deleting")["driver"]["pod"] == "ticks-driver"
    ours.ends(0, "drained")
    ours.gone()
    ours.cleared()
    ours.await_events("DriverStarting", "Ready", "Deleting")


@pytest.mark.full(gate="unit/test_operator_plan.py::test_a_change_drains_then_removes_then_starts")
def test_a_change_drains_and_starts_the_new_document(ours: Ours) -> None:
    first = ours.start_running()
    ours.change(timeZone="Europe/Zurich")
    ours.passes_preflight()
    ours.await_driver_deletion()
    assert ours.phase("Draining")["revision"] == first.metadata.annotations["mainstem.dev/revision"]
    ours.ends(0, "drained")
    second = ours.pod(2)
    assert second.metadata.uid != first.metadata.uid
    assert (
        second.metadata.annotations["mainstem.dev/revision"]
        != first.metadata.annotations["mainstem.dev/revision"]
    )
    status = ours.phase("Starting")
    assert status["lastTermination"]["outcome"] == "drained"
    assert status["summary"] == {"queries": "1 stopped"}, "no healthy number outlives its driver"
    assert (status["attempt"], status["restarts"]) == (2, 0)


@pytest.mark.full(gate="unit/test_operator_plan.py::test_suspend_drains_and_resume_resets_the_restarts")
def test_suspend_stops_the_driver_and_resume_starts_another(ours: Ours) -> None:
    ours.start_running()
    ours.change(suspend=True)
    ours.await_driver_deletion()
    ours.ends(0, "drained")
    ours.phase("Suspended")
    until(lambda: ours.pods() == [])
    ours.change(suspend=False)
    ours.pod(2)
    ours.await_events("DriverStarting", "Ready", "Draining", "Suspended", "DriverStarting")


@pytest.mark.full(gate="unit/test_operator_plan.py::test_a_restart_request_drains_then_starts_once")
def test_a_restart_nonce_starts_a_driver_again_after_a_failure_and_while_it_runs(ours: Ours) -> None:
    ours.start_running(restart={"backoff": "300 seconds", "maxBackoff": "300 seconds"})
    ours.ends(4, "failed", "SinkRefused")
    assert ours.phase("BackingOff")["restarts"] == 1
    ours.change(restartNonce=1)
    ours.runs(2)
    assert ours.phase("Starting")["restarts"] == 0
    assert ours.status["restartNonce"] == "1"
    ours.change(restartNonce="2026-03-01T12:00:00Z")
    ours.await_driver_deletion()
    assert ours.condition("DriverRunning")["reason"] == "Restarting"
    ours.change(suspend=True, restartNonce=3)
    ours.ends(0, "drained")
    assert ours.phase("Suspended")["restartNonce"] == "1"
    assert ours.pods() == []
    ours.change(suspend=False)
    ours.runs(3)
    assert ours.phase("Starting")["restartNonce"] == "3"


@pytest.mark.full(gate="unit/test_operator_plan.py::test_the_exit_of_a_driver_decides_the_next_phase")
def test_the_status_has_the_class_of_each_failure_and_infrastructure_spends_no_budget(ours: Ours) -> None:
    ours.start_running(restart={"backoff": "1 second", "maxDriverRetries": 0})
    ours.ends(5, "failed", "StoreUnreachable")
    ours.runs(2)
    failure = ours.status["lastFailure"]
    assert (failure["class"], failure["reason"], failure["inARow"]) == (
        "Infrastructure",
        "StoreUnreachable",
        1,
    )
    assert ours.status["restarts"] == 0
    ours.ends(4, "failed", "SinkRefused")
    failure = ours.phase("Failed")["lastFailure"]
    assert (failure["class"], failure["attempt"], failure.get("nextStartTime")) == ("Query", 2, None)
    assert ours.condition("Stalled")["status"] == "True"


def test_a_deletion_shortens_the_drain_of_a_pipeline_that_waits_for_its_batches(ours: Ours) -> None:
    ours.start_running(drain={"timeout": "10 seconds", "onTimeout": "wait"})
    ours.change(suspend=True)
    ours.await_driver_deletion()
    [pod] = ours.pods()
    assert pod.metadata.deletion_grace_period_seconds == 6 * 3600
    ours.delete()
    until(
        lambda: [pod.metadata.deletion_grace_period_seconds for pod in ours.pods()] == [40],
        why="the grace period was not shortened",
    )
    ours.ends(6, "interrupted")
    ours.gone()


@pytest.mark.full(gate="unit/test_operator_plan.py::test_backoff_doubles_to_its_maximum_and_resets")
def test_a_failed_driver_is_restarted_and_its_failure_reported(ours: Ours) -> None:
    # Long enough to be seen: the wait begins with the second, not the moment, at which the container ended.
    ours.start_running(restart={"backoff": "8 seconds"})
    ours.ends(4, "failed", "SinkRefused")
    status = ours.phase("BackingOff")
    assert status["lastTermination"]["reason"] == "SinkRefused"
    assert status["restarts"] == 1
    ours.pod(2)


@pytest.mark.full(gate="unit/test_clocks.py::test_backoff_after_a_driver_that_this_operator_observed_running")
@pytest.mark.parametrize("hours", [-1, 1])
def test_a_wrong_clock_of_a_node_changes_no_backoff(ours: Ours, hours: int) -> None:
    """The kubelet's time of the container's end is wrong by an hour."""
    ours.start_running(restart={"backoff": "5 seconds"})
    wrong = (datetime.now(UTC) + timedelta(hours=hours)).strftime("%Y-%m-%dT%H:%M:%SZ")
    ours.ends(4, "failed", "SinkRefused", started=wrong, finished=wrong)
    ours.phase("BackingOff")
    ours.pod(2)


def test_a_broken_change_keeps_the_running_driver(ours: Ours) -> None:
    first = ours.start_running(restart={"backoff": "1 second"})
    ours.change(checkpoints={"location": "/lost/with/the/pod"})
    until(lambda: ours.condition("SpecValid")["status"] == "False")
    assert ours.condition("SpecValid")["reason"] == "CheckpointNotDurable"
    assert ours.condition("QueriesActive")["status"] == "True"
    assert ours.phase("Running")["observedGeneration"] == 2
    ours.ends(4, "failed", "SinkRefused")
    assert (
        ours.pod(2).metadata.annotations["mainstem.dev/revision"]
        == first.metadata.annotations["mainstem.dev/revision"]
    )


def test_a_change_whose_pod_the_server_rejects_keeps_the_running_driver(ours: Ours) -> None:
    """The operator requests a dry run of the new pod before it deletes the running one."""
    first = ours.start_running()
    template = {"spec": {"tolerations": [{"key": "spot", "operator": "Whatever"}]}}
    ours.change(driver={"template": template})
    until(lambda: ours.condition("SpecValid")["status"] == "False")
    condition = ours.condition("SpecValid")
    assert (condition["reason"], ours.status["phase"]) == ("PodRefused", "Running")
    assert "Whatever" in condition["message"]
    assert [pod.metadata.uid for pod in ours.pods()] == [first.metadata.uid]
    assert ours.pods()[0].metadata.deletion_timestamp is None


def test_a_restricted_namespace_accepts_our_pods_and_rejections_are_reported(
    bed: Bed,
) -> None:
    bed.operator.up()
    ours = Ours(bed, bed.namespace(**{"pod-security.kubernetes.io/enforce": "restricted"}))
    ours.create(executors={"instances": 1})
    ours.pod(1)
    assert any(name.startswith("Secret/ticks-spark-") for name in ours.belongings())
    other = Ours(bed, ours.namespace, "other")
    other.create(driver={"template": {"spec": {"containers": [{"name": "side", "image": "side:1"}]}}})
    other.phase("Failed")
    assert "violates PodSecurity" in other.condition("SpecValid")["message"]
    other.change(driver=None)
    other.pod()


def test_a_foreign_pod_with_the_name_of_the_driver_is_not_changed(ours: Ours) -> None:
    pod = {"metadata": {"name": "ticks-driver"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    foreign = ours.bed.core.create_namespaced_pod(ours.namespace, pod)
    ours.create()
    ours.phase("Failed")
    condition = ours.condition("Ready")
    assert condition["reason"] == "NameTaken"
    assert "the Pod ticks-driver exists and does not belong to this pipeline" in condition["message"]
    ours.delete()
    ours.gone()
    assert (
        ours.bed.core.read_namespaced_pod("ticks-driver", ours.namespace).metadata.uid == foreign.metadata.uid
    )
    ours.cleared()  # or the collector would write while another test counts writes


def test_a_pipeline_deleted_and_created_at_once_starts_again(ours: Ours) -> None:
    ours.create()
    first = ours.runs()
    ours.held()
    ours.delete()
    ours.await_driver_deletion()
    ours.ends(0, "drained")
    ours.gone()
    ours.create()
    assert ours.pod(1).metadata.uid != first.metadata.uid
    assert ours.phase("Starting")["attempt"] == 1


@pytest.mark.full(
    gate="apiserver/test_operator_life.py::test_a_pipeline_deleted_and_created_at_once_starts_again"
)
def test_a_new_pipeline_waits_without_an_event_for_the_pod_of_a_deleted_one(ours: Ours) -> None:
    """The resource is gone before its driver, because somebody removed the finalizer."""
    ours.create()
    ours.runs()
    ours.held()
    ours.await_events("DriverStarting")
    ours.bed.operator.kill()
    ours.delete()
    ours.without_finalizer()
    ours.gone()
    ours.create()
    ours.bed.operator.up()
    ours.await_driver_deletion()  # by the garbage collector
    message = (
        "the Pod ticks-driver of a deleted pipeline with this name still exists; "
        "the start waits until it is deleted"
    )
    until(lambda: ours.condition("DriverRunning").get("message") == message, why="not waited for")
    assert ours.condition("SpecValid")["status"] == "True"
    assert ours.status["phase"] == "Starting"
    waits = ours.status
    ours.bed.heard(ours.namespace)
    assert ours.status == waits
    ours.vanishes()
    until(lambda: [entry for entry in ours.pods() if not entry.metadata.deletion_timestamp], why="no driver")
    assert ours.status["attempt"] == 1
    ours.await_events("DriverStarting", "DriverStarting")  # of the first pipeline and of the second


def test_a_budget_of_an_older_release_is_replaced_at_the_next_start(ours: Ours) -> None:
    """Kubernetes refuses an apply that would leave `maxUnavailable` beside `minAvailable`."""
    ours.start_running(driver={"podDisruptionBudget": {}})
    budgets = PolicyV1Api(ours.bed.client)
    at = ("ticks-driver", ours.namespace)
    old = budgets.read_namespaced_pod_disruption_budget(*at)
    budgets.delete_namespaced_pod_disruption_budget(*at)
    spec = {"maxUnavailable": 0, "selector": {"matchLabels": old.spec.selector.match_labels}}
    owners = ours.bed.client.sanitize_for_serialization(old.metadata.owner_references)
    about = {"name": at[0], "labels": old.metadata.labels, "ownerReferences": owners}
    budgets.create_namespaced_pod_disruption_budget(
        ours.namespace, {"metadata": about, "spec": spec}, field_manager="mainstem-operator"
    )
    ours.change(timeZone="Europe/Zurich")
    ours.passes_preflight()
    ours.await_driver_deletion()
    ours.ends(0, "drained")
    ours.pod(2)
    new = budgets.read_namespaced_pod_disruption_budget(*at)
    assert (new.spec.max_unavailable, new.spec.min_available) == (None, 1)
    assert new.metadata.owner_references[0].uid == ours.get()["metadata"]["uid"]


@pytest.mark.full(gate="apiserver/test_controllers.py::test_a_namespace_is_deleted_with_its_objects")
def test_a_namespace_with_running_pipelines_can_be_deleted(bed: Bed) -> None:
    bed.operator.up()
    namespace = bed.namespace()
    two = [Ours(bed, namespace, name) for name in ("one", "two")]
    for ours in two:
        ours.create()
        ours.runs()
        ours.held()
    bed.core.delete_namespace(namespace)
    for ours in two:
        ours.await_driver_deletion()
        ours.ends(0, "drained")
    # Its controller looks again after half the grace of the pods that it saw running.
    until(lambda: namespace not in [entry.metadata.name for entry in bed.core.list_namespace().items], 150)


def test_a_disruption_budget_is_created_and_deleted(ours: Ours) -> None:
    ours.create(driver={"podDisruptionBudget": {}})
    ours.pod()
    assert "PodDisruptionBudget/ticks-driver" in ours.belongings()
    ours.change(driver={"podDisruptionBudget": None})
    ours.pod(2)
    assert "PodDisruptionBudget/ticks-driver" not in ours.belongings()


def test_old_documents_are_deleted_and_never_the_running_one(ours: Ours) -> None:
    ours.create()
    first = ours.pod(1).metadata.annotations["mainstem.dev/revision"]
    for number in range(2, 8):
        ours.change(image=f"registry.example/mainstem:{number}")  # a change that needs another pod
        ours.pod(number)
    ours.change(image=None)
    assert ours.pod(8).metadata.annotations["mainstem.dev/revision"] == first
    documents = until(lambda: [entry for entry in ours.belongings() if entry.startswith("ConfigMap/")])
    until(lambda: len([entry for entry in ours.belongings() if entry.startswith("ConfigMap/")]) <= 6)
    assert f"ConfigMap/ticks-{first}" in ours.belongings(), documents


@pytest.mark.full(
    gate="unit/test_operator_plan.py::test_an_invalid_document_that_never_ran_is_rejected_and_not_retried"
)
def test_documents_that_only_the_operator_can_reject_are_reported(bed: Bed) -> None:
    bed.operator.up()
    namespace = bed.namespace()
    edits: dict[str, tuple[Ours, Edit]] = {}
    for number, edit in enumerate(OURS_ONLY):
        ours = Ours(bed, namespace, f"broken-{number}")
        document = edit.document()
        try:
            ours.create_document({"spec": document["spec"]})
        except ApiException as error:  # a document whose name is what is wrong
            raise AssertionError(edit.id) from error
        edits[ours.name] = ours, edit
    messages = []
    for ours, edit in edits.values():
        ours.phase("Invalid", "Suspended")
        condition = ours.condition("SpecValid")
        assert condition["status"] == "False", edit.id
        if condition["reason"] == edit.reason:
            messages.append(
                edit.reason
            )  # the condition has the reason of the first problem, and the messages of all
        assert condition["reason"] == validate(ours.get()).reason
        assert ours.condition("Ready")["status"] == "False"
        assert ours.pods() == []
    assert len(set(messages)) >= 12


# -- rights ---------------------------------------------------------------------------------------------------------


def may(bed: Bed, namespace: str, account: str, verb: str, group: str, resource: str, name: str = "") -> bool:
    """Whether the authorizer of the server allows a service account to do it."""
    attributes = {
        "namespace": namespace,
        "verb": verb,
        "group": group,
        "resource": resource.partition("/")[0],
        "name": name,
    }
    if "/" in resource:
        attributes["subresource"] = resource.partition("/")[2]
    review = {
        "spec": {"user": f"system:serviceaccount:{namespace}:{account}", "resourceAttributes": attributes}
    }
    api = bed.dynamic.resources.get(api_version="authorization.k8s.io/v1", kind="SubjectAccessReview")
    return bool(api.create(body=review).status.allowed)


@pytest.mark.parametrize("executors", [0, 2])
def test_a_driver_may_write_only_its_own_status(ours: Ours, executors: int) -> None:
    ours.create(executors={"instances": executors})
    other = Ours(ours.bed, ours.namespace, "other")
    other.create()
    ours.pod()
    other.pod()
    group, status = "mainstem.dev", "streamingpipelines/status"

    def can(verb: str, group: str, resource: str, name: str = "") -> bool:
        return may(ours.bed, ours.namespace, "ticks-driver", verb, group, resource, name)

    until(lambda: can("patch", group, status, "ticks"))  # the authorizer reads roles from a cache
    assert not can("patch", group, status, "other")
    assert not can("patch", group, "streamingpipelines", "ticks")
    assert not can("get", "", "secrets", "ticks-spark")
    assert not can("list", "", "secrets")
    assert not can("create", "", "configmaps")
    assert not can("create", "rbac.authorization.k8s.io", "rolebindings")
    assert can("create", "", "pods") == (executors > 0)


def test_the_operator_reads_no_secret_and_grants_itself_nothing(bed: Bed) -> None:
    """The process of these tests has the rights of the table and no others, so the table covers all that the operator does."""
    held = rules(IN_CLUSTER + IN_NAMESPACES)
    assert not [rule for rule in held if "*" in rule["verbs"] + rule["resources"] + rule["apiGroups"]]
    assert [rule["verbs"] for rule in held if "secrets" in rule["resources"]] == [["create"]]
    assert not {"escalate", "bind", "impersonate"} & {verb for rule in held for verb in rule["verbs"]}


# -- a lost node ----------------------------------------------------------------------------------------------------


@pytest.mark.full(
    gate="unit/test_operator_plan.py::test_the_pod_of_a_silent_node_is_deleted_by_force_and_the_next_driver_starts"
)
def test_a_node_that_never_confirms_the_end_of_its_pod_needs_nobody(ours: Ours) -> None:
    """No kubelet runs here: a deleted pod stays, as on a node without power."""
    first = ours.start_running()
    ours.bed.core.delete_namespaced_pod(first.metadata.name, ours.namespace, grace_period_seconds=1)
    ours.phase("Draining")
    second = ours.pod(2)
    assert second.metadata.uid != first.metadata.uid
    status = ours.phase("Starting")
    assert (status["restarts"], status["lastTermination"]["reason"]) == (0, "DriverLost")
    ours.await_events("DriverStarting", "Ready", "Draining", "NodeSilent", "DriverStarting")
    ours.runs(2)
    ours.reports(attempt=2)
    assert ours.phase("Running")["attempt"] == 2


@pytest.mark.full(
    gate="unit/test_operator_plan.py::test_without_a_fence_in_the_store_a_silent_node_waits_for_a_person"
)
def test_a_silent_node_keeps_the_name_of_a_pod_whose_checkpoints_are_on_a_volume(ours: Ours) -> None:
    mount = {"name": "c", "mountPath": "/checkpoints"}
    template = {
        "containers": [{"name": "driver", "volumeMounts": [mount]}],
        "volumes": [{"name": "c", "persistentVolumeClaim": {"claimName": "c"}}],
    }
    pod = ours.start_running(
        checkpoints={"location": "/checkpoints"}, driver={"template": {"spec": template}}
    )
    ours.bed.core.delete_namespaced_pod(pod.metadata.name, ours.namespace, grace_period_seconds=1)
    until(lambda: ours.condition("DriverRunning")["reason"] == "NodeSilent", why="the node is not silent")
    assert "No other driver starts" in ours.condition("DriverRunning")["message"]
    assert [each.metadata.uid for each in ours.pods()] == [pod.metadata.uid]


def test_a_driver_gets_the_identity_of_its_cluster_and_pipeline(ours: Ours) -> None:
    ours.create()
    variables = {each.name: each.value for each in ours.pod().spec.containers[0].env}
    cluster = ours.bed.core.read_namespace("kube-system").metadata.uid
    assert variables["MAINSTEM_CLUSTER_UID"] == cluster
    assert variables["MAINSTEM_PIPELINE_UID"] == ours.get()["metadata"]["uid"]


# -- cost -----------------------------------------------------------------------------------------------------------


@pytest.mark.full(
    gate="apiserver/test_operator_process.py::test_a_restarted_operator_adopts_drivers_without_a_write"
)
def test_a_converged_pipeline_costs_no_write(bed: Bed) -> None:
    bed.operator.stop()
    namespace = bed.namespace()
    # It sees these pipelines only: drivers that other tests have left fall silent, which is worth a write.
    often = {"MAINSTEM_NAMESPACES": namespace, "MAINSTEM_RESYNC_SECONDS": "1"}
    with Operator(bed.plane, bed.operator_kubeconfig, **often) as few:
        few.up()
        ours = Ours(bed, namespace)
        ours.start_running()
        refused = Ours(bed, namespace, "refused")
        refused.create(checkpoints={"location": "/lost/with/the/pod"})
        refused.phase("Invalid")
        suspended = Ours(bed, namespace, "suspended")
        suspended.create(suspend=True)
        suspended.phase("Suspended")
        bed.quiet()  # although each is reconciled once a second
        before = [entry.versions() for entry in (ours, refused, suspended)]
        bed.heard(namespace)
        assert [entry.versions() for entry in (ours, refused, suspended)] == before
