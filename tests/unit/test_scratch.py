"""The next start removes temporary directories of killed processes; those of living ones and of other users stay."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from mainstem.errors import NotReady
from mainstem.runtime.spark import scratch


HOLD = """
import sys, time
from mainstem.runtime.spark import scratch
with scratch.folder() as folder:
    (folder / "file").write_text("x")
    print(folder, flush=True)
    time.sleep(600)
"""


@pytest.fixture
def parent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def holder(parent: Path) -> tuple[subprocess.Popen[str], Path]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD],
        env=os.environ | {"TMPDIR": str(parent)},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


def test_the_directory_is_removed_with_its_context(parent: Path) -> None:
    with scratch.folder() as folder:
        (folder / "file").touch()
        assert folder.parent == parent
    assert not list(parent.iterdir())


def test_a_start_removes_only_directories_of_dead_processes(parent: Path) -> None:
    killed, left = holder(parent)
    living, kept = holder(parent)
    try:
        killed.send_signal(signal.SIGKILL)
        killed.communicate()
        assert left.exists()
        with scratch.folder() as folder:
            assert sorted(parent.iterdir()) == sorted([kept, folder])
            assert (kept / "file").exists()
    finally:
        end(living)


def test_foreign_entries_are_kept(parent: Path) -> None:
    target = parent / "target"
    target.mkdir()
    (parent / f"{scratch.PREFIX}link").symlink_to(target)
    (parent / f"{scratch.PREFIX}file").touch()
    other = parent / "mainstem-notes"
    other.mkdir()
    scratch.remove_abandoned(parent)
    assert len(list(parent.iterdir())) == 4


@pytest.mark.skipif(os.geteuid() != 0, reason="gives a folder to another user")
def test_directories_of_other_users_are_kept(parent: Path) -> None:
    theirs = parent / f"{scratch.PREFIX}theirs"
    theirs.mkdir()
    os.chown(theirs, 54321, 54321)
    scratch.remove_abandoned(parent)
    assert theirs.exists()


def test_a_directory_removed_before_its_lock_is_created_again(
    parent: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another start may come between a folder and its lock."""
    lock, removed = scratch.fcntl.flock, []

    def late(descriptor: int, operation: int) -> None:
        if not removed:
            removed.extend(parent.iterdir())
            removed[0].rmdir()
        lock(descriptor, operation)

    monkeypatch.setattr(scratch.fcntl, "flock", late)
    with scratch.folder() as folder:
        assert folder.exists()
        assert folder != removed[0]


def test_too_little_space_is_rejected(parent: Path) -> None:
    with pytest.raises(NotReady) as refused, scratch.folder(least=1 << 60):
        pass
    assert refused.value.reason == "DiskFull"
    assert str(parent) in refused.value.message
    assert "TMPDIR" in refused.value.remedy


def test_a_missing_temporary_directory_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", "/proc/nowhere")
    with pytest.raises(NotReady) as refused, scratch.folder():
        pass
    assert refused.value.reason == "TemporaryFolderNotWritable"
    assert "/proc/nowhere" in refused.value.message
