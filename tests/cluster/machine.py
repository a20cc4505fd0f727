"""What a cluster could leave behind on the machine."""

import os
import re
import subprocess
from pathlib import Path

from harness.cluster.state import VARIABLE


_COUNTERS = re.compile(r"^#.*\n|\[\d+:\d+\]", re.MULTILINE)
_FOLDERS = (
    "/run",
    "/var/lib",
    "/var/log",
    "/var/lib/kubelet",
    "/var/lib/cni",
    "/etc",
    "/etc/cni",
    "/opt",
)
_SETTINGS = (
    "net/ipv4/ip_forward",
    "vm/overcommit_memory",
    "vm/panic_on_oom",
    "kernel/panic",
    "kernel/panic_on_oops",
)


_SERVERS = {"containerd-shim", "kubelet", "kube-proxy", "pause", "coredns"}


def snapshot(name: str) -> dict[str, set[str]]:
    """Everything of the machine that a cluster of this name might have made or changed, by kind."""
    return {
        "mounts": {line.split()[4] for line in _lines("/proc/self/mountinfo")},
        "links": _entries("/sys/class/net"),
        "routes": set(_said("ip", "route", "show", "table", "all").splitlines()),
        "network namespaces": set(_said("ip", "netns", "list").splitlines()),
        "firewall": set(_COUNTERS.sub("", _said("iptables-save")).splitlines()),
        "settings": {f"{name} = {Path('/proc/sys', name).read_text()}" for name in _SETTINGS},
        "cgroups": {folder for folder in _cgroups() if name in folder or "kubepods" in folder},
        "processes": _processes(),
        "files": {f"{folder}/{name}" for folder in _FOLDERS for name in _entries(folder)},
    }


def left(before: dict[str, set[str]], after: dict[str, set[str]]) -> dict[str, set[str]]:
    """What differs, by kind; of what only comes and goes with other programs the new alone."""
    return {kind: after[kind] ^ before[kind] for kind in before if after[kind] != before[kind]}


def _processes() -> set[str]:
    """The processes of any test cluster, by their environment, and containers by what holds them."""
    found = set()
    for folder in Path("/proc").iterdir():
        if not folder.name.isdecimal():
            continue
        try:
            name, environment = (folder / "comm").read_text().strip(), (folder / "environ").read_bytes()
        except OSError:
            continue
        if VARIABLE.encode() in environment or name in _SERVERS:
            found.add(f"{folder.name} {name}")
    return found


def _cgroups() -> list[str]:
    return [folder for folder, _, _ in os.walk("/sys/fs/cgroup")]


def _entries(folder: str) -> set[str]:
    try:
        return {path.name for path in Path(folder).iterdir()}
    except FileNotFoundError:
        return set()


def _lines(path: str) -> list[str]:
    return Path(path).read_text().splitlines()


def _said(*argv: str) -> str:
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout
