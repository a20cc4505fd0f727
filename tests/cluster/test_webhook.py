"""The admission webhook of a release. The API server calls it through its Service, and stores documents without it."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import yaml
from cluster import node_processes
from cluster.deployment import CHART, helm, image_values, within
from cluster.faultbed import no_operator, operators
from cluster.test_lives import small
from harness.cluster.base import TestCluster
from harness.errors import HarnessError
from harness.images import Image


pytestmark = [
    pytest.mark.faults,
    pytest.mark.timeout(600),
    pytest.mark.full(
        gate="apiserver/test_operator_webhook.py::test_an_invalid_document_is_rejected_with_its_path_and_reason"
    ),
]
TIMEOUT = 3
"""Seconds that the API server waits for the webhook."""


class Applied:
    """Documents in a namespace. Their pipelines are suspended: no driver starts."""

    def __init__(self, cluster: TestCluster, namespace: str) -> None:
        self.cluster, self.namespace = cluster, namespace

    def apply(self, name: str, *words: str, **spec: Any) -> None:
        """`kubectl apply`."""
        document = yaml.safe_dump(small(name, suspend=True, **spec))
        self.cluster.kubectl("-n", self.namespace, "apply", *words, "-f", "-", stdin=document)

    def refusal(self, name: str, **spec: Any) -> str:
        """The message of `kubectl apply`; empty if the API server takes the document."""
        try:
            self.apply(name, "--dry-run=server", **spec)
        except HarnessError as error:
            return str(error)
        return ""


INVALID: dict[str, Any] = {"checkpoints": {"location": "/tmp/checkpoints"}}


@pytest.fixture(scope="module")
def webhook(cluster: TestCluster, images: dict[str, Image], release: None) -> Iterator[None]:
    """The release with the webhook, once the API server reaches it; afterwards the release is as it was."""
    upgrade = ("upgrade", "mainstem", str(CHART), *image_values(images["operator"], images["app"]))
    wait = ("--wait", "--timeout=120s")
    helm(cluster, *upgrade, "--set=webhook.enabled=true", f"--set=webhook.timeoutSeconds={TIMEOUT}", *wait)
    yield
    helm(cluster, *upgrade, *wait)


@pytest.fixture
def applied(cluster: TestCluster, webhook: None, restricted: str) -> Iterator[Applied]:
    documents = Applied(cluster, restricted)
    within(90, "the webhook answers", lambda: documents.refusal("first", **INVALID))
    yield documents
    cluster.kubectl("-n", restricted, "delete", "streamingpipelines", "--all", "--timeout=90s")


def test_an_invalid_document_is_refused_with_path_and_reason(applied: Applied) -> None:
    message = applied.refusal("invalid", **INVALID)
    assert 'admission webhook "validate.streamingpipelines.mainstem.dev" denied the request' in message
    assert "spec.checkpoints.location: /tmp/checkpoints would be lost with the pod" in message
    assert "[CheckpointNotDurable]" in message
    assert not applied.refusal("valid")
    applied.apply("valid")


def test_without_an_operator_documents_are_stored_and_checked_afterwards(
    cluster: TestCluster, applied: Applied
) -> None:
    with no_operator(cluster):
        applied.apply("valid")
        applied.apply("invalid", **INVALID)
    within(60, "SpecValid=False", lambda: spec_valid(applied, "invalid") == ("False", "CheckpointNotDurable"))
    within(90, "the webhook answers again", lambda: applied.refusal("again", **INVALID))


@pytest.mark.bare
def test_while_the_operator_hangs_documents_are_stored(cluster: TestCluster, applied: Applied) -> None:
    with hanging_operator(cluster):
        applied.apply("valid")


@contextmanager
def hanging_operator(cluster: TestCluster) -> Iterator[None]:
    """Within this context the operator's processes do not run."""
    pids = [pid for pod in operators(cluster) for pid in node_processes.of_pod(pod["metadata"]["uid"])]
    with node_processes.suspended(*pids):
        yield


def spec_valid(applied: Applied, name: str) -> tuple[str, str]:
    """Status and reason of the condition."""
    words = ("-n", applied.namespace, "get", "streamingpipeline", name, "-o", "json")
    conditions = json.loads(applied.cluster.kubectl(*words)).get("status", {}).get("conditions", [])
    matching = [each for each in conditions if each["type"] == "SpecValid"]
    return (matching[0]["status"], matching[0]["reason"]) if matching else ("", "")
