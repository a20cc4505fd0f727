"""Compacts and vacuums Delta tables beside their streams: one table at a time, in its own thread and scheduler pool.

Maintenance never ends a query. A compaction moves rows and changes none, so concurrent appends to the table and streams
that read it are not affected. Merges into the same table wait (`dataframes.sinks.merge.exclusive`), because of two
concurrent changes one would fail.
"""

import threading
from contextlib import suppress
from types import TracebackType
from typing import Any, Final, Self

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from mainstem import logs
from mainstem.dataframes.column_names import quote, resolved
from mainstem.dataframes.sinks.merge import absolute_path, exclusive
from mainstem.language.analysis.graph import Graph
from mainstem.language.base import seconds
from mainstem.language.model.connectors.delta import DeltaSink, Optimize, Vacuum
from mainstem.language.requirements import running
from mainstem.runtime.clock import Clock
from mainstem.runtime.failures.classification import classify
from mainstem.runtime.spark.conf import MAINTENANCE_POOL


FIRST: Final = 600.0
"""Maximum number of seconds before the first round, even if `every` is longer: a driver may not live long."""
_RETENTION: Final = "delta.deletedFileRetentionDuration"
_GROUP: Final = "mainstem-maintenance"
_STOP_SECONDS: Final = 10.0


def session_by_path(session: SparkSession) -> SparkSession:
    """A session in which Delta's commands accept the path of a table, which SQL of documents may not use."""
    own = session.newSession()
    own.conf.set("spark.sql.runSQLOnFiles", "true")
    return own


class TableMaintenance:
    """Maintains the tables of the pipeline's sinks with `maintenance`, as long as the context is open.

    Args:
        session: the application's session.
        graph: the graph of the document.
        clock: the time of the run.

    Attributes:
        failures: number of failed rounds.
    """

    def __init__(self, session: SparkSession, graph: Graph, clock: Clock) -> None:
        self._clock = clock
        self._session = session.newSession()
        # Spark's default of 200 tasks takes a minute for the few files of a folder.
        cores = min(session.sparkContext.defaultParallelism, 8)
        self._session.conf.set("spark.sql.shuffle.partitions", str(cores))
        self._session.conf.set("spark.sql.sources.parallelPartitionDiscovery.parallelism", str(cores))
        # By default a compaction works on fifteen files at a time; beside a stream it works on one.
        self._session.conf.set("spark.databricks.delta.optimize.maxThreads", "1")
        self._tables = [
            sink.delta
            for query in running(graph)
            for sink in query.to
            if sink.delta and sink.delta.maintenance
        ]
        self._log = logs.get("mainstem")
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run, name="maintenance", daemon=True)
        self.failures = 0

    def __enter__(self) -> Self:
        if self._tables:
            self._thread.start()
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """Stop, and cancel a running round; a cancelled compaction or vacuum leaves the table unchanged."""
        self._done.set()
        if self._thread.is_alive():
            with suppress(Py4JError, ConnectionError):
                self._session.sparkContext.cancelJobGroup(_GROUP)
            self._thread.join(_STOP_SECONDS)

    def maintain(self, sink: DeltaSink) -> None:
        """Do one round on a table; a failure is only logged and counted."""
        from delta.tables import DeltaTable

        path, settings = absolute_path(sink.path), sink.maintenance
        try:
            if settings is None or not DeltaTable.isDeltaTable(self._session, path):
                return  # no batch has created the table yet
            table = DeltaTable.forPath(self._session, path)
            if settings.optimize:
                with exclusive(path):
                    _optimize(table, settings.optimize)
            if settings.vacuum and not self._done.is_set():
                self._retain(table, path, settings.vacuum)
                table.vacuum()
        except (PySparkException, Py4JError, ConnectionError) as error:
            self._log_failure(path, error)
        else:
            self._log.info("table maintained", table=path)

    def _run(self) -> None:
        context = self._session.sparkContext
        with suppress(Py4JError, ConnectionError):
            context.setJobGroup(_GROUP, "table maintenance")
            context.setLocalProperty("spark.scheduler.pool", MAINTENANCE_POOL)
        now = self._clock.seconds()
        due = [now + min(_every(sink), FIRST) for sink in self._tables]
        while not self._clock.wait(self._done, max(0.0, min(due) - self._clock.seconds())):
            index = due.index(min(due))
            self.maintain(self._tables[index])
            due[index] = self._clock.seconds() + _every(self._tables[index])

    def _retain(self, table: Any, path: str, vacuum: Vacuum) -> None:
        """Set the retention of deleted files as a property of the table, which is the only setting that Delta obeys."""
        interval = f"interval {int(seconds(vacuum.retain))} seconds"
        if table.detail().first()["properties"].get(_RETENTION) != interval:
            with exclusive(path):
                session_by_path(self._session).sql(
                    f"ALTER TABLE delta.{quote(path)} SET TBLPROPERTIES ('{_RETENTION}' = '{interval}')"
                )

    def _log_failure(self, path: str, error: Exception) -> None:
        if self._done.is_set():
            return  # `stop` cancelled the round
        self.failures += 1
        failure = classify(error)
        self._log.warning(
            "table maintenance failed",
            table=path,
            reason=failure.reason,
            error=failure.message,
            failures=self.failures,
        )


def _optimize(table: Any, optimize: Optimize) -> None:
    if optimize.z_order_by:
        rows = table.toDF()
        table.optimize().executeZOrderBy(*(resolved(rows, name) for name in optimize.z_order_by))
    else:
        table.optimize().executeCompaction()


def _every(sink: DeltaSink) -> float:
    return seconds(sink.maintenance.every) if sink.maintenance else FIRST
