"""Python code that keeps state: values, lists, maps, timers, both clocks, an initial state; and a restart between batches."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from harness.pipebench import PipeBench
from harness.sampling import only
from harness.waiting import within
from mainstem.errors import NotReady
from mainstem.language.model.queries import STATE_STORES
from mainstem.runtime.failures.classification import classify
from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql import SparkSession


pytestmark = pytest.mark.S23
EVENTS = {
    "files": {"format": "json", "schema": "user STRING, page STRING, at TIMESTAMP"},
    "watermark": {"column": "at", "delay": "0 seconds"},
}
COUNT = {"from": "events", "keys": ["user"], "schema": "user STRING, n BIGINT"}


@pytest.fixture
def bench(spark: SparkSession, tmp_path: Path) -> PipeBench:
    bench = PipeBench(spark, tmp_path, {"events": EVENTS})
    bench.put("events", event("ann", 0), event("ann", 1), event("bob", 2))
    return bench


def event(user: str, second: int, page: str = "/") -> dict[str, Any]:
    return {"user": user, "page": page, "at": f"2026-01-01T00:{second // 60:02}:{second % 60:02}Z"}


COUNTERS = {
    "processor": {"processor": "visits:Counter"},
    "pandas": {"processor": "visits:PandasCounter", "pandas": True},
    "function": {"function": "visits:counted", "stateSchema": "n BIGINT"},
}


@pytest.mark.parametrize("counter", only(COUNTERS, {"pandas"}))
def test_a_value_for_each_key_survives_a_restart(bench: PipeBench, counter: str) -> None:
    view = {"name": "v", "state": COUNT | COUNTERS[counter]}
    assert bench.run(view) == [("ann", 2), ("bob", 1)]
    bench.put("events", event("ann", 3), event("cy", 4))
    assert bench.run(view) == [("ann", 2), ("ann", 3), ("bob", 1), ("cy", 1)]


def test_an_initial_state_applies_before_the_first_row(bench: PipeBench) -> None:
    (bench.folder / "before.json").write_text(
        '{"user": "ann", "n": 10}\n{"user": "dee", "n": 7}\n', encoding="utf-8"
    )
    before = {
        "name": "before",
        "static": {"json": {"path": str(bench.folder / "before.json"), "schema": "user STRING, n BIGINT"}},
    }
    step = COUNT | {
        "processor": "visits:Counter",
        "initialState": {"from": "before"},
        "arguments": {"step": "2"},
    }
    view, sources = {"name": "v", "state": step}, [*bench.sources, before]
    assert bench.run(view, sources=sources) == [("ann", 14), ("bob", 2)]
    bench.put("events", event("dee", 3))
    assert bench.run(view, sources=sources) == [("ann", 14), ("bob", 2), ("dee", 9)]


@pytest.mark.full(gate="spark/test_stateful.py::test_a_timer_fires_by_processing_time")
def test_sessions_of_several_rows_end_by_event_time(bench: PipeBench) -> None:
    step = {"from": "events", "keys": ["user"], "processor": "visits:Sessions", "timeMode": "EventTime"}
    view = {"name": "v", "state": step | {"schema": "user STRING, page STRING, n INT"}}
    bench.put("events", event("ann", 10, "/cart"))
    assert bench.run(view) == []
    bench.put(
        "events", event("bob", 65)
    )  # no timer of the restart is lost: ann's is due at 1:10, bob's at 2:05
    assert bench.run(view) == []
    bench.put("events", event("cy", 71))
    assert bench.run(view) == [("ann", "/", 2), ("ann", "/cart", 1)]


def test_a_timer_fires_by_processing_time(bench: PipeBench) -> None:
    step = {"from": "events", "keys": ["user"], "processor": "visits:Status", "timeMode": "ProcessingTime"}
    view = {
        "name": "v",
        "state": step | {"schema": "user STRING, status STRING", "arguments": {"silence": "500"}},
    }
    wanted = [(user, status) for user in ("ann", "bob") for status in ("offline", "online")]
    with running(bench, view):
        within(60, "both go offline", lambda: bench.rows() == wanted)


@pytest.mark.full(gate="spark/test_stateful.py::test_a_timer_fires_by_processing_time")
def test_a_value_expires_after_its_time_to_live(bench: PipeBench) -> None:
    view = {"name": "v", "state": COUNT | {"processor": "visits:Fleeting", "timeMode": "ProcessingTime"}}
    with running(bench, view):
        within(60, "the first rows", lambda: bench.rows() == [("ann", 2), ("bob", 1)])
        bench.put("events", event("ann", 3))
        within(60, "a count anew", lambda: bench.rows() == [("ann", 1), ("ann", 2), ("bob", 1)])


@pytest.mark.full(gate="spark/test_stateful.py::test_a_function_times_out_by_event_time")
def test_a_function_times_out_by_processing_time(bench: PipeBench) -> None:
    step = (
        COUNT | COUNTERS["function"] | {"timeout": "ProcessingTimeTimeout", "arguments": {"timeout": "300"}}
    )
    wanted = [("ann", -1), ("ann", 2), ("bob", -1), ("bob", 1)]
    with running(bench, {"name": "v", "state": step}):
        within(60, "both time out", lambda: bench.rows() == wanted)


@contextmanager
def running(bench: PipeBench, view: dict[str, Any]) -> Iterator[None]:
    handle = bench.start(view, query={"trigger": {"processingTime": "200 ms"}})
    try:
        yield
    finally:
        handle.stop()


def test_a_function_times_out_by_event_time(bench: PipeBench) -> None:
    step = COUNT | COUNTERS["function"] | {"timeout": "EventTimeTimeout", "arguments": {"timeout": "event"}}
    view = {"name": "v", "state": step}
    assert bench.run(view) == [("ann", 2), ("bob", 1)]
    bench.put("events", event("cy", 300))
    assert bench.run(view) == [("ann", -1), ("ann", 2), ("bob", -1), ("bob", 1), ("cy", 1)]


@pytest.mark.full(gate="spark/test_refusals.py::test_spark_rejects_what_the_rules_reject")
@pytest.mark.parametrize("mode", ["append", "update"])
def test_the_step_uses_the_output_mode_of_the_query(bench: PipeBench, mode: str) -> None:
    sink = {"name": "out", "console": {}}
    view = {"name": "v", "state": COUNT | COUNTERS["processor"]}
    bench.start(view, query={"outputMode": mode, "to": [sink]}).awaitTermination(60)


@pytest.mark.full(gate="unit/test_stream_plans.py::test_a_plan_is_rejected_only_for_its_reason")
def test_an_aggregation_runs_above_state(bench: PipeBench) -> None:
    step = COUNT | COUNTERS["processor"] | {"schema": "user STRING, n BIGINT"}
    views = [{"name": "v", "state": step}, {"name": "all", "sql": "SELECT sum(n) AS n FROM v"}]
    assert bench.run(*views, query={"outputMode": "complete"}) == [(3,)]


def test_unusable_code_is_rejected(bench: PipeBench) -> None:
    faults = {
        "visits:Counters": "FunctionNotFound",
        "visitors:Counter": "ModuleNotFound",
        "visits:Status": "PythonFailed",  # its argument is missing
    }
    for processor, reason in faults.items():
        with pytest.raises(NotReady, match="view 'v': ") as refused:
            bench.start({"name": "v", "state": COUNT | {"processor": processor}})
        assert refused.value.reason == reason


@pytest.mark.full(gate="unit/test_tracebacks.py::test_the_last_line_of_the_innermost_traceback_comes_first")
def test_code_that_fails_in_a_batch_is_reported(bench: PipeBench) -> None:
    with pytest.raises(StreamingQueryException) as failed:
        bench.run({"name": "v", "state": COUNT | {"processor": "visits:Failing"}})
    failure = classify(failed.value)
    assert failure.reason == "PythonFailed"
    assert failure.message.startswith("ValueError: no such user: ")
    assert "visits.py" in failure.message


class Bare:
    """Spark without rules: streams of JSON lines, and a query that appends to Parquet."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.session, self.folder = spark.newSession(), folder
        self.session.conf.set("spark.sql.shuffle.partitions", "1")
        (folder / "events").mkdir()
        (folder / "before").mkdir()

    def put(self, source: str, file: int, text: str) -> None:
        (self.folder / source / f"{file}.json").write_text(text, encoding="utf-8")

    def stream(self, source: str, columns: str) -> Any:
        reader: Any = self.session.readStream.format("json").schema(columns)
        return reader.name(source).load(str(self.folder / source)).groupBy("user")

    def run(self, frame: Any) -> list[tuple[Any, ...]]:
        writer = frame.writeStream.format("parquet").option("checkpointLocation", str(self.folder / "ck"))
        writer.trigger(availableNow=True).start(str(self.folder / "out")).awaitTermination(60)
        rows = self.session.read.schema("user STRING, n BIGINT").parquet(str(self.folder / "out")).collect()
        return sorted(tuple(row) for row in rows)


