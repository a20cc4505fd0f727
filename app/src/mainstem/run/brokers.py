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
            known = admin.listTopics().names().get()
            topics = self._jvm.java.util.ArrayList()
            for topic in known:
                if topic in (source.subscribe or ()) or self._matches(source.subscribe_pattern, topic):
                    topics.add(topic)
            described = admin.describeTopics(topics).allTopicNames().get()
            return sum(described[topic].partitions().size() for topic in topics)

    def _matches(self, pattern: str | None, topic: str) -> bool:
        return pattern is not None and self._jvm.java.util.regex.Pattern.matches(pattern, topic)

    def make(self, topic: str) -> None:
        """Ask for a topic as a sink will, so that a broker that makes topics on demand makes this one."""
        producer = self._jvm.org.apache.kafka.clients.producer.KafkaProducer(self._properties())
        with _closing(self._jvm, producer):
            producer.partitionsFor(topic)

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
