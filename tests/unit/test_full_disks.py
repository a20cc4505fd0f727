"""A full disk is reported with the directories on it."""

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from harness.documents import pipeline_head
from mainstem.filesystem import local_path
from mainstem.language.document import read_text
from mainstem.runtime.failures.classification import Failure
from mainstem.runtime.failures.full_disks import explained


FULL = Failure("DiskFull", "no space is left on the device")


def message(folder: Path, monkeypatch: pytest.MonkeyPatch, full: str) -> str:
    """The message where the device of a directory below the given one is full."""
    spec = {
        "sources": [{"name": "ticks", "rate": {}}],
        "queries": [
            {
                "name": "q",
                "from": "ticks",
                "to": [{"name": "out", "parquet": {"path": f"file://{folder}/out"}}],
            }
        ],
        "checkpoints": {"location": f"{folder}/checkpoints"},
    }
    for name in ("out", "checkpoints", "tmp"):
        (folder / name).mkdir()
    monkeypatch.setattr("tempfile.gettempdir", lambda: f"{folder}/tmp")

    def device(path: Any) -> Any:
        free = 0 if str(path).startswith(f"{folder}/{full}") else 10**6
        return SimpleNamespace(f_bavail=free, f_frsize=4096, f_files=10, f_favail=5)

    monkeypatch.setattr(os, "statvfs", device)
    head = pipeline_head("p")
    [document] = read_text(yaml.safe_dump(head | {"spec": spec}))
    graph = document.graph
    return explained(FULL, graph, graph.spec.queries[0]).message.replace(str(folder), "")


@pytest.mark.parametrize(
    ("full", "text"),
    [
        ("out", "full: /out"),
        ("checkpoints", "full: /checkpoints/q/1"),
        ("tmp", "full: /tmp"),
        ("nothing", "one of /checkpoints/q/1, /out, /tmp"),
    ],
)
def test_a_full_disk_is_reported_with_its_directories(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, full: str, text: str
) -> None:
    assert message(tmp_path, monkeypatch, full) == f"no space is left on the device; {text}"


def test_other_failures_are_unchanged() -> None:
    failure = Failure("OutOfMemory", "the heap is full")
    graph: Any = None
    assert explained(failure, graph, graph) is failure


def test_a_path_in_a_store_is_not_local() -> None:
    assert [local_path(path) for path in ("s3a://b/c", "file:/a/b", "file:///a", "a/b", "/a")] == [
        None,
        "/a/b",
        "/a",
        "a/b",
        "/a",
    ]
