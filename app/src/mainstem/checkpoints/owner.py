"""The owner record beside a checkpoint: the driver that may write to it, since which epoch, and who may take it over."""

import json
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, Final

from mainstem import reasons
from mainstem.errors import NotReady


LENGTH: Final = 1024
"""Size of every record in bytes, with padding, so that a reader knows the length; the Java class `Fence` has the same
number.
"""


@dataclass(frozen=True)
class DriverIdentity:
    """The pipeline of a driver.

    Attributes:
        pipeline: `namespace/name` on a cluster, `name` on one machine.
        cluster: uid of the cluster's namespace `kube-system`; empty on one machine, and if the operator may not read it.
        uid: uid of the resource; empty on one machine.
        attempt: the driver start number; 0 on one machine.
    """

    pipeline: str
    cluster: str = ""
    uid: str = ""
    attempt: int = 0


@dataclass(frozen=True)
class Owner:
    """A driver that owns a checkpoint. A record of an older version has no epoch, and none of the fields after it.

    Attributes:
        pipeline: `namespace/name` on a cluster, `name` on one machine.
        description: pipeline, host, time of the start and epoch, for people.
        process: identifies the process, for other runs on the same machine; see `identity`.
        token: a random text, new for each start of a driver.
        epoch: the number of the takeover, from 1; each driver start takes the next one.
        cluster: as in `DriverIdentity`.
        uid: as in `DriverIdentity`.
        attempt: as in `DriverIdentity`.
        started: when the driver started, in ISO 8601 and UTC.
        since: when the first driver of this pipeline started that has owned the checkpoint without another owner between.
    """

    pipeline: str
    description: str
    process: str
    token: str
    epoch: int = 0
    cluster: str = ""
    uid: str = ""
    attempt: int = 0
    started: str = ""
    since: str = ""

    @property
    def full_name(self) -> str:
        """The pipeline with its cluster."""
        return f"{self.cluster}/{self.pipeline}" if self.cluster else self.pipeline

    @property
    def takeover(self) -> str:
        """The value of `checkpoints.takeOver` that names this owner."""
        return f"{self.full_name}@{self.started}" if self.started else self.full_name

    def text(self) -> str:
        """The owner record: JSON, padded to `LENGTH` bytes."""
        return json.dumps(asdict(self)).ljust(LENGTH - 1) + "\n"

    def is_same_pipeline(self, other: "Owner") -> bool:
        """Whether both are drivers of one pipeline, which may have been deleted and created again.

        A record of an older version names no cluster, and no uid.
        """
        if self.pipeline != other.pipeline:
            return False
        same_uid = bool(self.uid) and self.uid == other.uid
        return same_uid or not self.epoch or not other.epoch or self.cluster == other.cluster

    def is_started_before(self, other: "Owner") -> bool:
        """Whether the operator has started the other driver of the same resource later."""
        return bool(self.uid) and self.uid == other.uid and self.attempt < other.attempt

    def is_named_by(self, takeover: str) -> bool:
        """Whether a document's `checkpoints.takeOver` names this owner.

        The time in it is that of one of the owner's drivers. It names no owner that has taken the checkpoint since then: so
        of two pipelines that name each other, each takes the checkpoint at most once.
        """
        name, _, time = takeover.rpartition("@")
        if not self.started:
            return takeover == self.full_name
        return name == self.full_name and self.since <= time

    def after(self, previous: "Owner | None") -> "Owner":
        """Return this owner with the epoch after the previous owner's."""
        epoch = previous.epoch + 1 if previous else 1
        same = previous is not None and previous.is_same_pipeline(self)
        since = (previous.since if previous and same else "") or self.started
        return replace(self, epoch=epoch, since=since, description=f"{self.description} (epoch {epoch})")


def record_of(checkpoint: str) -> str:
    """The path of a checkpoint's owner record: `c/orders/_1.mainstem-owner.json` for `c/orders/1`.

    The record is beside the checkpoint, so a copy of the folder has no owner.
    """
    above, _, name = checkpoint.rstrip("/").rpartition("/")
    return f"{above}/_{name}.mainstem-owner.json"


def parse(text: str, path: str) -> Owner:
    """The owner that a record names; unknown fields of a newer version are ignored.

    Raises:
        NotReady: `CheckpointOwnerUnreadable`.
    """
    try:
        values: dict[str, Any] = dict(json.loads(text))
        known = {field.name: field.type for field in fields(Owner)}
        typed: dict[str, Any] = {
            name: int(value) if known[name] is int else str(value)
            for name, value in values.items()
            if name in known
        }
        return Owner(**typed)
    except (ValueError, TypeError) as error:
        raise NotReady(
            f"the owner record {path} does not name the driver that owns the checkpoint",
            reason=reasons.CHECKPOINT_OWNER_UNREADABLE,
            remedy="make sure that no driver uses the checkpoint, then remove the file",
        ) from error


def is_alive(process: str) -> bool:
    """Whether the process of an `Owner.process` runs on this machine; false for a process of another machine."""
    number = process.rpartition(":")[0].rpartition(":")[2]
    return bool(process) and number.isdecimal() and identity(int(number)) == process


def identity(number: int) -> str | None:
    """The identity of a process: boot id, process namespace, process id and start time; None if it does not run.

    No two processes have the same identity.
    """
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        space = Path("/proc/self/ns/pid").readlink()
        # The program's name, in parentheses, may contain any character; the start time is the 20th field after it.
        fields = Path(f"/proc/{number}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    state, *rest = fields.rpartition(")")[2].split()
    return None if state in "ZX" else f"{boot}:{space}:{number}:{rest[18]}"
