import base64
import secrets
import subprocess
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from harness import kafkajars, records
from harness.cache import tail
from harness.errors import HarnessError
from harness.java import find_java
from harness.process import Process, free_port
from harness.records import Record
from harness.server import Server
from harness.waiting import within


if TYPE_CHECKING:
    from confluent_kafka import Producer
    from confluent_kafka.admin import AdminClient

_PROPERTIES = Path(__file__).parent / "kafka" / "server.properties"
_JVM = ("-Xmx512m", "-XX:+UseSerialGC", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn")
_SHORT_LIVED = "-XX:TieredStopAtLevel=1"
"""Without the compiler that makes a long life fast, and costs a short one more than it saves."""


class Broker(Server):
    """A real Kafka broker: KRaft, one process that is controller too, one replica of everything, no automatic topics.

    Retention and compaction are looked at every second instead of every few minutes, so that tests can wait for them.

    Args:
        host: the address of this machine at which clients reach the broker.
        lasting: it serves a benchmark, whose figures shall not depend on how fast the broker starts.
    """

    def __init__(self, host: str = "127.0.0.1", *, lasting: bool = False) -> None:
        jvm = _JVM if lasting else (*_JVM, _SHORT_LIVED)
        self._java: list[str | Path] = [find_java(), *jvm, "-cp", kafkajars.build().path / "*"]
        super().__init__("kafka")
        port = free_port()
        self.bootstrap_servers = f"{host}:{port}"
        self._data = self.folder / "data"
        self._config = self.folder / "server.properties"
        template = _PROPERTIES.read_text()
        self._config.write_text(
            template.format(host=host, port=port, controller_port=free_port(), data=self._data)
        )
        self.process = Process([*self._java, "kafka.Kafka", self._config], self.folder / "kafka.log")

    def start(self) -> None:
        """Start the broker and wait until it leads all its partitions."""
        if not self._data.exists():
            self._format()
        super().start()

    @property
    def client(self) -> dict[str, object]:
        """librdkafka properties that reach this broker and stay quiet while it is down."""
        return {"bootstrap.servers": self.bootstrap_servers, "log_level": 0, "reconnect.backoff.max.ms": 500}

    def admin(self) -> "AdminClient":
        """Return a new administration client, for what the helpers here do not cover."""
        from confluent_kafka.admin import AdminClient

        return AdminClient(self.client)

    def create_topic(self, name: str, partitions: int = 1, configs: Mapping[str, str] | None = None) -> None:
        """Create a topic; `configs` are its settings, like `{"cleanup.policy": "compact"}`.

        :raises confluent_kafka.KafkaException: when the broker refuses, as it does if the topic exists.
        """
        from confluent_kafka.admin import NewTopic

        topic = NewTopic(name, partitions, 1, config=dict(configs or {}))
        admin = self.admin()  # keep the client until the answer comes: without it the request is dropped
        admin.create_topics([topic])[name].result(timeout=30)

    def recreate_topic(self, name: str, partitions: int = 1) -> None:
        """Delete a topic and create it again; records that are produced from now on go to the new one."""
        admin = self.admin()
        admin.delete_topics([name])[name].result(timeout=30)
        within(30, f"{name} is gone", lambda: name not in admin.list_topics(timeout=10).topics)
        self.create_topic(name, partitions)
        within(30, f"{name} is there", lambda: len(self.partitions(name)) == partitions)
        self.__dict__.pop(
            "_producer", None
        )  # it knows the deleted topic, and may refuse records to the new one

    def partitions(self, topic: str) -> list[int]:
        """Return the partitions of a topic; none means that there is no such topic."""
        return sorted(self.admin().list_topics(topic, timeout=10).topics[topic].partitions)

    def produce(self, topic: str, batch: Iterable[Record]) -> int:
        """Write the records, in their order per partition, and return how many when the broker has them all.

        :raises HarnessError: when one of them could not be written within a minute.
        """
        return records.produce(self._producer, topic, batch)

    def consume_all(self, topic: str) -> list[Record]:
        """Return every committed record that the topic holds now, in offset order within each partition.

        :raises HarnessError: when the broker falls silent for 30 s before the end.
        """
        return list(records.consume(self.client, topic, self.partitions(topic)))

    @cached_property
    def _producer(self) -> "Producer":
        return records.new_producer(self.client)

    def _format(self) -> None:
        cluster = base64.urlsafe_b64encode(secrets.token_bytes(16)).decode().rstrip("=")
        argv = [
            *self._java,
            "kafka.tools.StorageTool",
            "format",
            f"--cluster-id={cluster}",
            "-c",
            self._config,
        ]
        with self.process.log.open("w") as log:
            done = subprocess.run(argv, stdout=log, stderr=log, check=False)
        if done.returncode:
            raise HarnessError(f"cannot format the broker's storage:\n{tail(self.process.log)}")

    def _ready(self) -> bool:
        from confluent_kafka import KafkaException

        try:
            metadata = self.admin().list_topics(timeout=1)
        except KafkaException:
            return False
        led = all(p.leader >= 0 for topic in metadata.topics.values() for p in topic.partitions.values())
        return bool(metadata.brokers) and led
