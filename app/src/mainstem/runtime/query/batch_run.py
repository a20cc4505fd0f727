"""One run of a batch query, in a thread and a scheduler pool of its own."""

import json
import threading
import time
import traceback
import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any, Final

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from mainstem import logs
from mainstem.dataframes.batch_query import BatchQuery
from mainstem.dataframes.user_code import code
from mainstem.errors import NotReady
from mainstem.runtime.checkpoint.batch_journal import BatchJournal
from mainstem.runtime.failures.classification import LONGEST, Failure, classify, in_sink
from mainstem.runtime.query.drain import DrainOutcome


_CUT_SECONDS: Final = 15.0
"""A run that is cut may be in code of the user's own, which nothing stops but the end of the process."""


class BatchRun:
    """A started run of a batch query: the execution of a query that does not stream.

    Args:
        session: the query's.
        batch: what to run.
        journal: the runs of its checkpoint.
        told: takes the progress of the run once it is done, as JSON in the words of Spark's streams.

    Attributes:
        id: of the checkpoint.
        run_id: of this attempt.
    """

    def __init__(
        self,
        session: SparkSession,
        batch: BatchQuery,
        journal: BatchJournal,
        on_progress: Callable[[str], None],
    ) -> None:
        self.id, self.run_id = journal.id, str(uuid.uuid4())
        self.last_progress: str | None = None
        self._session, self._batch, self._journal, self._on_progress = session, batch, journal, on_progress
        self._failure: Failure | None = None
        self._thread = threading.Thread(target=self._run, name=f"batch-{batch.query.name}", daemon=True)
        self._thread.start()

    @property
    def active(self) -> bool:
        """Whether it runs."""
        return self._thread.is_alive()

    @property
    def waiting(self) -> bool | None:
        """Whether it waits for data: never."""
        return False

    @property
    def message(self) -> str:
        """The current activity."""
        return "Running a batch"

    def failure(self) -> Failure | None:
        """Why it failed, once it is over."""
        return self._failure

    def drain(self, deadline: float, force: Callable[[], bool]) -> DrainOutcome:
        """Wait for the end of the run, or interrupt it at the deadline; an interrupted run is tried again at the next
        start.
        """
        begun = time.monotonic()
        while self.active and time.monotonic() < deadline and not force():
            self._thread.join(0.2)
        cut = self.active
        patience = time.monotonic() + _CUT_SECONDS
        while self.active and time.monotonic() < patience:  # a job of it may only just begin
            self._session.sparkContext.cancelJobGroup(self.run_id)
            self._thread.join(0.5)
        if cut:
            self._failure = None
        clean, done = not cut and self._failure is None, self._journal.done
        pending = None if clean else 0 if done is None else done + 1
        return DrainOutcome(clean, done, pending, time.monotonic() - begun)

    def _run(self) -> None:
        try:
            self._write()
        except (NotReady, PySparkException, Py4JError, ConnectionError) as error:
            self._failure = classify(error)
        except Exception as error:  # noqa: BLE001 - the user's own code, called in this thread, may raise anything
            trace = logs.redact("".join(traceback.format_exception(error)))[-LONGEST:]
            self._failure = in_sink(Failure("PythonFailed", code.error_line(error), traceback=trace), trace)

    def _write(self) -> None:
        began = time.monotonic()
        self._own_thread()
        run = self._journal.plan()
        if run is None:
            self._tell(self._journal.done, 0, 0, {})
            return
        execution: Any = self._batch.frame._jdf.queryExecution()  # noqa: SLF001
        self._batch.write(self._rows(execution), run)
        self._journal.finish(run)
        rows = sum(_rows_read(self._session, execution.executedPlan()))
        counts = _as_java(self._session, execution.observedMetrics())
        counted = {name: json.loads(row.json()) for name, row in counts.items()}
        self._tell(run, rows, int((time.monotonic() - began) * 1000), counted)

    def _own_thread(self) -> None:
        """What Spark keeps by thread: the session, the pool, the group of its jobs."""
        context, name = self._session.sparkContext, self._batch.query.name
        jvm: Any = self._session._jvm  # noqa: SLF001
        jvm.org.apache.spark.sql.classic.SparkSession.setActiveSession(self._session._jsparkSession)  # noqa: SLF001
        context.setJobGroup(self.run_id, name, interruptOnCancel=True)
        context.setLocalProperty("spark.scheduler.pool", name)
        # Where sinks look for the checkpoint's id, as in a batch of a stream.
        context.setLocalProperty("sql.streaming.queryId", self.id)

    def _rows(self, execution: Any) -> DataFrame:
        """The rows of the relation behind one execution of ours, which knows what it read and counted."""
        java: Any = self._session._jsparkSession  # noqa: SLF001
        schema = self._batch.frame._jdf.schema()  # noqa: SLF001
        return DataFrame(java.internalCreateDataFrame(execution.toRdd(), schema, False), self._session)

    def _tell(self, run: int | None, rows: int, took: int, counted: dict[str, Any]) -> None:
        self.last_progress = datetime.now(UTC).isoformat(timespec="milliseconds")
        progress = {
            "name": self._batch.query.name,
            "id": self.id,
            "runId": self.run_id,
            "batchId": run,
            "timestamp": self.last_progress,
            "numInputRows": rows,
            "processedRowsPerSecond": rows * 1000 / took if took else 0.0,
            "batchDuration": took,
            "durationMs": {"addBatch": took},
            "observedMetrics": counted,
        }
        self._on_progress(json.dumps(progress))


def _rows_read(session: SparkSession, plan: Any) -> Iterator[int]:
    """Rows that each leaf of an executed plan gave."""
    kind = plan.getClass().getSimpleName()
    if kind == "AdaptiveSparkPlanExec":
        yield from _rows_read(session, plan.executedPlan())
    elif kind.endswith("QueryStageExec"):
        yield from _rows_read(session, plan.plan())
    elif children := list(_as_java(session, plan.children())):
        for child in children:
            yield from _rows_read(session, child)
    elif metric := _as_java(session, plan.metrics()).get("numOutputRows"):
        yield int(metric.value())


def _as_java(session: SparkSession, collection: Any) -> Any:
    jvm: Any = session._jvm  # noqa: SLF001
    return jvm.scala.jdk.javaapi.CollectionConverters.asJava(collection)
