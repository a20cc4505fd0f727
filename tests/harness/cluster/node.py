"""The first process of the bare cluster's node: `python -m harness.cluster.node PLAN`, in namespaces of its own.

The node is to the machine what a container is: its processes, mounts, network links and firewall rules are in
namespaces that the kernel clears away, to the last, when this process ends, in whatever way. Only the standard library
is imported, and no shell is run.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any


_PAUSE = 1.0
"""Seconds before a server that ended is started again, as on every node of Kubernetes."""


def main(plan_path: str) -> None:
    """Make the node's file systems and network, then start its servers and keep them running."""
    plan = json.loads(Path(plan_path).read_text())
    logs = Path(plan["logs"])
    _temporary(Path(plan["data"]) / "tmp")
    _mounts(plan)
    _network(plan)
    children: dict[int, str] = {}
    for name in plan["servers"]:
        children[_start(plan, logs, name)] = name
    while True:
        pid, status = os.wait()
        name = children.pop(pid, "")
        if name:  # others are orphans that the kernel gave to us
            code = os.waitstatus_to_exitcode(status)
            print(f"{name} ended with {code}; starting it again", flush=True)
            time.sleep(_PAUSE)
            children[_start(plan, logs, name)] = name


def _start(plan: dict[str, Any], logs: Path, name: str) -> int:
    # Not by subprocess: os.wait above reaps it.
    argv: list[str] = plan["servers"][name]
    append = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, str(logs / f"{name}.log"), append, 0o644),
        (os.POSIX_SPAWN_DUP2, 1, 2),
    ]
    return os.posix_spawnp(argv[0], argv, os.environ, file_actions=actions)


def _temporary(folder: Path) -> None:
    """What a server would leave in the machine's /tmp goes with the cluster."""
    folder.mkdir(exist_ok=True)
    os.environ["TMPDIR"] = str(folder)


def _mounts(plan: dict[str, Any]) -> None:
    data, run = Path(plan["data"]), plan["run"]
    # A /run of the node's own: no lock and no socket of the machine's other servers.
    held = data / "run"
    held.mkdir()
    _run("mount", "--bind", run, str(held))
    _run("mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", "/run")
    Path(run).mkdir()
    _run("mount", "--bind", str(held), run)
    _run("umount", str(held))
    for number, path in enumerate(plan["hidden"]):
        private = data / "hidden" / str(number)
        private.mkdir(parents=True)
        _run("mount", "--bind", str(private), path)
    for name, value in plan["kernel"].items():
        # kubelet requires values that hold for the whole machine: the node shows them, and the machine stays unchanged.
        shown = data / "kernel" / name.replace("/", ".")
        shown.parent.mkdir(exist_ok=True)
        shown.write_text(f"{value}\n")
        _run("mount", "--bind", str(shown), f"/proc/sys/{name}")
    # The machine's unmounts come in, none of ours goes out; pods get what kubelet mounts.
    _run("mount", "--make-rshared", "/")


def _network(plan: dict[str, Any]) -> None:
    _run("ip", "link", "set", "lo", "up")
    while not Path("/proc/sys/net/ipv4/conf/eth0").exists():  # the host gives us our end of the link
        time.sleep(0.01)
    _run("ip", "address", "add", plan["address"], "dev", "eth0")
    _run("ip", "link", "set", "eth0", "up")
    # The Services' addresses are nowhere, but a packet to one needs a route before it is rewritten.
    _run("ip", "route", "add", plan["services"], "dev", "eth0")
    for name in ("ipv4/ip_forward", "bridge/bridge-nf-call-iptables"):
        Path("/proc/sys/net", name).write_text("1\n")


def _run(*argv: str) -> None:
    subprocess.run(argv, check=True)


if __name__ == "__main__":
    main(sys.argv[1])
