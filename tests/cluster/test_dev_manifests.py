"""What `k8s/dev` gives to people who try Mainstem: the servers' pods pass the restricted level, under the promised names."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from harness.cluster.base import TestCluster


DEV = Path(__file__).parents[2] / "k8s" / "dev"
OBJECTS: list[dict[str, Any]] = [
    document for path in sorted(DEV.glob("*.yaml")) for document in yaml.safe_load_all(path.read_text())
]


def named(kind: str, name: str) -> dict[str, Any]:
    (manifest,) = [o for o in OBJECTS if (o["kind"], o["metadata"]["name"]) == (kind, name)]
    return manifest


@pytest.mark.parametrize("name", ["kafka", "s3"])
def test_the_pods_meet_the_restricted_level(cluster: TestCluster, restricted: str, name: str) -> None:
    template = named("Deployment", name)["spec"]["template"]
    pod = {"apiVersion": "v1", "kind": "Pod", **template, "metadata": {"name": name}}
    output = cluster.kubectl("-n", restricted, "apply", "--dry-run=server", "-f", "-", stdin=json.dumps(pod))
    assert output.strip() == f"pod/{name} created (server dry run)"


def test_the_server_accepts_every_object(cluster: TestCluster, restricted: str) -> None:
    own = [DEV / "kafka.yaml", DEV / "s3.yaml"]
    files = [word for path in own for word in ("-f", str(path))]
    output = cluster.kubectl("-n", restricted, "apply", "--dry-run=server", "--validate=strict", *files)
    assert len(output.splitlines()) == len(OBJECTS) - 1  # all but the namespace


@pytest.mark.parametrize(("name", "port"), [("kafka", 9092), ("s3", 7070)])
def test_the_services_select_the_pods(name: str, port: int) -> None:
    service, template = named("Service", name)["spec"], named("Deployment", name)["spec"]["template"]
    (given,) = service["ports"]
    (container,) = template["spec"]["containers"]
    assert given["port"] == port
    assert {"name": given["targetPort"], "containerPort": port} in container["ports"]
    assert service["selector"].items() <= template["metadata"]["labels"].items()


def test_the_secret_has_the_keys_that_pipelines_use() -> None:
    assert set(named("Secret", "s3")["stringData"]) == {"accessKey", "secretKey"}
    assert named("Namespace", "mainstem-dev")["metadata"]["labels"] == {
        "pod-security.kubernetes.io/enforce": "restricted"
    }
