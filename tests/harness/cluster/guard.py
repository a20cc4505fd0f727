"""The bare cluster keeps off whatever it did not make."""

import ipaddress
import os
import shutil
from pathlib import Path

from harness.cluster import layout
from harness.cluster.host import read_json
from harness.errors import HarnessError


TOOLS = ("containerd", "ctr", "runc", "iptables", "conntrack", "ip", "unshare", "setsid", "mount", "umount")
# Another containerd, Docker's for one, is no reason: ours has its own sockets and folders.
_NODES = frozenset({"kubelet", "kube-proxy", "k3s", "k3s-server", "k3s-agent", "rke2", "microk8s"})


def check_machine() -> None:
    """Look whether this user can make a node here.

    :raises HarnessError: naming everything that is missing.
    """
    if os.geteuid() != 0:
        raise HarnessError("the bare cluster needs root (network, mounts, cgroups); or use kind, with Docker")
    if missing := [tool for tool in TOOLS if shutil.which(tool) is None]:
        raise HarnessError(
            f"the bare cluster needs {', '.join(missing)}; run `sh bootstrap.sh debs` as root once"
        )


def check_free() -> None:
    """Look whether nothing is in the way, before anything is made.

    :raises HarnessError: naming all that was found; nothing of it was touched.
    """
    if found := [*_kubelets(), *_folders(), *_network()]:
        raise HarnessError(
            "there is something here that this harness did not make, so it starts no cluster and touches nothing: "
            + "; ".join(found)
        )


def _kubelets() -> list[str]:
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                name = (folder / "comm").read_text().strip()
            except OSError:
                continue
            if name in _NODES:
                found.append(f"{name} is running (process {folder.name})")
    return found


def _folders() -> list[str]:
    ours = [path for path in (layout.RUN, layout.DATA) if path.exists() and any(path.iterdir())]
    kubelet = layout.HIDDEN[0]
    others = [kubelet] if kubelet.exists() and any(kubelet.iterdir()) else []
    return [f"{path} is not empty" for path in (*ours, *others)]


def _network() -> list[str]:
    wanted = ipaddress.ip_network(layout.LINK_NETWORK)
    found = []
    for link in read_json("ip", "-json", "address"):
        addresses = link["addr_info"]
        assert isinstance(addresses, list)
        taken = [address["local"] for address in addresses if address["family"] == "inet"]
        if link["ifname"] == layout.LINK:
            found.append(f"there is a network link {layout.LINK}")
        elif clash := [address for address in taken if ipaddress.ip_address(address) in wanted]:
            found.append(f"the link {link['ifname']} has the address {', '.join(clash)}")
    return found
