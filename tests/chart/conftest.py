from collections.abc import Iterator

import pytest
from chart.rendering import CHART, NAMESPACE
from chart.server import Cluster
from harness.apiserver import ControlPlane


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A fresh API server with the namespaces `mainstem`, which enforces `restricted`, and `a` and `b`."""
    with ControlPlane() as plane:
        started_cluster = Cluster(plane, tmp_path_factory.mktemp("cluster"))
        started_cluster.namespace(NAMESPACE, "restricted")
        started_cluster.namespace("a")
        started_cluster.namespace("b")
        yield started_cluster


@pytest.fixture(scope="module")
def installed(cluster: Cluster) -> Cluster:
    """The same with the chart installed by its defaults; tests that take it leave the release as it is."""
    cluster.helm("install", "mainstem", CHART)
    cluster.await_definition()
    return cluster
