"""Queries over static sources: each runs once, ends, and writes the rows of a run once, after any failed attempt."""

import json
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from harness.documents import pipeline_head
from harness.sampling import sampled
from harness.supervisor_loop import Turning
from mainstem.language.document import read_text
from mainstem.language.model.status.query_progress import QueryProgress
from mainstem.language.model.status.states import QueryState
from mainstem.runtime.checkpoint.batch_journal import BatchJournal
from mainstem.runtime.stop import Stop
from mainstem.runtime.supervision.supervisor import Supervisor
from py4j.protocol import Py4JError
from pyspark.sql import SparkSession


pytestmark = [pytest.mark.S05, pytest.mark.S15]

VISITS = "zip,n\na,5\nb,1\na,2\n"
COUNTED = "SELECT zip, sum(CAST(n AS INT)) AS n FROM visits GROUP BY zip"


class Bench:
    """Pipelines over one CSV file, run in the tier's session."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark = spark
        self.folder = folder
        self.put(VISITS)

    def put(self, text: str) -> None:
        """What the file holds from now on."""
        (self.folder / "visits.csv").write_text(text, encoding="utf-8")

    def supervisor(
        self, *queries: dict[str, Any], views: dict[str, str] | None = None, run: str = ""
    ) -> Supervisor:
        """The supervisor of a pipeline with these queries."""
        visits = {
            "name": "visits",
            "static": {"csv": {"path": str(self.folder / "visits.csv"), "header": True}},
        }
        views = {"counted": COUNTED} | (views or {})
        spec = {
            "sources": [visits],
            "views": [{"name": name, "sql": sql} for name, sql in views.items()],
            "queries": [{"state": {"partitions": 1}} | query for query in queries],
            "checkpoints": {"location": str(self.folder / "checkpoints")},
            "restart": {"maxRetries": 1, "backoff": "1 ms"},
        }
        head = pipeline_head("b")
        [document] = read_text(json.dumps(head | {"spec": spec}))
        return Supervisor(self.spark, document.graph, lambda _: None, Stop(), run)

    def run(
        self, *queries: dict[str, Any], views: dict[str, str] | None = None, run: str = ""
    ) -> list[QueryProgress]:
        """Run to the end, and return how the queries stand."""
        supervisor = self.supervisor(*queries, views=views, run=run)
        supervisor.start()
        Turning(supervisor).to_the_end()
        supervisor.close()
        return supervisor.statuses

    def delta(self, name: str) -> list[tuple[Any, ...]]:
        """The rows of a Delta table, sorted."""
        rows = DeltaTable(str(self.folder / name)).to_pyarrow_table().to_pylist()
        return sorted(tuple(row.values()) for row in rows)

    def files(self, name: str) -> list[tuple[Any, ...]]:
        """The rows of all files of a bare folder of Parquet, sorted."""
        tables = [pq.read_table(file) for file in (self.folder / name).glob("*.parquet")]
        return sorted(tuple(row.values()) for table in tables for row in table.to_pylist())

    def query(
        self, source: str, kind: str, name: str = "copy", mode: str = "append", **more: Any
    ) -> dict[str, Any]:
        """A query into a folder called like its sink."""
        sink = {"name": "out", kind: {"path": str(self.folder / kind)} | more}
        return {"name": name, "from": source, "outputMode": mode, "to": [sink]}


@pytest.fixture
def bench(spark: SparkSession, tmp_path: Path) -> Bench:
    return Bench(spark, tmp_path)


@pytest.mark.full(gate="services/test_kafka_sources.py::test_a_bounded_read_ends_with_exact_rows")
def test_a_bounded_query_ends_with_exact_rows_and_runs_again(bench: Bench) -> None:
    query = bench.query("counted", "parquet")
    [status] = bench.run(query)
    assert (status.state, status.batch, status.input_rows) == (QueryState.COMPLETED, 0, 3)
    assert status.id is not None
    assert bench.files("parquet") == [("a", 7), ("b", 1)]
    bench.put("zip,n\nc,9\n")
    [again] = bench.run(query)
    assert (again.state, again.batch, again.input_rows, again.id) == (QueryState.COMPLETED, 1, 1, status.id)
    assert bench.files("parquet") == [("a", 7), ("b", 1), ("c", 9)]
    bench.put("zip,n\n")
    [nothing] = bench.run(query)
    assert (nothing.state, nothing.batch, nothing.input_rows) == (QueryState.COMPLETED, 2, 0)
    assert bench.files("parquet") == [("a", 7), ("b", 1), ("c", 9)]
    assert not (bench.folder / "checkpoints" / "copy" / "1" / "offsets").exists(), "a stream's checkpoint"


def lines(bench: Bench) -> int:
    """How many rows all files of the folder of JSON have."""
    return sum(len(file.read_text().splitlines()) for file in (bench.folder / "json").glob("*.json"))


@pytest.mark.full(
    gate="spark/test_batch_queries.py::test_a_finished_query_waits_for_the_rest_of_the_pipeline"
)
@pytest.mark.S36
@pytest.mark.parametrize("closed", [0, 1, 2])
def test_a_driver_killed_while_its_run_closes_does_not_run_twice(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, closed: int
) -> None:
    """The driver is killed after so many of the two runs have closed, and restarted under the same run name."""
    first, second = bench.query("counted", "parquet"), bench.query("visits", "json", "second")
    close: Callable[[BatchJournal], None] = BatchJournal.close
    with monkeypatch.context() as kill:
        left = [closed]

        def killed(runs: BatchJournal) -> None:
            if not left[0]:
                raise Py4JError("killed")
            left[0] -= 1
            close(runs)

        kill.setattr(BatchJournal, "close", killed)
        with nullcontext() if closed == 2 else pytest.raises(Py4JError, match="killed"):
            bench.run(first, second, run="generation-1-uid")
    bench.put("zip,n\nc,9\n")
    for _ in range(2):
        statuses = bench.run(first, second, run="generation-1-uid")
        assert [(status.state, status.batch) for status in statuses] == [(QueryState.COMPLETED, 0)] * 2
        assert bench.files("parquet") == [("a", 7), ("b", 1)]
        assert lines(bench) == 3
    statuses = bench.run(first, second, run="generation-2-uid")
    assert [(status.state, status.batch) for status in statuses] == [(QueryState.COMPLETED, 1)] * 2
    assert bench.files("parquet") == [("a", 7), ("b", 1), ("c", 9)]
    assert lines(bench) == 4


@pytest.mark.full(
    gate="spark/test_delta_sink.py::test_complete_mode_replaces_the_table_and_its_columns_if_allowed"
)
def test_complete_mode_replaces_the_table(bench: Bench) -> None:
    query = bench.query("sorted", "delta", mode="complete")
    views = {"sorted": "SELECT * FROM visits ORDER BY zip"}
    bench.run(query, views=views)
    bench.put("zip,n\nc,9\n")
    bench.run(query, views=views)
    assert bench.delta("delta") == [("c", "9")]


@pytest.mark.full(gate="spark/test_batch_queries.py::test_a_written_attempt_is_not_written_again")
def test_update_mode_merges_by_keys(bench: Bench) -> None:
    query = bench.query("counted", "delta", mode="update", merge={"keys": ["zip"]})
    bench.run(query)
    bench.put("zip,n\nb,9\nc,9\n")
    bench.run(query)
    assert bench.delta("delta") == [("a", 7), ("b", 9), ("c", 9)]


@pytest.mark.full(gate="services/test_kafka_sources.py::test_a_bounded_read_ends_with_exact_rows")
def test_a_run_without_rows_is_a_run(bench: Bench) -> None:
    bench.put("zip,n\n")
    for number in range(2):
        [status] = bench.run(bench.query("visits", "parquet"))
        assert (status.state, status.batch, status.input_rows) == (QueryState.COMPLETED, number, 0)


class Torn:
    """Ends attempts between the sink's commit and the record that the run is done, as a kill would."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, attempts: int) -> None:
        self.left = attempts
        finish: Callable[[BatchJournal, int], None] = BatchJournal.finish

        def torn(runs: BatchJournal, run: int) -> None:
            if self.left:
                self.left -= 1
                raise Py4JError("killed")
            finish(runs, run)

        monkeypatch.setattr(BatchJournal, "finish", torn)


