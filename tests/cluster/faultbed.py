"""One pipeline on the cluster with Kafka, S3 and PostgreSQL on this machine, for faults that strike while it runs."""

import json
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml
from cluster import node_processes
from cluster.deployment import OPERATOR_NAMESPACE, Pipeline, namespace, within
from harness.cluster.base import TestCluster
from harness.cluster.layout import Layout
from harness.faultservers import DOCUMENT, FaultServers


NAME = "faults"
MEMORY = {"requests": {"cpu": "100m", "memory": "1536Mi"}, "limits": {"memory": "1536Mi"}}
READY = 600


class ClusterFaultBed(FaultServers):
    """The servers, the records, and the pipeline; its operator starts a driver whenever one has ended.

    The servers have their data on this machine, so they survive what happens to the node and its pods.

    Args:
        cluster: the cluster.
        name: of the namespace.
        folder: an empty folder.

    Attributes:
        pipeline: the pipeline, as a user sees it.
    """

    def __init__(self, cluster: TestCluster, name: str, folder: Path) -> None:
        super().__init__(folder, Layout().host_address)
        self.cluster = cluster
        self.pipeline = Pipeline(cluster, name, NAME)

    def document(self, **spec: Any) -> dict[str, Any]:
        """The document of the pipeline; `spec` replaces fields of its spec."""
        document: dict[str, Any] = yaml.safe_load(DOCUMENT.read_text())
        fields = document["spec"]
        fields["parameters"] = [{"name": name, "value": value} for name, value in self.parameters.items()]
        for connection in fields["connections"]:
            if "s3" in connection:
                connection["s3"]["secretRef"] = {"name": "s3"}
        fields |= {"driver": {"resources": MEMORY}, "drain": {"timeout": "20 seconds"}}
        del fields["spark"]  # on a cluster Mainstem sets this property itself
        return document | {"spec": fields | spec}

    def create_namespace(self, name: str) -> None:
        """A namespace that enforces the restricted level, with the credentials of the servers."""
        namespace(self.cluster, name)
        credentials = {
            "s3": {"accessKey": self.s3.access_key, "secretKey": self.s3.secret_key},
            "postgres": {"username": self.postgres.username, "password": self.postgres.password},
        }
        for secret, data in credentials.items():
            manifest = {
                "apiVersion": "v1",
                "kind": "Secret",
                "metadata": {"name": secret},
                "stringData": data,
            }
            self.cluster.kubectl("-n", name, "apply", "-f", "-", stdin=json.dumps(manifest))

    def start(self) -> None:
        """The pipeline, once every record is in every sink."""
        self.create_namespace(self.pipeline.namespace)
        self.feed()
        self.pipeline.apply(self.document())
        self.pipeline.wait("Ready", READY)
        self.caught_up()

    def stop(self) -> None:
        """Delete the pipeline and its namespace; its pods do not drain."""
        self.pipeline.kubectl("delete", "streamingpipelines", "--all", "--wait=false")
        self.pipeline.kubectl("delete", "pods", "--all", "--grace-period=0", "--force")
        words = ("delete", "namespace", self.pipeline.namespace, "--ignore-not-found", "--timeout=150s")
        self.cluster.kubectl(*words, timeout=160)

    def attempt(self) -> int:
        """How many drivers the operator has started."""
        return int(self.pipeline.status()["attempt"])

    def uid(self) -> str:
        """That of the driver pod; empty if there is none."""
        pod = self.pipeline.driver()
        return str(pod["metadata"]["uid"]) if pod else ""

    def ready(self) -> None:
        """Wait until the driver of the present document runs, with all its queries."""
        self.pipeline.wait("Ready", READY)

    def next_driver(self, before: str, runs: bool = True) -> str:
        """The uid of the driver pod that follows another one, once its container runs."""

        def follows() -> str:
            pod = self.pipeline.driver()
            if pod is None or pod["metadata"]["uid"] == before:
                return ""
            running = pod["status"].get("phase") == "Running"
            return str(pod["metadata"]["uid"]) if running or not runs else ""

        try:
            return within(300, "the next driver", follows)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.diagnosis()}") from None

    def until(self, event: str, holds: Callable[[], Any], seconds: float = 120) -> Any:
        """Wait for an event; fails with the state of the pipeline."""
        try:
            return within(seconds, event, holds)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.diagnosis()}") from None

    def await_a_batch(self) -> None:
        """New records, and return within a batch that reads them."""
        self.feed()
        within(60, "a batch runs", self.in_a_batch, pause=0.005)

    def evict(self, pod: str) -> None:
        """Evict a pod, as `kubectl drain` does."""
        metadata = {"name": pod, "namespace": self.pipeline.namespace}
        eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": metadata}
        path = f"/api/v1/namespaces/{self.pipeline.namespace}/pods/{pod}/eviction"
        self.cluster.kubectl("create", "--raw", path, "-f", "-", stdin=json.dumps(eviction))

    def running_document(self, revision: str) -> dict[str, Any]:
        """The spec of a revision, as the driver got it: at its start, or by a later change."""
        configs = json.loads(self.pipeline.kubectl("get", "configmaps", "-o", "json"))["items"]
        files = {
            f"{c['metadata']['name']}/{key}": text for c in configs for key, text in c.get("data", {}).items()
        }
        [text, *_] = [text for file, text in files.items() if f"-{revision}" in file]
        spec: dict[str, Any] = yaml.safe_load(text)["spec"]
        return spec

    def diagnosis(self) -> str:
        return self.pipeline.diagnosis()


@contextmanager
def new_bed(cluster: TestCluster, folder: Path) -> Iterator[ClusterFaultBed]:
    """The servers, and a namespace for the pipeline, which is deleted in the end."""
    with ClusterFaultBed(cluster, f"faults-{secrets.token_hex(3)}", folder) as bed:
        try:
            yield bed
        finally:
            bed.stop()


def operators(cluster: TestCluster) -> list[dict[str, Any]]:
    """The pods of the operator."""
    words = ("-n", OPERATOR_NAMESPACE, "get", "pods", "-l", "app.kubernetes.io/name=mainstem", "-o", "json")
    pods: list[dict[str, Any]] = json.loads(cluster.kubectl(*words))["items"]
    return pods


def kill_operators(cluster: TestCluster) -> None:
    """SIGKILL to every operator; the kubelet starts their containers again."""
    for pod in operators(cluster):
        node_processes.kill(pod["metadata"]["uid"])


@contextmanager
def no_operator(cluster: TestCluster) -> Iterator[None]:
    """Within this context no operator runs."""

    def scale(replicas: int) -> None:
        words = ("scale", "deployment/mainstem", f"--replicas={replicas}")
        cluster.kubectl("-n", OPERATOR_NAMESPACE, *words)

    scale(0)
    try:
        within(90, "no operator", lambda: operators(cluster) == [])
        yield
    finally:
        scale(1)
        words = ("rollout", "status", "deployment/mainstem", "--timeout=110s")
        cluster.kubectl("-n", OPERATOR_NAMESPACE, *words)
