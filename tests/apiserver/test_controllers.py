"""The control plane with its controllers: the part of a cluster that a benchmark needs, without nodes."""

import pytest
from apiserver.operatorbed import Bed
from harness.waiting import within
from kubernetes.client import ApiException


def test_a_pod_needs_a_service_account_and_a_namespace_gets_one(bed: Bed) -> None:
    namespace = bed.namespace()  # which waits for the account
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    stranger = {**pod, "spec": {**pod["spec"], "serviceAccountName": "stranger"}}
    with pytest.raises(ApiException, match=r"serviceaccount .*stranger.* not found"):
        bed.core.create_namespaced_pod(namespace, stranger)
    made = bed.core.create_namespaced_pod(namespace, pod)
    assert any(volume.projected for volume in made.spec.volumes)  # the account's token


def test_an_owned_object_is_deleted_with_its_owner(bed: Bed) -> None:
    core, namespace = bed.core, bed.namespace()
    owner = core.create_namespaced_config_map(namespace, {"metadata": {"name": "owner"}})
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner.metadata.uid}
    owned = {"metadata": {"name": "owned", "ownerReferences": [reference]}}
    core.create_namespaced_secret(namespace, owned)
    core.delete_namespaced_config_map("owner", namespace)
    within(90, "no secret", lambda: not core.list_namespaced_secret(namespace).items)


def test_a_namespace_is_deleted_with_its_objects(bed: Bed) -> None:
    core, namespace = bed.core, bed.namespace()
    core.create_namespaced_config_map(namespace, {"metadata": {"name": "inside"}})
    core.delete_namespace(namespace)
    within(
        90,
        "the namespace gone",
        lambda: namespace not in {each.metadata.name for each in core.list_namespace().items},
    )
