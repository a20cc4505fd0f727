"""The provider where Docker answers: the released `kind`, with the config that users have."""

from collections.abc import Callable
from pathlib import Path

from harness.cache import cache_root
from harness.cluster.base import NAME, TestCluster
from harness.cluster.host import run
from harness.cluster.state import ClusterState, identity
from harness.errors import HarnessError


CONFIG = Path(__file__).parents[3] / "k8s" / "kind" / "cluster.yaml"


class KindCluster(TestCluster):
    """The kind cluster `mainstem-test` of this user's Docker."""

    provider = "kind"

    def __init__(self, report: Callable[[str], None] = lambda line: None) -> None:
        self._report = report
        self._folder = cache_root() / "cluster"
        self._state = self._folder / "kind.json"
        self.kubeconfig = self._folder / "kubeconfig"

    def up(self, owner: int | None = None) -> bool:
        state = ClusterState.read(self._state)
        if self._exists():
            if state is None:
                raise HarnessError(
                    f"there is a kind cluster {NAME} that this harness did not make; not touched"
                )
            if not state.owner_is_dead():
                return False
            self.down()
        ClusterState.new(NAME, identity(owner) if owner else "").write(self._state)
        try:
            run("kind", "create", "cluster", *self._named(), f"--config={CONFIG}", "--wait=180s")
        except BaseException:
            self.down()
            raise
        self.kubectl("rollout", "status", "-n", "kube-system", "deployment/coredns", "--timeout=120s")
        return True

    def down(self) -> bool:
        if ClusterState.read(self._state) is None:
            if self._exists():
                raise HarnessError(
                    f"there is a kind cluster {NAME} that this harness did not make; not touched"
                )
            return False
        run("kind", "delete", "cluster", *self._named())
        self.kubeconfig.unlink(missing_ok=True)
        self._state.unlink()
        return True

    def load(self, archive: Path) -> None:
        if not self.running():
            raise HarnessError("the test cluster is not up; run `make cluster-up`")
        run("kind", "load", "image-archive", archive, f"--name={NAME}")

    def has(self, reference: str) -> bool:
        return bool(_ctr("images", "ls", "--quiet", f"name=={reference}").strip())

    def blobs(self) -> set[str]:
        return set(_ctr("content", "ls", "--quiet").split())

    def name(self, reference: str, other: str) -> None:
        _ctr("images", "tag", "--force", reference, other)

    def running(self) -> bool:
        return ClusterState.read(self._state) is not None and self._exists() and self.kubeconfig.exists()

    def _exists(self) -> bool:
        return NAME in run("kind", "get", "clusters").split()

    def _named(self) -> tuple[str, str]:
        return f"--name={NAME}", f"--kubeconfig={self.kubeconfig}"


def _ctr(*words: str) -> str:
    return run("docker", "exec", f"{NAME}-control-plane", "ctr", "-n", "k8s.io", *words)
