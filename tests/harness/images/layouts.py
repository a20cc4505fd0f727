"""Images as folders: OCI image layouts whose layers are not compressed, so that images share the files of equal ones.

See https://github.com/opencontainers/image-spec/blob/main/image-layout.md.
"""

import json
import os
import tarfile
import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


FORM = "layout"
"""What an image is kept as: another form is another key of the cache."""
_BLOBS = "blobs/sha256"


def begin(layout: Path, earlier: Path | None) -> None:
    """Make the folder of an image, with links to the layers of an earlier one: what is there need not be written again."""
    (layout / _BLOBS).mkdir(parents=True)
    if earlier is None:
        return
    for layer in _manifest(earlier)["layers"]:
        os.link(earlier / _BLOBS / _name(layer), layout / _BLOBS / _name(layer))


def finish(layout: Path, reference: str) -> None:
    """Give the image the name by which containerd knows it, and remove what is not of it."""
    index = json.loads((layout / "index.json").read_text())
    [entry] = index["manifests"]
    entry["annotations"] = {
        "io.containerd.image.name": reference,
        "org.opencontainers.image.ref.name": reference,
    }
    (layout / "index.json").write_text(json.dumps(index))
    manifest = _manifest(layout)
    used = {_name(each) for each in (entry, manifest["config"], *manifest["layers"])}
    for blob in (layout / _BLOBS).iterdir():
        if blob.name not in used:
            blob.unlink()


def size(layout: Path) -> int:
    """Bytes of all layers, the base included."""
    return sum(layer["size"] for layer in _manifest(layout)["layers"])


@contextmanager
def packed(layout: Path, known: Collection[str] = ()) -> Iterator[Path]:
    """An archive of the image for `ctr images import` and `kind load image-archive`, without blobs whose digests are known there."""
    with tempfile.NamedTemporaryFile(prefix="mainstem-image-", suffix=".tar") as file:
        with tarfile.open(fileobj=file, mode="w") as tar:
            for name in ("oci-layout", "index.json"):
                tar.add(layout / name, name)
            for blob in sorted((layout / _BLOBS).iterdir()):
                if f"sha256:{blob.name}" not in known:
                    tar.add(blob, f"{_BLOBS}/{blob.name}")
        file.flush()
        yield Path(file.name)


def _manifest(layout: Path) -> dict[str, Any]:
    [entry] = json.loads((layout / "index.json").read_text())["manifests"]
    manifest: dict[str, Any] = json.loads((layout / _BLOBS / _name(entry)).read_text())
    return manifest


def _name(blob: dict[str, Any]) -> str:
    return str(blob["digest"]).removeprefix("sha256:")
