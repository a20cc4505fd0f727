"""The interface of a test cluster, the same for every provider."""

import json
import os
import subprocess
import sys
from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING

from harness import gotools
from harness.errors import HarnessError
from harness.images import Image, layouts


if TYPE_CHECKING:
    from kubernetes.client import ApiClient


NAME = "mainstem-test"
"""The cluster's name; for whatever the bare provider makes on the machine, too."""

CONTEXTS = frozenset({NAME, f"kind-{NAME}"})
"""The only contexts that tests may touch."""


class TestCluster(ABC):
    """A Kubernetes cluster that this harness makes and removes, and that runs on when the process ends that made it."""

    __test__ = False
    """Not a test, whatever its name: pytest collects classes by theirs."""
    provider: str
    kubeconfig: Path

    @abstractmethod
    def up(self, owner: int | None = None) -> bool:
        """Bring the cluster up until its node is ready and its DNS answers; return False when it was up already.

        With an `owner` (a process id) the cluster is that process's: once it is dead, the next `up` replaces it.

        :raises HarnessError: when it does not come up (nothing is left then), or another cluster is in the way.
        """

    @abstractmethod
    def down(self) -> bool:
        """Remove the cluster and whatever it left on the machine; return False when there was none.

        :raises HarnessError: when there is one that this harness did not make; it is not touched.
        """

    @abstractmethod
    def load(self, archive: Path) -> None:
        """Make the image of an archive (`buildah push IMAGE oci-archive:FILE:NAME:TAG`) known to the node.

        :raises HarnessError: when the cluster is not up or refuses the archive.
        """

    def take(self, image: Image) -> None:
        """Make an image known to the node, from what the node has of its layers and from the image's folder.

        :raises HarnessError: when the cluster is not up or refuses the image.
        """
        if not self.has(image.reference):
            with layouts.packed(image.layout, self.blobs()) as archive:
                self.load(archive)

    @abstractmethod
    def has(self, reference: str) -> bool:
        """Whether the node knows an image of this name."""

    @abstractmethod
    def blobs(self) -> set[str]:
        """The digests of what the node has of all images: manifests, configurations and layers."""

    @abstractmethod
    def name(self, reference: str, other: str) -> None:
        """Give an image that the node knows another name, taken from any that had it."""

    @abstractmethod
    def running(self) -> bool:
        """Whether the cluster was made by this harness and its API server answers."""

    def kubectl(self, *words: str, stdin: str | None = None, timeout: float = 120.0) -> str:
        """Run kubectl; return its standard output.

        :raises HarnessError: when it fails, with its standard error.
        """
        executable = gotools.kubernetes().build().path / "kubectl"
        check_context(self.kubeconfig)
        argv = [str(executable), f"--kubeconfig={self.kubeconfig}", *words]
        try:
            done = subprocess.run(
                argv, input=stdin, capture_output=True, text=True, timeout=timeout, env=_direct(), check=False
            )
        except subprocess.TimeoutExpired:
            raise HarnessError(f"kubectl {' '.join(words)}: no end within {timeout:g} s") from None
        if done.returncode:
            raise HarnessError(f"kubectl {' '.join(words)}: {done.stderr.strip() or done.stdout.strip()}")
        return done.stdout

    def plugin(self, *words: str, timeout: float = 240.0) -> tuple[int, str]:
        """Run `kubectl mainstem`, as kubectl finds it; return exit code and output."""
        executable = gotools.kubernetes().build().path / "kubectl"
        check_context(self.kubeconfig)
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        done = subprocess.run(
            [str(executable), "mainstem", *words],
            capture_output=True,
            text=True,
            timeout=timeout,
            env=_direct() | {"PATH": path, "KUBECONFIG": str(self.kubeconfig)},
            check=False,
        )
        return done.returncode, done.stdout + done.stderr

    def api_client(self) -> "ApiClient":
        """Return a new client of the kubernetes package with all rights."""
        from kubernetes.client import ApiClient, Configuration
        from kubernetes.config import load_kube_config

        check_context(self.kubeconfig)
        configuration = Configuration()
        load_kube_config(str(self.kubeconfig), client_configuration=configuration)
        configuration.proxy = None  # the node is on this machine, also with a proxy in the environment
        return ApiClient(configuration)


def check_context(kubeconfig: Path) -> None:
    """Refuse a kubeconfig whose current context is not one of the test clusters'.

    :raises HarnessError: naming both.
    """
    import yaml

    try:
        text = kubeconfig.read_text()
    except OSError as error:
        raise HarnessError(
            f"the test cluster is not up (no kubeconfig: {error}); run `make cluster-up`"
        ) from None
    context = (json.loads(text) if text.startswith("{") else yaml.safe_load(text)).get("current-context")
    if context not in CONTEXTS:
        allowed = ", ".join(sorted(CONTEXTS))
        raise HarnessError(
            f"{kubeconfig}: the context {context!r} is not a test cluster's ({allowed}); not touched"
        )


def _direct() -> dict[str, str]:
    """The environment without proxies: the node is on this machine."""
    return {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