@pytest.fixture
def bare(spark: SparkSession, tmp_path: Path) -> Bare:
    return Bare(spark, tmp_path)


def test_spark_would_reject_an_event_time_timeout_without_a_watermark(bare: Bare) -> None:
    import visits

    frame = bare.stream("events", "user STRING, at TIMESTAMP").applyInPandasWithState(
        visits.counted, "user STRING, n BIGINT", "n BIGINT", "append", "EventTimeTimeout"
    )
    with pytest.raises(PySparkException, match=r"(?i)watermark"):
        bare.run(frame)


@pytest.mark.full(gate="unit/test_bad_documents.py::test_a_bad_document_is_rejected_with_exactly_these_words")
def test_spark_would_reject_a_processor_with_state_on_the_java_heap(bare: Bare) -> None:
    import visits

    bare.session.conf.set("spark.sql.streaming.stateStore.providerClass", STATE_STORES["hdfs"])
    bare.put("events", 0, '{"user": "ann"}')
    frame = bare.stream("events", "user STRING").transformWithState(
        visits.Counter(), "user STRING, n BIGINT", "append", "None"
    )
    with pytest.raises(PySparkException, match="RocksDB"):
        bare.run(frame)


@pytest.mark.full(gate="unit/test_bad_documents.py::test_a_bad_document_is_rejected_with_exactly_these_words")
def test_spark_would_never_fire_an_event_time_timer_without_a_watermark(bare: Bare) -> None:
    import visits

    for file, minute in enumerate((0, 30)):
        bare.put("events", file, f'{{"user": "u{file}", "page": "/", "at": "2026-01-01T00:{minute:02}:00Z"}}')
        grouped = bare.stream("events", "user STRING, page STRING, at TIMESTAMP")
        frame = grouped.transformWithState(
            visits.Sessions(), "user STRING, page STRING, n INT", "append", "EventTime"
        )
        assert bare.run(frame.selectExpr("user", "cast(n AS BIGINT) AS n")) == []


@pytest.mark.full(gate="unit/test_bad_documents.py::test_a_bad_document_is_rejected_with_exactly_these_words")
def test_spark_would_ignore_later_rows_of_an_initial_state(bare: Bare) -> None:
    import visits

    wanted = [[("ann", 1)], [("ann", 1), ("ann", 2)]]
    for file, rows in enumerate(wanted):
        bare.put("events", file, '{"user": "ann"}')
        before = bare.stream("before", "user STRING, n BIGINT")
        frame = bare.stream("events", "user STRING").transformWithState(
            visits.Counter(), "user STRING, n BIGINT", "append", "None", before
        )
        assert bare.run(frame) == rows
        bare.put("before", file, '{"user": "ann", "n": 10}')
