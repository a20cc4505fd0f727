"""What Kafka's brokers are asked, by Kafka's own client in the JVM."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from pyspark.sql import SparkSession

from mainstem.build.kafka import client
from mainstem.spec.connections import KafkaConnection
from mainstem.spec.kafkasource import KafkaSource


_BYTES: Final = "org.apache.kafka.common.serialization.ByteArraySerializer"


class Brokers:
    """The brokers of one connection, while somebody asks. Errors are py4j's, with the Java cause within."""

    def __init__(self, session: SparkSession, kafka: KafkaConnection) -> None:
        self._jvm: Any = session._jvm  # noqa: SLF001
        self._kafka = kafka

    def topics(self) -> set[str]:
        """The topics that the credentials may see."""
        with self._admin() as admin:
            return set(admin.listTopics().names().get())

    def partitions(self, source: KafkaSource) -> int:
        """Partitions that a source reads, of topics that are there."""
        if source.assign:
            return sum(len(partitions) for partitions in source.assign.values())
        with self._admin() as admin:
            return sum(described.partitions().size() for described in self._described(admin, source).values())

    def _described(self, admin: Any, source: KafkaSource) -> Any:
        """Topic -> description, of the topics that a source reads and that are there."""
        topics = self._jvm.java.util.ArrayList()
        for topic in admin.listTopics().names().get():
            named = topic in (source.subscribe or ()) or topic in (source.assign or ())
            if named or self._matches(source.subscribe_pattern, topic):
                topics.add(topic)
        return admin.describeTopics(topics).allTopicNames().get()

    def _matches(self, pattern: str | None, topic: str) -> bool:
        return pattern is not None and self._jvm.java.util.regex.Pattern.matches(pattern, topic)

    def make(self, topic: str) -> None:
        """Ask for a topic as a sink will, so that a broker that makes topics on demand makes this one."""
        producer = self._jvm.org.apache.kafka.clients.producer.KafkaProducer(self._properties())
        with _closing(self._jvm, producer):
            producer.partitionsFor(topic)

    def earliest(self, source: KafkaSource) -> dict[str, dict[str, int]]:
        """Topic -> partition -> the first offset that there still is, of the topics that a source reads."""
        with self._admin() as admin:
            asked = self._jvm.java.util.HashMap()
            clients, common = self._jvm.org.apache.kafka.clients, self._jvm.org.apache.kafka.common
            first = clients.admin.OffsetSpec.earliest()
            for topic, described in self._described(admin, source).items():
                for partition in described.partitions():
                    asked.put(common.TopicPartition(topic, partition.partition()), first)
            found: dict[str, dict[str, int]] = {}
            for place, answer in admin.listOffsets(asked).all().get().items():
                found.setdefault(place.topic(), {})[str(place.partition())] = int(answer.offset())
            return found

    @contextmanager
    def _admin(self) -> Iterator[Any]:
        admin = self._jvm.org.apache.kafka.clients.admin.Admin.create(self._properties())
        with _closing(self._jvm, admin):
            yield admin

    def _properties(self) -> Any:
        properties = self._jvm.java.util.Properties()
        serializers = {"key.serializer": _BYTES, "value.serializer": _BYTES}
        for key, value in (client(self._kafka) | serializers).items():
            properties.setProperty(key, value)
        return properties


@contextmanager
def _closing(jvm: Any, what: Any) -> Iterator[None]:
    try:
        yield
    finally:
        what.close(jvm.java.time.Duration.ofSeconds(1))
