"""The record of what the bare cluster creates, written in advance: `down` removes all of it after any crash."""

import json
import secrets
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Self

from harness.errors import HarnessError


VARIABLE = "MAINSTEM_TEST_CLUSTER"
"""The environment variable that carries a cluster's token; only the cluster's own processes have it."""


@dataclass
class ClusterState:
    """One cluster's record.

    Attributes:
        token: a value in the environment of each of its processes. Unlike a process id it is never given to another.
        folders: folders of the machine that were made, empty, as places to mount on; the last made comes last.
        owner: the process whose cluster it is, as `process id:start time`; empty when it is to stay.
    """

    token: str
    folders: list[str] = field(default_factory=list)
    owner: str = ""

    @classmethod
    def new(cls, name: str, owner: str) -> Self:
        """Return the record of a cluster of this name of which nothing has been made."""
        return cls(f"{name}:{secrets.token_hex(16)}", owner=owner)

    @classmethod
    def read(cls, path: Path) -> Self | None:
        """Return the record, None when there is no file.

        :raises HarnessError: when the file is not one of ours.
        """
        try:
            return cls(**json.loads(path.read_text()))
        except FileNotFoundError:
            return None
        except PermissionError:
            raise HarnessError(f"{path} cannot be read: the bare cluster needs root") from None
        except (ValueError, TypeError) as error:
            raise HarnessError(f"{path} is not the record of a test cluster ({error}); not touched") from None

    def write(self, path: Path) -> None:
        """Write the record, whole or not at all."""
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part")
        part.touch(mode=0o600)
        part.write_text(json.dumps(asdict(self), indent=1))
        part.rename(path)

    def processes(self) -> list[int]:
        """The ids of the cluster's own processes that run, in no order."""
        wanted = f"{VARIABLE}={self.token}".encode()
        return [pid for pid in _pids() if wanted in _environment(pid)]

    def owner_is_dead(self) -> bool:
        """Whether the cluster was one process's and that process is gone."""
        return bool(self.owner) and identity(int(self.owner.partition(":")[0])) != self.owner


def identity(pid: int) -> str:
    """Return `process id:start time`, which no later process shares until the next boot; empty when there is none."""
    try:
        # The name, in parentheses, may hold anything; what follows it begins with the third field.
        after_name = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text()[:8]
    return "" if after_name[0] == "Z" else f"{pid}:{after_name[19]}@{boot}"


def is_a_test_clusters(pid: int) -> bool:
    """Whether a process is a server of any cluster of this harness."""
    return any(entry.startswith(f"{VARIABLE}=".encode()) for entry in _environment(pid))


def _pids() -> list[int]:
    return [int(path.name) for path in Path("/proc").iterdir() if path.name.isdecimal()]


def _environment(pid: int) -> list[bytes]:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:  # gone, or a kernel thread
        return []
