"""Checks that keep the bare cluster away from everything that it did not create."""

import ipaddress
import os
import shutil
from pathlib import Path

from harness.cluster.host import read_json
from harness.cluster.layout import HIDDEN, Layout
from harness.cluster.state import is_a_test_clusters
from harness.errors import HarnessError


TOOLS = ("containerd", "ctr", "runc", "iptables", "conntrack", "ip", "unshare", "setsid", "mount", "umount")
# Another containerd, Docker's for one, is no reason: ours has its own sockets and folders.
_NODES = frozenset({"kubelet", "kube-proxy", "k3s", "k3s-server", "k3s-agent", "rke2", "microk8s"})


def check_machine() -> None:
    """Check that this user can create a node on this machine.

    :raises HarnessError: naming everything that is missing.
    """
    if os.geteuid() != 0:
        raise HarnessError("the bare cluster needs root (network, mounts, cgroups); or use kind, with Docker")
    if missing := [tool for tool in TOOLS if shutil.which(tool) is None]:
        raise HarnessError(
            f"the bare cluster needs {', '.join(missing)}; run `sh bootstrap.sh cluster` as root once"
        )


def check_free(at: Layout) -> None:
    """Check that nothing blocks the cluster, before anything is created.

    :raises HarnessError: naming all that was found; nothing of it was touched.
    """
    if obstacles := [*_kubelets(), *_folders(at), *_network(at)]:
        raise HarnessError(
            "there is something here that this harness did not make, so it starts no cluster and touches nothing: "
            + "; ".join(obstacles)
        )


def check_nothing_there(at: Layout) -> None:
    """Check that the folders of the test cluster are empty.

    :raises HarnessError: when there is something in them; it was not touched.
    """
    if remains := [path for path in (at.run, at.data) if path.exists() and any(path.iterdir())]:
        names = " and ".join(map(str, remains))
        raise HarnessError(f"{names}: not made by this harness, for there is no {at.state}; not touched")


def _kubelets() -> list[str]:
    obstacles = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                name = (folder / "comm").read_text().strip()
            except OSError:
                continue
            if name in _NODES and not is_a_test_clusters(int(folder.name)):
                obstacles.append(f"{name} is running (process {folder.name})")
    return obstacles


def _folders(at: Layout) -> list[str]:
    ours = [path for path in (at.run, at.data) if path.exists() and any(path.iterdir())]
    kubelet = HIDDEN[0]
    others = [kubelet] if kubelet.exists() and any(kubelet.iterdir()) else []
    return [f"{path} is not empty" for path in (*ours, *others)]


def _network(at: Layout) -> list[str]:
    wanted = ipaddress.ip_network(at.link_network)
    obstacles = []
    for link in read_json("ip", "-json", "address"):
        addresses = link["addr_info"]
        assert isinstance(addresses, list)
        taken = [address["local"] for address in addresses if address["family"] == "inet"]
        if link["ifname"] == at.link:
            obstacles.append(f"there is a network link {at.link}")
        elif clash := [address for address in taken if ipaddress.ip_address(address) in wanted]:
            obstacles.append(f"the link {link['ifname']} has the address {', '.join(clash)}")
    return obstacles
