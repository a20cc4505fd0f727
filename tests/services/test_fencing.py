"""Two drivers on one checkpoint on S3: the older one hangs, the newer one takes over, and the older one wakes up.

A hanging driver is stopped by SIGSTOP at a random moment, with all processes that it has started. So it wakes up between any
two of its steps, also between a check of the owner record and the write after it.
"""

import json
import os
import random
import re
import signal
import zlib
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path
from types import MappingProxyType

import pytest
from harness import with_executors
from harness.checkpoints import data_files, logged_files
from harness.clocks import HOUR, shifted
from harness.driver import DriverProcess, descendants
from harness.s3 import S3Server
from harness.s3proxy import S3Proxy
from harness.waiting import at_any_moment
from mainstem.checkpoints.owner import LENGTH
from services.test_checkpoint_faults import QUERIES, START, Bed


pytestmark = [
    pytest.mark.faults,
    pytest.mark.S29,
    pytest.mark.full(gate="services/test_checkpoint_files.py::test_an_older_driver_creates_no_plan"),
]
BATCHES = 2
"""Files, and so batches, before a driver hangs, and again after it has woken up."""
SOON = 3.0
"""Seconds after new files within which a driver is stopped: its batches run then."""


@pytest.fixture
def bed(s3: S3Server, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Bed]:
    bucket = f"fencing-{zlib.crc32(request.node.name.encode()):x}"
    s3.make_bucket(bucket)
    with S3Proxy(s3) as proxy:
        yield Bed(s3, proxy, bucket, tmp_path)


def driver(
    bed: Bed, number: int, program: tuple[str, ...] | None, clock: Mapping[str, str] = MappingProxyType({})
) -> DriverProcess:
    env = {"AWS_ACCESS_KEY_ID": bed.s3.access_key, "AWS_SECRET_ACCESS_KEY": bed.s3.secret_key, **clock}
    folder = bed.folder / f"driver-{number}"
    if program is None:
        return DriverProcess(bed.document, folder, env=env)
    return DriverProcess(bed.document, folder, env=env | with_executors.ENV, program=program)


def send(driver: DriverProcess, number: signal.Signals) -> None:
    """A signal to a driver, its JVM and its executors."""
    for pid in reversed([driver.process.pid, *descendants(driver.process.pid)]):
        os.kill(pid, number)


def owner(bed: Bed, query: str) -> dict[str, object]:
    record = bed.lake / "checkpoints" / query / "_1.mainstem-owner.json"
    return dict(json.loads(record.read_text(encoding="utf-8")))


def on_another_machine(bed: Bed) -> None:
    """The owner's process is not one of this machine: on its own machine no second driver starts while it lives."""
    for query in QUERIES:
        record = bed.lake / "checkpoints" / query / "_1.mainstem-owner.json"
        moved = owner(bed, query) | {"process": "elsewhere"}
        record.write_text(json.dumps(moved).ljust(LENGTH - 1) + "\n", encoding="utf-8")


def files_read(bed: Bed, query: str) -> int:
    """How many files the committed batches have read.

    There may be fewer batches: a driver that hangs between the source's log and the plan leaves a file that the next batch
    reads together with another one.
    """
    batch = bed.committed(query)
    if batch < 0:
        return 0
    plan = (bed.lake / "checkpoints" / query / "1" / "offsets" / str(batch)).read_text(encoding="utf-8")
    return max(int(last) + 1 for last in re.findall(r'"logOffset":\s*(-?\d+)', plan))


def all_read(bed: Bed, files: int) -> bool:
    return all(files_read(bed, query) >= files for query in QUERIES)


