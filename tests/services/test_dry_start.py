"""A dry start makes no topic and no table on real servers, and takes a topic that the document itself writes for present."""

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from harness.kafka import Broker
from harness.postgres import Postgres
from harness.supervisor_loop import Stage
from mainstem import names
from mainstem.checkpoints.owner import DriverIdentity
from mainstem.language.analysis.graph import Graph
from mainstem.runtime import dry_start
from mainstem.runtime.clock import Clock
from mainstem.runtime.preflight.inputs import Absent
from pyspark.sql import SparkSession


pytestmark = [pytest.mark.S35, pytest.mark.timeout(600)]


@pytest.fixture
def spec(
    kafka: Broker, postgres: Postgres, table: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> dict[str, Any]:
    """A query that writes a topic which does not exist, and one that reads it into a table."""
    postgres.secret(tmp_path / "secrets", "pg")
    monkeypatch.setenv(names.ENV_SECRETS, str(tmp_path / "secrets"))
    postgres.run(f"CREATE TABLE {table} (value bytea)")
    (tmp_path / "in").mkdir()
    topic = f"dry-{tmp_path.name.replace('_', '-')}"
    shop = {"url": postgres.url, "secretRef": {"name": "pg"}}
    return {
        "connections": [
            {"name": "events", "kafka": {"bootstrapServers": kafka.bootstrap_servers}},
            {"name": "shop", "jdbc": shop},
        ],
        "sources": [
            {"name": "lines", "files": {"path": f"{tmp_path}/in"}},
            {"name": "made", "kafka": {"connection": "events", "subscribe": [topic]}},
        ],
        "views": [{"name": "values", "sql": "SELECT value FROM made"}],
        "queries": [
            {
                "name": "make",
                "from": "lines",
                "to": [
                    {"name": "t", "kafka": {"connection": "events", "topic": topic, "valueColumn": "value"}}
                ],
            },
            {
                "name": "store",
                "from": "values",
                "to": [{"name": "t", "jdbc": {"connection": "shop", "table": table}}],
            },
        ],
    }


def dry(stage: Stage, spec: dict[str, Any], running: Graph | None = None) -> dict[str, Absent | None]:
    document = stage.document(**spec)
    return dry_start.run(
        document, lambda *_: nullcontext(stage.spark), DriverIdentity("staged"), Clock(), running
    )


def test_no_topic_and_no_table_is_made(
    spark: SparkSession,
    kafka: Broker,
    postgres: Postgres,
    table: str,
    spec: dict[str, Any],
    tmp_path: Path,
) -> None:
    stage = Stage(spark.newSession(), tmp_path)
    running = stage.document(
        **{**spec, "queries": [spec["queries"][0], {**spec["queries"][1], "from": "lines"}]}
    )
    assert dry(stage, spec, running.graph) == {"make": None, "store": None}
    assert spec["sources"][1]["kafka"]["subscribe"][0] not in kafka.admin().list_topics(timeout=30).topics
    schema = table.partition(".")[0]
    assert postgres.run(f"SELECT tablename FROM pg_tables WHERE schemaname = '{schema}'") == [("orders",)]
