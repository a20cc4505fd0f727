"""buildah with a storage of its own below the cache: the host's is left alone, and no mount outlives a command."""

import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from harness.cache import cache_root
from harness.errors import HarnessError
from harness.process import in_own_mounts


class Store:
    """Images and layers below the cache, used by one process at a time; see `opened`."""

    def __init__(self, run: Path, log: IO[str]) -> None:
        self._log = log
        root = cache_root() / "images" / "storage"
        driver = self._driver(root)
        # In a mount namespace of its own: the storage driver mounts its root and every layer that it works on.
        self._buildah = [
            *in_own_mounts(),
            "buildah",
            f"--root={root}",
            f"--runroot={run}",
            f"--storage-driver={driver}",
        ]
        self._skopeo = [*in_own_mounts(), "skopeo", "--insecure-policy", "copy", "--quiet"]
        self._images = f"containers-storage:[{driver}@{root}+{run}]"

    def build(
        self,
        context: Path,
        reference: str,
        arguments: Mapping[str, str],
        target: str | None = None,
        stages: Mapping[str, str] | None = None,
    ) -> None:
        """Build the Dockerfile of a folder, from layers that are there already as far as they fit; images replace `stages`."""
        flags = [f"--build-arg={key}={value}" for key, value in arguments.items()]
        flags += [
            f"--build-context={name}=container-image://{image}" for name, image in (stages or {}).items()
        ]
        flags += [f"--target={target}"] if target else []
        # chroot: no network of its own, no cgroups, nothing that a container without Docker might lack.
        flags += ["--isolation=chroot", "--layers", "--pull-never", "--force-rm", f"--tag={reference}"]
        self._run([*self._buildah, "bud", *flags, str(context)])

    def save(self, reference: str, layout: Path) -> None:
        """Write the image to a folder, but for layers that are there; uncompressed, for it is read on the same machine."""
        uncompressed = "--dest-oci-accept-uncompressed-layers"
        self._copy(uncompressed, f"{self._images}{reference}", f"oci:{layout}:{reference}")

    def read(self, reference: str, layout: Path) -> None:
        """Take an image from the folder that `save` wrote."""
        self._copy(f"oci:{layout}:{reference}", f"{self._images}{reference}")

    def has(self, reference: str) -> bool:
        """Whether an image of this name is there."""
        return self._call("inspect", "--type=image", reference).returncode == 0

    def keep(self, repository: str, tags: int) -> None:
        """Forget all images of a repository but the newest, and the layers that were theirs alone."""
        for reference in self.references(repository)[tags:]:
            self._call("rmi", reference)

    def references(self, repository: str) -> list[str]:
        """The names with tags of a repository's images, the newest first."""
        listed = self._call("images", "--format={{.Name}}:{{.Tag}}", f"--filter=reference={repository}")
        listed.check_returncode()
        return listed.stdout.split()

    def _driver(self, root: Path) -> str:
        """The driver of the layers that are there; for new ones overlay, or vfs, slow and large, where overlay cannot mount."""
        for driver in ("overlay", "vfs"):
            if (root / f"{driver}-layers").is_dir():
                return driver
        return "overlay" if _overlay_mounts(root) else "vfs"

    def _copy(self, *arguments: str) -> None:
        self._run([*self._skopeo, *arguments])

    def _run(self, command: list[str]) -> None:
        subprocess.run(command, stdout=self._log, stderr=self._log, check=True)

    def _call(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run([*self._buildah, *arguments], capture_output=True, text=True, check=False)


@contextmanager
def opened(log: IO[str]) -> Iterator[Store]:
    """The store, locked: whoever comes second waits. What a killed build left unfinished is removed first.

    :raises HarnessError: when buildah is not there, or this process is not root.
    """
    missing = [tool for tool in ("buildah", "skopeo", "unshare", "debootstrap") if shutil.which(tool) is None]
    if missing or os.geteuid() != 0:
        raise HarnessError(
            f"images are built as root{''.join(f', with {tool}' for tool in missing)}: run bootstrap.sh"
        )
    folder = cache_root() / "images"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "storage.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        # The counts of mounts live in the run folder: a new one each time, like the mounts themselves.
        with tempfile.TemporaryDirectory(prefix="mainstem-buildah-") as run:
            store = Store(Path(run), log)
            store._call("rm", "--all")
            yield store


def _overlay_mounts(folder: Path) -> bool:
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as probe:
        for name in ("lower", "upper", "work", "merged"):
            (Path(probe) / name).mkdir()
        options = f"lowerdir={probe}/lower,upperdir={probe}/upper,workdir={probe}/work"
        mount = ["unshare", "--mount", "mount", "-t", "overlay", "overlay", "-o", options, f"{probe}/merged"]
        return subprocess.run(mount, capture_output=True, check=False).returncode == 0
