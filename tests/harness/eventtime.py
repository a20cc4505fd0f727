"""Streams of JSON files, one file a batch, and the results of queries over them."""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mainstem.dataframes.query import build, start
from mainstem.language.analysis.occurrences import occurrence_names
from mainstem.language.document import read_text
from mainstem.language.model.status.query_progress import QueryProgress
from mainstem.runtime.progress.spark_progress import updated
from pyspark.sql import SparkSession

from harness.documents import pipeline_head


SCHEMA = "k STRING, ts TIMESTAMP, v INT"


@dataclass(frozen=True)
class Result:
    """The result of one query.

    Attributes:
        rows: all that it wrote, as texts, sorted; in complete mode the last batch.
        status: the status from its progress.
    """

    rows: list[str]
    status: QueryProgress


class Streams:
    """Sources by name, each a list of batches of rows `key time value`, and views over them.

    Args:
        session: the tier's session.
        folder: an empty folder.
    """

    def __init__(self, session: SparkSession, folder: Path) -> None:
        self._session = session
        self._folder = folder
        self._sources: list[dict[str, Any]] = []
        self._files = 0

    def stream(self, name: str, delay: str | None, *batches: str) -> None:
        """A source; a row is `key time value`, rows of a batch are parted by commas."""
        files = {
            "path": str(self._folder / name),
            "format": "json",
            "schema": SCHEMA,
            "maxFilesPerTrigger": 1,
        }
        source: dict[str, Any] = {"name": name, "files": files}
        if delay:
            source["watermark"] = {"column": "ts", "delay": delay}
        self._sources.append(source)
        (self._folder / name).mkdir()
        for batch in batches:
            self.put(name, batch)

    def put(self, name: str, batch: str) -> None:
        """One more batch."""
        self._files += 1
        rows = [row.split() for row in batch.split(",")]
        lines = [
            json.dumps({"k": key, "ts": _moment(time), "v": int(value[0]) if value else 0})
            for key, time, *value in rows
        ]
        path = self._folder / name / f"{self._files}.json"
        path.write_text("\n".join(lines), encoding="utf-8")
        os.utime(path, (1_700_000_000 + self._files, 1_700_000_000 + self._files))  # read in this order

    def table(self, name: str, *rows: dict[str, Any], schema: str) -> None:
        """A static source, or its new content."""
        path = self._folder / f"{name}.json"
        path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
        if name not in {source["name"] for source in self._sources}:
            self._sources.append({"name": name, "static": {"json": {"path": str(path), "schema": schema}}})

    def run(self, *queries: dict[str, Any], views: dict[str, Any], sink: str = "memory") -> dict[str, Result]:
        """Run queries side by side to the end of what is there."""
        document = {
            **pipeline_head("event-time"),
            "spec": {
                "sources": self._sources,
                "views": [
                    {"name": name} | (view if isinstance(view, dict) else {"sql": view})
                    for name, view in views.items()
                ],
                "queries": [
                    {
                        "to": [{"name": "out", "noop": {}}],
                        "trigger": {"availableNow": True},
                        "state": {"partitions": 1},
                    }
                    | query
                    for query in queries
                ],
                "checkpoints": {"location": str(self._folder / "checkpoints")},
            },
        }
        [read] = read_text(json.dumps(document))
        graph = read.graph
        running = []
        for query in graph.spec.queries:
            session = self._session.newSession()
            stream: Any = build(session, graph, query)
            writer = stream.format(sink)
            if sink != "memory":
                writer = writer.option("path", str(self._folder / "out" / query.name))
            running.append((query, session, start(session, writer, query)))
        results = {}
        for query, session, handle in running:
            handle.awaitTermination(180)
            status = QueryProgress(query.name)
            names = [name for name, _ in occurrence_names(graph, query.from_)]
            for progress in handle.recentProgress:
                status = updated(status, json.loads(progress.json), names)
            table = (
                session.table(f"`{query.name}`")
                if sink == "memory"
                else session.read.format(sink).load(str(self._folder / "out" / query.name))
            )
            rows = sorted(" ".join(map(_text, row)) for row in table.collect())
            results[query.name] = Result(rows, status)
        return results


def _moment(time: str) -> str:
    """`26:30` is half past two on the second day."""
    hours, _, minutes = time.partition(":")
    return f"2026-01-{1 + int(hours) // 24:02}T{int(hours) % 24:02}:{minutes}:00Z"


def _text(value: Any) -> str:
    return "-" if value is None else str(value)
