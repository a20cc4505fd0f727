"""The folder of an image shares layers with the one before, and its archive has only what a node lacks."""

import hashlib
import json
import tarfile
from pathlib import Path

import pytest
from harness.images import layouts


REFERENCE = "localhost/mainstem-test:0123"


def put(layout: Path, data: bytes) -> dict[str, object]:
    """Write a blob as the tool does that copies images: not where one is already."""
    digest = hashlib.sha256(data).hexdigest()
    blob = layout / "blobs/sha256" / digest
    if not blob.exists():
        blob.write_bytes(data)
    return {"digest": f"sha256:{digest}", "size": len(data)}


def image(layout: Path, *layers: bytes, earlier: Path | None = None) -> Path:
    layouts.begin(layout, earlier)
    manifest = {"config": put(layout, b"{}"), "layers": [put(layout, layer) for layer in layers]}
    entry = put(layout, json.dumps(manifest).encode())
    (layout / "index.json").write_text(json.dumps({"schemaVersion": 2, "manifests": [entry]}))
    (layout / "oci-layout").write_text("{}")
    layouts.finish(layout, REFERENCE)
    return layout


def blobs(layout: Path) -> dict[str, Path]:
    return {f"sha256:{blob.name}": blob for blob in (layout / "blobs/sha256").iterdir()}


@pytest.fixture
def first(tmp_path: Path) -> Path:
    return image(tmp_path / "first", b"base", b"wheel 1")


def test_an_image_links_to_the_layers_that_it_shares_and_has_no_other(first: Path, tmp_path: Path) -> None:
    before = blobs(first)
    second = image(tmp_path / "second", b"base", b"wheel 22", earlier=first)
    shared = blobs(second).keys() & before.keys()
    layers = [each for each in shared if blobs(second)[each].read_bytes() == b"base"]
    assert [blobs(second)[each].samefile(before[each]) for each in layers] == [True]
    assert len(blobs(second)) == 4
    assert blobs(first) == before
    assert (layouts.size(first), layouts.size(second)) == (
        len(b"base" + b"wheel 1"),
        len(b"base" + b"wheel 22"),
    )


def test_an_archive_has_the_name_and_what_is_not_known(first: Path, tmp_path: Path) -> None:
    second = image(tmp_path / "second", b"base", b"wheel 22", earlier=first)
    with layouts.packed(second, blobs(first).keys()) as archive, tarfile.open(archive) as tar:
        packed = {name: file.read() for name in tar.getnames() if (file := tar.extractfile(name))}
    missing = blobs(second).keys() - blobs(first).keys()
    names = {f"blobs/sha256/{each.removeprefix('sha256:')}" for each in missing}
    assert packed.keys() == names | {"index.json", "oci-layout"}
    assert b"wheel 22" in packed.values()
    [entry] = json.loads(packed["index.json"])["manifests"]
    assert entry["annotations"]["io.containerd.image.name"] == REFERENCE
    assert not archive.exists()
