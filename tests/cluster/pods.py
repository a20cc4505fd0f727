"""Pods of the small test image that pass the restricted level of pod security."""

import json
from pathlib import Path
from typing import Any

from harness.cluster import oci
from harness.cluster.base import TestCluster


def load_tool(cluster: TestCluster, executable: Path, archive: Path) -> str:
    """Make an image of an executable and load it; return its name."""
    image = f"localhost/mainstem-test-tool:{executable.parent.name}"
    oci.write(executable, image, archive)
    cluster.load(archive)
    return image


def pod(name: str, image: str, *args: str, **spec: Any) -> str:
    """A pod that runs `/pause ARGS` once, as JSON for `kubectl apply`."""
    container = {
        "name": "tool",
        "image": image,
        "imagePullPolicy": "Never",
        "args": list(args),
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        },
    }
    security = {"runAsNonRoot": True, "runAsUser": 10001, "seccompProfile": {"type": "RuntimeDefault"}}
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "labels": {"app": name}},
            "spec": {
                "restartPolicy": "Never",
                "terminationGracePeriodSeconds": 2,
                "securityContext": security,
                "containers": [container],
                **spec,
            },
        }
    )


def bare_minimum(name: str, image: str) -> str:
    """A pod without any security settings."""
    spec = {"containers": [{"name": "tool", "image": image}]}
    return json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec})
