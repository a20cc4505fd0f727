"""The test cluster is a cluster: nodes, pods, network, DNS, rights, admission. The same for every provider."""

import os
from collections.abc import Callable
from http import HTTPStatus
from pathlib import Path

import pytest
from cluster.deployment import await_account, within
from cluster.pods import bare_minimum, pod
from harness.cluster.base import TestCluster, check_context
from harness.errors import HarnessError
from kubernetes.client import ApiClient, ApiException, CoreV1Api


def test_the_node_is_ready(cluster: TestCluster) -> None:
    ready = "jsonpath={.items[*].status.conditions[?(@.type=='Ready')].status}"
    assert cluster.kubectl("get", "nodes", "-o", ready) == "True"


def test_a_second_up_uses_the_same_cluster(cluster: TestCluster) -> None:
    uid = ("get", "namespace", "kube-system", "-o", "jsonpath={.metadata.uid}")
    before = cluster.kubectl(*uid)
    assert cluster.up(owner=os.getpid()) is False
    assert cluster.kubectl(*uid) == before


@pytest.mark.full(
    gate="cluster/test_story.py::test_a_document_runs_with_an_executor_from_kafka_to_delta_on_s3"
)
def test_pods_reach_each_other_by_service_name(
    cluster: TestCluster, restricted: str, tool_image: str
) -> None:
    here = ("-n", restricted)
    cluster.kubectl(*here, "apply", "-f", "-", stdin=pod("server", tool_image, "serve", "8080"))
    cluster.kubectl(*here, "expose", "pod", "server", "--port=80", "--target-port=8080")
    cluster.kubectl(*here, "wait", "--for=condition=Ready", "pod/server", "--timeout=110s")
    address = cluster.kubectl(*here, "get", "service", "server", "-o", "jsonpath={.spec.clusterIP}")
    lookup = ("exec", "server", "--", "/pause", "lookup")
    within(
        60,
        "the name of the service",
        lambda: kubectl_output(cluster, *here, *lookup, f"server.{restricted}.svc"),
    )
    assert cluster.kubectl(*here, *lookup, f"server.{restricted}.svc").split() == [address]
    # It asks again where the node does not know the pod of the service yet.
    client = pod("client", tool_image, "get", "http://server/", restartPolicy="OnFailure")
    cluster.kubectl(*here, "apply", "-f", "-", stdin=client)
    succeeded = "--for=jsonpath={.status.phase}=Succeeded"
    cluster.kubectl(*here, "wait", succeeded, "pod/client", "--timeout=110s")
    assert cluster.kubectl(*here, "logs", "client").strip() == "200 OK"


@pytest.mark.full(
    gate="cluster/test_story.py::test_a_document_runs_with_an_executor_from_kafka_to_delta_on_s3"
)
def test_an_unknown_name_fails_at_once(cluster: TestCluster, restricted: str, tool_image: str) -> None:
    here = ("-n", restricted)
    lookup = pod("lookup", tool_image, "lookup", "broker.invalid")
    cluster.kubectl(*here, "apply", "-f", "-", stdin=lookup)
    cluster.kubectl(*here, "wait", "--for=jsonpath={.status.phase}=Failed", "pod/lookup", "--timeout=110s")
    assert "no such host" in cluster.kubectl(*here, "logs", "lookup")


def test_restricted_pod_security_is_enforced(cluster: TestCluster, restricted: str, tool_image: str) -> None:
    with pytest.raises(HarnessError, match='violates PodSecurity "restricted'):
        cluster.kubectl("-n", restricted, "apply", "-f", "-", stdin=bare_minimum("careless", tool_image))


@pytest.mark.full(
    gate="apiserver/test_driver_status.py::test_the_rights_of_a_driver_are_enough_and_reach_no_other_pipeline"
)
def test_a_service_account_has_only_its_granted_rights(cluster: TestCluster, restricted: str) -> None:
    configuration = cluster.api_client().configuration
    configuration.cert_file = configuration.key_file = None  # it is the token that speaks
    token = cluster.kubectl("-n", restricted, "create", "token", "default").strip()
    configuration.api_key = {"authorization": f"Bearer {token}"}
    pods = CoreV1Api(ApiClient(configuration))
    with pytest.raises(ApiException, match=f"system:serviceaccount:{restricted}:default"):
        pods.list_namespaced_pod(restricted)
    cluster.kubectl("-n", restricted, "create", "role", "reader", "--verb=list", "--resource=pods")
    account = f"--serviceaccount={restricted}:default"
    cluster.kubectl("-n", restricted, "create", "rolebinding", "reader", "--role=reader", account)
    # The authorizer reads roles from a cache.
    within(60, "the right", lambda: allowed(lambda: pods.list_namespaced_pod(restricted)))
    with pytest.raises(ApiException, match="Forbidden"):
        pods.list_namespaced_pod("kube-system")


def kubectl_output(cluster: TestCluster, *words: str) -> str:
    """The output of kubectl, empty where it fails."""
    try:
        return cluster.kubectl(*words)
    except HarnessError:
        return ""


def allowed(call: Callable[[], object]) -> bool:
    try:
        call()
    except ApiException as error:
        if error.status != HTTPStatus.FORBIDDEN:
            raise
        return False
    return True


@pytest.mark.full(gate="apiserver/test_controllers.py::test_a_namespace_is_deleted_with_its_objects")
def test_a_namespace_is_deleted_with_its_objects(cluster: TestCluster, tool_image: str) -> None:
    cluster.kubectl("create", "namespace", "short-lived")
    await_account(cluster, "short-lived")
    cluster.kubectl("-n", "short-lived", "apply", "-f", "-", stdin=pod("inside", tool_image))
    cluster.kubectl("-n", "short-lived", "wait", "--for=condition=Ready", "pod/inside", "--timeout=110s")
    cluster.kubectl("delete", "namespace", "short-lived", "--timeout=110s")
    assert "short-lived" not in cluster.kubectl("get", "pods", "--all-namespaces")


def test_only_the_context_of_the_test_cluster_is_used(tmp_path: Path) -> None:
    other = tmp_path / "config"
    other.write_text("apiVersion: v1\nkind: Config\ncurrent-context: production\n")
    with pytest.raises(HarnessError, match="'production' is not a test cluster's"):
        check_context(other)
