"""A new cluster begins with links to images that are unpacked already, and writes nothing into them."""

import shutil
import subprocess
from pathlib import Path

import pytest
from harness.cluster import kept_images


DATABASE = Path("io.containerd.metadata.v1.bolt/meta.db")
LAYER = Path("io.containerd.snapshotter.v1.overlayfs/snapshots/1/fs/bin/java")


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(kept_images, "_version", lambda: "1.6")
    folder = tmp_path / "cache/mainstem/images/unpacked/1.6-0123/containerd"
    for file in (DATABASE, LAYER):
        (folder / file).parent.mkdir(parents=True)
        (folder / file).write_text("kept")
    return folder


def test_a_cluster_has_databases_of_its_own_and_no_layer(kept: Path, tmp_path: Path) -> None:
    new = tmp_path / "containerd"
    kept_images.give(new)
    (new / DATABASE).write_text("the cluster's")
    assert (kept / DATABASE).read_text() == "kept"
    assert (new / LAYER).samefile(kept / LAYER)
    shutil.rmtree(new)
    assert (kept / LAYER).read_text() == "kept"


def test_what_a_killed_build_left_is_given_to_no_cluster(kept: Path, tmp_path: Path) -> None:
    unfinished = kept.parent.with_name("1.6-4567.tmp-x")
    kept.parent.rename(unfinished)
    kept_images.give(tmp_path / "containerd")
    assert not (tmp_path / "containerd").exists()


def test_a_cluster_without_links_begins_empty(
    kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_links(*_: object) -> None:
        raise subprocess.CalledProcessError(1, ["cp"])

    new = tmp_path / "containerd"
    new.mkdir()
    monkeypatch.setattr(kept_images, "_link", no_links)
    kept_images.give(new)
    assert not new.exists()
