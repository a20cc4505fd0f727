"""Each checkpoint has one owner: the driver whose token is in the owner record beside it.

A driver writes the record before it starts a query, and before it removes what another one has left. From then on an
older driver of the same pipeline fails before it creates another file of the checkpoint, or of a file sink's log (the
Java class `Fence` reads the record). A checkpoint of another pipeline is never taken.
"""

import json
import os
import re
import socket
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final
from uuid import uuid4

from pyspark.sql import SparkSession

from mainstem.errors import NotReady
from mainstem.runtime.clients.exclusive_files import LocalFile, S3Object, SmallFile


RECORD: Final = "spark.mainstem.checkpoint.owner.record"
TOKEN: Final = "spark.mainstem.checkpoint.owner.token"  # noqa: S105 - the name of a property
LENGTH: Final = 1024
"""Bytes of every record, padded, so that a reader need not ask how long it is; `Fence` has the same number."""


@dataclass(frozen=True)
class Owner:
    """A driver that owns a checkpoint.

    Attributes:
        pipeline: `namespace/name`, or the name alone of one that runs on a machine.
        description: pipeline, host and time of the start, for people.
        process: which process of which machine it is, for those who run on the same one.
        token: a random one for each start of a driver.
    """

    pipeline: str
    description: str
    process: str
    token: str

    def text(self) -> str:
        """The owner record: JSON, padded to `LENGTH` bytes."""
        return json.dumps(asdict(self)).ljust(LENGTH - 1) + "\n"


class Ownership:
    """Takes the checkpoints of one driver.

    Args:
        pipeline: `namespace/name`, or the name alone of one that runs on a machine.
        conditional: the store can create an object by one writer alone.
    """

    def __init__(self, pipeline: str, *, conditional: bool = True) -> None:
        self._conditional = conditional
        since, host = datetime.now(UTC).isoformat(timespec="seconds"), socket.gethostname()
        text = f"the pipeline '{pipeline}', whose driver started at {since} on {host}"
        self._owner = Owner(pipeline, text, _process(os.getpid()) or "", str(uuid4()))
        self._taken: set[str] = set()

    def take(self, session: SparkSession, checkpoint: str) -> None:
        """Make this driver the owner of a checkpoint, and keep every other one from writing to it in this session.

        Raises:
            NotReady: `CheckpointInUse`: another pipeline owns it; or another driver of this pipeline does, and it lives
                on this machine, or has taken the checkpoint from this one. `CheckpointOwnerUnreadable`.
        """
        path = record_of(checkpoint)
        record = _file(session, path)
        if record is None:
            return
        try:
            self._write(record, path, checkpoint)
        except OSError as error:
            raise NotReady(
                f"the owner record {path} of the checkpoint cannot be read or written: {error}",
                reason="CheckpointOwnerUnreadable",
                remedy="make the volume of checkpoints.location writable, or free space on it",
            ) from error
        session.conf.set(RECORD, path)
        session.conf.set(TOKEN, self._owner.token)

    def _write(self, record: SmallFile, path: str, checkpoint: str) -> None:
        if checkpoint in self._taken or not self._conditional or not record.create(self._owner.text()):
            self._succeed(record, path, checkpoint)
        self._taken.add(checkpoint)

    def _succeed(self, record: SmallFile, path: str, checkpoint: str) -> None:
        """Take the place of the owner in the record, unless it may still write."""
        text = record.read()
        owner = parsed(text, path) if text and text.strip() else None  # a crash may leave an empty file
        if owner is not None and owner.token == self._owner.token:
            return
        if owner is not None and owner.pipeline != self._owner.pipeline:
            raise _in_use(
                f"the checkpoint {checkpoint} belongs to {owner.description}",
                f"set another checkpoints.location; or, once that pipeline no longer uses the checkpoint, remove {path}",
            )
        elsewhere = owner is not None and owner.process != self._owner.process and alive(owner.process)
        if owner is not None and (checkpoint in self._taken or elsewhere):
            raise _in_use(
                f"another run uses the checkpoint {checkpoint}: {owner.description}",
                "stop one of the two runs",
            )
        if not record.replace(self._owner.text()):
            raise _in_use(
                f"another run has just taken over the checkpoint {checkpoint}", "stop one of the two runs"
            )


def record_of(checkpoint: str) -> str:
    """The path of a checkpoint's owner record: `c/orders/_1.mainstem-owner.json` for `c/orders/1`.

    It is beside the checkpoint, so that a copy of the folder has no owner.
    """
    above, _, name = checkpoint.rstrip("/").rpartition("/")
    return f"{above}/_{name}.mainstem-owner.json"


def parsed(text: str, path: str) -> Owner:
    """The owner that a record names.

    Raises:
        NotReady: `CheckpointOwnerUnreadable`.
    """
    try:
        return Owner(**{name: str(value) for name, value in json.loads(text).items()})
    except (ValueError, TypeError, AttributeError) as error:
        raise NotReady(
            f"the owner record {path} does not name the driver that owns the checkpoint",
            reason="CheckpointOwnerUnreadable",
            remedy="make sure that no driver uses the checkpoint, then remove the file",
        ) from error


def alive(process: str) -> bool:
    """True where a process of this machine, as `Owner.process` names it, is there; of another machine nothing is known."""
    number = process.rpartition(":")[0].rpartition(":")[2]
    return bool(process) and number.isdecimal() and _process(int(number)) == process


def _process(number: int) -> str | None:
    """Boot, process namespace, process id and start time: no two processes have these alike; None where there is none."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        space = Path("/proc/self/ns/pid").readlink()
        # The name of the program, in parentheses, may hold anything; the start time is the 20th field behind it.
        fields = Path(f"/proc/{number}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    state, *rest = fields.rpartition(")")[2].split()
    return None if state in "ZX" else f"{boot}:{space}:{number}:{rest[18]}"


def _file(session: SparkSession, path: str) -> SmallFile | None:
    """The record's file; None on a file system where nothing can be created by one writer alone."""
    if path.startswith("s3a://"):
        return S3Object(session, path)
    plain = re.sub(r"^file:/+", "/", path)
    return None if re.match(r"\w[\w+.-]*:", plain) else LocalFile(Path(plain))


def _in_use(message: str, remedy: str) -> NotReady:
    return NotReady(message, reason="CheckpointInUse", remedy=remedy)
