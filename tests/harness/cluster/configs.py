"""The configuration files of the node's servers."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harness.cluster import layout
from harness.errors import HarnessError
from harness.pki import Pair


_CNI_FOLDERS = (Path("/usr/lib/cni"), Path("/opt/cni/bin"))


def write_json(path: Path, value: object) -> Path:
    """Write a value as JSON, which is YAML too; return the path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=1))
    return path


def containerd(folder: Path, pause_image: str) -> Path:
    """Write containerd's configuration below a folder; return its path.

    Everything that containerd would put elsewhere is put into the cluster's folders. Without `restrict_oom_score_adj`
    no container starts where the machine withholds CAP_SYS_RESOURCE, as sandboxes and CI runners do.
    """
    path = folder / "containerd.toml"
    path.write_text(
        f"""version = 2
root = "{layout.DATA}/containerd"
state = "{layout.RUN}/containerd"
disabled_plugins = ["io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs",
  "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs"]
[grpc]
  address = "{layout.CONTAINERD}"
[plugins."io.containerd.internal.v1.opt"]
  path = "{layout.DATA}/opt"
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
    conf_dir = "{folder / "cni"}"
"""
    )
    return path


def cni(folder: Path) -> None:
    """Write the pods' network below a folder: a bridge, addresses of one range, and host ports."""
    ipam = {
        "type": "host-local",
        "ranges": [[{"subnet": layout.PODS}]],
        "routes": [{"dst": "0.0.0.0/0"}],
        "dataDir": str(layout.DATA / "addresses"),
    }
    bridge = {"type": "bridge", "bridge": "cni0", "isGateway": True, "ipMasq": True, "hairpinMode": True}
    write_json(
        folder / "cni" / "10-pods.conflist",
        {
            "cniVersion": "0.4.0",
            "name": "pods",
            "plugins": [bridge | {"ipam": ipam}, {"type": "portmap", "capabilities": {"portMappings": True}}],
        },
    )


def kubelet(folder: Path, authority: Path, serving: Pair) -> Path:
    """Write kubelet's configuration; return its path. Images are never collected: nobody could pull them again."""
    eviction = {"memory.available": "100Mi", "nodefs.available": "1%", "imagefs.available": "1%"}
    settings = {
        "address": layout.NODE_ADDRESS,
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": str(authority)},
        },
        "authorization": {"mode": "Webhook"},
        "tlsCertFile": str(serving.certificate),
        "tlsPrivateKeyFile": str(serving.key),
        "containerRuntimeEndpoint": f"unix://{layout.CONTAINERD}",
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": f"/{layout.CGROUP}",
        "failCgroupV1": False,
        "failSwapOn": False,
        "enforceNodeAllocatable": [],
        "evictionHard": eviction | {"nodefs.inodesFree": "1%"},
        "imageGCHighThresholdPercent": 100,
        "clusterDNS": [layout.DNS_SERVICE],
        "clusterDomain": "cluster.local",
        "resolvConf": "",
        "podLogsDir": str(layout.DATA / "pod-logs"),
        "volumePluginDir": str(layout.DATA / "volume-plugins"),
        "healthzPort": 0,
    }
    return write_json(folder / "kubelet.json", _config("kubelet.config.k8s.io/v1beta1", "Kubelet", settings))


def kube_proxy(folder: Path, kubeconfig: Path) -> Path:
    """Write kube-proxy's configuration; return its path. It leaves the limits of conntrack alone: the machine's."""
    settings = {
        "clientConnection": {"kubeconfig": str(kubeconfig)},
        "mode": "iptables",
        "clusterCIDR": layout.PODS,
        "hostnameOverride": layout.NODE,
        "bindAddress": layout.NODE_ADDRESS,
        "conntrack": {
            "maxPerCore": 0,
            "min": 0,
            "tcpEstablishedTimeout": "0s",
            "tcpCloseWaitTimeout": "0s",
        },
        "iptables": {"minSyncPeriod": "0s"},
    }
    return write_json(
        folder / "kube-proxy.json", _config("kubeproxy.config.k8s.io/v1alpha1", "KubeProxy", settings)
    )


def _config(version: str, kind: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    return {"apiVersion": version, "kind": f"{kind}Configuration", **settings}


def _cni_plugins() -> Path:
    for folder in _CNI_FOLDERS:
        if (folder / "bridge").is_file():
            return folder
    raise HarnessError(f"no CNI plugins in {' or '.join(map(str, _CNI_FOLDERS))}: run `sh bootstrap.sh debs`")
