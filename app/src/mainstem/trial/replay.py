"""Processes the planned batches of one query on a copy of its checkpoint, and writes the rows to a scratch table."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from mainstem import logs, reasons
from mainstem.dataframes import query as build
from mainstem.dataframes.sinks.sink_checks import misfits
from mainstem.errors import NotReady, SpecInvalid
from mainstem.language.analysis.graph import Graph
from mainstem.language.document import Document
from mainstem.language.model.queries import Query
from mainstem.language.model.status.query_progress import QueryProgress
from mainstem.runtime.progress.spark_progress import updated
from mainstem.runtime.query.analysis import Analysis
from mainstem.trial import forks
from mainstem.trial.forks import Plans
from mainstem.trial.outcome import SideResult
from mainstem.trial.tables import as_cells, named_types


@dataclass(frozen=True)
class Side:
    """One document in the trial of a query.

    Attributes:
        name: `old` or `new`.
        document: the document.
        graph: the document without effects, with the copies of the checkpoints.
        rows: the folder of the scratch tables.
    """

    name: str
    document: Document
    graph: Graph
    rows: Path

    def table(self, query: Query) -> Path:
        """The scratch table with the rows of a query."""
        return self.rows / query.name

    def checkpoint(self, query: Query) -> Path:
        """The copy of a query's checkpoint."""
        return Path(build.checkpoint(self.graph, query))


def replay(
    spark: SparkSession, side: Side, name: str, plans: Plans, *, sequence: Sequence[str]
) -> SideResult:
    """Process the batches of the plans, one by one, each with its own range of input.

    Args:
        spark: any session.
        side: the document.
        name: name of the query.
        plans: the batches.
        sequence: the column that orders the rows of a key, if the sink has one.

    Raises:
        AnalysisException, Py4JError, StreamingQueryException: Spark refuses the query, or a batch fails.
        SpecInvalid: a sink names a column that the query does not have.
        NotReady: something that the query needs is missing.
    """
    query = next(each for each in side.graph.spec.queries if each.name == name)
    session = spark.newSession()
    status, columns = QueryProgress(name), {}
    durations: list[int] = []
    guard = Analysis(side.graph, side.document.problem).part
    log = logs.get("mainstem").bind(query=name, document=side.name)
    log.info("trial begins", batches=len(plans.texts))
    for number, text in enumerate(plans.texts, start=plans.base + 1):
        frame = build.relation(session, side.graph, query, guard)
        _check_sinks(side.document, name, frame)
        build.check_stream(frame, query)
        columns = named_types(frame)
        forks.plan_next(side.checkpoint(query), number, text)
        status = _batch(session, side, query, frame, status, sequence)
        _check_committed(side.checkpoint(query), number)
        durations.append(status.batch_duration_ms or 0)
    rows = spark.read.parquet(str(side.table(query))).count()
    return _result(columns, rows, durations, status)


def _check_sinks(document: Document, name: str, frame: DataFrame) -> None:
    """Check the sinks of the document, although the trial does not write to them."""
    query = next(each for each in document.pipeline.spec.queries if each.name == name)
    if problems := misfits(document.graph, query, frame):
        raise document.located(SpecInvalid(problems))


def _batch(
    session: SparkSession,
    side: Side,
    query: Query,
    frame: DataFrame,
    status: QueryProgress,
    sequence: Sequence[str],
) -> QueryProgress:
    """Process the one planned batch; the trigger `once` plans no further batch."""
    write = partial(_write, str(side.table(query)), sequence)
    stream = frame.writeStream.queryName(query.name).outputMode(query.output_mode).trigger(once=True)
    writer = stream.option("checkpointLocation", str(side.checkpoint(query))).foreachBatch(write)
    execution = build.start(session, writer, query)
    try:
        execution.awaitTermination()
    finally:
        execution.stop()
    occurrences = build.occurrences(writer)
    for progress in execution.recentProgress:
        status = updated(status, json.loads(progress.json), occurrences)
    return status


def _write(table: str, sequence: Sequence[str], batch: DataFrame, number: int) -> None:
    as_cells(batch, number, sequence).write.mode("append").parquet(table)


def _check_committed(checkpoint: Path, number: int) -> None:
    if not (checkpoint / "commits" / str(number)).exists():
        raise NotReady(
            f"Spark has not processed the planned batch {number} of the copy {checkpoint}",
            reason=reasons.NOT_READY,
        )


def _result(columns: dict[str, str], rows: int, durations: list[int], status: QueryProgress) -> SideResult:
    return SideResult(
        columns=columns,
        rows=rows,
        batch_ms=tuple(durations),
        state_rows=status.state_rows,
        state_bytes=status.state_bytes,
        dropped=status.dropped_by_watermark,
        malformed={source.name: source.malformed for source in status.sources if source.malformed},
        tombstones={source.name: source.tombstones for source in status.sources if source.tombstones},
        violated={f"{each.view}/{each.name}": each.violated for each in status.expectations if each.violated},
    )
