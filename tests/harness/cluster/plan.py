"""What the node runs, and the certificates and files that it needs for that."""

from pathlib import Path

from harness import gotools, kubeflags
from harness.cluster import configs, layout
from harness.cluster.base import NAME
from harness.cluster.layout import Layout
from harness.pki import Authority


_ETCD = "http://127.0.0.1:2379"
_MANAGER_PORT, _SCHEDULER_PORT = 10257, 10259


def write(at: Layout, pause_image: str) -> dict[str, list[str]]:
    """Write all certificates, kubeconfigs and configuration files; return the servers' command lines by name."""
    at.config.mkdir(parents=True)
    at.config.chmod(0o700)
    authority = Authority(at.config)
    etcd, kubernetes = gotools.ETCD.build().path, gotools.kubernetes().build().path
    configs.cni(at)
    _kubeconfig(at, authority, "kubernetes-admin", ("system:masters",), at.kubeconfig)
    etcd_flags = kubeflags.etcd(at.data / "etcd", _ETCD, "http://127.0.0.1:2380")
    return {
        "etcd": kubeflags.command(etcd / "etcd", etcd_flags),
        "containerd": ["containerd", "--config", str(configs.containerd(at, pause_image))],
        **_control_plane(at, authority, kubernetes),
        **_node(at, authority, kubernetes),
    }


def _control_plane(at: Layout, authority: Authority, kubernetes: Path) -> dict[str, list[str]]:
    names = ("kubernetes", "kubernetes.default", "kubernetes.default.svc", "localhost")
    addresses = (at.node_address, layout.KUBERNETES_SERVICE, "127.0.0.1")
    serving = authority.issue("kube-apiserver", hosts=(*names, *addresses))
    accounts = authority.issue("service-accounts")
    to_kubelet = authority.issue("kube-apiserver-kubelet-client", ("system:masters",))
    server = kubeflags.apiserver(authority, serving, accounts, _ETCD, at.node_address, layout.API_PORT) | {
        "authorization-mode": "Node,RBAC",
        "enable-admission-plugins": "NodeRestriction",
        # The node's name is in no DNS.
        "kubelet-preferred-address-types": "InternalIP",
        "kubelet-certificate-authority": authority.pair.certificate,
        "kubelet-client-certificate": to_kubelet.certificate,
        "kubelet-client-key": to_kubelet.key,
        "audit-policy-file": configs.audit(at),
        "audit-log-path": at.audit,
    }
    manager = _kubeconfig(at, authority, "system:kube-controller-manager")
    scheduler = _kubeconfig(at, authority, "system:kube-scheduler")
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


def _node(at: Layout, authority: Authority, kubernetes: Path) -> dict[str, list[str]]:
    serving = authority.issue("kubelet", hosts=(at.node, at.node_address))
    config = configs.kubelet(at, authority.pair.certificate, serving)
    kubelet: kubeflags.Flags = {
        "config": config,
        "kubeconfig": _kubeconfig(at, authority, f"system:node:{at.node}", ("system:nodes",)),
        "hostname-override": at.node,
        "node-ip": at.node_address,
    }
    proxy = configs.kube_proxy(at, _kubeconfig(at, authority, "system:kube-proxy"))
    return {
        "kubelet": kubeflags.command(kubernetes / "kubelet", kubelet),
        "kube-proxy": kubeflags.command(kubernetes / "kube-proxy", {"config": proxy}),
    }


def _kubeconfig(
    at: Layout, authority: Authority, user: str, groups: tuple[str, ...] = (), path: Path | None = None
) -> Path:
    pair = authority.issue(user, groups)
    path = path or pair.key.with_suffix(".kubeconfig")
    return kubeflags.kubeconfig(path, NAME, at.url, authority, user, pair)
