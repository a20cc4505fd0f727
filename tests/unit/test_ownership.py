"""Who owns a checkpoint: the records, and which driver may replace which."""

import fcntl
import json
import os
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from mainstem.checkpoints.owner import LENGTH, DriverIdentity, Owner, identity, is_alive, parse, record_of
from mainstem.errors import Fenced, NotReady
from mainstem.runtime.checkpoint import ownership
from mainstem.runtime.checkpoint.ownership import RECORD, TOKEN, AnotherRun, Ownership
from mainstem.runtime.clients.exclusive_files import LocalFile
from mainstem.runtime.clock import Clock


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


def record(checkpoint: Path) -> dict[str, Any]:
    text = Path(record_of(str(checkpoint))).read_text(encoding="utf-8")
    assert len(text.encode()) == LENGTH, "the class Fence reads so much"
    return dict(json.loads(text))


def rewrite(checkpoint: Path, **values: str) -> None:
    text = json.dumps(record(checkpoint) | values).ljust(LENGTH - 1) + "\n"
    Path(record_of(str(checkpoint))).write_text(text, encoding="utf-8")


def test_a_driver_takes_a_checkpoint_and_names_the_record_in_its_session(tmp_path: Path) -> None:
    checkpoint = tmp_path / "orders" / "1"
    values = take(Ownership(DriverIdentity("etl/orders"), Clock()), checkpoint)
    assert values == {RECORD: record_of(str(checkpoint)), TOKEN: record(checkpoint)["token"]}
    assert record(checkpoint)["pipeline"] == "etl/orders"
    assert [entry.name for entry in checkpoint.parent.iterdir()] == ["_1.mainstem-owner.json"]


def test_another_pipeline_is_rejected_with_the_name_of_the_owner(tmp_path: Path) -> None:
    take(Ownership(DriverIdentity("etl/orders"), Clock()), tmp_path / "1")
    with pytest.raises(NotReady) as refused:
        take(Ownership(DriverIdentity("etl/thief"), Clock()), tmp_path / "1")
    assert refused.value.reason == "CheckpointInUse"
    assert "the pipeline 'etl/orders', whose driver started at 20" in refused.value.message
    assert record_of(str(tmp_path / "1")) in refused.value.message
    assert f"set checkpoints.takeOver: etl/orders@{record(tmp_path / '1')['started']}" in refused.value.remedy
    assert record(tmp_path / "1")["pipeline"] == "etl/orders"


def test_a_second_run_on_this_machine_is_rejected_while_the_first_one_lives(tmp_path: Path) -> None:
    take(Ownership(DriverIdentity("orders"), Clock()), tmp_path / "1")
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        rewrite(tmp_path / "1", process=identity(other.pid) or "")
        with pytest.raises(NotReady, match="another run uses the checkpoint") as refused:
            take(Ownership(DriverIdentity("orders"), Clock()), tmp_path / "1")
        assert refused.value.reason == "CheckpointInUse"
        other.kill()
    second = Ownership(DriverIdentity("orders"), Clock())
    take(second, tmp_path / "1")
    assert record(tmp_path / "1")["token"] == second._owner.token


def test_of_two_runs_that_find_a_dead_owner_only_the_first_one_takes_the_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    take(Ownership(DriverIdentity("orders"), Clock()), tmp_path / "1")
    rewrite(tmp_path / "1", process="dead")
    first, second = (Ownership(DriverIdentity("orders"), Clock()) for _ in range(2))

    def dead_while_the_first_run_takes_it(_process: str) -> bool:
        monkeypatch.setattr(ownership, "is_alive", lambda _process: False)
        take(first, tmp_path / "1")
        return False

    monkeypatch.setattr(ownership, "is_alive", dead_while_the_first_run_takes_it)
    with pytest.raises(AnotherRun, match="another run has just taken over the checkpoint") as refused:
        take(second, tmp_path / "1")
    assert refused.value.reason == "CheckpointInUse"
    assert (record(tmp_path / "1")["token"], record(tmp_path / "1")["epoch"]) == (first._owner.token, 2)


