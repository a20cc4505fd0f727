"""The provider without Docker: one node in namespaces of this machine, from containerd and binaries built here."""

import fcntl
import json
import ssl
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from harness import gotools
from harness.cache import cache_root, tail
from harness.cluster import addons, guard, host, kept_images, oci, plan
from harness.cluster.base import TestCluster
from harness.cluster.ctr import Ctr
from harness.cluster.layout import Layout
from harness.cluster.state import ClusterState, identity
from harness.errors import HarnessError
from harness.waiting import LIMIT, asked


class Bare(TestCluster):
    """The bare cluster at one layout, by default the one that all share.

    `report` is called with a line for each phase of `up`, and of its seconds.
    """

    provider = "bare"

    def __init__(self, report: Callable[[str], None] = lambda line: None, at: Layout | None = None) -> None:
        self._report = report
        self._at = at or Layout()
        self.kubeconfig = self._at.kubeconfig

    def up(self, owner: int | None = None) -> bool:
        guard.check_machine()
        images = _images()  # and the other binaries, before the clock runs
        gotools.ETCD.build()
        gotools.kubernetes().build()
        with _alone(self._at):
            state = ClusterState.read(self._at.state)
            if state is not None and self._usable(state, owner):
                return False
            if state is not None:
                self._report("what is left of an earlier cluster is removed")
                host.remove_all(self._at, state)
            guard.check_free(self._at)
            state = ClusterState.new(self._at.name, identity(owner) if owner else "")
            state.write(self._at.state)
            try:
                self._start(state, images)
            except BaseException:
                host.remove_all(self._at, state)
                raise
        return True

    def down(self) -> bool:
        with _alone(self._at):
            state = ClusterState.read(self._at.state)
            if state is None:
                guard.check_nothing_there(self._at)
                return False
            guard.check_machine()
            host.remove_all(self._at, state)
        return True

    def load(self, archive: Path) -> None:
        if not self._at.containerd.exists():
            raise HarnessError("the test cluster is not up; run `make cluster-up`")
        Ctr(self._at.containerd).load(archive)

    def has(self, reference: str) -> bool:
        return bool(Ctr(self._at.containerd).references(f"name=={reference}"))

    def blobs(self) -> set[str]:
        return Ctr(self._at.containerd).blobs()

    def name(self, reference: str, other: str) -> None:
        Ctr(self._at.containerd).name(reference, other)

    def running(self) -> bool:
        state = ClusterState.read(self._at.state)
        return state is not None and bool(state.processes()) and self._ready("/readyz")

    def _usable(self, state: ClusterState, owner: int | None) -> bool:
        if not self.running():
            return False
        if state.owner in {"", identity(owner) if owner else ""}:
            return True
        if state.owner_is_dead():
            return False
        raise HarnessError(
            f"the cluster is that of process {state.owner.partition(':')[0]}, which runs; "
            "wait for its end, or take the cluster from it with `make cluster-down`"
        )

    def _start(self, state: ClusterState, images: dict[str, Path]) -> None:
        began = time.monotonic()
        self._at.run.mkdir(exist_ok=True)
        names = {tool: _image(tool, executable) for tool, executable in images.items()}
        kept_images.give(self._at.data / "containerd")
        host.start_node(self._at, state, plan.write(self._at, names["pause"]))
        self._phase("containerd answers", began, Ctr(self._at.containerd).answers)
        for tool, executable in images.items():
            archive = self._at.data / f"{tool}.tar"
            oci.write(executable, names[tool], archive)
            self.load(archive)
            archive.unlink()
        self._phase("the API server is ready", began, lambda: self._ready("/readyz"))
        self._phase(
            "the default namespace is there", began, lambda: self._ready("/api/v1/namespaces/default")
        )
        self.kubectl("apply", "-f", "-", stdin=json.dumps(addons.dns(names["coredns"])))
        node = ("nodes", "-o", "jsonpath={.items[*].status.conditions[?(@.type=='Ready')].status}")
        self._phase("the node is Ready", began, lambda: self._says("True", *node))
        dns = ("deployment", "coredns", "-n", "kube-system", "-o", "jsonpath={.status.readyReplicas}")
        self._phase("DNS is ready", began, lambda: self._says("1", *dns))
        account = "/api/v1/namespaces/default/serviceaccounts/default"
        self._phase("pods can be made", began, lambda: self._ready(account))

    def _says(self, wanted: str, *words: str) -> bool:
        try:
            return self.kubectl("get", *words) == wanted
        except HarnessError:  # a server that was just started may fall silent once more
            return False

    def _phase(self, phase: str, began: float, holds: Callable[[], bool]) -> None:
        if not asked(LIMIT, holds):
            logs = [self._at.logs / "node.log", *sorted(self._at.logs.glob("k*.log"))]
            words = "\n".join(f"--- the end of {log.name}\n{tail(log, 12)}" for log in logs)
            raise HarnessError(f"the cluster did not come up: not within {LIMIT:g} s: {phase}\n{words}")
        self._report(f"{time.monotonic() - began:5.1f} s  {phase}")

    def _ready(self, path: str) -> bool:
        config = self._at.config
        try:
            tls = ssl.create_default_context(cafile=config / "ca.crt")
            tls.load_cert_chain(config / "kubernetes-admin.crt", config / "kubernetes-admin.key")
            opener = urllib.request.build_opener(
                urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=tls)
            )
            with opener.open(self._at.url + path, timeout=2) as answer:
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
def _alone(at: Layout) -> Iterator[None]:
    """Wait until no other process makes or removes this cluster."""
    cache_root().mkdir(parents=True, exist_ok=True)
    with (cache_root() / f"{at.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
