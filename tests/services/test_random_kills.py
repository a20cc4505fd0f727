"""The driver is killed at random moments, a hundred times, while records come in; every row is there exactly once.

Each life of a driver ends at most 1.5 seconds after its first batch was planned, or, in half of the lives, after its first
merge was committed. MAINSTEM_KILLS sets the number of kills, MAINSTEM_SEED repeats their moments.
"""

import json
import os
import random
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow.dataset
import pytest
from deltalake import DeltaTable
from harness.checkpoints import data_files, logged_files, newest, pending
from harness.driver import DriverProcess
from harness.kafka import Broker
from harness.postgres import Postgres
from harness.records import Record
from harness.waiting import at_any_moment


pytestmark = pytest.mark.faults


DOCUMENT = Path(__file__).parents[1] / "documents" / "random_kills.yaml"
QUERIES = ("current", "history", "files", "ledger")
LIMIT = 400
"""Records of a batch while drivers are killed: `maxOffsetsPerTrigger` of the document."""
KEYS = 200
WORK = 1.5
"""Seconds of a driver's work until it is killed, at most."""
START = 600.0
"""Seconds for a start and a first batch, on a machine that does other things too."""


class Changes:
    """Numbered changes of keys, some of them deletions; those of a key are in order, in one partition."""

    def __init__(self, kafka: Broker, chance: random.Random) -> None:
        self._kafka, self._chance = kafka, chance
        self.count = 0
        self.current: dict[int, int] = {}
        """The number of the last change of each key that is not deleted."""

    def produce(self, count: int) -> None:
        records = []
        for number in range(self.count, self.count + count):
            key, deleted = self._chance.randrange(KEYS), self._chance.random() < 0.3
            if deleted:
                self.current.pop(key, None)
            else:
                self.current[key] = number
            change = {"number": number, "key": key, "op": "D" if deleted else "U"}
            records.append(Record(None, json.dumps(change).encode(), partition=key % 2))
        self._kafka.produce("changes", records)
        self.count += count

    @contextmanager
    def going_on(self) -> Iterator[None]:
        """Within this context a hundred of them come each second."""
        done = threading.Event()

        def run() -> None:
            while not done.wait(0.2):
                self.produce(20)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()


class Work:
    """What a driver has done, read from checkpoints and folders.

    Args:
        folder: the one that the document writes below.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def checkpoint(self, query: str) -> Path:
        return self.folder / "checkpoints" / query / "1"

    def batches(self) -> list[int]:
        """Planned and committed batches of each query."""
        return [newest(self.checkpoint(query) / log) for query in QUERIES for log in ("offsets", "commits")]

    def version(self) -> int:
        """The newest version of the merged table that a merge has made; -1 where there is none."""
        versions = sorted((self.folder / "current" / "_delta_log").glob("[0-9]*.json"))
        merged = (file for file in reversed(versions) if '"operation":"MERGE"' in file.read_text())
        return next((int(file.stem) for file in merged), -1)

    def planned(self) -> bool:
        return any(pending(self.checkpoint(query)) for query in QUERIES)

    def unlogged(self) -> bool:
        return bool(data_files(self.folder / "files") - logged_files(self.folder / "files"))


@pytest.mark.full
@pytest.mark.S26
@pytest.mark.S28
@pytest.mark.S29
@pytest.mark.S32
@pytest.mark.S36
@pytest.mark.timeout(4 * 3600)
def test_random_kills_lose_and_repeat_nothing(kafka: Broker, postgres: Postgres, tmp_path: Path) -> None:
    kills = int(os.environ.get("MAINSTEM_KILLS", "100"))
    seed = int(os.environ.get("MAINSTEM_SEED", str(random.SystemRandom().randrange(10**6))))
    print(f"seed {seed} (MAINSTEM_SEED={seed} repeats it)")
    chance = random.Random(seed)
    kafka.create_topic("changes", 2)
    postgres.run("CREATE TABLE changes_ledger (number BIGINT, key BIGINT)")
    postgres.secret(tmp_path / "secrets", "postgres")
    scratch, work = tmp_path / "scratch", Work(tmp_path / "lake")
    env = {"TMPDIR": str(scratch), "MAINSTEM_SECRETS": str(tmp_path / "secrets")}
    sets = {"brokers": kafka.bootstrap_servers, "database": postgres.url, "folder": str(work.folder)}
    moments = ["planned", "merged"] * (kills // 2) + ["planned"] * (kills % 2)
    chance.shuffle(moments)
    changes = Changes(kafka, chance)
    changes.produce(LIMIT)
    met = dict.fromkeys(("planned", "writing", "merged"), 0)
    with changes.going_on():
        for moment in moments:
            shutil.rmtree(scratch, ignore_errors=True)  # a driver that is killed leaves its own behind
            scratch.mkdir()
            before, version = work.batches(), work.version()
            with DriverProcess(DOCUMENT, tmp_path, sets=sets, env=env) as driver:
                driver.until(lambda: work.batches() != before, START, pause=0.005)  # noqa: B023 - called at once
                if moment == "merged":
                    driver.until(lambda: work.version() > version, START, pause=0.005)  # noqa: B023
                at_any_moment(chance, WORK)
                driver.kill()
            met["planned"] += work.planned()
            met["writing"] += work.unlogged()
            met["merged"] += work.version() > version
    print(f"{kills} kills: {met}; {changes.count} changes")
    assert met["merged"] >= kills // 2
    assert met["planned"] >= kills // 4

    whole = tmp_path / "whole.yaml"
    whole.write_text(
        DOCUMENT.read_text().replace(f"maxOffsetsPerTrigger: {LIMIT}", "maxOffsetsPerTrigger: 1000000")
    )
    with DriverProcess(whole, tmp_path, sets=sets, env=env, arguments=("--stop-when-idle=3s",)) as driver:
        assert driver.wait(3 * START) == 0, driver.stderr[-3000:]
    every = list(range(changes.count))
    files = pyarrow.dataset.dataset(work.folder / "files", format="parquet").to_table(columns=["number"])
    assert sorted(files["number"].to_pylist()) == every, "Parquet, the bare folder read by pyarrow"
    appended = DeltaTable(work.folder / "history").to_pyarrow_table(columns=["number"])
    assert sorted(appended["number"].to_pylist()) == every, "Delta, appended"
    merged = DeltaTable(work.folder / "current").to_pyarrow_table().to_pylist()
    assert sorted((row["key"], row["number"]) for row in merged) == sorted(changes.current.items()), (
        "Delta, merged with deletes"
    )
    ledger = [number for (number,) in postgres.run("SELECT number FROM changes_ledger ORDER BY number")]
    assert ledger == every, "PostgreSQL"
