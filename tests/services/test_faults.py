"""Faults strike a running pipeline; when they are over, it goes on by itself, and each record is in each sink once.

One driver runs through all faults of this file, in an order of chance. MAINSTEM_FAULT_SECONDS sets how long each lasts.
"""

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from harness.faultbed import FaultBed
from harness.waiting import lasts


pytestmark = [pytest.mark.full, pytest.mark.faults, pytest.mark.timeout(1200)]
SECONDS = float(os.environ.get("MAINSTEM_FAULT_SECONDS", "60"))
DISK = "300m"


class Fault(NamedTuple):
    """What breaks and how it is mended.

    Attributes:
        strike: breaks it.
        heal: mends it.
        seconds: how long it lasts.
        feeds: whether records can come while it lasts.
    """

    strike: Callable[[FaultBed], None]
    heal: Callable[[FaultBed], None]
    seconds: float = SECONDS
    feeds: bool = True


def kill_in_a_batch(bed: FaultBed) -> None:
    """SIGKILL once a batch of any query is planned and not committed."""
    bed.feed()
    bed.driver().until(bed.in_a_batch, 60, pause=0.005)
    bed.kill()


def fill_the_disk(bed: FaultBed) -> None:
    """No byte is left on the disk of the scratch folder, where shuffles, state and spilled rows are."""
    filler = bed.scratch / "filler"
    with filler.open("wb") as file:
        try:
            while True:
                file.write(b"0" * 65536)
                file.flush()
        except OSError:
            return


def change_the_password(bed: FaultBed) -> None:
    """Of the database's user, with all its connections ended; the Secret has the new one."""
    bed.postgres.run(f"ALTER USER {bed.postgres.username} PASSWORD 'another-{bed.records}'")
    bed.postgres.password = f"another-{bed.records}"
    bed.postgres.secret(bed.folder / "secrets", "postgres")
    bed.database.cut()


def nothing(_bed: FaultBed) -> None:
    """The fault is over by itself."""


FAULTS = {
    "driver killed in a batch": Fault(kill_in_a_batch, nothing, 0),
    "store silent": Fault(lambda bed: bed.store.silence(), lambda bed: bed.store.heal()),
    "store answers 503": Fault(lambda bed: bed.store.refuse(), lambda bed: bed.store.heal()),
    "store cuts connections": Fault(lambda bed: bed.store.cut(), lambda bed: bed.store.heal()),
    "store away": Fault(lambda bed: bed.s3.kill(), lambda bed: bed.s3.start()),
    "broker silent": Fault(
        lambda bed: bed.kafka.process.send(signal.SIGSTOP),
        lambda bed: bed.kafka.process.send(signal.SIGCONT),
        feeds=False,
    ),
    "broker away": Fault(lambda bed: bed.kafka.kill(), lambda bed: bed.kafka.start(), feeds=False),
    "broker restarted": Fault(lambda bed: bed.kafka.restart(), nothing, 0),
    "database silent": Fault(lambda bed: bed.database.silence(), lambda bed: bed.database.heal()),
    "database cuts connections": Fault(lambda bed: bed.database.cut(), lambda bed: bed.database.heal()),
    "database killed": Fault(lambda bed: bed.postgres.kill(), lambda bed: bed.postgres.start()),
    "database's password changed": Fault(change_the_password, lambda bed: bed.database.heal(), 5),
    "disk full": Fault(fill_the_disk, lambda bed: (bed.scratch / "filler").unlink(missing_ok=True)),
}


@pytest.fixture(scope="module")
def bed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FaultBed]:
    """The pipeline, with a small disk of its own for its scratch folder."""
    folder = tmp_path_factory.mktemp("faults")
    with FaultBed(folder) as bed, small_disk(bed.scratch):
        bed.feed()
        bed.caught_up()
        yield bed


class small_disk:
    """A file system in memory of a few hundred megabytes, mounted on a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __enter__(self) -> None:
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", self._folder], check=True)

    def __exit__(self, *_exc: object) -> None:
        subprocess.run(["umount", "--lazy", self._folder], check=True)


@pytest.mark.S26
@pytest.mark.S28
@pytest.mark.S29
@pytest.mark.S32
@pytest.mark.parametrize("name", FAULTS)
def test_after_a_fault_each_record_is_there_once(
    bed: FaultBed, name: str, record_property: Callable[[str, object], None]
) -> None:
    fault, starts = FAULTS[name], bed.starts
    bed.driver()
    fault.strike(bed)
    try:
        if fault.feeds:
            bed.feed()
        lasts(fault.seconds)
    finally:
        fault.heal(bed)
    bed.feed()
    seconds = bed.caught_up()
    bed.check()
    record_property("recovery", seconds)
    record_property("drivers", bed.starts - starts)
