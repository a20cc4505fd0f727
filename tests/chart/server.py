import json
import os
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from chart.rendering import NAMESPACE, helm
from harness import gotools
from harness.apiserver import ControlPlane
from harness.waiting import LIMIT, asked


CRD = "crd/streamingpipelines.mainstem.dev"


class Refused(Exception):
    """kubectl ended with an error; the message is its output."""


def soon(act: Callable[[], object]) -> None:
    """Act until it is not refused any more: the server reads definitions and roles from caches."""

    def done() -> bool:
        with suppress(Refused):
            act()
            return True
        return False

    if not asked(LIMIT, done):
        act()


class Cluster:
    """An API server of these tests' own, for they install the definition in ways that would disturb others."""

    def __init__(self, plane: ControlPlane, folder: Path) -> None:
        self.plane = plane
        self._folder = folder
        self._bin = gotools.kubernetes().build().path

    def run(self, *argv: str, kubeconfig: Path | None = None, given: str = "") -> str:
        """What a command prints for which kubectl is on the path."""
        env = os.environ | {
            "PATH": f"{self._bin}:{os.environ['PATH']}",
            "KUBECONFIG": str(kubeconfig or self.plane.kubeconfig),
            "KUBECACHEDIR": str(self._folder / "kube"),
        }
        run = subprocess.run(argv, input=given, env=env, capture_output=True, text=True, check=False)
        if run.returncode:
            raise Refused(run.stderr)
        return run.stdout

    def kubectl(self, *argv: str, account: str = "", body: Any = None) -> str:
        """What kubectl prints, as the administrator or as the service account `namespace/name`."""
        kubeconfig = self._kubeconfig(account) if account else None
        more = () if body is None else ("--filename=-",)
        given = "" if body is None else json.dumps(body)
        return self.run("kubectl", *argv, *more, kubeconfig=kubeconfig, given=given)

    def await_definition(self) -> None:
        """The server takes pipelines, and kubectl knows their names."""
        soon(lambda: self.kubectl("wait", "--for=condition=Established", CRD, "--timeout=60s"))
        soon(lambda: self.kubectl("get", "sp", "--all-namespaces"))

    def get(self, *argv: str) -> Any:
        return json.loads(self.kubectl("get", *argv, "--output=json"))

    def apply(self, body: Any, *argv: str, account: str = "") -> None:
        self.kubectl("apply", "--server-side", "--validate=strict", *argv, account=account, body=body)

    def may(self, account: str, *argv: str) -> bool:
        """Whether the server would let an account do it."""
        try:
            return self.kubectl("auth", "can-i", *argv, account=account).strip() == "yes"
        except Refused:
            return False

    def token(self, account: str) -> str:
        namespace, _, name = account.partition("/")
        return self.kubectl("create", "token", name, f"--namespace={namespace}").strip()

    def namespace(self, name: str, level: str = "privileged") -> None:
        labels = {"pod-security.kubernetes.io/enforce": level}
        self.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}})

    def helm(
        self, *argv: str | Path, values: dict[str, Any] | None = None, namespace: str = NAMESPACE
    ) -> str:
        config = ("--kubeconfig", self.plane.kubeconfig, "--namespace", namespace)
        return helm(*argv, *config, values=values)

    def _kubeconfig(self, account: str) -> Path:
        path = self._folder / f"{account.replace('/', '-')}.kubeconfig"
        if not path.exists():
            config = json.loads(self.plane.kubeconfig.read_text(encoding="utf-8"))
            config["users"][0]["user"] = {"token": self.token(account)}
            path.touch(mode=0o600)
            path.write_text(json.dumps(config), encoding="utf-8")
        return path
