"""Options of Kafka's clients, and of Spark's Kafka source and sink."""

import json
from typing import Final

from mainstem import secrets
from mainstem.language.analysis.graph import Graph
from mainstem.language.base import seconds
from mainstem.language.model.connections import KafkaConnection, KafkaSecurity
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

_PROVIDER: Final = "dev.mainstem.secrets.KafkaSecrets"
"""Reads the files of secrets, in driver and executors, whenever a client starts."""


def connections(graph: Graph) -> dict[str, KafkaConnection]:
    """The Kafka connections by name, with their security settings as client properties without any value of a secret.

    Kafka's clients read the values from the secret's files. Spark knows, shows and logs only references to these files.
    """
    return {each.name: _with_security(each.kafka) for each in graph.spec.connections if each.kafka}


def _with_security(kafka: KafkaConnection) -> KafkaConnection:
    if kafka.security is None:
        return kafka
    return kafka.model_copy(
        update={"properties": dict(kafka.properties) | security_properties(kafka.security)}
    )


def security_properties(security: KafkaSecurity) -> dict[str, str]:
    """The client properties for `security`, with references to the values of its secrets."""
    properties = {"security.protocol": security.protocol}
    references: dict[str, tuple[str, str]] = {}
    if security.sasl:
        properties["sasl.mechanism"] = security.sasl.mechanism
        kind = "plain" if security.sasl.mechanism == "PLAIN" else "scram"
        references["sasl.jaas.config"] = (security.sasl.secret_ref.name, f"jaas.{kind}")
    if security.tls and security.tls.secret_ref:
        name = security.tls.secret_ref.name
        references["ssl.truststore.certificates"] = (name, "ca.crt")
        properties["ssl.truststore.type"] = "PEM"
        if secrets.exists(name, "tls.crt"):
            references["ssl.keystore.certificate.chain"] = (name, "tls.crt")
            references["ssl.keystore.key"] = (name, "tls.key")
            properties["ssl.keystore.type"] = "PEM"
    if references:
        # Spark keeps a producer for each set of properties. A changed secret must not find the producer of the old one.
        changed = max(secrets.changed_at(name) for name, _ in references.values())
        properties |= {
            "config.providers": "mainstem",
            "config.providers.mainstem.class": _PROVIDER,
            "config.providers.mainstem.param.changed": str(changed),
        }
    for key, (name, value) in references.items():
        properties[key] = f"${{mainstem:{secrets.folder(name)}:{value}}}"
    return properties


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
