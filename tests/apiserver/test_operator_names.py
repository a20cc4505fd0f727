"""Objects of other owners with the names that a pipeline needs: the operator neither changes nor deletes them."""

import asyncio
from typing import Any

import pytest
from apiserver.operatorbed import Bed, Ours, until
from kubernetes.aio import client as aio
from kubernetes.aio.config.kube_config import load_kube_config
from kubernetes.client import PolicyV1Api, RbacAuthorizationV1Api
from mainstem.names import OPERATOR
from mainstem_operator.api.kubernetes_api import ApiError, Kind, KubernetesApi


class Strangers:
    """Objects called `spark-driver` and a budget `orders-driver` that a user made before any pipeline."""

    def __init__(self, bed: Bed, namespace: str) -> None:
        self._core, self._namespace = bed.core, namespace
        self._rbac, self._policy = RbacAuthorizationV1Api(bed.client), PolicyV1Api(bed.client)

    def create_access(self) -> None:
        about = {"name": "spark-driver"}
        self._core.create_namespaced_service_account(self._namespace, {"metadata": about})
        rule = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}
        self._rbac.create_namespaced_role(self._namespace, {"metadata": about, "rules": [rule]})
        binding = {
            "metadata": about,
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "spark-driver"},
            "subjects": [{"kind": "ServiceAccount", "name": "spark-driver", "namespace": self._namespace}],
        }
        self._rbac.create_namespaced_role_binding(self._namespace, binding)

    def delete_access(self) -> None:
        self._core.delete_namespaced_service_account("spark-driver", self._namespace)
        self._rbac.delete_namespaced_role("spark-driver", self._namespace)
        self._rbac.delete_namespaced_role_binding("spark-driver", self._namespace)

    def access(self) -> list[tuple[str, str, Any]]:
        at = ("spark-driver", self._namespace)
        objects = (
            self._core.read_namespaced_service_account(*at),
            self._rbac.read_namespaced_role(*at),
            self._rbac.read_namespaced_role_binding(*at),
        )
        return [_identity(entry) for entry in objects]

    def create_budget(self) -> None:
        spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "orders"}}}
        body = {"metadata": {"name": "orders-driver"}, "spec": spec}
        self._policy.create_namespaced_pod_disruption_budget(self._namespace, body)

    def delete_budget(self) -> None:
        self._policy.delete_namespaced_pod_disruption_budget("orders-driver", self._namespace)

    def budget(self) -> tuple[str, str, Any]:
        unchanged = self._policy.read_namespaced_pod_disruption_budget("orders-driver", self._namespace)
        # The disruption controller writes its status.
        return (
            unchanged.metadata.uid,
            str(unchanged.spec.selector.match_labels),
            unchanged.metadata.owner_references,
        )


def _identity(entry: Any) -> tuple[str, str, Any]:
    return entry.metadata.uid, entry.metadata.resource_version, entry.metadata.owner_references


def _name_taken(ours: Ours) -> str:
    """The message, once the status reports that a name is taken."""
    until(lambda: ours.condition("SpecValid")["reason"] == "NameTaken", why="no NameTaken")
    condition = ours.condition("SpecValid")
    assert condition["status"] == "False"
    return str(condition["message"])


@pytest.mark.full(
    gate="apiserver/test_operator_names.py::test_the_deletion_of_a_pipeline_keeps_an_account_role_and_binding_of_a_user"
)
def test_a_pipeline_does_not_take_over_an_account_role_and_binding_of_a_user(ours: Ours) -> None:
    bed, namespace = ours.bed, ours.namespace
    strangers = Strangers(bed, namespace)
    strangers.create_access()
    before = strangers.access()
    spark = Ours(bed, namespace, "spark")
    spark.create()
    message = _name_taken(spark)
    assert "spark-driver" in message
    assert message.split()[1] in ("ServiceAccount", "Role", "RoleBinding"), message
    assert spark.status["phase"] == "Failed"
    assert spark.pods() == []
    assert strangers.access() == before

    bed.operator.stop()
    strangers.delete_access()
    bed.operator.up()  # asks at once what it would ask again within a minute
    spark.pod(1)
    until(lambda: spark.condition("SpecValid")["status"] == "True")


def test_the_deletion_of_a_pipeline_keeps_an_account_role_and_binding_of_a_user(ours: Ours) -> None:
    strangers = Strangers(ours.bed, ours.namespace)
    strangers.create_access()
    before = strangers.access()
    spark = Ours(ours.bed, ours.namespace, "spark")
    spark.create()
    _name_taken(spark)
    spark.held()
    spark.delete()
    spark.gone()
    spark.cleared()
    assert strangers.access() == before


def test_a_disruption_budget_of_a_user_is_kept_at_the_second_start(ours: Ours) -> None:
    strangers = Strangers(ours.bed, ours.namespace)
    strangers.create_budget()
    before = strangers.budget()
    orders = Ours(ours.bed, ours.namespace, "orders")
    orders.start_running()
    orders.change(timeZone="Europe/Zurich")
    orders.passes_preflight()
    orders.await_driver_deletion()
    orders.ends(0, "drained")
    orders.pod(2)
    assert strangers.budget() == before

    orders.runs(2)
    orders.reports(attempt=2)
    orders.phase("Running")
    orders.change(driver={"podDisruptionBudget": {}})
    assert "PodDisruptionBudget orders-driver" in _name_taken(orders)
    assert orders.status["phase"] == "Running", "a running driver is not stopped for a start that would fail"
    assert orders.pods()[0].metadata.deletion_timestamp is None
    assert strangers.budget() == before


# -- the server's preconditions, on which this rests -----------------------------------------------------------------


def test_apply_and_delete_with_the_uid_of_another_object_change_nothing(bed: Bed) -> None:
    namespace = bed.namespace()
    bed.core.create_namespaced_service_account(namespace, {"metadata": {"name": "a"}})

    def manifest(name: str) -> dict[str, Any]:
        about = {"name": name, "namespace": namespace, "uid": "11111111-1111-1111-1111-111111111111"}
        return {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": about,
            "automountServiceAccountToken": False,
        }

    async def attempt() -> list[int]:
        configuration, statuses = aio.Configuration(), []
        await load_kube_config(str(bed.plane.kubeconfig), client_configuration=configuration)
        cluster = KubernetesApi(aio.ApiClient(configuration))
        try:
            for name in ("a", "absent"):
                try:
                    await cluster.apply(manifest(name), OPERATOR)
                except ApiError as error:
                    statuses.append(error.status)
            await cluster.delete(Kind("v1", "ServiceAccount"), manifest("a"))
        finally:
            await cluster.close()
        return statuses

    assert asyncio.run(attempt()) == [422, 409]
    unchanged = bed.core.read_namespaced_service_account("a", namespace)
    assert unchanged.automount_service_account_token is None
    names = [entry.metadata.name for entry in bed.core.list_namespaced_service_account(namespace).items]
    assert "absent" not in names