@pytest.mark.S36
@pytest.mark.parametrize("kind", sampled(["merge", "delta", "parquet"], every=3))
def test_a_written_attempt_is_not_written_again(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    if kind == "merge":
        query = bench.query("counted", "delta", mode="update", merge={"keys": ["zip"]})
    else:
        query = bench.query("visits", kind)
    Torn(monkeypatch, 1)
    [status] = bench.run(query)
    assert (status.state, status.batch, status.restarts) == (QueryState.COMPLETED, 0, 1)
    Torn(monkeypatch, 2)  # the budget is spent: the whole run fails, and is started again
    [failed] = bench.run(query)
    assert failed.state is QueryState.FAILED
    [status] = bench.run(query)
    assert (status.state, status.batch) == (QueryState.COMPLETED, 1)
    if kind == "merge":
        assert bench.delta("delta") == [("a", 7), ("b", 1)]
        assert DeltaTable(str(bench.folder / "delta")).version() == 1, "made, and merged into once"
    elif kind == "delta":
        assert bench.delta("delta") == [
            ("a", "2"),
            ("a", "2"),
            ("a", "5"),
            ("a", "5"),
            ("b", "1"),
            ("b", "1"),
        ]
        assert DeltaTable(str(bench.folder / "delta")).version() == 1
    else:
        assert sorted(parquet(bench)) == ["1", "1", "2", "2", "5", "5"]
        assert bench.spark.read.parquet(str(bench.folder / "parquet")).count() == 6


def parquet(bench: Bench) -> list[str]:
    """Column `n` of every file in the bare folder."""
    files = (bench.folder / "parquet").glob("*.parquet")
    return [value for file in files for value in pq.read_table(file)["n"].to_pylist()]


def left_behind(bench: Bench) -> Path:
    """A file of an attempt that failed."""
    stray = bench.folder / "parquet" / "part-00000-12345678-1234-1234-1234-123456789012-c000.snappy.parquet"
    stray.parent.mkdir(exist_ok=True)
    stray.write_bytes(b"PAR1")
    return stray


@pytest.mark.full(
    gate="spark/test_batch_queries.py::test_a_finished_query_waits_for_the_rest_of_the_pipeline"
)
@pytest.mark.S36
def test_files_of_a_failed_attempt_are_removed(bench: Bench) -> None:
    views = {"late": "SELECT *, assert_true(zip != 'x') AS sound FROM visits"}
    query = bench.query("late", "parquet")
    bench.put("zip,n\na,5\nx,1\n")
    [status] = bench.run(query, views=views)
    assert status.state is QueryState.FAILED
    stray = left_behind(bench)
    bench.put(VISITS)
    bench.run(query, views=views)
    assert not stray.exists()
    assert sorted(parquet(bench)) == ["1", "2", "5"]


@pytest.mark.S36
def test_a_finished_query_waits_for_the_rest_of_the_pipeline(bench: Bench) -> None:
    """A start after a failure continues the run: only unfinished queries run again, without files of their failed attempts."""
    views = {"bad": "SELECT *, assert_true(n != '1') AS sound FROM visits"}
    queries = (bench.query("visits", "json"), bench.query("bad", "parquet", name="bad"))
    done, failed = bench.run(*queries, views=views)
    assert (done.state, failed.state) == (QueryState.COMPLETED, QueryState.FAILED)
    stray = left_behind(bench)
    bench.put("zip,n\nc,9\n")
    done, other = bench.run(*queries, views=views)
    assert (done.state, done.batch, done.input_rows) == (QueryState.COMPLETED, 0, 0)
    assert (other.state, other.batch, other.input_rows) == (QueryState.COMPLETED, 0, 1)
    assert lines(bench) == 3
    assert not stray.exists()
    assert parquet(bench) == ["9"]
    done, other = bench.run(*queries, views=views)
    assert (done.batch, other.batch) == (1, 1)
    assert lines(bench) == 4


@pytest.mark.S32
def test_user_code_that_fails_is_retried(bench: Bench) -> None:
    """A batch's code is called in the driver's own thread, not by way of Java as in a stream."""
    (bench.folder / "flag").touch()
    code = {"foreachBatch": "sinks:fail_once", "arguments": {"flag": str(bench.folder / "flag")}}
    query = {"name": "copy", "from": "visits", "to": [{"name": "out", "python": code}]}
    reports: list[tuple[QueryState, str | None, str | None]] = []
    supervisor = bench.supervisor(query)
    supervisor._changed = lambda statuses: reports.extend((s.state, s.reason, s.message) for s in statuses)
    supervisor.start()
    Turning(supervisor).to_the_end()
    [status] = supervisor.statuses
    assert (status.state, status.batch, status.restarts) == (QueryState.COMPLETED, 0, 1)
    [(_, message)] = {
        (reason, message) for state, reason, message in reports if state is QueryState.RESTARTING
    }
    assert message is not None
    assert message.startswith("RuntimeError: as asked (sinks.py:")
    assert message.endswith(" (sink 'out')")


@pytest.mark.S35
def test_a_query_runs_in_its_pool(bench: Bench) -> None:
    bench.run(bench.query("counted", "delta", name="in-its-pool"))
    assert bench.delta("delta") == [("a", 7), ("b", 1)]
    context, jvm = bench.spark.sparkContext, bench.spark._jvm
    none = context._gateway.new_array(jvm.double, 0)
    stages = context._jsc.sc().statusStore().stageList(None, False, False, none, None)
    as_java = jvm.scala.jdk.javaapi.CollectionConverters.asJava
    pools = {stage.schedulingPool() for stage in as_java(stages)}
    assert "in-its-pool" in pools


@pytest.mark.full(gate="spark/test_interrupt.py::test_the_build_is_interrupted_and_running_queries_are_not")
@pytest.mark.timeout(300)
def test_a_drain_waits_and_a_second_signal_interrupts(bench: Bench) -> None:
    """After an interruption by the second signal, the next start repeats the run."""
    views = {
        "slow": "SELECT zip, n, spent FROM (SELECT *, aggregate(sequence(1, 200000000), 0L, (a, x) -> a + x) AS spent FROM visits)"
    }
    query = bench.query("slow", "delta")
    supervisor = bench.supervisor(query, views=views)
    supervisor.start()
    supervisor._stop.force = supervisor._stop.requested = True
    assert not supervisor.drain()
    [status] = supervisor.statuses
    assert (status.state, status.batch) == (QueryState.INTERRUPTED, None)
    views = {"slow": "SELECT zip, n, 0L AS spent FROM visits"}
    [status] = bench.run(query, views=views)
    assert (status.state, status.batch) == (QueryState.COMPLETED, 0)
    assert len(bench.delta("delta")) == 3
