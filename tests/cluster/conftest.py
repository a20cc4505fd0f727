"""What the tests of a cluster share: which provider's tests run here, a small image, a namespace of the test's own."""

import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest
from harness import gotools
from harness.cluster import oci
from harness.cluster.base import Cluster
from harness.cluster.choose import provider


PROVIDERS = ("bare", "kind")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect what is about a provider that this machine does not have."""
    about = {item: {name for name in PROVIDERS if item.get_closest_marker(name)} for item in items}
    if not any(about.values()):
        return
    here = provider()
    others = [item for item in items if about[item] and here not in about[item]]
    config.hook.pytest_deselected(items=others)
    items[:] = [item for item in items if item not in others]


@pytest.fixture(scope="session")
def tool_image(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> str:
    """An image of 2 MB with `/pause`, which waits, serves HTTP, fetches a page or looks a name up."""
    executable = gotools.PAUSE.build().path / "pause"
    return load_tool(cluster, executable, tmp_path_factory.mktemp("images") / "tool.tar")


def load_tool(cluster: Cluster, executable: Path, archive: Path) -> str:
    """Make an image of an executable and load it; return its name."""
    image = f"localhost/mainstem-test-tool:{executable.parent.name}"
    oci.write(executable, image, archive)
    cluster.load(archive)
    return image


@pytest.fixture
def restricted(cluster: Cluster) -> Iterator[str]:
    """A namespace of the test's own that enforces the restricted level of pod security."""
    name = f"test-{secrets.token_hex(4)}"
    cluster.kubectl("create", "namespace", name)
    cluster.kubectl("label", "namespace", name, "pod-security.kubernetes.io/enforce=restricted")
    yield name
    cluster.kubectl("delete", "namespace", name, "--wait=false")
