"""A pipeline with executors that copies orders from Kafka to a Delta table on S3, and every order that the table has."""

import json
from typing import Any

import yaml
from cluster.deployment import Pipeline, Servers, within
from deltalake import DeltaTable
from harness.records import Record, new_producer, produce


PARTITIONS = 4
WAVE = 4_000
"""Orders that come together, for four batches."""

DOCUMENT: dict[str, Any] = yaml.safe_load("""
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
    """The topic and the table of a story."""

    def __init__(self, servers: Servers) -> None:
        self._servers = servers
        self.sent = 0
        servers.create_topic("orders", PARTITIONS)
        self._producer = new_producer({"bootstrap.servers": servers.bootstrap_servers})

    def wave(self, orders: int = WAVE) -> None:
        """Send the next orders."""
        ids = range(self.sent, self.sent + orders)
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
        """The ids in the table."""
        table = DeltaTable("s3://mainstem/orders/all", storage_options=self._servers.storage_options)
        numbers: list[int] = table.to_pyarrow_table(columns=["id"])["id"].to_pylist()
        return numbers

    def in_a_batch(self) -> bool:
        """Whether a batch is planned and not committed."""
        return self._newest("offsets") > self._newest("commits")

    def all_are_there_once(self, pipeline: Pipeline, seconds: float = 180) -> None:
        """Wait until the table has as many orders as were sent; each is there once."""

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

    def _newest(self, log: str) -> int:
        keys = self._servers.keys(f"checkpoints/orders/all-orders/1/{log}/")
        return max((int(name) for key in keys if (name := key.rpartition("/")[2]).isdigit()), default=-1)


def running_executors(pipeline: Pipeline) -> list[str]:
    """The names of the executor pods that run."""
    return [pod["metadata"]["name"] for pod in pipeline.executors() if pod["status"]["phase"] == "Running"]
