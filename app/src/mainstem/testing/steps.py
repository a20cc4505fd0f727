"""Runs the cases of a test file on local Spark: adds rows, waits for every query, and compares the results."""

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.streaming import StreamingQuery
from pyspark.sql.types import StructType

from mainstem import reasons
from mainstem.dataframes.user_code import functions
from mainstem.dataframes.views.builder import Builder
from mainstem.errors import MainstemError, NotReady
from mainstem.language.analysis.graph import Graph
from mainstem.language.loading.shape_validation import nearest_of
from mainstem.runtime.failures.classification import classify
from mainstem.runtime.spark import scratch
from mainstem.testing.cases import Case, Step
from mainstem.testing.compare import difference
from mainstem.testing.files import Suite
from mainstem.testing.inputs import GivenFiles
from mainstem.testing.report import CaseOutcome, StepMismatch


STEP_SECONDS: Final = 120.0
"""The longest duration of a step, because the user's own code may hang."""
_NULLS: Final = {"ignoreNullFields": "false"}


@dataclass
class _Watched:
    """A query that runs for a test, with its rows of the current step.

    Attributes:
        name: the name of the query or of the relation.
        schema: the columns.
        complete: whether the output mode is complete.
        handle: Spark's query; None if the relation does not stream.
        table: the rows of a relation that does not stream.
        rows: the rows of the current step.
        last_batch: the last batch whose dropped rows are counted.
    """

    name: str
    schema: StructType
    complete: bool
    handle: Any = None
    table: DataFrame | None = None
    rows: list[dict[str, Any]] = field(default_factory=list)
    last_batch: int = -1

    def take(self, batch: DataFrame, _batch_id: int) -> None:
        new_rows = [json.loads(row[0]) for row in batch.select(F.to_json(F.struct("*"), _NULLS)).collect()]
        self.rows = new_rows if self.complete else self.rows + new_rows

    def dropped(self) -> int:
        """The number of rows that the watermark dropped in the batches since the last call."""
        count = 0
        for progress in self.handle.recentProgress if self.handle else ():
            if progress["batchId"] > self.last_batch and "addBatch" in progress["durationMs"]:
                count += sum(op["numRowsDroppedByWatermark"] for op in progress["stateOperators"])
                self.last_batch = progress["batchId"]
        return count


def run(suite: Suite, spark: SparkSession, on_outcome: Callable[[CaseOutcome], None]) -> list[CaseOutcome]:
    """Run every case, each with an empty checkpoint; calls `on_outcome` after each case."""
    outcomes = []
    for index, case in enumerate(suite.tests.cases):
        start = time.monotonic()
        failures = _case(suite, case, spark)
        outcome = CaseOutcome(
            str(suite.file), suite.line(index), case.name, time.monotonic() - start, failures
        )
        on_outcome(outcome)
        outcomes.append(outcome)
    return outcomes


def _case(suite: Suite, case: Case, spark: SparkSession) -> tuple[StepMismatch, ...]:
    with scratch.folder() as folder:
        return _case_in(folder, suite, case, spark)


def _case_in(folder: Path, suite: Suite, case: Case, spark: SparkSession) -> tuple[StepMismatch, ...]:
    graph = suite.document.graph
    given = GivenFiles(
        spark, folder / "given", suite.tests.schemas, dict(suite.tests.tables) | dict(case.tables)
    )
    (folder / "given").mkdir()
    number = 1
    try:
        with _started(spark, graph, given, case, folder) as watched:
            for number, step in enumerate(case.steps, start=1):
                for query in watched.values():
                    query.rows = []  # the queries run, and read each file as soon as it is there
                for name, rows in step.given.items():
                    given.put(graph.sources[name], rows, number)
                if failures := _step(spark, step, number, watched):
                    return failures
    except MainstemError as error:
        return (StepMismatch(number, error.message, error.remedy, error.reason),)
    except (PySparkException, Py4JError) as error:
        failure = classify(error)
        return (StepMismatch(number, failure.message, "", failure.reason),)
    return ()


@contextmanager
def _started(
    spark: SparkSession, graph: Graph, given: GivenFiles, case: Case, folder: Path
) -> Iterator[dict[str, _Watched]]:
    """A running query for each query and relation that the case checks, by name; a relation's key starts with `relation:`."""
    watched: dict[str, _Watched] = {}
    try:
        for name, relation, mode in _wanted(graph, case):
            watched[name] = _start(
                spark.newSession(), graph, given, name, relation, mode, folder / f"checkpoint-{len(watched)}"
            )
        yield watched
    finally:
        for query in watched.values():
            if query.handle:
                query.handle.stop()


