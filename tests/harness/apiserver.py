import ssl
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING

from harness import gotools, kubeflags
from harness.process import Process, free_port
from harness.server import Server


if TYPE_CHECKING:
    from kubernetes.client import ApiClient
    from kubernetes.dynamic import DynamicClient


class ControlPlane(Server):
    """A real Kubernetes API server with etcd behind it: RBAC, CRDs, admission; no scheduler, no nodes.

    Without `controllers` a namespace that is deleted stays `Terminating` and owners' dependents are not collected;
    admission of service accounts is off, for nobody makes the default ones. With them the controller manager runs, and
    all that is so as in a cluster; only pods stay `Pending`. `kill`, `stop` and `start` are about the API server; the
    others run from the first start until `close`.
    """

    def __init__(self, *, controllers: bool = False) -> None:
        from harness.pki import Authority

        etcd, self._kubernetes = gotools.ETCD.build().path, gotools.kubernetes().build().path
        super().__init__("kubernetes")
        self._port, self._etcd_url = free_port(), f"http://127.0.0.1:{free_port()}"
        self.url = f"https://127.0.0.1:{self._port}"
        self.authority = Authority(self.folder)
        self._accounts = self.authority.issue("service-accounts")
        etcd_flags = kubeflags.etcd(self.folder / "etcd", self._etcd_url, f"http://127.0.0.1:{free_port()}")
        self.etcd = Process(kubeflags.command(etcd / "etcd", etcd_flags), self.folder / "etcd.log")
        self.kubeconfig = self.write_kubeconfig("admin", ("system:masters",))
        self.manager = self._controller_manager() if controllers else None
        self.process = Process(self._apiserver_command(), self.folder / "kube-apiserver.log")
        self._tls = ssl.create_default_context(cafile=self.authority.pair.certificate)
        self._tls.load_cert_chain(*self.authority.issue("prober", ("system:masters",)))

    def start(self) -> None:
        """Start the stopped servers; wait for the namespace `default`, with controllers also for its service account."""
        if not self.etcd.alive:
            self.etcd.start(lambda: _answers(f"{self._etcd_url}/health"))
        super().start()
        if self.manager and not self.manager.alive:
            account = f"{self.url}/api/v1/namespaces/default/serviceaccounts/default"
            self.manager.start(lambda: _answers(account, self._tls))

    def close(self) -> None:
        """End all servers and remove their folder with all data."""
        for process in (self.manager, self.process, self.etcd):
            if process:
                process.kill()
        super().close()

    def write_kubeconfig(self, user: str, groups: tuple[str, ...] = ()) -> Path:
        """Return a new kubeconfig, complete in itself, for a user; the group `system:masters` may do everything."""
        pair = self.authority.issue(user, groups)
        path = pair.key.with_suffix(".kubeconfig")
        return kubeflags.kubeconfig(path, "test", self.url, self.authority, user, pair)

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

    def _apiserver_command(self) -> list[str]:
        serving = self.authority.issue("kube-apiserver", hosts=("127.0.0.1", "localhost"))
        flags = kubeflags.apiserver(
            self.authority, serving, self._accounts, self._etcd_url, "127.0.0.1", self._port
        )
        flags["endpoint-reconciler-type"] = "none"  # there is no pod that would call the service `kubernetes`
        if self.manager is None:
            flags["disable-admission-plugins"] = "ServiceAccount"
        return kubeflags.command(self._kubernetes / "kube-apiserver", flags)

    def _controller_manager(self) -> Process:
        user = self.write_kubeconfig("system:kube-controller-manager")
        flags = kubeflags.controller_manager(self.authority, self._accounts, user, free_port())
        # Nodes of this plane have no kubelet: the controller of their life would post events about it at any time, which
        # a test that counts writes takes for writes of the operator.
        flags["controllers"] = "*,-node-lifecycle-controller"
        command = kubeflags.command(self._kubernetes / "kube-controller-manager", flags)
        return Process(command, self.folder / "kube-controller-manager.log")


def _answers(url: str, tls: ssl.SSLContext | None = None) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=2, context=tls) as answer:
            return bool(answer.status == 200)
    except OSError:  # refused, timed out, or an HTTP error: not yet
        return False
