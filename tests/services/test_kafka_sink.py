"""Rows as records of a real Kafka: key, value, headers, topic; and the records that a failure repeats."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from harness import sparks
from harness.kafka import Broker
from harness.records import Record
from harness.sampling import sampled
from mainstem.runtime.failures.classification import classify
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession


pytestmark = pytest.mark.S27


class Pipe:
    """A query from files to records."""

    def __init__(self, spark: SparkSession, kafka: Broker, folder: Path) -> None:
        self._spark, self._kafka, self._folder = spark, kafka, folder
        (folder / "in").mkdir()
        self._count = 0

    def run(self, rows: list[dict[str, Any]], sink: dict[str, Any], sql: str, *more: dict[str, Any]) -> None:
        """Run over new rows to the end."""
        self._count += 1
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (self._folder / "in" / f"{self._count}.json").write_text(lines)
        schema = "id INT, name STRING, raw BINARY, tags MAP<STRING, STRING>"
        to = [{"name": "topic", "kafka": {"connection": "events"} | sink}, *more]
        spec = {
            "connections": [{"name": "events", "kafka": {"bootstrapServers": self._kafka.bootstrap_servers}}],
            "sources": [
                {"name": "lines", "files": {"path": f"{self._folder}/in", "format": "json", "schema": schema}}
            ],
            "views": [{"name": "v", "sql": sql}],
            "queries": [{"name": "q", "from": "v", "to": to}],
            "checkpoints": {"location": f"{self._folder}/checkpoints"},
        }
        sparks.run(self._spark, spec)

    def forget_commit(self, batch: int) -> None:
        """As a driver leaves it that dies when the topic has the batch, and the checkpoint does not know it yet."""
        for name in (f"{batch}", f".{batch}.crc"):
            (self._folder / "checkpoints" / "q" / "1" / "commits" / name).unlink()


@pytest.fixture
def pipe(spark: SparkSession, kafka: Broker, tmp_path: Path) -> Pipe:
    return Pipe(spark, kafka, tmp_path)


def read(kafka: Broker, topic: str) -> list[Record]:
    return sorted(kafka.consume_all(topic), key=lambda record: (record.value or b"", record.key or b""))


def test_by_default_the_value_is_the_row_as_json_and_the_key_null(pipe: Pipe, kafka: Broker) -> None:
    kafka.create_topic("s27-default")
    pipe.run([{"id": 1, "name": "Zoë"}, {"id": None}], {"topic": "s27-default"}, "SELECT id, name FROM lines")
    sent = read(kafka, "s27-default")
    assert [(record.key, json.loads(record.value or b"")) for record in sent] == [
        (None, {"id": 1, "name": "Zoë"}),
        (None, {}),
    ]


def test_raw_keys_and_values_go_to_the_topic_of_their_row_with_headers(pipe: Pipe, kafka: Broker) -> None:
    """A null value is a tombstone; a number goes as its text, binary as it is."""
    for topic in ("s27-even", "s27-odd"):
        kafka.create_topic(topic)
    sink = {
        "topicColumn": "topic",
        "keyColumn": "id",
        "valueColumn": "raw",
        "headers": {"name": "name", "id": "id"},
    }
    raw = base64.b64encode(b"\x00\xff").decode()
    rows = [{"id": 1, "name": "a", "raw": raw}, {"id": 2, "name": None, "raw": None}]
    pipe.run(rows, sink, "SELECT *, if(id % 2 = 0, 's27-even', 's27-odd') AS topic FROM lines")
    [odd], [even] = read(kafka, "s27-odd"), read(kafka, "s27-even")
    assert (odd.key, odd.value) == (b"1", b"\x00\xff")
    assert list(odd.headers) == [("id", b"1"), ("name", b"a")]
    assert (even.key, even.value) == (b"2", None)
    assert list(even.headers) == [("id", b"2"), ("name", None)]


@pytest.mark.parametrize(
    "column",
    sampled(
        ["tags", "transform(map_entries(tags), t -> named_struct('key', t.key, 'value', binary(t.value)))"],
        every=2,
    ),
)
def test_headers_come_from_a_map_or_a_list_of_spark(pipe: Pipe, kafka: Broker, column: str) -> None:
    topic = f"s27-headers-{len(column)}"
    kafka.create_topic(topic)
    sink = {"topic": topic, "value": ["id"], "key": ["id", "name"], "headersColumn": "h"}
    pipe.run([{"id": 1, "tags": {"a": "x", "b": None}}], sink, f"SELECT id, name, {column} AS h FROM lines")
    [record] = read(kafka, topic)
    assert (json.loads(record.key or b""), json.loads(record.value or b"")) == ({"id": 1}, {"id": 1})
    assert list(record.headers) == [("a", b"x"), ("b", None)]


@pytest.mark.parametrize("company", sampled([False, True], every=2))
def test_a_repeated_batch_is_in_the_topic_twice_and_none_is_lost(
    pipe: Pipe, kafka: Broker, *, company: bool
) -> None:
    topic = f"s27-again-{company}"
    kafka.create_topic(topic)
    more = [{"name": "nowhere", "noop": {}}] if company else []
    pipe.run([{"id": 1}], {"topic": topic}, "SELECT id FROM lines", *more)
    pipe.forget_commit(0)
    pipe.run([{"id": 2}], {"topic": topic}, "SELECT id FROM lines", *more)
    assert [json.loads(record.value or b"")["id"] for record in read(kafka, topic)] == [1, 1, 2]


@pytest.mark.full(gate="unit/test_failures.py::test_each_error_text_becomes_one_line_with_a_reason")
@pytest.mark.parametrize(
    ("topic", "options", "setting"),
    [("s27-large", {}, "raise max.request.size"), ("s27-refused", {"kafka.max.request.size": "20000000"}, "raise the topic's max.message.bytes")],
    ids=["the client", "the broker"],
)  # fmt: skip
def test_a_record_that_is_too_large_is_reported_with_the_setting_that_rejects_it(
    pipe: Pipe, kafka: Broker, topic: str, options: dict[str, str], setting: str
) -> None:
    kafka.create_topic(topic)
    sink = {"topic": topic, "valueColumn": "name", "options": options}
    with pytest.raises(StreamingQueryException) as raised:
        pipe.run([{"id": 1, "name": "x"}], sink, "SELECT repeat(name, 10000000) AS name FROM lines")
    failure = classify(raised.value)
    assert (failure.reason, failure.permanent) == ("RecordTooLarge", True)
    assert setting in failure.message
