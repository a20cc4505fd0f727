"""The options of Kafka's clients."""

from typing import Any

import pytest
from mainstem.dataframes.options.kafka import client_properties, source_options
from mainstem.language.model.connections import KafkaConnection
from mainstem.language.model.connectors.kafka_source import KafkaSource
from mainstem.runtime.clients.kafka_admin import time_outs


def client_options(**properties: str) -> dict[str, str]:
    given = {key.replace("_", "."): value for key, value in properties.items()}
    return client_properties(
        KafkaConnection.model_validate({"bootstrapServers": "kafka:9092", "properties": given})
    )


@pytest.mark.parametrize(
    ("given", "asked", "api", "delivery"),
    [
        ({}, 15000, 20000, 25000),
        ({"request_timeout_ms": "30000"}, 30000, 30000, 30000),
        ({"request_timeout_ms": "22000", "linger_ms": "5000"}, 22000, 22000, 27000),
        ({"request_timeout_ms": "100"}, 100, 20000, 25000),
        ({"delivery_timeout_ms": "120000"}, 15000, 20000, 120000),
    ],
)
def test_no_timeout_is_shorter_than_its_parts(
    given: dict[str, str], asked: int, api: int, delivery: int
) -> None:
    """By the checks of Kafka's own AdminClientConfig and ProducerConfig."""
    timeouts = client_options(**given)
    names = ("request.timeout.ms", "default.api.timeout.ms", "delivery.timeout.ms")
    assert [int(timeouts[name]) for name in names] == [asked, api, delivery]


@pytest.mark.parametrize(
    ("given", "request_ms", "api_ms"),
    [
        ({}, 8000, 8000),
        ({"request.timeout.ms": "5000", "default.api.timeout.ms": "6000"}, 8000, 8000),
        ({"request.timeout.ms": " 60000 "}, 60000, 60000),
        ({"default.api.timeout.ms": "60000"}, 8000, 60000),
        ({"request.timeout.ms": "30000", "default.api.timeout.ms": "20000"}, 30000, 30000),
        ({"request.timeout.ms": "soon"}, 8000, 8000),
    ],
)
def test_a_timeout_of_the_user_is_never_shortened(
    given: dict[str, str], request_ms: int, api_ms: int
) -> None:
    timeouts = time_outs(given, 8000)
    assert timeouts == {"request.timeout.ms": str(request_ms), "default.api.timeout.ms": str(api_ms)}


def test_an_invalid_number_is_left_to_kafka() -> None:
    assert client_options(request_timeout_ms="soon")["request.timeout.ms"] == "soon"


@pytest.mark.parametrize(
    ("properties", "options", "wait"),
    [
        ({}, {}, "20"),
        ({"fetch.max.wait.ms": "100"}, {}, "100"),
        ({"fetch.max.wait.ms": "100"}, {"kafka.fetch.max.wait.ms": "500"}, "500"),
    ],
)
def test_a_task_does_not_wait_for_records_that_it_will_not_read(
    properties: dict[str, str], options: dict[str, str], wait: str
) -> None:
    connection = KafkaConnection.model_validate({"bootstrapServers": "kafka:9092", "properties": properties})
    source = KafkaSource.model_validate({"connection": "events", "subscribe": ["t"], "options": options})
    assert source_options(source, connection)["kafka.fetch.max.wait.ms"] == wait


def test_every_field_of_a_source_is_an_option() -> None:
    connection = KafkaConnection.model_validate({"bootstrapServers": "kafka:9092"})
    offsets = {
        "startingOffsets": "earliest",
        "startingOffsetsByTimestamp": '{"t": {"0": 1}}',
        "startingOffsetsByTimestampStrategy": "latest",
        "endingOffsets": "latest",
        "endingOffsetsByTimestamp": '{"t": {"0": 2}}',
    }
    fields = {
        "subscribe": ["t", "u"],
        "startingTimestamp": "1970-01-01T00:00:01Z",
        "endingTimestamp": "2000",
        "maxOffsetsPerTrigger": 9,
        "minOffsetsPerTrigger": 5,
        "maxTriggerDelay": "2 minutes",
        "minPartitions": 3,
        "maxRecordsPerPartition": 4,
        "failOnDataLoss": False,
        "isolationLevel": "read_uncommitted",
        "includeHeaders": True,
        "options": {"groupIdPrefix": "g"},
    }
    source = KafkaSource.model_validate({"connection": "events"} | offsets | fields)
    options = source_options(source, connection)
    of_the_client = {f"kafka.{name}" for name in client_properties(connection)}
    assert {key: value for key, value in options.items() if key not in of_the_client} == offsets | {
        "subscribe": "t,u",
        "startingTimestamp": "1000",
        "endingTimestamp": "2000",
        "maxOffsetsPerTrigger": "9",
        "minOffsetsPerTrigger": "5",
        "maxTriggerDelay": "120000ms",
        "minPartitions": "3",
        "maxRecordsPerPartition": "4",
        "failOnDataLoss": "false",
        "includeHeaders": "true",
        "kafka.isolation.level": "read_uncommitted",
        "kafka.fetch.max.wait.ms": "20",
        "groupIdPrefix": "g",
    }


@pytest.mark.parametrize(
    ("field", "value", "option"),
    [
        ("subscribePattern", "t.*", "t.*"),
        ("assign", {"t": [0, 2], "u": [1]}, '{"t": [0, 2], "u": [1]}'),
    ],
)
def test_topics_by_a_pattern_and_exact_partitions_are_options(field: str, value: Any, option: str) -> None:
    connection = KafkaConnection.model_validate({"bootstrapServers": "kafka:9092"})
    source = KafkaSource.model_validate({"connection": "events", field: value})
    assert source_options(source, connection)[field] == option
