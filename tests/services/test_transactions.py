"""Records of Kafka's transactions on a real broker: those of aborted ones are never read, of open ones once they are committed."""

from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from harness.kafka import Broker
from harness.supervisor_loop import Stage
from mainstem.language.model.status.states import QueryState
from mainstem.runtime.supervision import topics
from pyspark.sql import SparkSession


pytestmark = [pytest.mark.faults, pytest.mark.timeout(300), pytest.mark.S01]


class Transactions:
    """A producer whose records are in transactions.

    Args:
        kafka: the broker.
        topic: where they go, all to partition 0.
    """

    def __init__(self, kafka: Broker, topic: str) -> None:
        patience = {"transaction.timeout.ms": 600_000}  # the broker aborts what stays open for longer
        self._producer = Producer({**kafka.client, **patience, "transactional.id": f"tests-{topic}"})
        self._producer.init_transactions(30)
        self._topic = topic

    def begin(self, *values: str) -> None:
        """Open a transaction, and see that the broker has its records."""
        self._producer.begin_transaction()
        for value in values:
            self._producer.produce(self._topic, value.encode(), partition=0)
        assert self._producer.flush(30) == 0

    def commit(self) -> None:
        self._producer.commit_transaction(30)

    def abort(self) -> None:
        self._producer.abort_transaction(30)


def test_aborted_records_are_skipped_and_open_transactions_are_read_after_their_commit(
    spark: SparkSession, kafka: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(topics, "ASK_SECONDS", 0.2)
    kafka.create_topic("transactions")
    transactions = Transactions(kafka, "transactions")
    transactions.begin("a", "b")
    transactions.commit()
    transactions.begin("c", "d")
    transactions.abort()
    transactions.begin("e")

    stage = Stage(spark.newSession(), tmp_path)
    source = {"connection": "events", "subscribe": ["transactions"], "startingOffsets": "earliest"}
    sources: dict[str, dict[str, Any]] = {
        "committed": source,
        "all": source | {"isolationLevel": "read_uncommitted"},
        "bounded": source | {"endingOffsets": "latest"},
    }
    document = {
        "connections": [{"name": "events", "kafka": {"bootstrapServers": kafka.bootstrap_servers}}],
        "sources": [{"name": f"{name}_events", "kafka": each} for name, each in sources.items()],
        "views": [
            {"name": f"{name}_values", "sql": f"SELECT CAST(value AS STRING) AS value FROM {name}_events"}
            for name in sources
        ],
        "queries": [stage.query(f"{name}_values", name) for name in sources],
    }

    def values(table: str) -> list[str]:
        return [row["value"] for row in stage.rows(table)]

    with stage.running(**document) as running:
        running.until(lambda: running["to-bounded"].state is QueryState.COMPLETED)
        running.until(lambda: running["to-all"].input_rows == 5)
        running.until(lambda: running["to-committed"].lag == 0 and running["to-all"].lag == 0)
        assert values("all") == ["a", "b", "c", "d", "e"]
        assert values("committed") == values("bounded") == ["a", "b"]
        transactions.commit()
        running.until(lambda: running["to-committed"].input_rows == 3)
        running.until(lambda: running["to-committed"].lag == 0 and running["to-all"].lag == 0)
        assert values("committed") == ["a", "b", "e"]
