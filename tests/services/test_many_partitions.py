"""A topic of a thousand partitions: every record of every partition is read once."""

from typing import Any

import pytest
from confluent_kafka.admin import NewPartitions
from deltalake import DeltaTable
from harness.kafka import Broker
from harness.records import Record
from harness.waiting import within
from mainstem.language.model.status.states import QueryState


pytestmark = [pytest.mark.full, pytest.mark.timeout(900)]

PARTITIONS = 1_000
STEP = 100
"""Partitions that are added at once: one broker on a busy machine does not answer for a thousand in time."""
TOPIC = "wide"


def _widen(kafka: Broker) -> None:
    small = {"segment.index.bytes": "4096"}  # of 10 MB that each partition would map twice
    kafka.create_topic(TOPIC, STEP, small)
    admin = kafka.admin()
    for count in range(2 * STEP, PARTITIONS + 1, STEP):
        admin.create_partitions([NewPartitions(TOPIC, count)])[TOPIC].result(timeout=120)
    within(120, "every partition is there", lambda: len(kafka.partitions(TOPIC)) == PARTITIONS)


def _produce(kafka: Broker, value: str) -> None:
    kafka.produce(TOPIC, [Record(None, value.encode(), partition=number) for number in range(PARTITIONS)])


def test_every_partition_of_a_wide_topic_is_read_once(pipelines: Any, kafka: Broker) -> None:
    _widen(kafka)
    table = pipelines.folder / "counts"
    # Counted and not copied: a local folder takes a process for each of a thousand files.
    sql = "SELECT CAST(value AS STRING) AS run, count(*) AS records, sum(partition) AS partitions FROM wide GROUP BY 1"
    spec = {
        "connections": [{"name": "events", "kafka": {"bootstrapServers": kafka.bootstrap_servers}}],
        "sources": [
            {
                "name": "wide",
                "kafka": {"connection": "events", "subscribe": [TOPIC], "startingOffsets": "earliest"},
            }
        ],
        "views": [{"name": "counts", "sql": sql}],
        "queries": [
            {
                "name": "count",
                "from": "counts",
                "to": [{"name": "out", "delta": {"path": str(table)}}],
                "outputMode": "complete",
                "state": {"partitions": 1},
                "trigger": {"availableNow": True},
            }
        ],
    }
    expected = []
    for run in ("first", "second"):
        _produce(kafka, run)
        [status] = pipelines.run(spec, within=600)
        assert status.state is QueryState.COMPLETED, status
        [source] = status.sources
        assert (source.partitions, source.lag, status.input_rows) == (PARTITIONS, 0, PARTITIONS)
        expected.append({"run": run, "records": PARTITIONS, "partitions": sum(range(PARTITIONS))})
        rows = DeltaTable(str(table)).to_pyarrow_table().sort_by("run").to_pylist()
        assert rows == expected
