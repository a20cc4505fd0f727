"""What a test of pipelines needs around it: the operator's release, a broker and a store, and pipelines in a namespace."""

import json
import secrets
import subprocess
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import yaml
from harness import gotools, waiting
from harness.cluster.base import TestCluster
from harness.errors import HarnessError
from harness.images import Image
from harness.process import Process, free_port
from harness.waiting import LIMIT


ROOT = Path(__file__).parents[2]
CHART = ROOT / "helm" / "mainstem"
OPERATOR_NAMESPACE = "mainstem"
POLL = 0.5


within = partial(waiting.within, pause=POLL)
"""Asks a cluster no more often than it can answer."""


def namespace(cluster: TestCluster, name: str) -> None:
    """Make a namespace that enforces the restricted level of pod security; one that is there is left."""
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}
    cluster.kubectl("apply", "-f", "-", stdin=json.dumps(manifest))


def await_account(cluster: TestCluster, name: str) -> None:
    """Wait for the namespace's service account, without which no pod is taken; a controller makes it."""
    words = ("-n", name, "get", "serviceaccount", "default", "--ignore-not-found")
    within(60, "the service account", lambda: cluster.kubectl(*words).strip())


def helm(cluster: TestCluster, *words: str) -> str:
    """The output of a helm command in the operator's namespace."""
    executable = gotools.HELM.build().path / "helm"
    argv = [executable, *words, "--kubeconfig", cluster.kubeconfig, "--namespace", OPERATOR_NAMESPACE]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def allowed(cluster: TestCluster, namespace: str, account: str, *words: str) -> bool:
    """Whether the server would let an account do it, by its own words."""
    executable = gotools.kubernetes().build().path / "kubectl"
    argv = [executable, f"--kubeconfig={cluster.kubeconfig}", "-n", namespace, "auth", "can-i", *words]
    done = subprocess.run([*argv, f"--as={account}"], capture_output=True, text=True, check=False)
    return done.stdout.strip() == "yes"


def page(url: str) -> str:
    """The text at an address. The first request starts the server's application, which takes long on a busy machine."""
    with urllib.request.urlopen(url, timeout=LIMIT) as answer:
        text: str = answer.read().decode()
    return text


def fetched(url: str) -> Any:
    """The JSON at an address."""
    return json.loads(page(url))


def pod_template(container: str, env: Mapping[str, str]) -> dict[str, Any]:
    """A pod template with variables for its own container, `driver` or `executor`."""
    variables = [{"name": name, "value": value} for name, value in env.items()]
    return {"spec": {"containers": [{"name": container, "env": variables}]}}


def image_values(operator: Image, app: Image) -> list[str]:
    """The chart's values for these images."""
    values = {
        "image.repository": operator.reference.rpartition(":")[0],
        "image.tag": operator.reference.rpartition(":")[2],
        "driver.image.repository": app.reference.rpartition(":")[0],
        "driver.image.tag": app.reference.rpartition(":")[2],
    }
    return [f"--set-string={name}={value}" for name, value in values.items()]


class Servers:
    """A broker and a store in a namespace, from k8s/dev, and the way to them from this machine."""

    def __init__(self, cluster: TestCluster, namespace: str, kafka: Image, s3: Image, folder: Path) -> None:
        self._cluster, self.namespace = cluster, namespace
        self._outside = free_port()
        self._store = free_port()
        self.access_key, self.secret_key = secrets.token_hex(10), secrets.token_hex(20)
        own = {
            "mainstem-dev\n  secretKey": f"{self.access_key}\n  secretKey",
            "for-trying-things-only": self.secret_key,
            "localhost:9094": f"127.0.0.1:{self._outside}",
        }
        for name, image in (("kafka", kafka), ("s3", s3)):
            text = (ROOT / "k8s" / "dev" / f"{name}.yaml").read_text()
            for old, new in {**own, f"localhost/mainstem-test-{name}:dev": image.reference}.items():
                text = text.replace(old, new)
            self.kubectl("apply", "-f", "-", stdin=text)
        for name in ("kafka", "s3"):
            self.kubectl("rollout", "status", f"deployment/{name}", "--timeout=120s", timeout=150)
        ports = {"kafka": (self._outside, 9094), "s3": (self._store, 7070)}
        self._forwards = [
            forward(cluster, namespace, f"deployment/{name}", here, to, folder / f"forward-{name}.log")
            for name, (here, to) in ports.items()
        ]

    @property
    def bootstrap_servers(self) -> str:
        return f"127.0.0.1:{self._outside}"

    @property
    def storage_options(self) -> dict[str, str]:
        """For deltalake."""
        return {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self._store}",
            "AWS_ACCESS_KEY_ID": self.access_key,
            "AWS_SECRET_ACCESS_KEY": self.secret_key,
            "AWS_REGION": "us-east-1",
            "AWS_ALLOW_HTTP": "true",
        }

    def kubectl(self, *words: str, stdin: str | None = None, timeout: float = 120.0) -> str:
        return self._cluster.kubectl("-n", self.namespace, *words, stdin=stdin, timeout=timeout)

    def s3(self) -> Any:
        """A client of boto3."""
        import boto3

        return boto3.client(
            "s3",
            endpoint_url=f"http://127.0.0.1:{self._store}",
            aws_access_key_id=self.access_key,
            aws_secret_access_key=self.secret_key,
            region_name="us-east-1",
        )

    def keys(self, prefix: str) -> list[str]:
        """Keys of all objects below a prefix of the bucket `mainstem`."""
        pages = self.s3().get_paginator("list_objects_v2").paginate(Bucket="mainstem", Prefix=prefix)
        return [item["Key"] for page in pages for item in page.get("Contents", ())]

    def create_topic(self, name: str, partitions: int) -> None:
        from confluent_kafka.admin import AdminClient, NewTopic

        admin = AdminClient({"bootstrap.servers": self.bootstrap_servers})
        for future in admin.create_topics([NewTopic(name, partitions, 1)]).values():
            future.result(30)

    def close(self) -> None:
        for forward in self._forwards:
            forward.kill()


