"""What a cluster could leave behind on the machine."""

import os
import re
import subprocess
from pathlib import Path

from harness.cluster.base import NAME
from harness.cluster.state import VARIABLE


_PODS = re.compile(r"kubepods|/mainstem-test|k8s\.io")
_PLACES = re.compile(r"/var/lib/(kubelet|cni)|/var/log/containers|/proc/sys/| /run |/run/netns")
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


def snapshot(name: str) -> dict[str, set[str]]:
    """Everything of the machine that a cluster of this name might have made or changed, by kind."""
    return {
        "mounts": {line for line in _lines("/proc/self/mountinfo") if name in line or _PLACES.search(line)},
        "links": _entries("/sys/class/net"),
        "routes": set(_said("ip", "route", "show", "table", "all").splitlines()),
        "network namespaces": set(_said("ip", "netns", "list").splitlines()),
        "firewall": set(_COUNTERS.sub("", _said("iptables-save")).splitlines()),
        "settings": {f"{path} = {Path('/proc/sys', path).read_text()}" for path in _SETTINGS},
        "cgroups": _cgroups(),
        "processes": _processes(name),
        "files": {f"{folder}/{entry}" for folder in _FOLDERS for entry in _entries(folder)},
    }


def left(before: dict[str, set[str]], after: dict[str, set[str]]) -> dict[str, set[str]]:
    """What is there now and was not, or was and is not now, by kind."""
    return {kind: after[kind] ^ before[kind] for kind in before if after[kind] != before[kind]}


def _processes(cluster: str) -> set[str]:
    """The processes of a cluster: its servers by their environment, shims by their words, containers by their cgroup."""
    signs = {"environ": f"{VARIABLE}={cluster}:", "cmdline": f"/run/{cluster}/", "cgroup": f"/{cluster}/"}
    processes = set()
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                if any(sign.encode() in (folder / file).read_bytes() for file, sign in signs.items()):
                    processes.add(f"{folder.name} {(folder / 'comm').read_text().strip()}")
            except OSError:
                continue
    return processes


def _cgroups() -> set[str]:
    """All cgroups of pods, but those in the shared cluster's, which come and go meanwhile."""
    folders = {folder for folder, _, _ in os.walk("/sys/fs/cgroup")}
    return {folder for folder in folders if f"/{NAME}/" not in f"{folder}/" and _PODS.search(folder)}


def _entries(folder: str) -> set[str]:
    try:
        return {path.name for path in Path(folder).iterdir()}
    except FileNotFoundError:
        return set()


def _lines(path: str) -> list[str]:
    return Path(path).read_text().splitlines()


def _said(*argv: str) -> str:
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout
