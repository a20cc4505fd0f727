"""What Kafka's clients, and Spark's source and sink, are told; pure."""

import json
from typing import Final

from mainstem.spec.connections import KafkaConnection
from mainstem.spec.queries import KafkaSink
from mainstem.spec.sources import KafkaSource


# Kafka's own defaults keep a query waiting for minutes before an unreachable broker is an error.
_REQUEST_MS: Final = 15_000
_API_MS: Final = 20_000
_DELIVERY_MS: Final = 25_000


def client(connection: KafkaConnection) -> dict[str, str]:
    """Properties of any client: the connection's own, and less patience than Kafka's defaults where it names none.

    A longer `request.timeout.ms` draws the others along, for Kafka refuses a whole shorter than its part: the API's
    time-out below a request's, the delivery's below a request's and `linger.ms` together.
    """
    own = connection.properties
    request = _milliseconds(own.get("request.timeout.ms"), _REQUEST_MS)
    linger = _milliseconds(own.get("linger.ms"), 0)
    patience = {
        "request.timeout.ms": str(request),
        "default.api.timeout.ms": str(max(_API_MS, request)),
        "max.block.ms": str(_API_MS),
        "delivery.timeout.ms": str(max(_DELIVERY_MS, request + linger)),
    }
    return patience | dict(own) | {"bootstrap.servers": connection.bootstrap_servers}


def source_options(source: KafkaSource, connection: KafkaConnection) -> dict[str, str]:
    """The options of Spark's Kafka source."""
    options = _prefixed(connection) | dict(source.options)
    if source.subscribe:
        options["subscribe"] = ",".join(source.subscribe)
    elif source.subscribe_pattern:
        options["subscribePattern"] = source.subscribe_pattern
    elif source.assign:
        options["assign"] = json.dumps({topic: list(parts) for topic, parts in source.assign.items()})
    options["startingOffsets"] = source.starting_offsets
    options["failOnDataLoss"] = str(source.fail_on_data_loss).lower()
    options["includeHeaders"] = str(source.include_headers).lower()
    if source.max_offsets_per_trigger:
        options["maxOffsetsPerTrigger"] = str(source.max_offsets_per_trigger)
    if source.min_partitions:
        options["minPartitions"] = str(source.min_partitions)
    return options


def sink_options(sink: KafkaSink, connection: KafkaConnection) -> dict[str, str]:
    """The options of Spark's Kafka sink."""
    return _prefixed(connection) | dict(sink.options) | {"topic": sink.topic}


def _prefixed(connection: KafkaConnection) -> dict[str, str]:
    return {f"kafka.{key}": value for key, value in client(connection).items()}


def _milliseconds(given: str | None, default: int) -> int:
    """What is no number is left to Kafka to refuse."""
    return int(given) if given and given.strip().isdecimal() else default
