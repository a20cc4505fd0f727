"""`python -m mainstem.runtime.spark.class_data_sharing FILE`: writes a class archive (AppCDS) while an image is built.

A driver that maps the classes from the archive starts in two thirds of the time. A real run of a small pipeline, with
`mainstem run`, shows which classes a driver loads. The archive fits only one Java and one class path, including the times
of the files. So it is written in the image that uses it.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from mainstem.runtime.spark import java
from mainstem.runtime.spark.command_line import ARCHIVE, DUMP


_ROWS: Final = "".join(
    f'{{"id": {n}, "shop": "s{n % 3}", "time": "2013-01-0{1 + n % 9}T00:00:00Z"}}\n' for n in range(90)
)
_DOCUMENT: Final = """
apiVersion: mainstem.dev/v1alpha1
kind: StreamingPipeline
metadata: {name: warm-up}
spec:
  sources:
    - name: orders
      files: {path: input, format: text, maxFilesPerTrigger: 1}
      decode: {json: {schema: "id BIGINT, shop STRING, time TIMESTAMP"}, onMalformedRecord: deadLetter}
      watermark: {column: time, delay: 1 day}
    - name: shops
      static: {csv: {path: shops.csv, header: true}}
  views:
    - name: named
      sql: SELECT o.*, s.name FROM orders o LEFT JOIN shops s ON o.shop = s.shop
    - name: days
      sql: SELECT w.start AS day, shop, n FROM (SELECT window(time, '1 day') AS w, shop, count(*) AS n FROM orders GROUP BY 1, 2)
  queries:
    - name: files
      from: named
      to: [{name: parquet, parquet: {path: out/parquet}}]
      trigger: {availableNow: true}
    - name: table
      from: days
      outputMode: update
      to: [{name: delta, delta: {path: out/delta, merge: {keys: [day, shop]}}}]
      state: {partitions: 1}
      trigger: {availableNow: true}
    - name: terminal
      from: named
      to: [{name: rows, console: {}}]
      trigger: {availableNow: true}
    - name: dead-letters
      from: orders_dead_letters
      to: [{name: delta, delta: {path: out/bad}}]
      trigger: {availableNow: true}
  checkpoints: {location: out/checkpoints}
"""


def main(target: Path) -> int:
    """Run the pipeline in a temporary folder and write the archive to `target`; returns the run's exit code."""
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        (work / "input").mkdir()
        (work / "input" / "orders.json").write_text(_ROWS + "{\n", encoding="utf-8")
        (work / "shops.csv").write_text("shop,name\ns0,Bern\ns1,Thun\n", encoding="utf-8")
        (work / "warm-up.yaml").write_text(_DOCUMENT, encoding="utf-8")
        environment = {key: value for key, value in os.environ.items() if key != ARCHIVE}
        environment |= {DUMP: str(target), "JDK_JAVA_OPTIONS": java.SHORT_LIVED}
        command = [sys.executable, "-m", "mainstem", "run", "warm-up.yaml", "--cores=2", "--heap=1g"]
        process = subprocess.run(command, cwd=work, env=environment, check=False)
    if process.returncode == 0 and not target.exists():
        sys.stderr.write(f"error: Java did not write the class archive {target}\n")
        return 1
    return process.returncode


def load_clients(jvm: Any) -> None:
    """Make the JVM load the clients of Kafka, S3 and Kubernetes, which a pipeline of files does not load.

    Each client connects to a port without a server, and fails. By then it has loaded all classes but those that read an
    answer.
    """
    for load in (_load_kafka, _load_s3, _load_kubernetes):
        _until_refused(load, jvm)
    for name in _KAFKA_IN_SPARK:
        jvm.java.lang.Class.forName(f"org.apache.spark.sql.kafka010.{name}")


_NOBODY: Final = "127.0.0.1:9"  # the port of "discard", a service that no system has run for decades
_KAFKA_IN_SPARK: Final = (
    "KafkaSourceProvider",
    "KafkaSourceRDD",
    "KafkaMicroBatchStream",
    "KafkaOffsetReaderAdmin",
    "KafkaBatchPartitionReader",
    "KafkaStreamingWrite",
    "KafkaWriteTask",
)


def _until_refused(load: Callable[[Any], None], jvm: Any) -> None:
    from py4j.protocol import Py4JJavaError

    with suppress(Py4JJavaError):
        load(jvm)


def _load_kafka(jvm: Any) -> None:
    settings = jvm.java.util.Properties()
    for key, value in {
        "bootstrap.servers": _NOBODY,
        "key.deserializer": "org.apache.kafka.common.serialization.ByteArrayDeserializer",
        "value.deserializer": "org.apache.kafka.common.serialization.ByteArrayDeserializer",
        "key.serializer": "org.apache.kafka.common.serialization.ByteArraySerializer",
        "value.serializer": "org.apache.kafka.common.serialization.ByteArraySerializer",
        "max.block.ms": "300",
    }.items():
        settings.put(key, value)
    at_once = jvm.java.time.Duration.ZERO
    clients = jvm.org.apache.kafka.clients
    admin = clients.admin.AdminClient.create(settings)
    admin.listTopics()
    consumer = clients.consumer.KafkaConsumer(settings)
    consumer.assign(jvm.java.util.List.of(jvm.org.apache.kafka.common.TopicPartition("t", 0)))
    consumer.poll(jvm.java.time.Duration.ofMillis(300))
    consumer.close(at_once)
    producer = clients.producer.KafkaProducer(settings)
    producer.send(clients.producer.ProducerRecord("t", None))
    producer.close(at_once)
    admin.close(at_once)


def _load_s3(jvm: Any) -> None:
    settings = jvm.org.apache.hadoop.conf.Configuration()
    for key, value in {
        "endpoint": f"http://{_NOBODY}",
        "endpoint.region": "us-east-1",
        "path.style.access": "true",
        "access.key": "nobody",
        "secret.key": "nobody",
        "attempts.maximum": "1",
        "retry.limit": "0",
    }.items():
        settings.set(f"fs.s3a.{key}", value)
    system = jvm.org.apache.hadoop.fs.FileSystem.newInstance(jvm.java.net.URI("s3a://nowhere/"), settings)
    try:
        system.exists(jvm.org.apache.hadoop.fs.Path("s3a://nowhere/file"))
    finally:
        system.close()


def _load_kubernetes(jvm: Any) -> None:
    client = jvm.io.fabric8.kubernetes.client
    settings = (
        client.ConfigBuilder().withMasterUrl(f"http://{_NOBODY}").withRequestRetryBackoffLimit(0).build()
    )
    api = client.KubernetesClientBuilder().withConfig(settings).build()
    try:
        api.pods().inNamespace("nowhere").list()
    finally:
        api.close()


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
