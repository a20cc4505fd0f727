"""Good and dead records of a real topic: together they are all that was read, in the sinks and in the status."""

import random
from pathlib import Path

import pytest
from harness.kafka import Broker
from harness.records import Record
from harness.supervisor_loop import Stage
from pyspark.sql import SparkSession


pytestmark = [
    pytest.mark.S12,
    pytest.mark.timeout(600),
    pytest.mark.full(
        gate="spark/test_decode.py::test_a_tombstone_can_be_skipped_while_a_malformed_record_is_not"
    ),
]

BAD = (None, b"", b" ", b"\xff\xfe", b"[1]", b'{"id": "x"}', b'{"id": 1', b'{"id": 1} tail', b"null")


def test_decoded_and_dead_records_are_all_that_was_read(
    spark: SparkSession, kafka: Broker, tmp_path: Path
) -> None:
    chance = random.Random(12)
    kafka.create_topic("vanishing", partitions=2)
    stage = Stage(spark.newSession(), tmp_path)
    source = {
        "name": "orders",
        "kafka": {
            "connection": "events",
            "subscribe": ["vanishing"],
            "startingOffsets": "earliest",
            "maxOffsetsPerTrigger": 40,
        },
        "decode": {
            "json": {"schema": "id INT"},
            "onMalformedRecord": "deadLetter",
            "keep": ["partition", "offset"],
        },
    }
    positive = {"name": "positive", "expect": "id % 5 <> 0", "onViolation": "quarantine"}
    views = [{"name": "checked", "sql": "SELECT * FROM orders", "expectations": [positive]}]
    bounded = {"trigger": {"availableNow": True}}
    queries = [
        stage.query("checked", "good", **bounded),
        stage.query("checked_quarantine", "aside", **bounded),
        stage.query("orders_dead_letters", "dead", **bounded),
    ]
    connection = {"name": "events", "kafka": {"bootstrapServers": kafka.bootstrap_servers}}
    wanted: list[bytes | None] = []
    for start in (0, 60):  # the second run goes on where the first has stopped
        values = [
            chance.choice(BAD) if chance.random() < 0.3 else b'{"id": %d}' % number
            for number in range(start, start + 60)
        ]
        wanted += values
        kafka.produce("vanishing", [Record(None, value, partition=i % 2) for i, value in enumerate(values)])
        with stage.running(
            connections=[connection], sources=[source], views=views, queries=queries
        ) as running:
            running.to_the_end()
            for status in running.supervisor.statuses:
                [read] = status.sources
                assert (read.decoded, read.malformed) == (
                    sum(value not in BAD for value in values),
                    sum(value in BAD for value in values),
                )
                assert read.decoded + read.malformed == status.input_rows == 60
            [checked] = running["to-good"].expectations
            assert checked.passed + checked.violated == running["to-good"].sources[0].decoded
    good, aside, dead = stage.rows("good"), stage.rows("aside"), stage.rows("dead")
    assert {(row["partition"], row["offset"]) for row in (*good, *aside, *dead)} == {
        (partition, offset) for partition in (0, 1) for offset in range(60)
    }
    assert len(good) + len(aside) + len(dead) == 120
    assert sorted(row["id"] for row in (*good, *aside)) == [
        number for number, value in enumerate(wanted) if value not in BAD
    ]
    assert all(row["id"] % 5 == 0 and row["violated"] == ["positive"] for row in aside)
    assert sorted(map(str, (row["raw"] for row in dead))) == sorted(
        str(value) for value in wanted if value in BAD
    )
