"""The client of one containerd, for the images of Kubernetes."""

from pathlib import Path

from harness.cluster import host
from harness.errors import HarnessError


class Ctr:
    """Calls raise HarnessError, with ctr's own words, if containerd refuses them or is not there."""

    def __init__(self, socket: Path) -> None:
        self._argv = ("ctr", "--address", str(socket), "--namespace", "k8s.io")

    def load(self, archive: Path) -> None:
        host.run(*self._argv, "images", "import", archive)

    def references(self, *filters: str) -> set[str]:
        return set(host.run(*self._argv, "images", "ls", "--quiet", *filters).split())

    def blobs(self) -> set[str]:
        return set(host.run(*self._argv, "content", "ls", "--quiet").split())

    def name(self, reference: str, other: str) -> None:
        host.run(*self._argv, "images", "tag", "--force", reference, other)

    def remove(self, reference: str) -> None:
        host.run(*self._argv, "images", "rm", "--sync", reference)

    def answers(self) -> bool:
        try:
            host.run(*self._argv, "--timeout", "2s", "version")
        except HarnessError:
            return False
        return True
