"""What the node runs, and the certificates and files that it needs for that."""

from pathlib import Path

from harness import gotools, kubeflags
from harness.cluster import configs, layout
from harness.cluster.base import NAME
from harness.pki import Authority


_ETCD = "http://127.0.0.1:2379"
_MANAGER_PORT, _SCHEDULER_PORT = 10257, 10259


def write(pause_image: str) -> dict[str, list[str]]:
    """Write all certificates, kubeconfigs and configuration files; return the servers' command lines by name."""
    folder = layout.DATA / "config"
    folder.mkdir(parents=True)
    folder.chmod(0o700)
    authority = Authority(folder)
    etcd, kubernetes = gotools.ETCD.build().path, gotools.kubernetes().build().path
    configs.cni(folder)
    _kubeconfig(authority, "kubernetes-admin", ("system:masters",), layout.KUBECONFIG)
    etcd_flags = kubeflags.etcd(layout.DATA / "etcd", _ETCD, "http://127.0.0.1:2380")
    return {
        "etcd": kubeflags.command(etcd / "etcd", etcd_flags),
        "containerd": ["containerd", "--config", str(configs.containerd(folder, pause_image))],
        **_control_plane(authority, kubernetes, folder),
        **_node(authority, kubernetes, folder),
    }


def _control_plane(authority: Authority, kubernetes: Path, folder: Path) -> dict[str, list[str]]:
    names = ("kubernetes", "kubernetes.default", "kubernetes.default.svc", "localhost")
    addresses = (layout.NODE_ADDRESS, layout.KUBERNETES_SERVICE, "127.0.0.1")
    serving = authority.issue("kube-apiserver", hosts=(*names, *addresses))
    accounts = authority.issue("service-accounts")
    to_kubelet = authority.issue("kube-apiserver-kubelet-client", ("system:masters",))
    server = kubeflags.apiserver(
        authority, serving, accounts, _ETCD, layout.NODE_ADDRESS, layout.API_PORT
    ) | {
        "authorization-mode": "Node,RBAC",
        "enable-admission-plugins": "NodeRestriction",
        # The node's name is in no DNS.
        "kubelet-preferred-address-types": "InternalIP",
        "kubelet-certificate-authority": authority.pair.certificate,
        "kubelet-client-certificate": to_kubelet.certificate,
        "kubelet-client-key": to_kubelet.key,
    }
    manager = _kubeconfig(authority, "system:kube-controller-manager")
    scheduler = _kubeconfig(authority, "system:kube-scheduler")
    return {
        "kube-apiserver": kubeflags.command(kubernetes / "kube-apiserver", server),
        "kube-controller-manager": kubeflags.command(
            kubernetes / "kube-controller-manager",
            kubeflags.controller_manager(authority, accounts, manager, _MANAGER_PORT),
        ),
        "kube-scheduler": kubeflags.command(
            kubernetes / "kube-scheduler",
            {
                "kubeconfig": scheduler,
                "authentication-kubeconfig": scheduler,
                "authorization-kubeconfig": scheduler,
                "bind-address": "127.0.0.1",
                "secure-port": str(_SCHEDULER_PORT),
                "leader-elect": "false",
            },
        ),
    }


def _node(authority: Authority, kubernetes: Path, folder: Path) -> dict[str, list[str]]:
    serving = authority.issue("kubelet", hosts=(layout.NODE, layout.NODE_ADDRESS))
    config = configs.kubelet(folder, authority.pair.certificate, serving)
    kubelet: kubeflags.Flags = {
        "config": config,
        "kubeconfig": _kubeconfig(authority, f"system:node:{layout.NODE}", ("system:nodes",)),
        "hostname-override": layout.NODE,
        "node-ip": layout.NODE_ADDRESS,
    }
    proxy = configs.kube_proxy(folder, _kubeconfig(authority, "system:kube-proxy"))
    return {
        "kubelet": kubeflags.command(kubernetes / "kubelet", kubelet),
        "kube-proxy": kubeflags.command(kubernetes / "kube-proxy", {"config": proxy}),
    }


def _kubeconfig(
    authority: Authority, user: str, groups: tuple[str, ...] = (), path: Path | None = None
) -> Path:
    pair = authority.issue(user, groups)
    path = path or pair.key.with_suffix(".kubeconfig")
    return kubeflags.kubeconfig(path, NAME, layout.URL, authority, user, pair)
