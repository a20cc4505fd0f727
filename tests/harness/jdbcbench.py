"""Runs a query that writes a PostgreSQL table, over new rows to its end."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mainstem.language.model.connections import JdbcConnection
from mainstem.language.model.connectors.jdbc_sink import JdbcSink
from pyspark.sql import SparkSession

from harness import sparks
from harness.postgres import Postgres


SCHEMA = "id INT, name STRING, price DECIMAL(10,2), at TIMESTAMP, tags ARRAY<STRING>, doc STRING"
COLUMNS = "id int, name text, price numeric(10,2), at timestamptz, tags text[], doc jsonb"
"""A table for rows of `SCHEMA`."""
WriteRows = Callable[..., SparkSession]


class JdbcBench:
    """A folder of rows, and a query from there to a table.

    Args:
        spark: the session.
        postgres: the server, whose credentials are the secret `pg`.
        folder: for rows and checkpoints.
    """

    def __init__(self, spark: SparkSession, postgres: Postgres, folder: Path) -> None:
        self._spark, self._postgres, self._folder = spark, postgres, folder
        self._count = 0
        (folder / "in").mkdir()

    def write(
        self,
        rows: list[dict[str, Any]],
        table: str,
        upsert: list[str] | dict[str, Any] | None = None,
        mode: str = "append",
        sql: str | None = None,
        properties: dict[str, str] | None = None,
        schema: str = SCHEMA,
    ) -> SparkSession:
        """Run the query over further rows; `upsert` has the keys, or all settings."""
        self._count += 1
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (self._folder / "in" / f"{self._count}.json").write_text(lines)
        sink: dict[str, Any] = {"connection": "shop", "table": table}
        if upsert:
            sink["upsert"] = upsert if isinstance(upsert, dict) else {"keys": upsert}
        shop = {"url": self._postgres.url, "secretRef": {"name": "pg"}, "properties": properties or {}}
        files = {"path": f"{self._folder}/in", "format": "json", "schema": schema}
        spec = {
            "connections": [{"name": "shop", "jdbc": shop}],
            "sources": [{"name": "lines", "files": files}],
            "views": [{"name": "v", "sql": sql or "SELECT * FROM lines"}],
            "queries": [
                {"name": "q", "from": "v", "outputMode": mode, "to": [{"name": "t", "jdbc": sink}],
                 "state": {"partitions": 1}},
            ],
            "checkpoints": {"location": f"{self._folder}/checkpoints"},
        }  # fmt: skip
        return sparks.run(self._spark, spec)


def opened(postgres: Postgres, table: str) -> tuple[JdbcSink, JdbcConnection]:
    """A sink of the table, and a connection with the credentials of the secret `pg`."""
    connection = JdbcConnection.model_validate({"url": postgres.url, "secretRef": {"name": "pg"}})
    return JdbcSink.model_validate({"connection": "shop", "table": table}), connection


def staging_tables(postgres: Postgres, table: str) -> int:
    """How many staging tables lie beside a table: other tests of this server have their own."""
    schema = table.partition(".")[0]
    beside = f"schemaname = '{schema}' AND tablename LIKE 'mainstem_staging%'"
    [(count,)] = postgres.run(f"SELECT count(*) FROM pg_tables WHERE {beside}")
    return int(count)
