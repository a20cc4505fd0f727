"""Counts files that expired before their batch read them, with the counters of Mainstem's jar."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pyspark.sql import SparkSession

from mainstem import logs
from mainstem.language.analysis.graph import Graph
from mainstem.language.model.status.query_progress import QueryProgress


class ExpiredFiles:
    """Counts the expired files of sources with `failOnDataLoss: false`, and logs each file once.

    Args:
        session: the application's session.
        graph: the graph of the document.
    """

    def __init__(self, session: SparkSession, graph: Graph) -> None:
        sources = graph.spec.sources
        self._sources = {s.name for s in sources if s.files and not s.files.fail_on_data_loss}
        self._session = session
        self._named: dict[tuple[str, str], set[str]] = {}
        self._log = logs.get("mainstem")

    def count(self, status: QueryProgress, occurrences: Mapping[str, str]) -> QueryProgress:
        """The status with the number of expired files of each source.

        Args:
            status: the status of the query, with Spark's id.
            occurrences: name of each occurrence -> the source's name.
        """
        if not self._sources & set(occurrences.values()) or status.id is None:
            return status
        registry: Any = self._session._jvm.dev.mainstem.files.ExpiredFiles  # noqa: SLF001
        counted = []
        for source in status.sources:
            if occurrences.get(source.name) not in self._sources:
                counted.append(source)
                continue
            expired = registry.paths(status.id, source.name)
            count = int(expired.size())
            if count > source.expired:  # each path costs a call of the JVM
                self._name(status.name, source.name, {str(path) for path in expired})
            counted.append(replace(source, expired=count))
        return replace(status, sources=tuple(counted))

    def _name(self, query: str, source: str, paths: set[str]) -> None:
        named = self._named.setdefault((query, source), set())
        for path in sorted(paths - named):
            self._log.warning("a file has expired", query=query, source=source, file=path)
        named |= paths