def test_a_takeover_whose_answer_was_lost_is_no_other_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The store has the record of this run, and refuses the repeated write."""
    take(Ownership(DriverIdentity("orders"), Clock()), tmp_path / "1")
    replace_file = LocalFile.replace
    monkeypatch.setattr(LocalFile, "replace", lambda file, text: not replace_file(file, text))
    second = Ownership(DriverIdentity("orders"), Clock())
    take(second, tmp_path / "1")
    assert record(tmp_path / "1")["token"] == second._owner.token


def claim(owner: Ownership, *checkpoints: Path) -> list[dict[str, str]]:
    """The properties of the session of each checkpoint."""
    sessions: list[Any] = [Session() for _ in checkpoints]
    owner.claim(list(zip(sessions, map(str, checkpoints), strict=True)))
    return [session.values for session in sessions]


def test_a_run_takes_all_checkpoints_or_none(tmp_path: Path) -> None:
    """Another run, of other queries of the document, uses the last one."""
    take(Ownership(DriverIdentity("orders"), Clock()), tmp_path / "b" / "1")
    before = record(tmp_path / "b" / "1")
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        rewrite(tmp_path / "b" / "1", process=identity(other.pid) or "")
        second = Ownership(DriverIdentity("orders"), Clock())
        with pytest.raises(AnotherRun, match="another run uses the checkpoint"):
            claim(second, tmp_path / "a" / "1", tmp_path / "b" / "1")
        assert not (tmp_path / "a").exists()
        assert record(tmp_path / "b" / "1")["token"] == before["token"]
        other.kill()
    taken = claim(second, tmp_path / "a" / "1", tmp_path / "b" / "1")
    assert [values[TOKEN] for values in taken] == [second._owner.token] * 2


def test_a_checkpoint_that_only_its_query_cannot_have_keeps_no_other_query_from_its_own(
    tmp_path: Path,
) -> None:
    take(Ownership(DriverIdentity("etl/thief"), Clock()), tmp_path / "stolen" / "1")
    (tmp_path / "damaged").mkdir()
    Path(record_of(str(tmp_path / "damaged" / "1"))).write_text("no owner", encoding="utf-8")
    driver = Ownership(DriverIdentity("orders"), Clock())
    checkpoints = [tmp_path / name / "1" for name in ("stolen", "damaged", "own")]
    stolen, damaged, own = claim(driver, *checkpoints)
    assert (stolen, damaged, own[TOKEN]) == ({}, {}, driver._owner.token)
    for checkpoint, reason in zip(
        checkpoints, ("CheckpointInUse", "CheckpointOwnerUnreadable"), strict=False
    ):
        with pytest.raises(NotReady) as refused:
            take(driver, checkpoint)
        assert refused.value.reason == reason


def test_a_file_that_another_writer_changes_or_locks_is_not_replaced(tmp_path: Path) -> None:
    file, other = LocalFile(tmp_path / "record"), LocalFile(tmp_path / "record")
    assert file.create("first")
    assert (file.read(), other.read()) == ("first", "first")
    assert other.replace("second")
    assert not file.replace("third")
    assert file.read() == "second"
    with (tmp_path / "record").open() as locked:
        fcntl.flock(locked, fcntl.LOCK_EX)
        assert not file.replace("third")
    assert file.replace("third")
    (tmp_path / "record").unlink()
    assert file.replace("fourth")
    assert (tmp_path / "record").read_text() == "fourth"
    assert [entry.name for entry in tmp_path.iterdir()] == ["record"]


@pytest.mark.parametrize("process", ["", "elsewhere", "boot:pid:[4026531836]:1:1"])
def test_a_driver_of_another_machine_yields_to_a_newer_one(tmp_path: Path, process: str) -> None:
    take(Ownership(DriverIdentity("etl/orders"), Clock()), tmp_path / "1")
    rewrite(tmp_path / "1", process=process)
    newer = Ownership(DriverIdentity("etl/orders"), Clock())
    take(newer, tmp_path / "1")
    assert record(tmp_path / "1")["token"] == newer._owner.token


def test_a_driver_that_has_lost_its_checkpoint_does_not_take_it_back(tmp_path: Path) -> None:
    old, newer = (
        Ownership(DriverIdentity("etl/orders"), Clock()),
        Ownership(DriverIdentity("etl/orders"), Clock()),
    )
    take(old, tmp_path / "1")
    take(old, tmp_path / "1")  # a restart of the query
    take(newer, tmp_path / "1")
    with pytest.raises(
        Fenced, match=r"the pipeline 'etl/orders', whose driver started at 20.* [(]epoch 2[)]"
    ):
        take(old, tmp_path / "1")
    assert record(tmp_path / "1")["token"] == newer._owner.token


# -- epochs and owners --------------------------------------------------------------------------------------------


def owner(
    name: str = "etl/orders",
    cluster: str = "c1",
    uid: str = "",
    attempt: int = 1,
    take_over: str | None = None,
) -> Ownership:
    """The driver of a pipeline on a cluster, on another machine than every other one."""
    identity = DriverIdentity(name, cluster, uid or f"uid of {name}", attempt)
    made = Ownership(identity, Clock(), take_over=take_over)
    made._owner = replace(made._owner, process="elsewhere")
    return made


def test_each_driver_start_takes_the_next_epoch(tmp_path: Path) -> None:
    for epoch in (1, 2, 3):
        take(owner(attempt=epoch), tmp_path / "1")
        assert record(tmp_path / "1")["epoch"] == epoch
        assert f"(epoch {epoch})" in record(tmp_path / "1")["description"]


def test_a_restart_of_a_query_keeps_the_epoch(tmp_path: Path) -> None:
    driver = owner()
    take(driver, tmp_path / "1")
    take(driver, tmp_path / "1")
    assert record(tmp_path / "1")["epoch"] == 1


@pytest.mark.parametrize(
    "stranger",
    [
        {"name": "etl/other"},
        {"name": "web/orders"},
        {"cluster": "c2", "uid": "u2"},
        {"cluster": "", "uid": "u2"},
    ],
    ids=["pipeline", "namespace", "cluster", "unknown-cluster"],
)
def test_a_stranger_is_refused(tmp_path: Path, stranger: dict[str, str]) -> None:
    take(owner(), tmp_path / "1")
    with pytest.raises(NotReady) as refused:
        take(owner(**stranger), tmp_path / "1")
    assert refused.value.reason == "CheckpointInUse"
    assert "set checkpoints.takeOver: c1/etl/orders@20" in refused.value.remedy
    assert record(tmp_path / "1")["epoch"] == 1


@pytest.mark.parametrize(
    "known", [{"uid": "u2"}, {"cluster": "", "attempt": 2}], ids=["created-again", "same-uid"]
)
def test_the_same_pipeline_takes_over(tmp_path: Path, known: dict[str, Any]) -> None:
    take(owner(), tmp_path / "1")
    take(owner(**known), tmp_path / "1")
    assert record(tmp_path / "1")["epoch"] == 2


def test_a_driver_that_was_started_earlier_does_not_take_over_however_late_it_comes(tmp_path: Path) -> None:
    earlier = owner(attempt=1)
    take(owner(attempt=2), tmp_path / "1")
    with pytest.raises(Fenced):
        take(earlier, tmp_path / "1")
    assert record(tmp_path / "1")["attempt"] == 2


def test_a_record_of_an_older_version_is_read(tmp_path: Path) -> None:
    take(owner(), tmp_path / "1")
    fields = ("pipeline", "description", "process", "token")
    old = {name: record(tmp_path / "1")[name] for name in fields} | {"process": "elsewhere"}
    Path(record_of(str(tmp_path / "1"))).write_text(
        json.dumps(old).ljust(LENGTH - 1) + "\n", encoding="utf-8"
    )
    with pytest.raises(NotReady) as refused:
        take(owner("etl/other"), tmp_path / "1")
    assert refused.value.remedy.endswith("set checkpoints.takeOver: etl/orders")
    take(owner(), tmp_path / "1")
    assert record(tmp_path / "1")["epoch"] == 1


def test_a_field_of_a_newer_version_is_ignored(tmp_path: Path) -> None:
    take(owner(), tmp_path / "1")
    rewrite(tmp_path / "1", later="field")
    take(owner(attempt=2), tmp_path / "1")
    assert record(tmp_path / "1")["epoch"] == 2


def test_a_document_takes_over_from_exactly_the_owner_that_it_names(tmp_path: Path) -> None:
    take(owner(), tmp_path / "1")
    take(owner("etl/third"), tmp_path / "2")
    named = f"c1/etl/orders@{record(tmp_path / '1')['started']}"
    take(owner("etl/heir", take_over=named), tmp_path / "1")
    assert (record(tmp_path / "1")["pipeline"], record(tmp_path / "1")["epoch"]) == ("etl/heir", 2)
    with pytest.raises(NotReady, match="belongs to the pipeline 'etl/third'"):
        take(owner("etl/heir", take_over=named), tmp_path / "2")


def test_a_takeover_outlives_a_restart_of_the_owner(tmp_path: Path) -> None:
    """The document was written with the message of an earlier start."""
    first = owner()
    first._owner = replace(first._owner, started="2026-03-01T12:00:00+00:00")
    take(first, tmp_path / "1")
    take(owner(attempt=2), tmp_path / "1")
    assert record(tmp_path / "1")["since"] == "2026-03-01T12:00:00+00:00"
    take(owner("etl/heir", take_over="c1/etl/orders@2026-03-01T12:00:00+00:00"), tmp_path / "1")
    assert record(tmp_path / "1")["pipeline"] == "etl/heir"


def test_two_documents_that_name_each_other_do_not_fight_for_ever(tmp_path: Path) -> None:
    """Each word is used at most once: the next owner holds the checkpoint since a later time."""
    words = {"etl/a": "c1/etl/b@2026-03-01T12:00:00+00:00", "etl/b": "c1/etl/a@2026-03-01T12:00:00+00:00"}
    taken = []
    for start in range(10):
        name = ("etl/a", "etl/b")[start % 2]
        driver = owner(name, attempt=start, take_over=words[name])
        driver._owner = replace(driver._owner, started=f"2026-03-01T12:00:0{start}+00:00")
        with suppress(NotReady):
            take(driver, tmp_path / "1")
            taken.append(start)
    assert taken == [0, 1, 3, 5, 7, 9]
    assert record(tmp_path / "1")["pipeline"] == "etl/b"


def test_the_longest_owner_fits_into_the_record() -> None:
    name, uid = f"{'n' * 63}/{'p' * 45}", "u" * 36
    description = f"the pipeline '{name}', whose driver started at {'t' * 25} on {'h' * 64}"
    longest = Owner(name, description, "p" * 120, uid, 10**9, uid, uid, 10**9, "t" * 25, "t" * 25).after(None)
    assert len(longest.text().encode()) == LENGTH


def test_a_deleted_record_is_written_again(tmp_path: Path) -> None:
    owner = Ownership(DriverIdentity("etl/orders"), Clock())
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
