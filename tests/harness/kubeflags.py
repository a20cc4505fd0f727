"""The command lines and kubeconfigs of a control plane: the same for one on loopback and for the test cluster's node."""

import base64
import json
from collections.abc import Mapping
from pathlib import Path

from harness.pki import Authority, Pair


SERVICES = "10.96.0.0/16"
"""The range of the Services' addresses; its first one is the Service `kubernetes`."""

Flags = Mapping[str, str | Path]


def command(executable: Path, flags: Flags) -> list[str]:
    """Return the command line of a server that takes `--name=value`."""
    return [str(executable), *(f"--{name}={value}" for name, value in flags.items())]


def etcd(data: Path, client_url: str, peer_url: str) -> dict[str, str | Path]:
    """Return the flags of an etcd of one member."""
    return {
        "name": "test",
        "data-dir": data,
        "listen-client-urls": client_url,
        "advertise-client-urls": client_url,
        "listen-peer-urls": peer_url,
        "initial-advertise-peer-urls": peer_url,
        "initial-cluster": f"test={peer_url}",
        "unsafe-no-fsync": "true",  # the data need not survive the machine, only the processes
        "log-level": "warn",
    }


def apiserver(
    authority: Authority, serving: Pair, accounts: Pair, etcd_url: str, address: str, port: int
) -> dict[str, str | Path]:
    """Return the flags of an API server at one address, with RBAC and the usual admission."""
    return {
        "etcd-servers": etcd_url,
        "bind-address": address,
        "advertise-address": address,
        "secure-port": str(port),
        "tls-cert-file": serving.certificate,
        "tls-private-key-file": serving.key,
        "client-ca-file": authority.pair.certificate,
        "authorization-mode": "RBAC",
        "allow-privileged": "true",
        "service-account-issuer": "https://kubernetes.default.svc",
        "service-account-key-file": accounts.certificate,
        "service-account-signing-key-file": accounts.key,
        "service-cluster-ip-range": SERVICES,
    }


def controller_manager(
    authority: Authority, accounts: Pair, kubeconfig: Path, port: int
) -> dict[str, str | Path]:
    """Return the flags of a controller manager: service accounts, garbage collection, namespaces, workloads."""
    return {
        "kubeconfig": kubeconfig,
        "authentication-kubeconfig": kubeconfig,
        "authorization-kubeconfig": kubeconfig,
        "bind-address": "127.0.0.1",
        "secure-port": str(port),
        "leader-elect": "false",
        "use-service-account-credentials": "true",
        "service-account-private-key-file": accounts.key,
        "root-ca-file": authority.pair.certificate,
    }


def kubeconfig(path: Path, context: str, url: str, authority: Authority, user: str, pair: Pair) -> Path:
    """Write a kubeconfig that is complete in itself and that nobody else may read; return its path."""
    cluster = {"server": url, "certificate-authority-data": _base64(authority.pair.certificate)}
    keys = {"client-certificate-data": _base64(pair.certificate), "client-key-data": _base64(pair.key)}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": context,
        "contexts": [
            {"name": context, "context": {"cluster": context, "user": user, "namespace": "default"}}
        ],
        "clusters": [{"name": context, "cluster": cluster}],
        "users": [{"name": user, "user": keys}],
    }
    path.touch(mode=0o600)
    path.write_text(json.dumps(config, indent=1))  # JSON is YAML
    return path


def _base64(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()
