"""Records of a Kafka topic, written and read in bulk with confluent-kafka."""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from harness.errors import HarnessError


if TYPE_CHECKING:
    from confluent_kafka import Consumer, Producer

_QUEUE = 200_000  # records that wait in the producer, at most
_SILENCE = 30.0  # seconds without a word from the broker that are taken for the end of it


class Record(NamedTuple):
    """A record of a topic; to produce one, `partition` -1 leaves the choice to the key, `timestamp_ms` 0 means now."""

    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes | None]] = ()
    partition: int = -1
    timestamp_ms: int = 0
    offset: int = -1


def new_producer(client: Mapping[str, object]) -> "Producer":
    """Return a producer that writes each record exactly once, for as long as it lives.

    Its first record takes half a second longer than the others, so one is worth keeping.

    :param client: librdkafka properties, at least `bootstrap.servers`.
    """
    from confluent_kafka import Producer

    options = {
        "linger.ms": 5,
        "compression.type": "lz4",
        "enable.idempotence": True,
        "queue.buffering.max.messages": 2 * _QUEUE,
        "message.timeout.ms": 60_000,
        "delivery.report.only.error": True,
    }
    return Producer({**client, **options})


def produce(producer: "Producer", topic: str, records: Iterable[Record]) -> int:
    """Write the records, in their order per partition, and return how many when the broker has acknowledged all.

    :raises HarnessError: when one of them could not be written within a minute.
    """
    failed: list[str] = []
    count = 0

    def note_failure(error: object, _message: object) -> None:
        failed.append(str(error))

    for record in records:
        while len(producer) >= _QUEUE:
            producer.poll(0.02)
        key, value, headers, partition, timestamp, _ = record
        producer.produce(
            topic,
            value,
            key,
            partition,
            on_delivery=note_failure,
            timestamp=timestamp,
            headers=list(headers),
        )
        count += 1
    left = producer.flush(90)
    if left or failed:
        raise HarnessError(
            f"{left + len(failed)} of {count} records were not written to {topic}: {failed[:3]}"
        )
    return count


def consume(client: Mapping[str, object], topic: str, partitions: Sequence[int]) -> Iterator[Record]:
    """Yield every committed record that the partitions hold now, in offset order within each.

    :param client: librdkafka properties, at least `bootstrap.servers`.
    :raises HarnessError: when the broker falls silent for 30 s before the end.
    """
    from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

    options = {
        "group.id": "harness",
        "enable.auto.commit": False,
        "enable.partition.eof": True,
        "fetch.wait.max.ms": 20,  # the end of a partition is known only after this wait
        "fetch.queue.backoff.ms": 20,
    }
    consumer = Consumer({**client, **options})
    try:
        consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING) for partition in partitions])
        yield from _until_the_ends(consumer, set(partitions))
    finally:
        consumer.close()


def _until_the_ends(consumer: "Consumer", open_partitions: set[int]) -> Iterator[Record]:
    from confluent_kafka import KafkaError

    heard = time.monotonic()
    while open_partitions:
        for message in consumer.consume(10_000, timeout=0.2):
            heard = time.monotonic()
            error = message.error()
            if error is None:
                _, timestamp = message.timestamp()
                headers = message.headers() or ()
                yield Record(
                    message.key(), message.value(), headers, message.partition(), timestamp, message.offset()
                )
            elif error.code() == KafkaError._PARTITION_EOF:
                open_partitions.discard(message.partition())
        if time.monotonic() - heard > _SILENCE:
            raise HarnessError(
                f"no word from the broker for {_SILENCE:g} s; not at the end: {open_partitions}"
            )
