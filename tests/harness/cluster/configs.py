"""The configuration files of the node's servers."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harness.cluster import layout
from harness.cluster.layout import Layout
from harness.errors import HarnessError
from harness.pki import Pair


_CNI_FOLDERS = (Path("/usr/lib/cni"), Path("/opt/cni/bin"))


def write_json(path: Path, value: object) -> Path:
    """Write a value as JSON, which is YAML too; return the path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=1))
    return path


def containerd(at: Layout, pause_image: str) -> Path:
    """Write containerd's configuration; return its path.

    Everything that containerd would put elsewhere is put into the cluster's folders. Without `restrict_oom_score_adj`
    no container starts where the machine withholds CAP_SYS_RESOURCE, as sandboxes and CI runners do.
    """
    path = at.config / "containerd.toml"
    path.write_text(
        f"""version = 2
root = "{at.data}/containerd"
state = "{at.run}/containerd"
disabled_plugins = ["io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs",
  "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs"]
[grpc]
  address = "{at.containerd}"
[plugins."io.containerd.internal.v1.opt"]
  path = "{at.data}/opt"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{pause_image}"
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    default_runtime_name = "runc"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{_cni_plugins()}"
    conf_dir = "{at.config}/cni"
"""
    )
    return path


def audit(at: Layout) -> Path:
    """Write the API server's audit policy: what service accounts ask for, and nothing of what is in it."""
    accounts = {"level": "Metadata", "userGroups": ["system:serviceaccounts"]}
    policy = {
        "apiVersion": "audit.k8s.io/v1",
        "kind": "Policy",
        "omitStages": ["RequestReceived"],
        "rules": [accounts, {"level": "None"}],
    }
    return write_json(at.config / "audit.json", policy)


def cni(at: Layout) -> None:
    """Write the pods' network: a bridge, addresses of one range, and host ports."""
    ipam = {
        "type": "host-local",
        "ranges": [[{"subnet": layout.PODS}]],
        "routes": [{"dst": "0.0.0.0/0"}],
        "dataDir": str(at.data / "addresses"),
    }
    bridge = {"type": "bridge", "bridge": "cni0", "isGateway": True, "ipMasq": True, "hairpinMode": True}
    write_json(
        at.config / "cni" / "10-pods.conflist",
        {
            "cniVersion": "0.4.0",
            "name": "pods",
            "plugins": [bridge | {"ipam": ipam}, {"type": "portmap", "capabilities": {"portMappings": True}}],
        },
    )


def kubelet(at: Layout, authority: Path, serving: Pair) -> Path:
    """Write kubelet's configuration; return its path. Images are never collected: nobody could pull them again."""
    eviction = {"memory.available": "100Mi", "nodefs.available": "1%", "imagefs.available": "1%"}
    settings = {
        "address": at.node_address,
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": str(authority)},
        },
        "authorization": {"mode": "Webhook"},
        "tlsCertFile": str(serving.certificate),
        "tlsPrivateKeyFile": str(serving.key),
        "containerRuntimeEndpoint": f"unix://{at.containerd}",
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": f"/{at.cgroup}",
        "failCgroupV1": False,
        "failSwapOn": False,
        "enforceNodeAllocatable": [],
        "evictionHard": eviction | {"nodefs.inodesFree": "1%"},
        "imageGCHighThresholdPercent": 100,
        "clusterDNS": [layout.DNS_SERVICE],
        "clusterDomain": "cluster.local",
        "resolvConf": "",
        "podLogsDir": str(at.data / "pod-logs"),
        "volumePluginDir": str(at.data / "volume-plugins"),
        "healthzPort": 0,
    }
    return write_json(
        at.config / "kubelet.json", _config("kubelet.config.k8s.io/v1beta1", "Kubelet", settings)
    )


def kube_proxy(at: Layout, kubeconfig: Path) -> Path:
    """Write kube-proxy's configuration; return its path. It leaves the limits of conntrack alone: the machine's."""
    settings = {
        "clientConnection": {"kubeconfig": str(kubeconfig)},
        "mode": "iptables",
        "clusterCIDR": layout.PODS,
        "hostnameOverride": at.node,
        "bindAddress": at.node_address,
        "conntrack": {
            "maxPerCore": 0,
            "min": 0,
            "tcpEstablishedTimeout": "0s",
            "tcpCloseWaitTimeout": "0s",
        },
        "iptables": {"minSyncPeriod": "0s"},
    }
    return write_json(
        at.config / "kube-proxy.json", _config("kubeproxy.config.k8s.io/v1alpha1", "KubeProxy", settings)
    )


def _config(version: str, kind: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    return {"apiVersion": version, "kind": f"{kind}Configuration", **settings}


def _cni_plugins() -> Path:
    for folder in _CNI_FOLDERS:
        if (folder / "bridge").is_file():
            return folder
    raise HarnessError(
        f"no CNI plugins in {' or '.join(map(str, _CNI_FOLDERS))}: run `sh bootstrap.sh cluster`"
    )
