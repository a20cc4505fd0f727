"""What Kafka's clients are told."""

import pytest
from mainstem.build.kafka import client
from mainstem.spec.connections import KafkaConnection


def told(**properties: str) -> dict[str, str]:
    given = {key.replace("_", "."): value for key, value in properties.items()}
    return client(KafkaConnection.model_validate({"bootstrapServers": "kafka:9092", "properties": given}))


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
def test_no_time_out_is_shorter_than_its_part(
    given: dict[str, str], asked: int, api: int, delivery: int
) -> None:
    """By the checks of Kafka's own AdminClientConfig and ProducerConfig."""
    found = told(**given)
    names = ("request.timeout.ms", "default.api.timeout.ms", "delivery.timeout.ms")
    assert [int(found[name]) for name in names] == [asked, api, delivery]


def test_what_is_no_number_is_left_to_kafka() -> None:
    assert told(request_timeout_ms="soon")["request.timeout.ms"] == "soon"
