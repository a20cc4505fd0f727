"""The control plane with its controllers: the part of a cluster that a benchmark needs, without nodes."""

from collections.abc import Iterator

import pytest
from harness.apiserver import ControlPlane
from harness.waiting import within
from kubernetes.client import ApiException, CoreV1Api


@pytest.fixture(scope="module")
def core() -> Iterator[CoreV1Api]:
    with ControlPlane(controllers=True) as plane:
        client = plane.api_client()
        yield CoreV1Api(client)
        client.rest_client.pool_manager.clear()


def test_a_pod_needs_a_service_account_and_a_namespace_gets_one(core: CoreV1Api) -> None:
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    stranger = {**pod, "spec": {**pod["spec"], "serviceAccountName": "stranger"}}
    with pytest.raises(ApiException, match=r"serviceaccount .*stranger.* not found"):
        core.create_namespaced_pod("default", stranger)
    core.create_namespace({"metadata": {"name": "accounts"}})
    within(60, "an account", lambda: core.list_namespaced_service_account("accounts").items)
    made = core.create_namespaced_pod("accounts", pod)
    assert any(volume.projected for volume in made.spec.volumes)  # the account's token


def test_an_owned_object_is_deleted_with_its_owner(core: CoreV1Api) -> None:
    owner = core.create_namespaced_config_map("default", {"metadata": {"name": "owner"}})
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner.metadata.uid}
    owned = {"metadata": {"name": "owned", "ownerReferences": [reference]}}
    core.create_namespaced_secret("default", owned)
    core.delete_namespaced_config_map("owner", "default")
    within(90, "no secret", lambda: not core.list_namespaced_secret("default").items)


def test_a_namespace_is_deleted_with_its_objects(core: CoreV1Api) -> None:
    core.create_namespace({"metadata": {"name": "gone"}})
    core.create_namespaced_config_map("gone", {"metadata": {"name": "inside"}})
    core.delete_namespace("gone")
    within(
        90, "the namespace gone", lambda: "gone" not in {n.metadata.name for n in core.list_namespace().items}
    )
