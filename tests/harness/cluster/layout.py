"""The paths and names of a bare cluster: two folders, one network link, one cgroup, all of its own."""

from dataclasses import dataclass
from pathlib import Path

from harness.cluster.base import NAME


PODS = "10.244.0.0/24"
"""The pods' addresses; like the Services' they exist in the node's own network only."""
KUBERNETES_SERVICE = "10.96.0.1"
DNS_SERVICE = "10.96.0.10"
"""The addresses of the Services `kubernetes` and `kube-dns`, from `kubeflags.SERVICES`."""
API_PORT = 6443

HIDDEN = (Path("/var/lib/kubelet"), Path("/var/lib/cni"), Path("/var/log/containers"))
"""Paths that kubelet and the CNI plugins have built in: the node sees folders of its own in their place."""


@dataclass(frozen=True)
class Layout:
    """The places of one cluster, all from its name and the network of its link.

    The default is the cluster that users and tests share. Another name and network make another cluster, beside it.

    Attributes:
        name: at most 15 characters, for it is the link's name too.
        network: three bytes of a range that is for benchmarks of networks and routed nowhere (RFC 2544).
    """

    name: str = NAME
    network: str = "198.18.77"

    @property
    def run(self) -> Path:
        """The folder of the sockets and the kubeconfig."""
        return Path("/run") / self.name

    @property
    def data(self) -> Path:
        """The folder of the state, etcd's data, images, containers, certificates and logs."""
        return Path("/var/lib") / self.name

    @property
    def state(self) -> Path:
        """The file that records what was created; it outlives the machine's next start, unlike `run`."""
        return self.data / "state.json"

    @property
    def kubeconfig(self) -> Path:
        """The administrator's."""
        return self.run / "kubeconfig"

    @property
    def containerd(self) -> Path:
        """The socket of containerd."""
        return self.run / "containerd.sock"

    @property
    def logs(self) -> Path:
        """The folder with a log for each server and one for the node itself."""
        return self.data / "logs"

    @property
    def audit(self) -> Path:
        """The API server's audit log: a line for each request of a service account."""
        return self.logs / "audit.log"

    @property
    def config(self) -> Path:
        """The folder of the certificates and configuration files."""
        return self.data / "config"

    @property
    def link(self) -> str:
        """The machine's end of the only link to the node; the other end is the node's eth0."""
        return self.name

    @property
    def host_address(self) -> str:
        """The address of the machine's end."""
        return f"{self.network}.1"

    @property
    def node_address(self) -> str:
        """The address of the node's end."""
        return f"{self.network}.2"

    @property
    def link_network(self) -> str:
        """The two addresses as a network."""
        return f"{self.network}.0/30"

    @property
    def url(self) -> str:
        """The API server's."""
        return f"https://{self.node_address}:{API_PORT}"

    @property
    def node(self) -> str:
        """The node's name in Kubernetes."""
        return f"{self.name}-control-plane"

    @property
    def cgroup(self) -> str:
        """Below the root of every cgroup hierarchy; the pods' cgroups lie in it."""
        return self.name
