"""The provider without Docker: one node in namespaces of this machine, from containerd and binaries built here."""

import fcntl
import json
import ssl
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from harness import gotools
from harness.cache import cache_root, tail
from harness.cluster import addons, guard, host, layout, oci, plan
from harness.cluster.base import Cluster
from harness.cluster.state import State, identity
from harness.errors import HarnessError


class Bare(Cluster):
    """The bare cluster of this machine; there is at most one.

    `report` is called with a line for each phase of `up`, and of its seconds.
    """

    provider = "bare"
    kubeconfig = layout.KUBECONFIG

    def __init__(self, report: Callable[[str], None] = lambda line: None) -> None:
        self._report = report

    def up(self, owner: int | None = None) -> bool:
        guard.check_machine()
        images = _images()  # and the other binaries, before the clock runs
        gotools.ETCD.build()
        gotools.kubernetes().build()
        with _alone():
            state = State.read(layout.STATE)
            if state is not None and self._usable(state):
                return False
            if state is not None:
                self._report("what is left of an earlier cluster is removed")
                host.remove_all(state)
            guard.check_free()
            state = State(owner=identity(owner) if owner else "")
            state.write(layout.STATE)
            try:
                self._start(state, images)
            except BaseException:
                host.remove_all(state)
                raise
        return True

    def down(self) -> bool:
        with _alone():
            state = State.read(layout.STATE)
            if state is None:
                return False
            guard.check_machine()
            host.remove_all(state)
        return True

    def load(self, archive: Path) -> None:
        if not layout.CONTAINERD.exists():
            raise HarnessError("the test cluster is not up; run `make cluster-up`")
        host.run("ctr", "--address", layout.CONTAINERD, "-n", "k8s.io", "images", "import", archive)

    def running(self) -> bool:
        state = State.read(layout.STATE)
        return state is not None and bool(state.processes()) and self._ready("/readyz")

    def _usable(self, state: State) -> bool:
        if not self.running():
            return False
        if not state.owner:
            return True
        if state.owner_is_dead():
            return False
        raise HarnessError(
            f"the cluster is that of process {state.owner.partition(':')[0]}, which runs; "
            "wait for its end, or take the cluster from it with `make cluster-down`"
        )

    def _start(self, state: State, images: dict[str, Path]) -> None:
        began = time.monotonic()
        layout.LOGS.mkdir(parents=True)
        with tempfile.TemporaryDirectory(prefix="mainstem-images-") as folder:
            names = {tool: _image(tool, executable) for tool, executable in images.items()}
            host.start_node(state, plan.write(names["pause"]))
            self._phase("containerd answers", began, self._containerd_answers)
            for tool, executable in images.items():
                archive = Path(folder) / f"{tool}.tar"
                oci.write(executable, names[tool], archive)
                self.load(archive)
        self._phase("the API server is ready", began, lambda: self._ready("/readyz"))
        self._phase(
            "the default namespace is there", began, lambda: self._ready("/api/v1/namespaces/default")
        )
        self.kubectl("apply", "-f", "-", stdin=json.dumps(addons.dns(names["coredns"])))
        node = "jsonpath={.items[*].status.conditions[?(@.type=='Ready')].status}"
        self._phase("the node is Ready", began, lambda: self.kubectl("get", "nodes", "-o", node) == "True")
        dns = ("get", "deployment", "-n", "kube-system", "coredns", "-o", "jsonpath={.status.readyReplicas}")
        self._phase("DNS is ready", began, lambda: self.kubectl(*dns) == "1")

    def _phase(self, what: str, began: float, holds: Callable[[], bool]) -> None:
        deadline = time.monotonic() + 90
        while not holds():
            if time.monotonic() > deadline:
                logs = [layout.LOGS / "node.log", *sorted(layout.LOGS.glob("k*.log"))]
                words = "\n".join(f"--- the end of {log.name}\n{tail(log, 12)}" for log in logs)
                raise HarnessError(f"the cluster did not come up: not within 90 s: {what}\n{words}")
            time.sleep(0.1)
        self._report(f"{time.monotonic() - began:5.1f} s  {what}")

    def _containerd_answers(self) -> bool:
        try:
            host.run("ctr", "--address", layout.CONTAINERD, "--timeout", "2s", "version")
        except HarnessError:
            return False
        return True

    def _ready(self, path: str) -> bool:
        config = layout.DATA / "config"
        try:
            tls = ssl.create_default_context(cafile=config / "ca.crt")
            tls.load_cert_chain(config / "kubernetes-admin.crt", config / "kubernetes-admin.key")
            opener = urllib.request.build_opener(
                urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=tls)
            )
            with opener.open(layout.URL + path, timeout=2) as answer:
                return bool(answer.status == 200)
        except OSError:  # refused, timed out, an HTTP error, no certificate: not yet
            return False


def _images() -> dict[str, Path]:
    return {
        "pause": gotools.PAUSE.build().path / "pause",
        "coredns": gotools.COREDNS.build().path / "coredns",
    }


def _image(tool: str, executable: Path) -> str:
    # The folder's name in the cache is the version and the content's hash.
    return f"localhost/mainstem-test-{tool}:{executable.parent.name}"


@contextmanager
def _alone() -> Iterator[None]:
    """Wait until no other process makes or removes the cluster."""
    cache_root().mkdir(parents=True, exist_ok=True)
    with (cache_root() / "cluster.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
