"""Writes the record of the document of each query, for the comparison before the next start."""

from collections.abc import Collection, Sequence
from typing import Any, Final

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from mainstem import logs
from mainstem.changes.record import DocumentRecord, part_of
from mainstem.language.analysis.graph import Graph
from mainstem.runtime.checkpoint import document_records
from mainstem.runtime.clock import Clock
from mainstem.runtime.failures.classification import classify
from mainstem.runtime.query.supervised_query import SupervisedQuery


RETRY_SECONDS: Final = 60.0


class DocumentRecorder:
    """Writes the record of each query once it has committed a batch: until then, the earlier document wrote its checkpoint.

    Args:
        session: any session.
        graph: the graph of the document.
        clock: the time of the run.
    """

    def __init__(self, session: SparkSession, graph: Graph, clock: Clock) -> None:
        self._session, self._graph, self._clock = session, graph, clock
        self._written: set[str] = set()
        self._before: dict[str, int | None] | None = None
        self._next_try = 0.0
        self._log: Any = logs.get("mainstem")

    def adopt(self, graph: Graph, kept: Collection[str]) -> None:
        """Take another document.

        Args:
            graph: its graph.
            kept: queries whose plan is that of the document before; their records stay.
        """
        self._graph = graph
        self._written &= set(kept)
        self._before = {}

    def tick(self, queries: Sequence[SupervisedQuery]) -> None:
        """Write the records that are due. If the store does not answer, try again after a minute."""
        for supervised in queries:
            name, status = supervised.query.name, supervised.status
            if name in self._written or self._clock.seconds() < self._next_try:
                continue
            # In a running driver a query continues with the number of the last batch of the document before.
            before = None if self._before is None else self._before.setdefault(name, status.batch)
            if status.batch in (None, before):
                continue
            try:
                self._write(name, status.checkpoint)
            except (PySparkException, Py4JError) as error:
                self._next_try = self._clock.seconds() + RETRY_SECONDS
                self._log.warning(
                    "the document record cannot be written", query=name, error=classify(error).message
                )

    def _write(self, name: str, checkpoint: str) -> None:
        now = self._clock.now().isoformat(timespec="seconds")
        record = DocumentRecord(part_of(self._graph, name), now)
        document_records.write(self._session, checkpoint, record)
        self._written.add(name)
