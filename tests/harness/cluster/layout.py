"""Where the bare cluster keeps its things: two folders, one network link, one cgroup; nothing of it is anybody else's."""

from pathlib import Path

from harness.cluster.base import NAME


RUN = Path("/run") / NAME
"""State, sockets and the kubeconfig."""
DATA = Path("/var/lib") / NAME
"""etcd's data, images, containers, certificates, logs."""
STATE = RUN / "state.json"
KUBECONFIG = RUN / "kubeconfig"
CONTAINERD = RUN / "containerd.sock"
PLAN = DATA / "node.json"
LOGS = DATA / "logs"

LINK = NAME
"""The host's end of the only link to the node; the other end is the node's eth0."""
HOST_ADDRESS = "198.18.77.1"
NODE_ADDRESS = "198.18.77.2"
"""Of a range that is for benchmarks of networks and routed nowhere (RFC 2544)."""
LINK_NETWORK = "198.18.77.0/30"
PODS = "10.244.0.0/24"
KUBERNETES_SERVICE = "10.96.0.1"
DNS_SERVICE = "10.96.0.10"
"""The addresses of the Services `kubernetes` and `kube-dns`, from `kubeflags.SERVICES`."""
API_PORT = 6443
URL = f"https://{NODE_ADDRESS}:{API_PORT}"
NODE = f"{NAME}-control-plane"

CGROUP = NAME
"""Below the root of every cgroup hierarchy; the pods' cgroups lie in it."""

HIDDEN = (Path("/var/lib/kubelet"), Path("/var/lib/cni"), Path("/var/log/containers"))
"""Paths that kubelet and the CNI plugins have built in: the node sees folders of `DATA` in their place."""
