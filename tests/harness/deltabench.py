"""A pipeline over Delta tables in a folder, run on the tier's session and read back by delta-rs."""

import json
from pathlib import Path
from typing import Any

from deltalake import DeltaTable
from mainstem.dataframes.query import build, start
from mainstem.language.document import read_text
from mainstem.runtime.maintenance.maintenance import session_by_path
from pyspark.sql import SparkSession

from harness import tables


class DeltaBench:
    """Documents of one source and one query, over tables below a folder."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark = spark
        self.folder = folder
        self.conf: dict[str, str] = {}

    def path(self, table: str) -> str:
        """Folder of a table."""
        return str(self.folder / table)

    def put(self, table: str, rows: str) -> None:
        """One more commit to a table: `rows` is the body of a SELECT or of VALUES."""
        frame = self.spark.sql(rows).coalesce(1)
        frame.write.format("delta").mode("append").save(self.path(table))

    def sql(self, statement: str, table: str) -> None:
        """One statement on a table, which it calls `t`."""
        whole = statement.replace(" t ", f" delta.`{self.path(table)}` ", 1)
        session_by_path(self.spark).sql(whole).collect()

    def document(self, source: dict[str, Any], query: dict[str, Any], sql: str | None = None) -> str:
        """The source is called `rows`, the query `copy`; it reads the source, or the SQL over it."""
        whole = {
            "name": "copy",
            "from": "rows" if sql is None else "result",
            "trigger": {"availableNow": True},
            "state": {"partitions": 1},
        }
        spec = {
            "sources": [{"name": "rows", **source}],
            "views": [] if sql is None else [{"name": "result", "sql": sql}],
            "queries": [whole | query],
            "checkpoints": {"location": self.path("checkpoints")},
        }
        api = {"apiVersion": "mainstem.dev/v1alpha1", "kind": "StreamingPipeline"}
        return json.dumps(api | {"metadata": {"name": "bench"}, "spec": spec})

    def run(self, source: dict[str, Any], query: dict[str, Any], sql: str | None = None) -> Any:
        """Run to the end of what is there, on the checkpoint of the runs before; the ended query.

        Raises:
            StreamingQueryException: the query failed.
        """
        return self.run_text(self.document(source, query, sql))

    def run_text(self, text: str) -> Any:
        """As `run`, with the text of a document of one query."""
        [document] = read_text(text)
        graph = document.graph
        [asked] = graph.spec.queries
        session = self.spark.newSession()
        for key, value in self.conf.items():
            session.conf.set(key, value)
        handle = start(session, build(session, graph, asked), asked)
        handle.awaitTermination(120)
        return handle

    def rows(self, table: str, *columns: str) -> list[Any]:
        """What delta-rs reads of a table, sorted: values of one column, or tuples of several."""
        tuples = [tuple(row[name] for name in columns or row) for row in tables.records(self.folder / table)]
        tuples.sort(key=lambda row: [(value is None, value) for value in row])
        return [row[0] if len(row) == 1 else row for row in tuples]

    def history(self, table: str) -> list[str]:
        """The operations of a table, the oldest first."""
        return [entry["operation"] for entry in reversed(DeltaTable(self.path(table)).history())]
