"""Creates and removes what the bare cluster needs on the machine outside its node."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

from harness import kubeflags
from harness.cluster.configs import write_json
from harness.cluster.layout import HIDDEN, Layout
from harness.cluster.state import VARIABLE, ClusterState
from harness.errors import HarnessError
from harness.gotools import SPARING
from harness.waiting import asked


_TESTS = Path(__file__).parents[2]
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_KERNEL = {"vm/overcommit_memory": 1, "vm/panic_on_oom": 0, "kernel/panic": 10, "kernel/panic_on_oops": 1}
"""Settings that kubelet asks for."""
_WEIGHT: Final = 3
"""With more, the tests beside the cluster end last: with 8 the story ended after 221 s and they after 311, with 1 after 296 and 218."""


def start_node(at: Layout, state: ClusterState, servers: dict[str, list[str]]) -> None:
    """Start the node, detached from this process, and link it to the machine."""
    at.logs.mkdir(parents=True)
    _make_folders(at, state)
    for hierarchy in _hierarchies():
        cgroup = hierarchy / at.cgroup
        cgroup.mkdir(exist_ok=True)
        _weigh(cgroup)
    if not Path("/proc/sys/net/bridge").exists():
        run("modprobe", "br_netfilter")
    plan = {
        "run": str(at.run),
        "data": str(at.data),
        "logs": str(at.logs),
        "hidden": [str(path) for path in HIDDEN],
        "kernel": _KERNEL,
        "address": f"{at.node_address}/30",
        "services": kubeflags.SERVICES,
        "servers": servers,
    }
    _spawn(at, state, write_json(at.config / "node.json", plan))
    _link(at, first_process(at, state))


def remove_all(at: Layout, state: ClusterState) -> None:
    """End the cluster's processes and remove what was made; what is gone already is no error."""
    _end(state)
    subprocess.run(["ip", "link", "delete", at.link], capture_output=True, check=False)
    for hierarchy in _hierarchies():
        _remove_cgroups(hierarchy / at.cgroup)
    for folder in reversed(state.folders):
        if Path(folder).exists():
            Path(folder).rmdir()
    for path in (at.run, *at.data.iterdir()):
        _refuse_mounts(path)
        if path.is_dir():
            shutil.rmtree(path)
        elif path != at.state:
            path.unlink(missing_ok=True)
    at.state.unlink()  # last: until then another `down` can continue an interrupted one
    at.data.rmdir()


def run(*argv: str | Path) -> str:
    """Run a command; return its standard output.

    :raises HarnessError: when it fails, with its own words.
    """
    words = [str(word) for word in argv]
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise HarnessError(f"{words[0]} is not installed") from None
    if done.returncode:
        raise HarnessError(f"{' '.join(words)}: {(done.stderr or done.stdout).strip()}")
    return done.stdout


def _make_folders(at: Layout, state: ClusterState) -> None:
    for path in HIDDEN:
        missing = [folder for folder in (path, *path.parents) if not folder.exists()]
        for folder in reversed(missing):
            state.folders.append(str(folder))
            state.write(at.state)
            folder.mkdir()


def _spawn(at: Layout, state: ClusterState, plan: Path) -> None:
    environment = {"PATH": _PATH, "HOME": "/root", "PYTHONPATH": str(_TESTS), VARIABLE: state.token} | SPARING
    namespaces = ["--pid", "--fork", "--kill-child", "--mount-proc", "--net", "--uts", "--ipc"]
    argv = ["setsid", "--fork", "unshare", *namespaces, "--mount", "--propagation", "slave"]
    with (at.logs / "node.log").open("ab") as out:
        subprocess.run(
            [*argv, sys.executable, "-m", "harness.cluster.node", str(plan)],
            env=environment,
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            check=True,
        )


def first_process(at: Layout, state: ClusterState) -> int:
    """The node's first process, by its id on the machine."""
    pid = asked(60, lambda: next(filter(_is_first, state.processes()), None), 0.02)
    if pid is None:
        raise HarnessError(f"the node did not start: {(at.logs / 'node.log').read_text().strip()}")
    return pid


def _is_first(pid: int) -> bool:
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
    ids = next(line.split()[1:] for line in status.splitlines() if line.startswith("NSpid:"))
    return len(ids) > 1 and ids[-1] == "1"


def _link(at: Layout, node: int) -> None:
    run("ip", "link", "add", at.link, "type", "veth", "peer", "name", "eth0", "netns", str(node))
    run("ip", "address", "add", f"{at.host_address}/30", "dev", at.link)
    run("ip", "link", "set", at.link, "up")


def _end(state: ClusterState) -> None:
    """Kill and wait: when the node's first process is gone, the kernel has ended all others in it."""

    def killed() -> bool:
        pids = state.processes()
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return not pids

    if not asked(60, killed, 0.05):
        raise HarnessError(f"processes of the cluster do not end: {state.processes()}")


def _weigh(cgroup: Path) -> None:
    """Give the pods the CPU of several processes: for Linux all of them together weigh as much as one process beside them."""
    for setting, weight in (("cpu.shares", 1024 * _WEIGHT), ("cpu.weight", 100 * _WEIGHT)):
        if (cgroup / setting).exists():
            (cgroup / setting).write_text(str(weight))


def _hierarchies() -> Iterator[Path]:
    """The root of each cgroup hierarchy: one on version 2, one for each controller on version 1."""
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        before, _, after = line.partition(" - ")
        if after.startswith("cgroup"):
            yield Path(before.split()[4])


def _remove_cgroups(top: Path) -> None:
    """Remove a cgroup and all below it; the kernel may need a moment until the last process has left."""
    for folder, _, _ in os.walk(top, topdown=False):
        cgroup = Path(folder)
        if asked(60, partial(_removed, cgroup), 0.05):
            continue
        try:
            cgroup.rmdir()
        except OSError as error:
            raise HarnessError(f"cannot remove the cgroup {cgroup}: {error}") from None


def _removed(cgroup: Path) -> bool:
    with suppress(OSError):
        cgroup.rmdir()
    return not cgroup.exists()


def _refuse_mounts(path: Path) -> None:
    places = [line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    if inside := [place for place in places if place.startswith(f"{path}/")]:
        raise HarnessError(f"something is mounted in {path}, so it is not removed: {', '.join(inside)}")


def read_json(*argv: str) -> list[dict[str, object]]:
    """Run a command of iproute2; return its JSON output."""
    answer: list[dict[str, object]] = json.loads(run(*argv) or "[]")
    return answer
