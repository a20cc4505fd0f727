"""What the tests of a cluster share: which provider's tests run here, a small image, a namespace of the test's own."""

import secrets
from collections.abc import Callable, Iterator

import pytest
from cluster.deployment import (
    CHART,
    OPERATOR_NAMESPACE,
    Pipeline,
    Servers,
    await_account,
    helm,
    image_values,
    namespace,
)
from cluster.faultbed import ClusterFaultBed, new_bed
from cluster.orders import Orders
from cluster.pods import load_tool
from harness import gotools
from harness.cluster.base import TestCluster
from harness.cluster.choose import provider
from harness.images import NAMES, Image, build


PROVIDERS = ("bare", "kind")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put stories in their order, and deselect what is about a provider that this machine does not have."""
    _in_order(items)
    about = {item: {name for name in PROVIDERS if item.get_closest_marker(name)} for item in items}
    if not any(about.values()):
        return
    here = provider()
    others = [item for item in items if about[item] and here not in about[item]]
    config.hook.pytest_deselected(items=others)
    items[:] = [item for item in items if item not in others]


def _in_order(items: list[pytest.Item]) -> None:
    """A module whose tests tell one story keeps the order of its text, whatever the seed; modules stay where they are."""
    for module in {item.path for item in items if item.get_closest_marker("story")}:
        places = [index for index, item in enumerate(items) if item.path == module]
        story = sorted((items[index] for index in places), key=lambda item: item.reportinfo()[1] or 0)
        for index, item in zip(places, story, strict=True):
            items[index] = item


@pytest.fixture(scope="session")
def images(cluster: TestCluster) -> dict[str, Image]:
    """The images of Mainstem and of its tests' servers, built and known to the cluster."""
    built = {name: build(name) for name in NAMES}
    for image in built.values():
        cluster.take(image)
    return built


@pytest.fixture(scope="session")
def release(cluster: TestCluster, images: dict[str, Image]) -> None:
    """The operator, installed by the chart into a namespace that enforces the restricted level."""
    namespace(cluster, OPERATOR_NAMESPACE)
    values = image_values(images["operator"], images["app"])
    helm(cluster, "upgrade", "--install", "mainstem", str(CHART), *values, "--wait", "--timeout=120s")


@pytest.fixture(scope="session")
def stage_servers(
    cluster: TestCluster, images: dict[str, Image], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[str], Servers]]:
    """Makes a namespace that enforces the restricted level, with a broker and a store in it."""
    made: list[Servers] = []

    def make(name: str) -> Servers:
        name = f"{name}-{secrets.token_hex(3)}"
        namespace(cluster, name)
        folder = tmp_path_factory.mktemp(name)
        made.append(Servers(cluster, name, images["kafka"], images["s3"], folder))
        return made[-1]

    yield make
    for servers in made:
        servers.close()
        cluster.kubectl("delete", "namespace", servers.namespace, "--ignore-not-found", "--wait=false")


@pytest.fixture(scope="module")
def servers(request: pytest.FixtureRequest, stage_servers: Callable[[str], Servers]) -> Servers:
    """A namespace that is named after the module, with a broker and a store in it."""
    return stage_servers(request.path.stem.removeprefix("test_").replace("_", "-"))


@pytest.fixture(scope="module")
def orders(servers: Servers) -> Orders:
    """Orders in the namespace of the module."""
    return Orders(servers)


@pytest.fixture(scope="session")
def tool_image(cluster: TestCluster, tmp_path_factory: pytest.TempPathFactory) -> str:
    """An image of 2 MB with `/pause`, which waits, serves HTTP, fetches a page or looks a name up."""
    executable = gotools.PAUSE.build().path / "pause"
    return load_tool(cluster, executable, tmp_path_factory.mktemp("images") / "tool.tar")


@pytest.fixture
def restricted(cluster: TestCluster) -> Iterator[str]:
    """A namespace of the test's own that enforces the restricted level of pod security."""
    name = f"test-{secrets.token_hex(4)}"
    cluster.kubectl("create", "namespace", name)
    cluster.kubectl("label", "namespace", name, "pod-security.kubernetes.io/enforce=restricted")
    await_account(cluster, name)
    yield name
    cluster.kubectl("delete", "namespace", name, "--wait=false")


@pytest.fixture
def pipeline(cluster: TestCluster, release: None, servers: Servers) -> Iterator[Pipeline]:
    """A pipeline of the test's own in the namespace of the module's fixture `servers`; it is deleted afterwards."""
    new_pipeline = Pipeline(cluster, servers.namespace, f"p-{secrets.token_hex(3)}")
    yield new_pipeline
    new_pipeline.kubectl(
        "delete", "streamingpipeline", new_pipeline.name, "--ignore-not-found", "--timeout=90s"
    )


@pytest.fixture(scope="module")
def bed(
    cluster: TestCluster, release: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ClusterFaultBed]:
    """A pipeline that counts every row, with its first records in every sink."""
    with new_bed(cluster, tmp_path_factory.mktemp("faults")) as bed:
        bed.start()
        yield bed
