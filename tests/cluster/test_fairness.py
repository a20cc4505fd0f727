"""A light query beside a heavy one: with a pool each it has a share of the cores; without, it waits for the heavy one's tasks."""

import json
import secrets
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from cluster.deployment import Pipeline, Servers, fetched, within
from harness.cluster.base import TestCluster
from harness.images import Image
from harness.records import Record, new_producer, produce


pytestmark = [pytest.mark.timing, pytest.mark.timeout(900)]
BATCHES = 10
WARM_UP = 3
"""Batches of the light query that are looked at, and those before them, in which everything is compiled."""
TASKS = 64
"""Tasks of each batch of the heavy query, of one record each, so that they are as long in every batch."""
RECORDS = 6_000
HEAVY = f"""
SELECT size(filter(sequence(1, 100000), x -> sha2(cast(x + offset AS STRING), 512) LIKE 'ff%')) AS work
FROM (SELECT /*+ REPARTITION({TASKS}) */ offset FROM busy)
"""
"""Some tenths of a second for each record."""

DOCUMENT = yaml.safe_load(f"""
apiVersion: mainstem.dev/v1alpha1
kind: StreamingPipeline
metadata: {{name: mixed}}
spec:
  connections:
    - name: events
      kafka: {{bootstrapServers: "kafka:9092"}}
    - name: store
      s3: {{buckets: [mainstem], endpoint: "http://s3:7070", pathStyle: true, secretRef: {{name: s3}}}}
  sources:
    - name: busy
      kafka: {{connection: events, subscribe: [busy], startingOffsets: earliest, maxOffsetsPerTrigger: {TASKS}}}
    - {{name: calm, rate: {{rowsPerSecond: 1}}}}
  views:
    - {{name: hard, sql: ""}}
  queries:
    - {{name: heavy, from: hard, to: [{{name: out, console: {{numRows: 1}}}}], pool: {{weight: 1}}}}
    - name: light
      from: calm
      to: [{{name: out, console: {{numRows: 1}}}}]
      trigger: {{processingTime: 1 second}}
      pool: {{weight: 10, minShare: 1}}
  checkpoints: {{location: "s3a://mainstem/checkpoints/mixed-{secrets.token_hex(3)}"}}
  driver:
    cores: 2
    resources: {{requests: {{cpu: 100m, memory: 1536Mi}}, limits: {{memory: 1536Mi}}}}
""")
DOCUMENT["spec"]["views"][0]["sql"] = HEAVY

PLAIN = f'''
import mainstem_jars, time
from pyspark.sql import SparkSession
spark = (
    SparkSession.builder.master("local[2, 4]")
    .config("spark.jars", ",".join(map(str, mainstem_jars.paths())))
    .config("spark.local.dir", "/tmp")
    .config("spark.sql.warehouse.dir", "/tmp/warehouse")
    .getOrCreate()
)
spark.sparkContext.setLogLevel("ERROR")
kafka = {{"kafka.bootstrap.servers": "kafka:9092", "subscribe": "busy", "startingOffsets": "earliest"}}
busy = spark.readStream.format("kafka").options(**kafka, maxOffsetsPerTrigger="{TASKS}").load()
busy.createOrReplaceTempView("busy")
calm = spark.readStream.format("rate").option("rowsPerSecond", 1).load()
def start(frame, name, **trigger):
    writer = frame.writeStream.queryName(name).format("noop").option("checkpointLocation", "/tmp/" + name)
    return (writer.trigger(**trigger) if trigger else writer).start()
heavy = start(spark.sql("""{HEAVY}"""), "heavy")
while not heavy.lastProgress:
    time.sleep(0.5)
light = start(calm, "light", processingTime="1 second")
seen = set()
while len(seen) < {BATCHES + WARM_UP}:
    for progress in light.recentProgress:
        if progress.batchId not in seen and progress.numInputRows:
            seen.add(progress.batchId)
            print("BATCH", progress.durationMs["triggerExecution"], flush=True)
    time.sleep(0.5)
'''
"""The same two queries as a user would write them, in one pool, first in, first out."""


@pytest.fixture(scope="module")
def servers(stage_servers: Any) -> Servers:
    started_servers: Servers = stage_servers("fairness")
    started_servers.create_topic("busy", 2)
    producer = new_producer({"bootstrap.servers": started_servers.bootstrap_servers})
    records = (Record(None, b"work", partition=number % 2) for number in range(RECORDS))
    assert produce(producer, "busy", records) == RECORDS
    return started_servers


@pytest.fixture
def plain(cluster: TestCluster, servers: Servers, images: dict[str, Image]) -> Iterator[Any]:
    """Runs the plain program in a pod of the same image; gives a way to its log."""
    container = {
        "name": "plain",
        "image": images["app"].reference,
        "command": ["/usr/bin/tini", "--", "python", "-c", PLAIN],
        "env": [{"name": "HOME", "value": "/tmp"}],
        "resources": {"requests": {"cpu": "100m"}, "limits": {"memory": "2Gi"}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}],
    }
    spec = {
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 1,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": 10001,
            "fsGroup": 10001,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [container],
        "volumes": [{"name": "tmp", "emptyDir": {}}],
    }
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "plain"}, "spec": spec}
    servers.kubectl("apply", "-f", "-", stdin=json.dumps(pod))
    yield lambda: servers.kubectl("logs", "plain")
    servers.kubectl("delete", "pod", "plain", "--wait=true")


def without_pools(log: Any) -> list[int]:
    """Milliseconds of the light query's batches."""

    def enough() -> list[int] | None:
        try:
            durations = [int(line.split()[1]) for line in log().splitlines() if line.startswith("BATCH ")]
        except Exception:  # noqa: BLE001 - the container is not there yet
            return None
        return durations if len(durations) >= BATCHES + WARM_UP else None

    measured: list[int] = within(400, "batches without pools", enough)
    return measured[WARM_UP : WARM_UP + BATCHES]


def with_pools(pipeline: Pipeline, folder: Path) -> list[int]:
    """The same, from the driver's own status."""
    took: dict[int, int] = {}
    with pipeline.forwarded(8090, folder) as http:

        def enough() -> bool:
            [light] = [query for query in fetched(f"{http}/status")["queries"] if query["name"] == "light"]
            if light.get("batchDurationMs") is not None and light.get("batch") is not None:
                took[light["batch"]] = light["batchDurationMs"]
            return len(took) >= BATCHES + WARM_UP

        within(400, "batches with pools", enough)
    return [took[batch] for batch in sorted(took)][WARM_UP : WARM_UP + BATCHES]


def p95(milliseconds: list[int]) -> float:
    return statistics.quantiles(milliseconds, n=20, method="inclusive")[-1]


def test_a_light_query_is_at_least_twice_as_fast_with_pools(
    cluster: TestCluster, release: None, servers: Servers, tmp_path: Path, request: Any, capsys: Any
) -> None:
    pipeline = Pipeline(cluster, servers.namespace, "mixed")
    pipeline.apply(DOCUMENT)
    pipeline.wait("Ready", 180)
    fair = with_pools(pipeline, tmp_path)
    pipeline.delete()
    alone = without_pools(request.getfixturevalue("plain"))
    with capsys.disabled():
        print(
            f"\n  p95 of {len(fair)} light batches: {p95(fair):.0f} ms with pools, {p95(alone):.0f} ms without"
        )
    assert len(fair) == len(alone) == BATCHES
    assert p95(fair) <= p95(alone) / 2, (fair, alone)
