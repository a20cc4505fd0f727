"""Executors in pods of their own: they work, they may die, they go with their driver, and they come and go on one checkpoint.

The tests of this file tell one story, in their order.
"""

from pathlib import Path

import pytest
from cluster.deployment import Pipeline, Servers, fetched, within
from cluster.orders import DOCUMENT, Orders, running_executors
from harness.cluster.base import TestCluster
from harness.errors import HarnessError


pytestmark = [
    pytest.mark.faults,
    pytest.mark.timeout(900),
    pytest.mark.story,
    pytest.mark.full(
        gate="cluster/test_story.py::test_a_document_runs_with_an_executor_from_kafka_to_delta_on_s3"
    ),
]


@pytest.fixture(scope="module")
def pipeline(cluster: TestCluster, release: None, servers: Servers) -> Pipeline:
    return Pipeline(cluster, servers.namespace, "orders")


def query_ids(pipeline: Pipeline) -> set[str]:
    """Spark's ids of the queries, which their checkpoints keep."""
    return {query["id"] for query in pipeline.status()["queries"]}


def scaled(pipeline: Pipeline, instances: int) -> None:
    """Another number of executors: a new revision, for which the driver drains and starts anew."""
    before = pipeline.status()["attempt"]
    pipeline.patch(executors={"instances": instances})
    within(150, "the next driver", lambda: pipeline.status().get("attempt") == before + 1)
    pipeline.wait("Ready", 150)


def test_two_executors_share_the_work(pipeline: Pipeline, orders: Orders, tmp_path: Path) -> None:
    orders.wave()
    pipeline.apply(DOCUMENT)
    pipeline.wait("Ready", 180)
    within(120, "2/2", lambda: pipeline.status()["summary"].get("executors") == "2/2")
    orders.wave()  # the first may have been read before the second executor came
    orders.all_are_there_once(pipeline)
    with pipeline.forwarded(4040, tmp_path) as ui:
        [application] = fetched(f"{ui}/api/v1/applications")
        executors = fetched(f"{ui}/api/v1/applications/{application['id']}/executors")
    tasks = {executor["id"]: executor["totalTasks"] for executor in executors if executor["id"] != "driver"}
    assert len(tasks) == 2
    assert all(count > 0 for count in tasks.values()), tasks
    assert {pod["spec"]["containers"][0]["name"] for pod in pipeline.executors()} == {"executor"}
    owners = {pod["metadata"]["ownerReferences"][0]["name"] for pod in pipeline.executors()}
    assert owners == {"orders-driver"}


@pytest.mark.full(
    gate="spark/test_leftovers.py::test_files_of_a_lost_executor_are_removed_after_their_batch_is_committed"
)
def test_an_executor_killed_within_a_batch_changes_no_count(pipeline: Pipeline, orders: Orders) -> None:
    driver = pipeline.driver()
    orders.wave()
    within(60, "a batch runs", orders.in_a_batch, pause=0.05)
    victim = running_executors(pipeline)[0]
    pipeline.kubectl("delete", "pod", victim, "--grace-period=0", "--force")
    orders.all_are_there_once(pipeline)
    within(
        90,
        "another executor",
        lambda: len(running_executors(pipeline)) == 2 and victim not in running_executors(pipeline),
    )
    after = pipeline.driver()
    assert driver is not None
    assert after is not None
    assert after["metadata"]["uid"] == driver["metadata"]["uid"], "the driver lives on"


@pytest.mark.full(gate="cluster/test_story.py::test_after_a_kill_within_a_batch_the_next_driver_continues")
def test_no_executor_outlives_its_driver(pipeline: Pipeline) -> None:
    before = set(running_executors(pipeline))
    pipeline.kubectl("delete", "pod", "orders-driver", "--grace-period=0", "--force")
    within(120, "the executors go", lambda: not before & set(running_executors(pipeline)))
    within(120, "another driver", lambda: pipeline.status().get("attempt") == 2)
    pipeline.wait("Ready", 180)
    assert pipeline.status()["lastTermination"]["reason"] == "DriverLost"


@pytest.mark.full
def test_without_executors_the_driver_continues_on_the_same_checkpoint(
    pipeline: Pipeline, orders: Orders
) -> None:
    ids = query_ids(pipeline)
    orders.wave()
    scaled(pipeline, 0)
    orders.all_are_there_once(pipeline)
    within(120, "the executors are gone", lambda: not pipeline.executors())
    assert "executors" not in pipeline.status()["summary"]
    assert query_ids(pipeline) == ids


@pytest.mark.full
def test_with_executors_again_it_continues_on_the_same_checkpoint(pipeline: Pipeline, orders: Orders) -> None:
    ids = query_ids(pipeline)
    orders.wave()
    scaled(pipeline, 2)
    orders.all_are_there_once(pipeline)
    within(120, "2/2", lambda: pipeline.status()["summary"].get("executors") == "2/2")
    assert query_ids(pipeline) == ids


@pytest.mark.full(
    gate="apiserver/test_pod_warnings.py::test_a_reason_that_only_an_event_of_an_executor_pod_has_is_in_the_condition"
)
def test_executors_that_cannot_be_scheduled_are_reported(pipeline: Pipeline) -> None:
    template = {"spec": {"nodeSelector": {"disk": "none-has-it"}}}
    pipeline.patch(executors={"instances": 2, "template": template})
    message = within(
        180,
        "ExecutorsUnschedulable",
        lambda: (
            (c := pipeline.condition("Degraded")).get("reason") == "ExecutorsUnschedulable" and c["message"]
        ),
    )
    assert "node(s) didn't match Pod's node affinity/selector" in message
    pipeline.delete()
    within(120, "nothing is left", lambda: not pipeline.executors())
    with pytest.raises(HarnessError, match="not found"):
        pipeline.get()
