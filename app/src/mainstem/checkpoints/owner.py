"""The owner record beside a checkpoint: the driver that may write to it."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from mainstem import reasons
from mainstem.errors import NotReady


LENGTH: Final = 1024
"""Size of every record in bytes, with padding, so that a reader knows the length; `Fence` has the same number."""


@dataclass(frozen=True)
class Owner:
    """A driver that owns a checkpoint.

    Attributes:
        pipeline: `namespace/name` on a cluster, `name` on one machine.
        description: pipeline, host and time of the start, for people.
        process: identifies the process, for other runs on the same machine; see `identity`.
        token: a random text, new for each start of a driver.
    """

    pipeline: str
    description: str
    process: str
    token: str

    def text(self) -> str:
        """The owner record: JSON, padded to `LENGTH` bytes."""
        return json.dumps(asdict(self)).ljust(LENGTH - 1) + "\n"


def record_of(checkpoint: str) -> str:
    """The path of a checkpoint's owner record: `c/orders/_1.mainstem-owner.json` for `c/orders/1`.

    The record is beside the checkpoint, so a copy of the folder has no owner.
    """
    above, _, name = checkpoint.rstrip("/").rpartition("/")
    return f"{above}/_{name}.mainstem-owner.json"


def parse(text: str, path: str) -> Owner:
    """The owner that a record names.

    Raises:
        NotReady: `CheckpointOwnerUnreadable`.
    """
    try:
        return Owner(**{name: str(value) for name, value in json.loads(text).items()})
    except (ValueError, TypeError, AttributeError) as error:
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
