"""Reads topics and offsets from Kafka's brokers, with Kafka's admin client in the JVM."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from mainstem.dataframes.options.kafka import client_properties
from mainstem.language.model.connections import KafkaConnection
from mainstem.language.model.connectors.kafka_source import KafkaSource
from mainstem.runtime.progress.spark_progress import Offsets


_ANSWER: Final = re.compile(r"([\w.-]+)-(\d+)=ListOffsetsResultInfo\(offset=(-?\d+)")
_REQUEST: Final = "request.timeout.ms"
_API: Final = "default.api.timeout.ms"
_BYTES: Final = "org.apache.kafka.common.serialization.ByteArraySerializer"


@dataclass(frozen=True)
class TopicOffsets:
    """The ids and the first and last offsets of a source's topics.

    Attributes:
        ids: topic -> its id; a topic that is deleted and created again has another id.
        earliest: topic -> partition -> the first offset that still exists.
        latest: topic -> partition -> the offset after the last record that the source reads. With `read_committed` an
            open transaction ends the range: the offset is the first one of the transaction.
    """

    ids: Mapping[str, str]
    earliest: Offsets
    latest: Offsets


class KafkaAdmin:
    """The admin client of one Kafka connection. Errors are py4j's, with the Java exception as cause.

    Args:
        jvm: the JVM, as py4j shows it; `session._jvm` of any session.
        kafka: the connection.
        patience: time-out of an answer in milliseconds, unless the connection sets a longer one; None for the connection's
            own time-outs.
    """

    def __init__(self, jvm: Any, kafka: KafkaConnection, patience: int | None = None) -> None:
        self._jvm = jvm
        self._kafka = kafka
        self._matching: dict[str, bool] = {}
        self._partitions: dict[str, int] = {}
        self._requests: tuple[Any, Any] = (self._jvm.java.util.HashMap(), self._jvm.java.util.HashMap())
        self._patience = {} if patience is None else time_outs(kafka.properties, patience)

    def topics(self) -> set[str]:
        """The topics that the credentials may read about."""
        with self._admin() as admin:
            return self._names(admin)

    def partitions(self, source: KafkaSource) -> int:
        """The number of partitions of existing topics that a source reads."""
        if source.assign:
            return sum(len(partitions) for partitions in source.assign.values())
        with self._admin() as admin:
            return sum(
                description.partitions().size() for description in self._descriptions(admin, source).values()
            )

    def _descriptions(self, admin: Any, source: KafkaSource) -> Any:
        """Topic -> description, for the existing topics that a source reads."""
        topics = self._jvm.java.util.ArrayList()
        for topic in sorted(self._names(admin)):
            is_named = topic in (source.subscribe or ()) or topic in (source.assign or ())
            if is_named or self._matches(source.subscribe_pattern, topic):
                topics.add(topic)
        return admin.describeTopics(topics).allTopicNames().get()

    def _matches(self, pattern: str | None, topic: str) -> bool:
        if pattern is None:
            return False
        if topic not in self._matching:
            self._matching[topic] = bool(self._jvm.java.util.regex.Pattern.matches(pattern, topic))
        return self._matching[topic]

    def _names(self, admin: Any) -> set[str]:
        """All topics, read from the JVM with one call: there may be thousands."""
        text = str(self._jvm.java.lang.String.join("\n", admin.listTopics().names().get()))
        return set(text.splitlines())

    def make(self, topic: str) -> None:
        """Request a topic as a sink would, so that a broker that creates topics on demand creates it."""
        producer = self._jvm.org.apache.kafka.clients.producer.KafkaProducer(self.properties())
        with _closing(self._jvm, producer):
            producer.partitionsFor(topic)

    def offsets(self, source: KafkaSource) -> TopicOffsets:
        """The current ids and offsets of a source's existing topics; one `KafkaAdmin` serves only one source here."""
        with self._admin() as admin:
            topics = self._descriptions(admin, source)
            ids = {str(topic): str(description.topicId()) for topic, description in topics.items()}
            partitions = {str(topic): int(each.partitions().size()) for topic, each in topics.items()}
            if partitions != self._partitions:
                self._partitions, self._requests = partitions, self._build_requests(source, partitions)
            earliest, latest = self._requests
            level = self._jvm.org.apache.kafka.common.IsolationLevel.valueOf(source.isolation_level.upper())
            options = self._jvm.org.apache.kafka.clients.admin.ListOffsetsOptions(level)
            answers = [admin.listOffsets(request, options).all() for request in (earliest, latest)]
            return TopicOffsets(ids, *(offsets(answer.get().toString()) for answer in answers))

    def _build_requests(self, source: KafkaSource, partitions: Mapping[str, int]) -> tuple[Any, Any]:
        """The requests for the earliest and the latest offsets; the partitions of a topic have the numbers from 0 on."""
        spec = self._jvm.org.apache.kafka.clients.admin.OffsetSpec
        first, last = spec.earliest(), spec.latest()
        earliest, latest = self._jvm.java.util.HashMap(), self._jvm.java.util.HashMap()
        for topic, count in partitions.items():
            for number in range(count):
                if source.assign is None or number in source.assign[topic]:
                    partition = self._jvm.org.apache.kafka.common.TopicPartition(topic, number)
                    earliest.put(partition, first)
                    latest.put(partition, last)
        return earliest, latest

    @contextmanager
    def _admin(self) -> Iterator[Any]:
        admin = self._jvm.org.apache.kafka.clients.admin.Admin.create(self.properties())
        with _closing(self._jvm, admin):
            yield admin

    def properties(self) -> Any:
        """The client properties of the connection, as Java properties."""
        properties = self._jvm.java.util.Properties()
        serializers = {"key.serializer": _BYTES, "value.serializer": _BYTES}
        for key, value in (client_properties(self._kafka) | serializers | self._patience).items():
            properties.setProperty(key, value)
        return properties


def time_outs(properties: Mapping[str, str], patience: int) -> dict[str, str]:
    """The time-outs of a client in milliseconds, at least `patience`; longer ones of the user stay; pure.

    Kafka refuses `default.api.timeout.ms` below `request.timeout.ms`.
    """
    own = {key: value for key in (_REQUEST, _API) if (value := properties.get(key, "").strip()).isdecimal()}
    request = max(patience, int(own.get(_REQUEST, 0)))
    return {_REQUEST: str(request), _API: str(max(request, int(own.get(_API, 0))))}


def offsets(text: str) -> dict[str, dict[str, int]]:
    """Topic -> partition -> offset, from the text of Kafka's answer.

    Reading the text is one call to the JVM; reading the objects would be five calls for each partition.
    """
    result: dict[str, dict[str, int]] = {}
    for topic, partition, offset in _ANSWER.findall(text):
        result.setdefault(topic, {})[partition] = int(offset)
    return result


@contextmanager
def _closing(jvm: Any, resource: Any) -> Iterator[None]:
    try:
        yield
    finally:
        resource.close(jvm.java.time.Duration.ofSeconds(1))
