"""The life of a pipeline on a cluster: installed, started, changed, killed, drained, deleted; every order is there once.

The tests of this file tell one story, in their order. It is what `make test` runs on a cluster; the other files look at
each part closely, in `make test-full`.
"""

import base64
import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from cluster.deployment import OPERATOR_NAMESPACE, Pipeline, Servers, fetched, page, pod_template, within
from cluster.orders import DOCUMENT, Orders, running_executors
from harness.cluster.base import TestCluster
from harness.errors import HarnessError
from harness.java import SHORT_LIVED


pytestmark = [pytest.mark.timeout(600), pytest.mark.story, pytest.mark.faults]
TWO_BATCHES = 2_000
KINDS = "pods,services,configmaps,secrets,serviceaccounts,roles,rolebindings,poddisruptionbudgets"


@pytest.fixture(scope="module")
def pipeline(cluster: TestCluster, release: None, servers: Servers) -> Pipeline:
    return Pipeline(cluster, servers.namespace, "orders")


def query(pipeline: Pipeline) -> dict[str, Any]:
    queries: list[dict[str, Any]] = pipeline.status()["queries"]
    return queries[0]


def uid(pipeline: Pipeline) -> str:
    pod = pipeline.driver()
    return str(pod["metadata"]["uid"]) if pod else ""


def test_a_document_runs_with_an_executor_from_kafka_to_delta_on_s3(
    pipeline: Pipeline, orders: Orders
) -> None:
    document = deepcopy(DOCUMENT)
    document["spec"]["executors"]["instances"] = 1
    # Java's second compiler costs more than it saves in the minute that each of them lives.
    document["spec"]["driver"]["template"] = pod_template("driver", SHORT_LIVED)
    document["spec"]["executors"]["template"] = pod_template("executor", SHORT_LIVED)
    orders.wave(TWO_BATCHES)
    pipeline.apply(document)
    pipeline.wait("Ready", 300)
    within(180, "the executor", lambda: pipeline.status()["summary"].get("executors") == "1/1")
    orders.all_are_there_once(pipeline)
    # Java lets go of an archive that does not fit its jars, and says nothing.
    maps = ("exec", f"{pipeline.name}-driver", "--", "sh", "-c", "cat /proc/[0-9]*/maps")
    assert "/opt/mainstem/cds/driver.jsa" in pipeline.kubectl(*maps)


def test_no_secret_is_visible(
    cluster: TestCluster, pipeline: Pipeline, servers: Servers, tmp_path: Path
) -> None:
    secrets = json.loads(pipeline.kubectl("get", "secrets", "-o", "json"))["items"]
    [spark] = [s["data"]["secret"] for s in secrets if s["metadata"]["name"].startswith("orders-spark-")]
    values = (servers.access_key, servers.secret_key, base64.b64decode(spark).decode())
    kinds = "pods,configmaps,events,streamingpipelines,serviceaccounts,roles,rolebindings"
    outputs = {"objects": pipeline.kubectl("get", kinds, "-o", "yaml"), "driver": pipeline.log()}
    for pod in running_executors(pipeline):
        outputs[pod] = pipeline.kubectl("logs", pod)
    outputs["operator"] = cluster.kubectl("-n", OPERATOR_NAMESPACE, "logs", "deployment/mainstem")
    with pipeline.forwarded(4040, tmp_path) as ui:
        [application] = fetched(f"{ui}/api/v1/applications")
        pages = ("environment/", "executors/", "jobs/", "stages/", "StreamingQuery/")
        for place in (*pages, f"api/v1/applications/{application['id']}/environment"):
            outputs[place] = page(f"{ui}/{place}")
    with pipeline.forwarded(8090, tmp_path) as http:
        for place in ("status", "metrics", "healthz", "readyz"):
            outputs[place] = page(f"{http}/{place}")
    assert "spark.authenticate" in outputs["environment/"], "the page is that of the properties"
    leaks = [
        (place, index)
        for place, text in outputs.items()
        for index, value in enumerate(values)
        if value in text
    ]
    assert not leaks


def test_the_running_driver_takes_a_changed_query_over(pipeline: Pipeline, orders: Orders) -> None:
    driver, before = uid(pipeline), query(pipeline)
    [changed] = deepcopy(DOCUMENT["spec"]["queries"])
    changed["trigger"] = {"processingTime": "1 second"}
    pipeline.patch(queries=[changed])
    within(180, "another run of the query", lambda: query(pipeline)["runId"] != before["runId"])
    pipeline.wait("Ready", 180)
    orders.wave(TWO_BATCHES)
    orders.all_are_there_once(pipeline)
    assert (uid(pipeline), query(pipeline)["id"]) == (driver, before["id"])


def test_after_a_kill_within_a_batch_the_next_driver_continues(pipeline: Pipeline, orders: Orders) -> None:
    executors = set(running_executors(pipeline))
    orders.wave(TWO_BATCHES)
    within(60, "a batch runs", orders.in_a_batch, pause=0.05)
    pipeline.kubectl("delete", "pod", "orders-driver", "--grace-period=0", "--force")
    within(180, "the next driver", lambda: pipeline.status().get("attempt") == 2)
    within(180, "the executor goes with its driver", lambda: not executors & set(running_executors(pipeline)))
    pipeline.wait("Ready", 300)
    orders.all_are_there_once(pipeline)
    assert pipeline.status()["lastTermination"]["reason"] == "DriverLost"


def test_a_suspended_pipeline_drains(pipeline: Pipeline) -> None:
    pipeline.patch(suspend=True)
    termination = pipeline.phase("Suspended", 180)["lastTermination"]
    assert (termination["outcome"], termination["exitCode"]) == ("drained", 0), termination
    within(120, "no pod is left", lambda: pipeline.driver() is None and not pipeline.executors())


def test_a_deletion_leaves_only_the_data(pipeline: Pipeline, orders: Orders) -> None:
    pipeline.delete()

    def left() -> list[str]:
        labels = "app.kubernetes.io/managed-by=mainstem-operator"
        return pipeline.kubectl("get", KINDS, "-l", labels, "-o", "name").split()

    within(120, "nothing is left", lambda: not left())
    with pytest.raises(HarnessError, match="not found"):
        pipeline.get()
    assert sorted(orders.arrived()) == list(range(orders.sent))
