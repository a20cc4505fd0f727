"""Executors in pods of their own: they work, they may die, they go with their driver, and they come and go on one checkpoint.

The tests of this file tell one story, in their order.
"""

import base64
import json
import time
import urllib.request
from pathlib import Path
from typing import Any

import pytest
import yaml
from cluster.deployment import OPERATOR_NAMESPACE, Pipeline, Servers, fetched, within
from deltalake import DeltaTable
from harness.cluster.base import TestCluster
from harness.errors import HarnessError
from harness.records import Record, new_producer, produce


pytestmark = [pytest.mark.faults, pytest.mark.timeout(900), pytest.mark.story]
PARTITIONS = 4
WAVE = 4_000
"""Orders that come with each step of the story."""

DOCUMENT = yaml.safe_load("""
apiVersion: mainstem.dev/v1alpha1
kind: StreamingPipeline
metadata: {name: orders}
spec:
  connections:
    - name: events
      kafka: {bootstrapServers: "kafka:9092"}
    - name: store
      s3: {buckets: [mainstem], endpoint: "http://s3:7070", pathStyle: true, secretRef: {name: s3}}
  sources:
    - name: orders
      kafka: {connection: events, subscribe: [orders], startingOffsets: earliest, maxOffsetsPerTrigger: 1000}
      decode: {json: {schema: "id BIGINT, customer INT, amount INT"}}
  views:
    # Slow on purpose: a batch shall last long enough to be killed in.
    - name: priced
      sql: >-
        SELECT id, customer, amount,
               size(filter(sequence(1, 200), x -> sha2(cast(x + id AS STRING), 512) LIKE 'ff%')) AS work
        FROM orders
  queries:
    - name: all-orders
      from: priced
      to: [{name: table, delta: {path: "s3a://mainstem/orders/all"}}]
  checkpoints: {location: "s3a://mainstem/checkpoints/orders"}
  driver:
    resources: {requests: {cpu: 100m, memory: 1536Mi}, limits: {memory: 1536Mi}}
  executors:
    instances: 2
    cores: 1
    resources: {requests: {cpu: 100m, memory: 1280Mi}, limits: {memory: 1280Mi}}
""")


class Orders:
    """The topic and the table of the story."""

    def __init__(self, servers: Servers) -> None:
        self._servers = servers
        self.sent = 0
        servers.create_topic("orders", PARTITIONS)
        self._producer = new_producer({"bootstrap.servers": servers.bootstrap_servers})

    def wave(self) -> None:
        """Send the next orders."""
        ids = range(self.sent, self.sent + WAVE)
        records = (
            Record(
                None,
                json.dumps({"id": i, "customer": i % 7, "amount": i % 100}).encode(),
                partition=i % PARTITIONS,
            )
            for i in ids
        )
        self.sent += produce(self._producer, "orders", records)

    def arrived(self) -> list[int]:
        table = DeltaTable("s3://mainstem/orders/all", storage_options=self._servers.storage_options)
        numbers: list[int] = table.to_pyarrow_table(columns=["id"])["id"].to_pylist()
        return numbers

    def all_are_there_once(self, pipeline: Pipeline, seconds: float = 180) -> None:
        def whole() -> bool:
            try:
                return len(self.arrived()) >= self.sent
            except Exception:  # noqa: BLE001 - there is no table before the first batch
                return False

        try:
            within(seconds, f"{self.sent} orders", whole)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{pipeline.diagnosis()}") from None
        assert sorted(self.arrived()) == list(range(self.sent))


@pytest.fixture(scope="module")
def servers(stage_servers: Any) -> Servers:
    started_servers: Servers = stage_servers("orders")
    return started_servers


@pytest.fixture(scope="module")
def orders(servers: Servers) -> Orders:
    return Orders(servers)


@pytest.fixture(scope="module")
def pipeline(cluster: TestCluster, release: None, servers: Servers) -> Pipeline:
    return Pipeline(cluster, servers.namespace, "orders")


def running(pipeline: Pipeline) -> list[str]:
    return [pod["metadata"]["name"] for pod in pipeline.executors() if pod["status"]["phase"] == "Running"]


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


def test_no_secret_is_visible(
    cluster: TestCluster, pipeline: Pipeline, servers: Servers, tmp_path: Path
) -> None:
    secrets = json.loads(pipeline.kubectl("get", "secrets", "-o", "json"))["items"]
    [spark] = [s["data"]["secret"] for s in secrets if s["metadata"]["name"].startswith("orders-spark-")]
    values = (servers.access_key, servers.secret_key, base64.b64decode(spark).decode())
    kinds = "pods,configmaps,events,streamingpipelines,serviceaccounts,roles,rolebindings"
    outputs = {"objects": pipeline.kubectl("get", kinds, "-o", "yaml"), "driver": pipeline.log()}
    for pod in running(pipeline):
        outputs[pod] = pipeline.kubectl("logs", pod)
    outputs["operator"] = cluster.kubectl("-n", OPERATOR_NAMESPACE, "logs", "deployment/mainstem")
    with pipeline.forwarded(4040, tmp_path) as ui:
        [application] = fetched(f"{ui}/api/v1/applications")
        pages = ("environment/", "executors/", "jobs/", "stages/", "StreamingQuery/")
        for page in (*pages, f"api/v1/applications/{application['id']}/environment"):
            with urllib.request.urlopen(f"{ui}/{page}", timeout=20) as answer:
                outputs[page] = answer.read().decode()
    with pipeline.forwarded(8090, tmp_path) as http:
        for page in ("status", "metrics", "healthz", "readyz"):
            with urllib.request.urlopen(f"{http}/{page}", timeout=20) as answer:
                outputs[page] = answer.read().decode()
    assert "spark.authenticate" in outputs["environment/"], "the page is that of the properties"
    leaks = [
        (place, index)
        for place, text in outputs.items()
        for index, value in enumerate(values)
        if value in text
    ]
    assert not leaks


def test_an_executor_killed_within_a_batch_changes_no_count(pipeline: Pipeline, orders: Orders) -> None:
    driver = pipeline.driver()
    orders.wave()
    time.sleep(2)  # into a batch
    victim = running(pipeline)[0]
    pipeline.kubectl("delete", "pod", victim, "--grace-period=0", "--force")
    orders.all_are_there_once(pipeline)
    within(90, "another executor", lambda: len(running(pipeline)) == 2 and victim not in running(pipeline))
    after = pipeline.driver()
    assert driver is not None
    assert after is not None
    assert after["metadata"]["uid"] == driver["metadata"]["uid"], "the driver lives on"


def test_no_executor_outlives_its_driver(pipeline: Pipeline) -> None:
    before = set(running(pipeline))
    pipeline.kubectl("delete", "pod", "orders-driver", "--grace-period=0", "--force")
    within(120, "the executors go", lambda: not before & set(running(pipeline)))
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
