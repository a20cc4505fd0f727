"""The operator's release on a cluster: its self-test, an upgrade, an uninstallation; running pipelines do not notice.

The tests of this file tell one story, in their order; at its end the release is as it was.
"""

import subprocess

import pytest
from cluster.deployment import CHART, OPERATOR_NAMESPACE, Pipeline, Servers, helm, image_values, within
from cluster.test_lives import small, uid
from harness import gotools
from harness.cluster.base import TestCluster
from harness.images import Image


pytestmark = [
    pytest.mark.timeout(600),
    pytest.mark.story,
    pytest.mark.full(
        gate="chart/test_lifecycle.py::test_a_release_is_installed_upgraded_uninstalled_and_installed_again"
    ),
]


@pytest.fixture(scope="module")
def pipeline(cluster: TestCluster, release: None, servers: Servers) -> Pipeline:
    new_pipeline = Pipeline(cluster, servers.namespace, "steady")
    new_pipeline.apply(small("steady"))
    new_pipeline.wait("Ready", 180)
    return new_pipeline


def upgrade(cluster: TestCluster, images: dict[str, Image], *more: str) -> None:
    values = image_values(images["operator"], images["app"])
    helm(cluster, "upgrade", "--install", "mainstem", str(CHART), *values, *more, "--wait", "--timeout=120s")


@pytest.mark.full(gate="chart/test_installed.py::test_the_self_test_passes_with_a_healthy_operator")
def test_helm_test_passes(cluster: TestCluster, release: None) -> None:
    assert "Phase:          Succeeded" in helm(cluster, "test", "mainstem", "--timeout=180s")


@pytest.mark.full(
    gate="apiserver/test_operator_upgrade.py::test_an_upgrade_restarts_no_driver_and_writes_nothing"
)
def test_an_upgrade_restarts_no_driver(
    cluster: TestCluster, images: dict[str, Image], pipeline: Pipeline
) -> None:
    before, attempt = uid(pipeline), pipeline.status()["attempt"]
    upgrade(cluster, images, "--set-string=driver.image.tag=another", "--set=resyncSeconds=5")
    pipeline.reports_again(times=2)  # at which the new operator looks at it
    assert uid(pipeline) == before
    assert pipeline.status()["attempt"] == attempt
    assert pipeline.condition("Ready")["status"] == "True"
    upgrade(cluster, images)


def test_an_uninstallation_keeps_pipelines_running(cluster: TestCluster, pipeline: Pipeline) -> None:
    before = uid(pipeline)
    helm(cluster, "uninstall", "mainstem", "--wait")
    pipeline.reports_again()
    assert uid(pipeline) == before
    assert pipeline.get()["metadata"]["name"] == "steady"
    assert "streamingpipelines.mainstem.dev" in cluster.kubectl("get", "crd", "-o", "name")


def test_the_command_of_the_runbook_releases_the_remaining_resources(
    cluster: TestCluster, pipeline: Pipeline, servers: Servers
) -> None:
    other = Pipeline(cluster, servers.namespace, "stuck")
    other.apply(
        small("stuck", suspend=True) | {"metadata": {"name": "stuck", "finalizers": ["mainstem.dev/drain"]}}
    )
    other.kubectl("delete", "streamingpipeline", "stuck", "--wait=false")
    assert other.get()["metadata"]["deletionTimestamp"]
    command = (CHART / "files" / "release-pipelines.sh").read_text()
    folder = gotools.kubernetes().build().path
    env = {"PATH": f"{folder}:/usr/bin:/bin", "KUBECONFIG": str(cluster.kubeconfig), "HOME": "/nonexistent"}
    done = subprocess.run(["sh", "-c", command], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    within(30, "it is gone", lambda: not other.kubectl("get", "sp", "stuck", "--ignore-not-found").strip())


def test_an_installation_takes_over_running_pipelines(
    cluster: TestCluster, images: dict[str, Image], pipeline: Pipeline
) -> None:
    before = uid(pipeline)
    upgrade(cluster, images)
    within(
        120, "the finalizer", lambda: pipeline.get()["metadata"].get("finalizers") == ["mainstem.dev/drain"]
    )
    assert uid(pipeline) == before
    pods = cluster.kubectl("-n", OPERATOR_NAMESPACE, "get", "pods", "-o", "name")
    assert "pod/mainstem" in pods
    pipeline.delete()