def forward(cluster: TestCluster, namespace: str, target: str, here: int, to: int, log: Path) -> Process:
    """`kubectl port-forward`, started: a port of a pod or deployment as one of this machine."""
    executable = gotools.kubernetes().build().path / "kubectl"
    argv = [executable, f"--kubeconfig={cluster.kubeconfig}", "-n", namespace]
    process = Process([*argv, "port-forward", target, f"{here}:{to}"], log)
    process.start(lambda: "Forwarding from" in log.read_text())
    return process


class Pipeline:
    """One pipeline in a namespace, as a user sees it."""

    def __init__(self, cluster: TestCluster, namespace: str, name: str) -> None:
        self._cluster, self.namespace, self.name = cluster, namespace, name

    def kubectl(self, *words: str, stdin: str | None = None, timeout: float = 120.0) -> str:
        return self._cluster.kubectl("-n", self.namespace, *words, stdin=stdin, timeout=timeout)

    def plugin(self, group: str, command: str, *words: str) -> tuple[int, str]:
        """Exit code and output of a command of `kubectl mainstem`, in the pipeline's namespace."""
        return self._cluster.plugin(group, "-n", self.namespace, command, *words)

    def apply(self, document: Mapping[str, Any]) -> None:
        self.kubectl("apply", "-f", "-", stdin=yaml.safe_dump(dict(document), sort_keys=False))

    def patch(self, **spec: Any) -> None:
        """Change the document: a merge patch of its spec."""
        patch = json.dumps({"spec": spec})
        self.kubectl("patch", "streamingpipeline", self.name, "--type=merge", f"--patch={patch}")

    def get(self) -> dict[str, Any]:
        body: dict[str, Any] = json.loads(self.kubectl("get", "streamingpipeline", self.name, "-o", "json"))
        return body

    def status(self) -> dict[str, Any]:
        body: dict[str, Any] = self.get().get("status", {})
        return body

    def condition(self, name: str) -> dict[str, Any]:
        conditions = self.status().get("conditions", ())
        return next((condition for condition in conditions if condition["type"] == name), {})

    def wait(self, condition: str, seconds: int) -> None:
        """`kubectl wait`; fails with the status and the driver's log."""
        try:
            self.kubectl(
                "wait",
                f"--for=condition={condition}",
                f"streamingpipeline/{self.name}",
                f"--timeout={seconds}s",
                timeout=seconds + 10,
            )
        except HarnessError as error:
            raise AssertionError(f"{error}\n{self.diagnosis()}") from None

    def phase(self, name: str, seconds: float) -> dict[str, Any]:
        """The status once the pipeline is in a phase."""
        try:
            body: dict[str, Any] = within(
                seconds, f"phase {name}", lambda: (s := self.status()).get("phase") == name and s
            )
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.diagnosis()}") from None
        return body

    def reports_again(self, times: int = 1) -> None:
        """Once the driver has reported so often after this moment, of which the operator hears each time."""
        for _ in range(times):
            before = self.status()["reported"]["time"]
            within(LIMIT, "a later report", lambda last=before: self.status()["reported"]["time"] != last)

    def driver(self) -> dict[str, Any] | None:
        """The driver's pod."""
        text = self.kubectl("get", "pod", f"{self.name}-driver", "-o", "json", "--ignore-not-found")
        return json.loads(text) if text.strip() else None

    def executors(self) -> list[dict[str, Any]]:
        """The executors' pods."""
        labels = f"mainstem.dev/pipeline={self.name},app.kubernetes.io/component=executor"
        body: list[dict[str, Any]] = json.loads(self.kubectl("get", "pods", "-l", labels, "-o", "json"))[
            "items"
        ]
        return body

    def log(self) -> str:
        try:
            return self.kubectl("logs", f"{self.name}-driver", "--tail=-1")
        except HarnessError as error:
            return str(error)

    def diagnosis(self) -> str:
        """All that a failed test should show."""
        return f"{json.dumps(self.status(), indent=1)}\n{self.log()[-6000:]}"

    def delete(self, seconds: int = 120) -> None:
        self.kubectl("delete", "streamingpipeline", self.name, f"--timeout={seconds}s", timeout=seconds + 10)

    @contextmanager
    def forwarded(self, port: int, folder: Path) -> Iterator[str]:
        """The address of a port of the driver, from this machine."""
        here = free_port()
        log = folder / f"forward-{self.name}-{here}.log"
        process = forward(self._cluster, self.namespace, f"pod/{self.name}-driver", here, port, log)
        try:
            yield f"http://127.0.0.1:{here}"
        finally:
            process.kill()
