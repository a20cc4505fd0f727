"""Queries that end, and read a topic or a table of a database that other queries of the document write; on real servers."""

from typing import Any

import pytest
from harness import tables
from harness.kafka import Broker
from harness.postgres import Postgres
from mainstem import names
from mainstem.language.model.status.states import QueryState


ENDS = {"trigger": {"availableNow": True}}


@pytest.mark.full(
    gate="spark/test_chains.py::test_a_query_reads_all_rows_of_the_queries_that_write_its_input"
)
def test_a_query_reads_all_that_others_write_to_a_topic_and_a_table(
    pipelines: Any, kafka: Broker, postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three files, one in a batch, so that the writers write several times; the readers come first in the document."""
    monkeypatch.setenv(names.ENV_SECRETS, str(pipelines.folder / "secrets"))
    postgres.secret(pipelines.folder / "secrets", "pg")
    postgres.run("CREATE TABLE chained (value TEXT)")
    kafka.create_topic("chained", 1)
    (pipelines.folder / "raw").mkdir()
    for value in "abc":
        (pipelines.folder / "raw" / value).write_text(value, encoding="utf-8")

    def table(name: str) -> dict[str, Any]:
        return {"name": "table", "delta": {"path": str(pipelines.folder / name)}}

    raw = {"path": str(pipelines.folder / "raw"), "format": "text", "maxFilesPerTrigger": 1}
    topic = {"connection": "events", "subscribe": ["chained"], "startingOffsets": "earliest"}
    statuses = pipelines.run(
        {
            "connections": [
                {"name": "events", "kafka": {"bootstrapServers": kafka.bootstrap_servers}},
                {"name": "shop", "jdbc": {"url": postgres.url, "secretRef": {"name": "pg"}}},
            ],
            "sources": [
                {"name": "raw", "files": raw},
                {"name": "records", "kafka": topic},
                {"name": "rows", "static": {"jdbc": {"connection": "shop", "table": "chained"}}},
            ],
            "queries": [
                {"name": "after-topic", "from": "records", "to": [table("after_topic")], **ENDS},
                {"name": "after-table", "from": "rows", "to": [table("after_table")]},
                {
                    "name": "writer",
                    "from": "raw",
                    "to": [
                        {"name": "topic", "kafka": {"connection": "events", "topic": "chained"}},
                        {"name": "rows", "jdbc": {"connection": "shop", "table": "chained"}},
                    ],
                    **ENDS,
                },
            ],
        }
    )
    assert {status.name: status.state for status in statuses} == dict.fromkeys(
        ("after-topic", "after-table", "writer"), QueryState.COMPLETED
    )
    read = {
        name: sorted(row["value"] for row in tables.records(pipelines.folder / name))
        for name in ("after_topic", "after_table")
    }
    assert read == {
        "after_topic": [b'{"value":"a"}', b'{"value":"b"}', b'{"value":"c"}'],
        "after_table": ["a", "b", "c"],
    }