def _wanted(graph: Graph, case: Case) -> Iterator[tuple[str, str, str]]:
    """(name, relation, output mode) of what a case checks; a relation has the output mode of the first query over it."""
    queries = {query.name: query for query in graph.spec.queries}
    names = dict.fromkeys(
        name for step in case.steps for name in (*step.expect.queries, *step.expect.dropped)
    )
    for name in names:
        yield name, queries[name].from_, queries[name].output_mode
    for relation in dict.fromkeys(name for step in case.steps for name in step.expect.relations):
        over = [q.output_mode for q in graph.spec.queries if relation in graph.closure(q.from_)]
        plain = graph.aggregated(relation) is False
        yield f"relation:{relation}", relation, "append" if plain or not over else over[0]


def _start(
    session: SparkSession,
    graph: Graph,
    given: GivenFiles,
    name: str,
    relation: str,
    mode: str,
    checkpoint: Path,
) -> _Watched:
    session.conf.set("spark.sql.shuffle.partitions", "1")
    functions.register(session, graph)
    steps_mode = "append" if mode == "complete" else mode
    frame = Builder(session, graph, given, output_mode=steps_mode).relation(relation)
    watched = _Watched(name, frame.schema, complete=mode == "complete")
    if not frame.isStreaming:
        watched.table = frame
        return watched
    writer = frame.writeStream.outputMode(mode).foreachBatch(watched.take)
    watched.handle = writer.option("checkpointLocation", str(checkpoint)).start()
    return watched


def _step(
    spark: SparkSession, step: Step, number: int, watched: Mapping[str, _Watched]
) -> tuple[StepMismatch, ...]:
    deadline = time.monotonic() + STEP_SECONDS
    for query in watched.values():
        if query.handle:
            _finish(query.handle, deadline)
        elif query.table is not None and number == 1:  # it runs once
            query.take(query.table, 0)
    failures = []
    relations = {f"relation:{name}": rows for name, rows in step.expect.relations.items()}
    for name, rows in [*relations.items(), *step.expect.queries.items()]:
        subject = name.removeprefix("relation:")
        different = difference(_shaped(spark, subject, rows, watched[name].schema), watched[name].rows)
        if different:
            kind = "the relation" if name in relations else "the query"
            failures.append(
                StepMismatch(number, f"{kind} {subject!r} differs (- expected, + found)", different)
            )
    dropped = {name: query.dropped() for name, query in watched.items()}
    for name, count in step.expect.dropped.items():
        if dropped[name] != count:
            message = f"the query {name!r} dropped {dropped[name]} late rows, {count} are expected"
            failures.append(StepMismatch(number, message, ""))
    return tuple(failures)


def _finish(query: StreamingQuery, deadline: float) -> None:
    """Wait until the query has processed all input, including the batches without data that advance a watermark."""
    raised: list[BaseException] = []

    def process() -> None:
        try:
            query.processAllAvailable()
        except BaseException as error:  # noqa: BLE001 - handed to the thread that waits
            raised.append(error)

    thread = threading.Thread(target=process, daemon=True)
    thread.start()
    thread.join(max(0.1, deadline - time.monotonic()))
    if thread.is_alive():
        raise NotReady(f"the step has not finished within {STEP_SECONDS:g} s", reason=reasons.STEP_TIMEOUT)
    if raised:
        raise raised[0]


def _shaped(
    spark: SparkSession, name: str, rows: tuple[dict[str, Any], ...], schema: StructType
) -> list[dict[str, Any]]:
    """The expected rows, with their values as Spark shows values of the relation's types."""
    for row in rows:
        for column in row:
            if column not in schema.fieldNames():
                message = f"{name!r} has no column {column!r}{nearest_of(column, schema.fieldNames())}"
                raise NotReady(message, reason=reasons.UNKNOWN_COLUMN)
    if not rows:
        return []
    texts = spark.createDataFrame([(json.dumps(row),) for row in rows], "row STRING").coalesce(1)
    shaped = texts.select(F.to_json(F.from_json("row", schema, {"mode": "FAILFAST"}), _NULLS)).collect()
    return [
        {column: json.loads(shaped_row[0])[column] for column in row}
        for row, shaped_row in zip(rows, shaped, strict=True)
    ]
