"""Options of Kafka's clients, and of Spark's Kafka source and sink."""

import json
from pathlib import Path
from typing import Final

from pyspark.sql import SparkSession

from mainstem.language.analysis.graph import Graph
from mainstem.language.base import seconds
from mainstem.language.model.connections import CREDENTIALS, KafkaConnection, KafkaSecurity, credentials_file
from mainstem.language.model.connectors.kafka_sink import KafkaSink
from mainstem.language.model.connectors.kafka_source import KafkaSource, milliseconds


# Kafka's own defaults keep a query waiting for minutes before an unreachable broker is an error.
_REQUEST_MS: Final = 15_000
_API_MS: Final = 20_000
_DELIVERY_MS: Final = 25_000

_FETCH_WAIT_MS: Final = 20
"""How long the broker holds a fetch for which it has no records yet.

Spark's reader asks for the partition's offsets right after it has fetched the last records of a task. The consumer has by
then sent its next fetch over the same connection, and the broker answers in order: with Kafka's default every task of a
query that keeps up waits 500 ms for nothing.
"""

_PROVIDER: Final = "org.apache.kafka.common.config.provider.FileConfigProvider"


def connections(graph: Graph, session: SparkSession) -> dict[str, KafkaConnection]:
    """The Kafka connections by name, with their security settings as client properties without any value of a secret.

    Kafka's clients read the values from a file. Spark knows, shows and logs only references to this file.
    """
    folder = Path(session.conf.get(CREDENTIALS, None) or ".")
    return {
        c.name: _with_security(c.kafka, folder / credentials_file(c.name))
        for c in graph.spec.connections
        if c.kafka
    }


def _with_security(kafka: KafkaConnection, file: Path) -> KafkaConnection:
    if kafka.security is None:
        return kafka
    return kafka.model_copy(
        update={"properties": dict(kafka.properties) | security_properties(kafka.security, file, _keys(file))}
    )


def security_properties(security: KafkaSecurity, file: Path, keys: list[str]) -> dict[str, str]:
    """The client properties for `security`; pure.

    Args:
        security: the security settings of the connection.
        file: the connection's file of credentials.
        keys: the properties in this file.
    """
    properties = {"security.protocol": security.protocol}
    if security.sasl:
        properties["sasl.mechanism"] = security.sasl.mechanism
    if keys:
        properties |= {"config.providers": "mainstem", "config.providers.mainstem.class": _PROVIDER}
    for key in keys:
        properties[key] = f"${{mainstem:{file}:{key}}}"
        if key.startswith("ssl."):
            properties[f"{key.rpartition('store.')[0]}store.type"] = "PEM"
    return properties


def _keys(file: Path) -> list[str]:
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    return [line.partition("=")[0] for line in lines]


def client_properties(connection: KafkaConnection) -> dict[str, str]:
    """The properties of any client: those of the connection, and shorter time-outs than Kafka's defaults for the rest.

    A longer `request.timeout.ms` also raises the other time-outs. Kafka refuses `default.api.timeout.ms` below
    `request.timeout.ms`, and `delivery.timeout.ms` below the sum of `request.timeout.ms` and `linger.ms`.
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
    options = (
        {"kafka.fetch.max.wait.ms": str(_FETCH_WAIT_MS)} | _with_prefix(connection) | dict(source.options)
    )
    if source.subscribe:
        options["subscribe"] = ",".join(source.subscribe)
    elif source.subscribe_pattern:
        options["subscribePattern"] = source.subscribe_pattern
    elif source.assign:
        options["assign"] = json.dumps({topic: list(parts) for topic, parts in source.assign.items()})
    options["failOnDataLoss"] = str(source.fail_on_data_loss).lower()
    options["kafka.isolation.level"] = source.isolation_level
    options["includeHeaders"] = str(source.include_headers).lower()
    return options | _range(source) | _limits(source)


def _range(source: KafkaSource) -> dict[str, str]:
    values = {
        "startingOffsets": source.starting_offsets,
        "startingTimestamp": _time(source.starting_timestamp),
        "startingOffsetsByTimestamp": source.starting_offsets_by_timestamp,
        "startingOffsetsByTimestampStrategy": source.starting_offsets_by_timestamp_strategy,
        "endingOffsets": source.ending_offsets,
        "endingTimestamp": _time(source.ending_timestamp),
        "endingOffsetsByTimestamp": source.ending_offsets_by_timestamp,
    }
    return {key: value for key, value in values.items() if value is not None}


def _limits(source: KafkaSource) -> dict[str, str]:
    delay = source.max_trigger_delay
    values = {
        "maxOffsetsPerTrigger": source.max_offsets_per_trigger,
        "minOffsetsPerTrigger": source.min_offsets_per_trigger,
        "maxTriggerDelay": f"{seconds(delay) * 1000:.0f}ms" if delay else None,
        "minPartitions": source.min_partitions,
        "maxRecordsPerPartition": source.max_records_per_partition,
    }
    return {key: str(value) for key, value in values.items() if value is not None}


def _time(text: str | None) -> str | None:
    return None if text is None else str(milliseconds(text))


def sink_options(sink: KafkaSink, connection: KafkaConnection) -> dict[str, str]:
    """The options of Spark's Kafka sink: the producer does not repeat a record in one attempt, and keeps the order."""
    options = {"kafka.enable.idempotence": "true"} | _with_prefix(connection) | dict(sink.options)
    return options | ({"topic": sink.topic} if sink.topic else {})


def _with_prefix(connection: KafkaConnection) -> dict[str, str]:
    return {f"kafka.{key}": value for key, value in client_properties(connection).items()}


def _milliseconds(text: str | None, default: int) -> int:
    """The value as a number, or the default; Kafka itself refuses a value that is not a number."""
    return int(text) if text and text.strip().isdecimal() else default
