"""Who owns a checkpoint: the records, and which driver may replace which."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from mainstem.checkpoints.owner import LENGTH, identity, is_alive, parse, record_of
from mainstem.errors import NotReady
from mainstem.runtime.checkpoint.ownership import RECORD, TOKEN, Ownership
from mainstem.runtime.clients.exclusive_files import LocalFile


class Session:
    """The part of a session that has properties."""

    def __init__(self) -> None:
        self.conf: Any = self
        self.values: dict[str, str] = {}

    def set(self, key: str, value: str) -> None:
        self.values[key] = value


@pytest.mark.parametrize(
    ("checkpoint", "record"),
    [
        ("s3a://b/c/orders/1", "s3a://b/c/orders/_1.mainstem-owner.json"),
        ("/c/orders/12", "/c/orders/_12.mainstem-owner.json"),
        ("./c/orders/1/", "./c/orders/_1.mainstem-owner.json"),
    ],
)
def test_the_record_is_beside_the_checkpoint(checkpoint: str, record: str) -> None:
    assert record_of(checkpoint) == record


def take(owner: Ownership, checkpoint: Path) -> dict[str, str]:
    session: Any = Session()
    owner.take(session, str(checkpoint))
    return dict(session.values)


def record(checkpoint: Path) -> dict[str, str]:
    text = Path(record_of(str(checkpoint))).read_text(encoding="utf-8")
    assert len(text.encode()) == LENGTH, "the class Fence reads so much"
    return dict(json.loads(text))


def rewrite(checkpoint: Path, **values: str) -> None:
    text = json.dumps(record(checkpoint) | values).ljust(LENGTH - 1) + "\n"
    Path(record_of(str(checkpoint))).write_text(text, encoding="utf-8")


def test_a_driver_takes_a_checkpoint_and_names_the_record_in_its_session(tmp_path: Path) -> None:
    checkpoint = tmp_path / "orders" / "1"
    values = take(Ownership("etl/orders"), checkpoint)
    assert values == {RECORD: record_of(str(checkpoint)), TOKEN: record(checkpoint)["token"]}
    assert record(checkpoint)["pipeline"] == "etl/orders"
    assert [entry.name for entry in checkpoint.parent.iterdir()] == ["_1.mainstem-owner.json"]


def test_another_pipeline_is_rejected_with_the_name_of_the_owner(tmp_path: Path) -> None:
    take(Ownership("etl/orders"), tmp_path / "1")
    with pytest.raises(NotReady) as refused:
        take(Ownership("etl/thief"), tmp_path / "1")
    assert refused.value.reason == "CheckpointInUse"
    assert "the pipeline 'etl/orders', whose driver started at 20" in refused.value.message
    assert f"remove {record_of(str(tmp_path / '1'))}" in refused.value.remedy
    assert record(tmp_path / "1")["pipeline"] == "etl/orders"


def test_a_second_run_on_this_machine_is_rejected_while_the_first_one_lives(tmp_path: Path) -> None:
    take(Ownership("orders"), tmp_path / "1")
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        rewrite(tmp_path / "1", process=identity(other.pid) or "")
        with pytest.raises(NotReady, match="another run uses the checkpoint") as refused:
            take(Ownership("orders"), tmp_path / "1")
        assert refused.value.reason == "CheckpointInUse"
        other.kill()
    second = Ownership("orders")
    take(second, tmp_path / "1")
    assert record(tmp_path / "1")["token"] == second._owner.token


@pytest.mark.parametrize("process", ["", "elsewhere", "boot:pid:[4026531836]:1:1"])
def test_a_driver_of_another_machine_yields_to_a_newer_one(tmp_path: Path, process: str) -> None:
    take(Ownership("etl/orders"), tmp_path / "1")
    rewrite(tmp_path / "1", process=process)
    newer = Ownership("etl/orders")
    take(newer, tmp_path / "1")
    assert record(tmp_path / "1")["token"] == newer._owner.token


def test_a_driver_that_has_lost_its_checkpoint_does_not_take_it_back(tmp_path: Path) -> None:
    old, newer = Ownership("etl/orders"), Ownership("etl/orders")
    take(old, tmp_path / "1")
    take(old, tmp_path / "1")  # a restart of the query
    take(newer, tmp_path / "1")
    with pytest.raises(NotReady, match="another run uses the checkpoint"):
        take(old, tmp_path / "1")
    assert record(tmp_path / "1")["token"] == newer._owner.token


def test_a_deleted_record_is_written_again(tmp_path: Path) -> None:
    owner = Ownership("etl/orders")
    take(owner, tmp_path / "1")
    Path(record_of(str(tmp_path / "1"))).unlink()
    take(owner, tmp_path / "1")
    assert record(tmp_path / "1")["token"] == owner._owner.token


@pytest.mark.parametrize("text", ["", "{", "[]", '{"pipeline": "p"}', '{"who": "p"}'])
def test_a_record_without_an_owner_is_rejected(text: str) -> None:
    with pytest.raises(NotReady) as refused:
        parse(text, "/c/_1.mainstem-owner.json")
    assert refused.value.reason == "CheckpointOwnerUnreadable"
    assert "/c/_1.mainstem-owner.json" in refused.value.message


def test_a_process_is_identified_by_its_start_time_too() -> None:
    own = identity(os.getpid()) or ""
    assert is_alive(own)
    assert not is_alive(own[:-1] + str((int(own[-1]) + 1) % 10))
    assert not is_alive("")


def test_only_one_writer_creates_a_local_file(tmp_path: Path) -> None:
    file = LocalFile(tmp_path / "deep" / "f")
    assert file.read() is None
    assert file.create("one")
    assert not file.create("two")
    assert file.read() == "one"
    file.replace("three")
    assert file.read() == "three"
    file.delete()
    assert list((tmp_path / "deep").iterdir()) == []
