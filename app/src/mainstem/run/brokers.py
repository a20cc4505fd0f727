"""What Kafka's brokers are asked, by Kafka's own client in the JVM."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from pyspark.sql import SparkSession

from mainstem.build.kafka import client
from mainstem.run.progress import Offsets
from mainstem.spec.connections import KafkaConnection
from mainstem.spec.kafkasource import KafkaSource


_BYTES: Final = "org.apache.kafka.common.serialization.ByteArraySerializer"


@dataclass(frozen=True)
class TopicOffsets:
    """What the topics of a source have.

    Attributes:
        ids: topic -> the id that the broker gave it when it was made: one that is made anew has another.
        earliest: topic -> partition -> the first offset that there still is.
        latest: topic -> partition -> the offset behind the last record that the source reads: with `read_committed` the
            first one of an open transaction, where there is one.
    """

    ids: Mapping[str, str]
    earliest: Offsets
    latest: Offsets


class Brokers:
    """The brokers of one connection, while somebody asks. Errors are py4j's, with the Java cause within.

    Args:
        session: any session.
        kafka: the connection.
        patience: milliseconds that an answer may take; the connection's own time-outs where none is given.
    """

    def __init__(self, session: SparkSession, kafka: KafkaConnection, patience: int | None = None) -> None:
        self._jvm: Any = session._jvm  # noqa: SLF001
        self._kafka = kafka
        own = ("request.timeout.ms", "default.api.timeout.ms")
        self._patience = {key: str(patience) for key in own if patience is not None}

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

    def offsets(self, source: KafkaSource) -> TopicOffsets:
        """What the topics of a source have now, of those that are there."""
        with self._admin() as admin:
            topics = self._described(admin, source)
            ids = {str(topic): str(described.topicId()) for topic, described in topics.items()}
            partitions = [
                self._jvm.org.apache.kafka.common.TopicPartition(topic, info.partition())
                for topic, described in topics.items()
                for info in described.partitions()
                if source.assign is None or info.partition() in source.assign[topic]
            ]
            spec = self._jvm.org.apache.kafka.clients.admin.OffsetSpec
            earliest = self._listed(admin, partitions, spec.earliest())
            latest = self._listed(admin, partitions, spec.latest(), source.isolation_level)
            return TopicOffsets(ids, earliest, latest)

    def _listed(
        self, admin: Any, partitions: list[Any], spec: Any, isolation: str = "read_uncommitted"
    ) -> dict[str, dict[str, int]]:
        asked = self._jvm.java.util.HashMap()
        for partition in partitions:
            asked.put(partition, spec)
        level = self._jvm.org.apache.kafka.common.IsolationLevel.valueOf(isolation.upper())
        options = self._jvm.org.apache.kafka.clients.admin.ListOffsetsOptions(level)
        found: dict[str, dict[str, int]] = {}
        for partition, answer in admin.listOffsets(asked, options).all().get().items():
            found.setdefault(partition.topic(), {})[str(partition.partition())] = int(answer.offset())
        return found

    @contextmanager
    def _admin(self) -> Iterator[Any]:
        admin = self._jvm.org.apache.kafka.clients.admin.Admin.create(self._properties())
        with _closing(self._jvm, admin):
            yield admin

    def _properties(self) -> Any:
        properties = self._jvm.java.util.Properties()
        serializers = {"key.serializer": _BYTES, "value.serializer": _BYTES}
        for key, value in (client(self._kafka) | serializers | self._patience).items():
            properties.setProperty(key, value)
        return properties


@contextmanager
def _closing(jvm: Any, what: Any) -> Iterator[None]:
    try:
        yield
    finally:
        what.close(jvm.java.time.Duration.ofSeconds(1))