@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    ("takeovers", "program"),
    [
        pytest.param(2, None, id="2"),
        pytest.param(20, None, id="20"),
        pytest.param(5, with_executors.PROGRAM, id="5-with-executors"),
    ],
)
def test_the_older_of_two_drivers_is_fenced_and_every_row_is_there_once(
    bed: Bed, takeovers: int, program: tuple[str, ...] | None
) -> None:
    seed = int(os.environ.get("MAINSTEM_SEED", str(random.SystemRandom().randrange(10**6))))
    chance = random.Random(seed)
    print("MAINSTEM_SEED", seed)
    bed.feed(0, BATCHES)
    with ExitStack() as drivers:
        fed = BATCHES
        older = drivers.enter_context(driver(bed, 0, program))
        older.until(lambda: all_read(bed, 1), START)
        for number in range(1, takeovers + 1):
            fed += BATCHES
            bed.feed(fed - BATCHES, fed)
            at_any_moment(chance, SOON)
            send(older, signal.SIGSTOP)
            at = {query: files_read(bed, query) for query in QUERIES}
            on_another_machine(bed)
            newer = drivers.enter_context(driver(bed, number, program))
            # The older driver wakes up as soon as the newer one owns everything, or only after some of its batches.
            first = min(max(at.values()) + (number % 2), fed)
            newer.until(
                lambda number=number: all(owner(bed, q)["epoch"] == number + 1 for q in QUERIES), START
            )
            newer.until(lambda first=first: all_read(bed, first), START)
            send(older, signal.SIGCONT)
            print("takeover", number, "files read", at)
            fed += BATCHES
            bed.feed(fed - BATCHES, fed)
            newer.until(lambda last=fed: all_read(bed, last), START)
            assert_fenced(older, bed, number)
            older = newer
        wait_for_late_files(older, bed)
        older.send(signal.SIGTERM)
        assert older.wait(START) == 0, older.stderr[-4000:]
    bed.check(fed)


@pytest.mark.full
@pytest.mark.timeout(1200)
@pytest.mark.parametrize(
    ("older_shift", "newer_shift"),
    [(HOUR, -HOUR), (-HOUR, HOUR)],
    ids=["ahead-then-behind", "behind-then-ahead"],
)
def test_which_of_two_drivers_is_fenced_does_not_depend_on_their_clocks(
    bed: Bed, older_shift: int, newer_shift: int
) -> None:
    """The store's clock is right, and each driver's is wrong by an hour."""
    bed.feed(0, BATCHES)
    with ExitStack() as drivers:
        older = drivers.enter_context(driver(bed, 0, None, shifted(older_shift)))
        older.until(lambda: all_read(bed, BATCHES), START)
        first = datetime.fromisoformat(str(owner(bed, QUERIES[0])["started"]))
        send(older, signal.SIGSTOP)
        on_another_machine(bed)
        bed.feed(BATCHES, 2 * BATCHES)
        newer = drivers.enter_context(driver(bed, 1, None, shifted(newer_shift)))
        newer.until(lambda: all_read(bed, 2 * BATCHES), START)
        second = datetime.fromisoformat(str(owner(bed, QUERIES[0])["started"]))
        assert (second < first) is (newer_shift < older_shift), "the clocks of the drivers are not wrong"
        send(older, signal.SIGCONT)
        bed.feed(2 * BATCHES, 3 * BATCHES)
        newer.until(lambda: all_read(bed, 3 * BATCHES), START)
        assert_fenced(older, bed, 1)
        wait_for_late_files(newer, bed)
        newer.send(signal.SIGTERM)
        assert newer.wait(START) == 0, newer.stderr[-4000:]
    bed.check(3 * BATCHES)


def wait_for_late_files(driver: DriverProcess, bed: Bed) -> None:
    """Until the driver has removed the files that fenced drivers, or their executors, wrote after its first listing."""
    folder = bed.lake / "folder"
    driver.until(lambda: data_files(folder) == logged_files(folder), START)


def assert_fenced(older: DriverProcess, bed: Bed, number: int) -> None:
    """It has ended by itself, and names the driver that has taken over, and when that started."""
    assert older.wait(START) == 8, older.stderr[-4000:]
    assert "[Fenced]" in older.stderr
    newer = owner(bed, QUERIES[0])
    assert str(newer["description"]) in older.stderr
    assert f"(epoch {number + 1})" in str(newer["description"])
