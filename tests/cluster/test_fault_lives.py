"""Faults in the life of small pipelines: parts that are missing and are added later, and deletions at the wrong moment."""

import json
import secrets

import pytest
from cluster.deployment import Pipeline, within
from cluster.faultbed import no_operator
from cluster.test_lives import small, uid
from harness.cluster.base import TestCluster
from harness.images import Image


pytestmark = [pytest.mark.faults, pytest.mark.full, pytest.mark.timeout(1500)]


def nothing_left(pipeline: Pipeline) -> bool:
    """Whether no object of a pipeline exists."""
    kinds = (
        "streamingpipelines,pods,configmaps,secrets,serviceaccounts,roles,rolebindings,poddisruptionbudgets"
    )
    names = pipeline.kubectl("get", kinds, "-o", "name").split()
    return not any(name.partition("/")[2].startswith(pipeline.name) for name in names)


def test_an_image_that_does_not_exist_and_is_added_later_starts_by_itself(
    cluster: TestCluster, pipeline: Pipeline, images: dict[str, Image]
) -> None:
    late = f"localhost/mainstem-late-{secrets.token_hex(3)}:1"
    pipeline.apply(small(pipeline.name, image=late))
    reasons = ("ErrImagePull", "ImagePullBackOff")
    within(90, "the reason", lambda: pipeline.condition("DriverRunning").get("reason") in reasons)
    assert late in pipeline.condition("DriverRunning")["message"]
    cluster.name(images["app"].reference, late)
    pipeline.wait("Ready", 420)
    assert pipeline.status()["restarts"] == 0


def test_a_secret_that_does_not_exist_and_is_added_later_starts_by_itself(pipeline: Pipeline) -> None:
    late = f"late-{secrets.token_hex(3)}"
    document = small(pipeline.name)
    document["spec"]["connections"][0]["s3"]["secretRef"]["name"] = late
    pipeline.apply(document)
    within(90, "FailedMount", lambda: pipeline.condition("Ready").get("reason") == "FailedMount")
    before = uid(pipeline)
    secret = json.loads(pipeline.kubectl("get", "secret", "s3", "-o", "json"))
    copied = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": late}, "data": secret["data"]}
    pipeline.kubectl("apply", "-f", "-", stdin=json.dumps(copied))
    pipeline.wait("Ready", 420)
    assert pipeline.status()["restarts"] == 0
    assert uid(pipeline) == before, "the kubelet mounts the Secret into the same pod"


@pytest.mark.parametrize("moment", ["DriverStarting", "DriverRunning"])
def test_a_deletion_during_the_start_leaves_nothing(pipeline: Pipeline, moment: str) -> None:
    """Before the container runs, and while the driver starts Spark."""
    pipeline.apply(small(pipeline.name))
    if moment == "DriverRunning":
        within(90, moment, lambda: pipeline.condition("DriverRunning").get("status") == "True", pause=0.1)
    else:
        within(60, moment, pipeline.driver, pause=0.1)
    pipeline.delete(150)
    within(60, "nothing is left", lambda: nothing_left(pipeline))


def test_a_deletion_without_an_operator_waits_for_it_and_leaves_nothing(
    cluster: TestCluster, pipeline: Pipeline
) -> None:
    pipeline.apply(small(pipeline.name))
    pipeline.wait("Ready", 240)
    before = uid(pipeline)
    with no_operator(cluster):
        pipeline.kubectl("delete", "streamingpipeline", pipeline.name, "--wait=false")
        pipeline.reports_again()
        assert pipeline.get()["metadata"]["deletionTimestamp"]
        assert uid(pipeline) == before, "nobody stops the driver"
    within(150, "nothing is left", lambda: nothing_left(pipeline))
