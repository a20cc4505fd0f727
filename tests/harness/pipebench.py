"""Small pipelines over folders of JSON lines, run to the end of what is there in a session of the tier's."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mainstem.dataframes.query import build, start
from mainstem.language.analysis.graph import Graph
from mainstem.language.document import read_text
from pyspark.sql import SparkSession

from harness.documents import pipeline_head


class PipeBench:
    """One pipeline in a folder: its sources are folders of JSON lines, its one query `out` writes a Delta table.

    Args:
        spark: the tier's session; each run has a new one of it.
        folder: an empty folder.
        sources: name -> columns as DDL, or the whole source of the document.
    """

    def __init__(
        self, spark: SparkSession, folder: Path, sources: Mapping[str, str | dict[str, Any]]
    ) -> None:
        self.spark = spark
        self.folder = folder
        self._files = 0
        self.sources = [self._source(name, message) for name, message in sources.items()]

    def put(self, source: str, *rows: dict[str, Any] | str) -> None:
        """One more file for a source."""
        self._files += 1
        lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
        file = self.folder / source / f"{self._files:04}.json"
        file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")

    def graph(self, *views: dict[str, Any], query: dict[str, Any] | None = None, **spec: Any) -> Graph:
        """The checked document; its query reads the last view by default."""
        sink: dict[str, Any] = {"name": "table", "delta": {"path": str(self.folder / "out")}}
        default = {"name": "out", "from": views[-1]["name"] if views else "", "to": [sink]}
        document = {
            **pipeline_head("bench"),
            "spec": {
                "sources": self.sources,
                "views": list(views),
                "queries": [
                    default | {"trigger": {"availableNow": True}, "state": {"partitions": 1}} | (query or {})
                ],
                "checkpoints": {"location": str(self.folder / "checkpoints")},
                **spec,
            },
        }
        [read] = read_text(json.dumps(document))
        return read.graph

    def start(self, *views: dict[str, Any], **more: Any) -> Any:
        """The running query."""
        graph = self.graph(*views, **more)
        [query] = graph.spec.queries
        session = self.spark.newSession()
        return start(session, build(session, graph, query), query)

    def run(self, *views: dict[str, Any], **more: Any) -> list[tuple[Any, ...]]:
        """Run to the end of what is there; the rows of the table, sorted by their text."""
        self.start(*views, **more).awaitTermination(120)
        return self.rows()

    def rows(self) -> list[tuple[Any, ...]]:
        """The rows of the table, read without Spark; none where it is not there yet."""
        from deltalake import DeltaTable

        if not list(self.folder.glob("out/_delta_log/*.json")):
            return []
        table = DeltaTable(self.folder / "out").to_pyarrow_table()
        return sorted((tuple(row.values()) for row in table.to_pylist()), key=str)

    def _source(self, name: str, message: str | dict[str, Any]) -> dict[str, Any]:
        (self.folder / name).mkdir()
        if isinstance(message, dict):
            return {"name": name, **message, "files": {"path": str(self.folder / name), **message["files"]}}
        return {"name": name, "files": {"path": str(self.folder / name), "format": "json", "schema": message}}
