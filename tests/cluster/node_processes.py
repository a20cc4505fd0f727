"""Processes of the bare cluster's node, by their ids on this machine: its servers, and those of one pod."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.cluster.layout import Layout
from harness.cluster.state import ClusterState
from harness.waiting import eventually, within


_PAUSE = "pause"
"""The program of a pod's sandbox, which has no container of its own."""


def of_server(name: str) -> list[int]:
    """The processes of a server of the node, such as `kubelet`."""
    state = ClusterState.read(Layout().state)
    assert state is not None
    pids = [pid for pid in state.processes() if _comm(pid) == name]
    assert pids, f"the node has no {name}"
    return pids


@contextmanager
def suspended(*pids: int) -> Iterator[None]:
    """Within this context the processes do not run; those that have ended meanwhile are no error."""
    _signal(pids, signal.SIGSTOP)
    try:
        yield
    finally:
        _signal(pids, signal.SIGCONT)


@contextmanager
def silent_node() -> Iterator[None]:
    """Within this context the kubelet does not run: it neither ends a pod nor reports one, and containers go on."""
    with suspended(*of_server("kubelet")):
        yield


def of_pod(uid: str) -> dict[int, str]:
    """The processes of a pod, its sandbox among them, with their programs."""
    programs = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                if f"pod{uid}/" in (folder / "cgroup").read_text():
                    programs[int(folder.name)] = _comm(int(folder.name))
            except OSError:
                continue
    return programs


def first_of_container(uid: str) -> int:
    """The first process of the pod's container, once it runs."""

    def running() -> list[int]:
        return [pid for pid, name in of_pod(uid).items() if name != _PAUSE and _is_first(pid)]

    [first] = eventually(f"the container of pod {uid} runs", running)
    return first


def shim(uid: str) -> int:
    """The process of containerd that starts and ends the containers of a pod, and is their parent."""
    return _parent(first_of_container(uid))


def kill(uid: str) -> None:
    """SIGKILL to the first process of the pod's container, with which the kernel ends all others in it."""
    os.kill(first_of_container(uid), signal.SIGKILL)


class Output:
    """What a process writes to its standard output and error, read in place of a shim that is suspended.

    Attributes:
        text: all of it, so far.
    """

    def __init__(self, pid: int) -> None:
        self._chunks: list[bytes] = []
        for number in (1, 2):
            pipe = Path(f"/proc/{pid}/fd/{number}")
            threading.Thread(target=self._read, args=(pipe,), daemon=True).start()

    @property
    def text(self) -> str:
        return b"".join(self._chunks).decode(errors="replace")

    def _read(self, pipe: Path) -> None:
        with pipe.open("rb", buffering=0) as stream:
            while chunk := stream.read(65536):
                self._chunks.append(chunk)


def exit_code(pid: int) -> int | None:
    """The exit code of a process whose parent has not asked for it yet; None while the process runs."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return os.waitstatus_to_exitcode(int(fields[-1])) if fields[0] == "Z" else None


def wait_for_end(pid: int, output: Output, seconds: float) -> int:
    """The exit code of such a process, once it has ended; fails with the end of its output."""
    try:
        within(seconds, f"the end of process {pid}", lambda: exit_code(pid) is not None)
    except AssertionError as error:
        raise AssertionError(f"{error}\n{output.text[-6000:]}") from None
    return exit_code(pid) or 0


def _signal(pids: tuple[int, ...], number: signal.Signals) -> None:
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            continue


def _parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def _is_first(pid: int) -> bool:
    """Whether a process is number 1 for the other processes of its container."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return False
    return next(line.split()[-1] for line in lines if line.startswith("NSpid:")) == "1"


def _comm(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""
