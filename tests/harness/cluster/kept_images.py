"""Images as containerd unpacks them, kept in the cache: the containerd of a new cluster begins with links to these files.

To unpack them anew took most of a minute of each run, of a cluster that is there for four. What containerd writes in place are its
databases, so those are copied; layers and contents it only adds and removes, as the kernel does that mounts them.
"""

import fcntl
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from harness.cache import build_once, cache_root, complete, content_hash
from harness.cluster import host
from harness.cluster.ctr import Ctr
from harness.images import Image, layouts
from harness.process import Process


_NAME = "images/unpacked"


def keep(images: Iterable[Image]) -> None:
    """Unpack images, of which only layers are unpacked that the images kept before did not have.

    :raises HarnessError: when containerd is missing, does not start or refuses an image.
    """
    wanted = {image.reference: image.layout for image in images}

    def make(target: Path, log: IO[str]) -> None:
        folder = target / "containerd"
        if (earlier := _newest()) is not None:
            _link(earlier, folder)
        folder.mkdir(exist_ok=True)
        with _containerd(folder, Path(log.name)) as ctr:
            known = ctr.references()
            for reference in wanted.keys() - known:
                with layouts.packed(wanted[reference], ctr.blobs()) as archive:
                    ctr.load(archive)
            for reference in known - wanted.keys():
                ctr.remove(reference)

    with _alone() as parent:
        kept = build_once(_NAME, f"{_version()}-{content_hash(*sorted(wanted))}", make).path
        for other in parent.iterdir():
            if other.is_dir() and other != kept:  # of other images, or left by a builder that was killed
                shutil.rmtree(other)


def give(folder: Path) -> None:
    """Make containerd's folder of a new cluster, with the images that were kept; without any where links do not reach."""
    with _alone():
        kept = _newest()
        if kept is None:
            return
        try:
            _link(kept, folder)
        except subprocess.CalledProcessError:
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _alone() -> Iterator[Path]:
    """The folder of all that is kept, locked: nobody reads what another removes."""
    parent = cache_root() / _NAME
    parent.mkdir(parents=True, exist_ok=True)
    with parent.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield parent


def _newest() -> Path | None:
    """What was kept by a containerd of this version: another one may not read its databases."""
    folders = complete(cache_root() / _NAME)
    return next((path / "containerd" for path in folders if path.name.startswith(f"{_version()}-")), None)


def _link(kept: Path, folder: Path) -> None:
    subprocess.run(["cp", "--archive", "--link", kept, folder], check=True, capture_output=True)
    for database in folder.glob("*/*.db"):
        database.unlink()
        shutil.copy2(kept / database.relative_to(folder), database)


def _version() -> str:
    return content_hash(host.run("containerd", "--version"))


@contextmanager
def _containerd(root: Path, log: Path) -> Iterator[Ctr]:
    """A containerd without Kubernetes' part: it ends on a signal, with all that it has written."""
    with tempfile.TemporaryDirectory(prefix="mainstem-unpack-") as name:
        run = Path(name)
        config = run / "config.toml"
        config.write_text(
            f'version = 2\nroot = "{root}"\nstate = "{run}/state"\n'
            f'disabled_plugins = ["io.containerd.grpc.v1.cri"]\n[grpc]\naddress = "{run}/socket"\n'
            f'[plugins."io.containerd.internal.v1.opt"]\npath = "{run}/opt"\n'
        )
        # In a mount namespace of its own: what it mounts to unpack a layer is gone with it.
        server = Process(["unshare", "--mount", "containerd", "--config", config], log)
        ctr = Ctr(run / "socket")
        server.start(ctr.answers)
        try:
            yield ctr
        finally:
            server.stop(grace=60)
