import base64
import json
import ssl
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from harness import gotools
from harness.process import Process, free_port
from harness.server import Server


if TYPE_CHECKING:
    from kubernetes.client import ApiClient
    from kubernetes.dynamic import DynamicClient


class ControlPlane(Server):
    """A real Kubernetes API server with etcd behind it: RBAC, CRDs, admission; no controllers, no nodes.

    So a namespace that is deleted stays `Terminating`, owners' dependents are not collected, and pods stay `Pending`.
    Admission of service accounts is off, for no controller makes the default ones. `kill`, `stop` and `start` are
    about the API server; etcd runs from the first start until `close`.
    """

    def __init__(self) -> None:
        from harness.pki import Authority

        self._etcd, self._apiserver = gotools.ETCD.build().path, gotools.kubernetes().build().path
        super().__init__("kubernetes")
        self.url = f"https://127.0.0.1:{free_port()}"
        self.authority = Authority(self.folder)
        self._etcd_url = f"http://127.0.0.1:{free_port()}"
        self.etcd = Process(self._etcd_command(), self.folder / "etcd.log")
        self.process = Process(self._apiserver_command(), self.folder / "kube-apiserver.log")
        self.kubeconfig = self.write_kubeconfig("admin", ("system:masters",))
        self._tls = ssl.create_default_context(cafile=self.authority.pair.certificate)
        self._tls.load_cert_chain(*self.authority.issue("prober", ("system:masters",)))

    def start(self) -> None:
        """Start etcd, unless it runs, and the API server; wait until the namespace `default` is there."""
        if not self.etcd.alive:
            self.etcd.start(lambda: _answers(f"{self._etcd_url}/health"))
        super().start()

    def close(self) -> None:
        """End both servers and remove their folder with all data."""
        self.process.kill()
        self.etcd.kill()
        super().close()

    def write_kubeconfig(self, user: str, groups: tuple[str, ...] = ()) -> Path:
        """Return a new kubeconfig, complete in itself, for a user; the group `system:masters` may do everything."""
        pair = self.authority.issue(user, groups)
        cluster = {"server": self.url, "certificate-authority-data": _base64(self.authority.pair.certificate)}
        keys = {"client-certificate-data": _base64(pair.certificate), "client-key-data": _base64(pair.key)}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "test",
            "contexts": [
                {"name": "test", "context": {"cluster": "test", "user": user, "namespace": "default"}}
            ],
            "clusters": [{"name": "test", "cluster": cluster}],
            "users": [{"name": user, "user": keys}],
        }
        path = pair.key.with_suffix(".kubeconfig")
        path.touch(mode=0o600)
        path.write_text(json.dumps(config))  # JSON is YAML
        return path

    def api_client(self, kubeconfig: Path | None = None) -> "ApiClient":
        """Return a new client of the kubernetes package, the administrator's unless a kubeconfig is given."""
        from kubernetes.config import new_client_from_config

        return new_client_from_config(str(kubeconfig or self.kubeconfig))

    def dynamic_client(self, kubeconfig: Path | None = None) -> "DynamicClient":
        """Return a new dynamic client, the administrator's unless a kubeconfig is given."""
        from kubernetes.dynamic import DynamicClient

        return DynamicClient(self.api_client(kubeconfig))

    def _ready(self) -> bool:
        # /readyz does not wait for the namespace, without which the first test's objects would be refused.
        paths = ("/readyz", "/api/v1/namespaces/default")
        return all(_answers(self.url + path, self._tls) for path in paths)

    def _etcd_command(self) -> list[str | Path]:
        peer = f"http://127.0.0.1:{free_port()}"
        flags: dict[str, str | Path] = {
            "name": "test",
            "data-dir": self.folder / "etcd",
            "listen-client-urls": self._etcd_url,
            "advertise-client-urls": self._etcd_url,
            "listen-peer-urls": peer,
            "initial-advertise-peer-urls": peer,
            "initial-cluster": f"test={peer}",
            "unsafe-no-fsync": "true",  # the data need not survive the machine, only the processes
            "log-level": "warn",
        }
        return [self._etcd / "etcd", *_flags(flags)]

    def _apiserver_command(self) -> list[str | Path]:
        serving = self.authority.issue("kube-apiserver", hosts=("127.0.0.1", "localhost"))
        accounts = self.authority.issue("service-accounts")
        flags: dict[str, str | Path] = {
            "etcd-servers": self._etcd_url,
            "bind-address": "127.0.0.1",
            "advertise-address": "127.0.0.1",
            "secure-port": self.url.rpartition(":")[2],
            "tls-cert-file": serving.certificate,
            "tls-private-key-file": serving.key,
            "client-ca-file": self.authority.pair.certificate,
            "authorization-mode": "RBAC",
            "disable-admission-plugins": "ServiceAccount",
            "allow-privileged": "true",
            "service-account-issuer": "https://kubernetes.default.svc",
            "service-account-key-file": accounts.certificate,
            "service-account-signing-key-file": accounts.key,
            "service-cluster-ip-range": "10.96.0.0/16",
            "endpoint-reconciler-type": "none",  # no pod is there to call the service `kubernetes`
        }
        return [self._apiserver / "kube-apiserver", *_flags(flags)]


def _flags(flags: Mapping[str, str | Path]) -> list[str]:
    return [f"--{name}={value}" for name, value in flags.items()]


def _answers(url: str, tls: ssl.SSLContext | None = None) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=2, context=tls) as answer:
            return bool(answer.status == 200)
    except OSError:  # refused, timed out, or an HTTP error: not yet
        return False


def _base64(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()
