"""Where a query begins or continues to read its topics, from the document, Spark's files and the brokers' offsets."""

import json
from typing import Any

import pytest
from mainstem.language.model.connectors.kafka_source import KafkaSource
from mainstem.runtime.progress.positions import document_begins, next_begins, spark_begins


EARLIEST = {"t": {"0": 2, "1": 0}, "u": {"0": 5}}
LATEST = {"t": {"0": 10, "1": 4}, "u": {"0": 9}}
NUMBERS = json.dumps({"t": {"0": -1, "1": 3}, "u": {"0": -2}})


@pytest.mark.parametrize(
    ("start", "begins"),
    [
        ({}, LATEST),
        ({"startingOffsets": " Latest"}, LATEST),
        ({"startingOffsets": "EARLIEST"}, EARLIEST),
        ({"startingOffsets": NUMBERS}, {"t": {"0": 10, "1": 3}, "u": {"0": 5}}),
        ({"startingOffsets": '{"t": {"0": 7, "9": -1}}'}, {"t": {"0": 7, "9": 0}}),
        ({"startingTimestamp": "2026-01-01T00:00:00Z"}, None),
        ({"startingOffsetsByTimestamp": '{"t": {"0": 0}}'}, None),
    ],
)
def test_a_query_without_a_batch_begins_as_its_document_demands(start: dict[str, str], begins: Any) -> None:
    source = KafkaSource.model_validate({"connection": "events", "subscribe": ["t", "u"], **start})
    assert document_begins(source, EARLIEST, LATEST) == begins


def test_it_continues_at_the_end_of_the_committed_batch_and_at_the_beginning_of_a_recreated_topic() -> None:
    committed = {"orders": {"t": {"0": 7, "1": 3}, "u": {"0": 5}}, "files": {"logOffset": 3}}
    assert next_begins(committed, committed) == committed
    planned = {"orders": {"t": {"0": 9, "1": 3}, "u": {"0": 0}, "v": {"0": 4}}, "files": {"logOffset": 4}}
    assert next_begins(committed, planned) == committed | {"orders": {"t": {"0": 7, "1": 3}, "u": {"0": 0}}}
    assert next_begins(committed, {}) == committed
    assert next_begins({}, planned) == {}


@pytest.mark.parametrize(
    ("text", "offsets"),
    [
        ('\0v1\n{"t":{"0":4}}', {"t": {"0": 4}}),
        ('v1\n{"t":{"0":4}}', {"t": {"0": 4}}),
        ('\0v2\n{"t":{"0":4}}', None),
        ('\0v1\n{"t":{"0":', None),
        ("v1\n3", None),
        ("", None),
    ],
)
def test_the_beginning_of_the_first_batch_is_read_from_the_file_of_spark(text: str, offsets: Any) -> None:
    assert spark_begins(text) == offsets
