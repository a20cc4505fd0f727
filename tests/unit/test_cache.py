"""The cache of built servers: a folder appears when its build has succeeded, whatever became of the builds before."""

import os
import subprocess
import sys
from pathlib import Path
from typing import IO

import pytest
from harness import cache as caches
from harness.cache import build_once, keep_newest
from harness.errors import HarnessError


HALF = """
import sys
from harness.cache import build_once

def build(target, log):
    (target / "half").touch()
    print("building", flush=True)
    sys.stdin.read()

build_once("tool", "v1", build)
"""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache of the test's own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "mainstem"


def whole(target: Path, _log: IO[str]) -> None:
    (target / "whole").touch()


def folders(cache: Path) -> list[str]:
    return sorted(str(path.relative_to(cache)) for path in cache.rglob("*") if path.is_dir())


def test_a_failed_build_shows_its_log_and_leaves_no_files(cache: Path) -> None:
    def build(target: Path, log: IO[str]) -> None:
        (target / "half").touch()
        log.write("undefined: x\n")
        raise RuntimeError("exit status 1")

    with pytest.raises(HarnessError, match=r"(?s)cannot build tool: exit status 1.*undefined: x"):
        build_once("tool", "v1", build)
    assert folders(cache) == ["tool"]
    assert not build_once("tool", "v1", whole).cached
    again = build_once("tool", "v1", build)
    assert again.cached
    assert [path.name for path in again.path.iterdir()] == ["whole"]


def test_a_killed_build_is_made_again_and_leaves_no_files(cache: Path) -> None:
    builder = subprocess.Popen(
        [sys.executable, "-c", HALF],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[1],
        text=True,
    )
    assert builder.stdout
    assert builder.stdout.readline() == "building\n"
    builder.kill()
    builder.communicate()
    assert len(folders(cache)) == 2
    assert [path.name for path in cache.rglob("half")] == ["half"]
    built = build_once("tool", "v1", whole)
    assert not built.cached
    assert [path.name for path in built.path.iterdir()] == ["whole"]
    assert folders(cache) == ["tool", "tool/v1"]


def test_a_removal_that_is_cut_off_leaves_nothing_that_counts_as_built(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = [build_once("tool", key, lambda _target, _log: None).path for key in ("v1", "v2", "v3")]
    for age, folder in enumerate(folders):
        os.utime(folder, (age, age))
    monkeypatch.setattr(caches.shutil, "rmtree", lambda *_, **__: None)
    keep_newest(folders[1], 2)
    assert [folder.exists() for folder in folders] == [False, True, True]
    assert not build_once("tool", "v1", lambda _target, _log: None).cached
