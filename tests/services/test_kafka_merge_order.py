"""Changes of one key with equal sequences in one batch, from a real broker: the offset decides, within one partition."""

import json
from collections.abc import Iterable
from typing import Any

import pytest
from deltalake import DeltaTable
from harness.kafka import Broker
from harness.records import Record
from harness.sampling import only


pytestmark = pytest.mark.S29
COLUMNS = "from_json(CAST(value AS STRING), 'id INT, v STRING, seq INT')"
DECODED = {"json": {"schema": "id INT, v STRING, seq INT"}}


class Bench:
    """One topic, merged by `id` and `seq` in one batch."""

    def __init__(self, pipelines: Any, kafka: Broker, topic: str, partitions: int) -> None:
        kafka.create_topic(topic, partitions)
        self._pipelines, self._kafka, self._topic = pipelines, kafka, topic
        self._table = pipelines.folder / "table"

    def send(self, changes: Iterable[tuple[int, str]], partition: int = 0) -> None:
        """Changes of the sequence 1, in order."""
        records = (
            Record(None, json.dumps({"id": key, "v": v, "seq": 1}).encode(), partition=partition)
            for key, v in changes
        )
        self._kafka.produce(self._topic, records)

    def merge(self, **source: Any) -> tuple[str | None, str]:
        """The reason and the message of the query's failure after the batch; (None, "") without a failure."""
        raw = {"connection": "events", "subscribe": [self._topic], "startingOffsets": "earliest"}
        view = (
            "SELECT id, v, seq FROM changes"
            if source
            else f"SELECT c.* FROM (SELECT {COLUMNS} AS c FROM changes)"
        )
        connection = {"bootstrapServers": self._kafka.bootstrap_servers}
        merged = {"path": str(self._table), "merge": {"keys": ["id"], "sequenceBy": "seq"}}
        bounded = source.pop("bounded", False)
        [status] = self._pipelines.run(
            {
                "connections": [{"name": "events", "kafka": connection}],
                "sources": [
                    {
                        "name": "changes",
                        "kafka": raw | ({"endingOffsets": "latest"} if bounded else {}),
                        **source,
                    }
                ],
                "views": [{"name": "columns", "sql": view}],
                "queries": [
                    {
                        "name": "merged",
                        "from": "columns",
                        "outputMode": "update",
                        "to": [{"name": "t", "delta": merged}],
                        **({} if bounded else {"trigger": {"availableNow": True}}),
                    }
                ],
            }
        )
        return status.reason, status.message or ""

    def rows(self) -> list[tuple[int, str]]:
        """The table's keys and values, sorted."""
        rows = DeltaTable(str(self._table)).to_pyarrow_table().to_pylist()
        return sorted((row["id"], row["v"]) for row in rows)


FIRST_AND_SECOND = [(key, v) for key in range(20) for v in ("first", "second")]


SOURCES: list[tuple[str, dict[str, Any]]] = [
    ("order.raw", {}),
    ("order.decoded", {"decode": DECODED}),
    ("order.bounded", {"decode": DECODED, "bounded": True}),
]


@pytest.mark.parametrize(("topic", "source"), only(SOURCES, SOURCES[:1]))
def test_the_record_with_the_higher_offset_wins(
    pipelines: Any, kafka: Broker, topic: str, source: dict[str, Any]
) -> None:
    bench = Bench(pipelines, kafka, topic, 1)
    bench.send(FIRST_AND_SECOND)
    assert bench.merge(**source) == (None, "")
    assert bench.rows() == [(key, "second") for key in range(20)]


@pytest.mark.full(
    gate="spark/test_merge_order.py::test_a_batch_fails_if_no_record_is_known_to_be_the_later_one"
)
def test_records_of_two_partitions_have_no_order_so_the_batch_fails_unless_they_are_equal(
    pipelines: Any, kafka: Broker
) -> None:
    bench = Bench(pipelines, kafka, "order.partitions", 2)
    bench.send([(1, "equal"), (2, "only here")], partition=0)
    bench.send([(1, "equal")], partition=1)
    assert bench.merge() == (None, "")
    assert bench.rows() == [(1, "equal"), (2, "only here")]
    bench.send([(1, "a")], partition=0)
    bench.send([(1, "b")], partition=1)
    reason, message = bench.merge()
    assert reason == "MergeKeyRepeated"
    assert message.startswith(
        "two rows of one batch have equal keys (id), equal values of sequenceBy (seq), and no known order"
    )
    assert bench.rows() == [(1, "equal"), (2, "only here")]
