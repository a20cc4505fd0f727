"""Runs a batch query once, in its own thread and scheduler pool."""

import json
import threading
import traceback
import uuid
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any, Final

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from mainstem import logs, reasons
from mainstem.dataframes.batch_query import BatchQuery
from mainstem.dataframes.user_code import code
from mainstem.errors import NotReady
from mainstem.runtime.checkpoint.batch_journal import BatchJournal
from mainstem.runtime.clock import Clock
from mainstem.runtime.failures.classification import LONGEST, Failure, classify, in_sink
from mainstem.runtime.query.drain import DrainOutcome


_INTERRUPT_SECONDS: Final = 15.0
"""Seconds to wait for an interrupted run: user code may ignore the interruption, and ends with the process."""


class BatchRun:
    """A started run of a batch query: the execution of a query that does not stream.

    Args:
        session: the session of the query.
        batch: the query to run.
        journal: the record of the runs of its checkpoint.
        on_progress: takes the progress of the run at its end, as JSON in the format of Spark's streams.
        clock: the time of the pipeline's run.

    Attributes:
        id: the id of the checkpoint.
        run_id: the id of this run.
    """

    def __init__(
        self,
        session: SparkSession,
        batch: BatchQuery,
        journal: BatchJournal,
        on_progress: Callable[[str], None],
        clock: Clock,
    ) -> None:
        self.id, self.run_id = journal.id, str(uuid.uuid4())
        self.last_progress: str | None = None
        self._session, self._batch, self._journal, self._on_progress = session, batch, journal, on_progress
        self._clock = clock
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
        """Why it failed, once it has ended."""
        return self._failure

    def drain(self, interrupt: Callable[[], bool]) -> DrainOutcome:
        """Wait for the end of the run, or interrupt it; the next start repeats an interrupted run."""
        begun = self._clock.seconds()
        while self.active and not interrupt():
            self._thread.join(0.2)
        interrupted = self.active
        patience = self._clock.seconds() + _INTERRUPT_SECONDS
        while self.active and self._clock.seconds() < patience:  # a new job may begin after the cancellation
            self._session.sparkContext.cancelJobGroup(self.run_id)
            self._thread.join(0.5)
        if interrupted:
            self._failure = None
        clean, done = not interrupted and self._failure is None, self._journal.done
        pending = None if clean else 0 if done is None else done + 1
        return DrainOutcome(clean, done, pending, self._clock.seconds() - begun)

    def _run(self) -> None:
        try:
            self._write()
        except (NotReady, PySparkException, Py4JError, ConnectionError) as error:
            self._failure = classify(error)
        except Exception as error:  # noqa: BLE001 - user code in this thread may raise anything
            trace = logs.redact("".join(traceback.format_exception(error)))[-LONGEST:]
            self._failure = in_sink(
                Failure(reasons.PYTHON_FAILED, code.error_line(error), traceback=trace), trace
            )

    def _write(self) -> None:
        began = self._clock.seconds()
        self._own_thread()
        run = self._journal.plan()
        if run is None:
            self._report(self._journal.done, 0, 0, {})
            return
        execution: Any = self._batch.frame._jdf.queryExecution()  # noqa: SLF001
        self._batch.write(self._rows(execution), run)
        self._journal.finish(run)
        rows = sum(_rows_read(self._session, execution.executedPlan()))
        counts = _as_java(self._session, execution.observedMetrics())
        counted = {name: json.loads(row.json()) for name, row in counts.items()}
        self._report(run, rows, int((self._clock.seconds() - began) * 1000), counted)

    def _own_thread(self) -> None:
        """Set what Spark keeps for each thread: the session, the pool, the job group."""
        context, name = self._session.sparkContext, self._batch.query.name
        jvm: Any = self._session._jvm  # noqa: SLF001
        jvm.org.apache.spark.sql.classic.SparkSession.setActiveSession(self._session._jsparkSession)  # noqa: SLF001
        context.setJobGroup(self.run_id, name, interruptOnCancel=True)
        context.setLocalProperty("spark.scheduler.pool", name)
        # Sinks read the checkpoint's id here, as in a batch of a stream.
        context.setLocalProperty("sql.streaming.queryId", self.id)

    def _rows(self, execution: Any) -> DataFrame:
        """The rows of one execution, which keeps the counts of the rows that it read."""
        java: Any = self._session._jsparkSession  # noqa: SLF001
        schema = self._batch.frame._jdf.schema()  # noqa: SLF001
        return DataFrame(java.internalCreateDataFrame(execution.toRdd(), schema, False), self._session)

    def _report(self, run: int | None, rows: int, took: int, counted: dict[str, Any]) -> None:
        # Spark reports a batch with its beginning.
        began = self._clock.now() - timedelta(milliseconds=took)
        self.last_progress = began.isoformat(timespec="milliseconds")
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
    """The number of rows that each leaf of an executed plan read."""
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
