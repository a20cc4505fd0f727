"""Kafka to Kafka without batches in between: real-time, continuous and asynchronous progress tracking."""

import json
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from harness.checkpoints import blocking_problems
from harness.documents import pipeline_head
from harness.kafka import Broker
from harness.records import Record
from harness.supervisor_loop import Stage, Turning
from mainstem.dataframes.query import build, start
from mainstem.errors import NotReady
from mainstem.language.analysis.eligibility import obstacles
from mainstem.language.analysis.graph import Graph
from mainstem.language.model.pipeline import StreamingPipeline
from mainstem.language.model.status.query_progress import QueryProgress
from mainstem.language.model.status.states import QueryState
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession


pytestmark = [pytest.mark.S34, pytest.mark.timeout(300)]
REAL_TIME = {"outputMode": "update", "trigger": {"realTime": "5 seconds"}}


def beside(interval: str) -> dict[str, Any]:
    return {"asyncProgressTracking": {"checkpointInterval": interval}}


class Line:
    """A pipeline from one topic to another."""

    def __init__(
        self, spark: SparkSession, kafka: Broker, folder: Path, name: str, partitions: int = 2
    ) -> None:
        self.stage, self.kafka, self.folder, self.name = (
            Stage(spark.newSession(), folder),
            kafka,
            folder,
            name,
        )
        kafka.create_topic(f"{name}-in", partitions=partitions)
        kafka.create_topic(f"{name}-out")
        self.sent = 0

    def running(
        self, view: dict[str, Any] | None = None, source: dict[str, Any] | None = None, **how: Any
    ) -> AbstractContextManager[Turning]:
        """The line with a trigger, until it is drained; its view and its source may be others than the plain ones."""
        servers = {"bootstrapServers": self.kafka.bootstrap_servers, "properties": {"linger.ms": "0"}}
        read = {"connection": "events", "subscribe": [f"{self.name}-in"], "startingOffsets": "earliest"}
        written = {"connection": "events", "topic": f"{self.name}-out"}
        return self.stage.running(
            connections=[{"name": "events", "kafka": servers}],
            sources=[{"name": "raw", "kafka": read} | (source or {})],
            views=[{"name": "texts"} | (view or {"sql": "SELECT CAST(value AS STRING) AS n FROM raw"})],
            queries=[
                {"name": "forward", "from": "texts", "to": [{"name": "topic", "kafka": written}], **how}
            ],
        )

    def send(self, count: int) -> None:
        """Numbers in turn to both partitions."""
        for number in range(self.sent, self.sent + count):
            self.kafka.produce(f"{self.name}-in", [Record(None, str(number).encode(), partition=number % 2)])
        self.sent += count

    def came(self) -> list[int]:
        values = [record.value for record in self.kafka.consume_all(f"{self.name}-out")]
        return sorted(int(value[6:-2]) for value in values)  # {"n":"5"}

    def arrived(self) -> bool:
        return set(self.came()) == set(range(self.sent))

    def gaps(self) -> bool:
        """Whether the newest batch that was written down is not preceded by the one before it."""
        folder = self.folder / "checkpoints/forward/1/offsets"
        batches = {int(file.name) for file in folder.glob("[0-9]*")}
        return bool(batches) and max(batches) > 0 and max(batches) - 1 not in batches

    def failure(self) -> str | None:
        """Why it does not run in batches."""
        with self.running() as running:
            running.until(lambda: running["forward"].state is QueryState.FAILED)
            return running["forward"].reason


def drained(running: Turning) -> QueryProgress:
    """The query's last status. `mainstem checkpoint verify` has nothing against a start on what Spark has written."""
    assert running.supervisor.drain()
    status = running["forward"]
    assert status.state is QueryState.DRAINED
    assert blocking_problems(Path(status.checkpoint)) == []
    return status


def test_real_time_writes_each_row_once_over_a_drain(
    spark: SparkSession, kafka: Broker, tmp_path: Path
) -> None:
    line = Line(spark, kafka, tmp_path, "realtime")
    with line.running(**REAL_TIME) as running:
        running.until(lambda: running["forward"].state is QueryState.RUNNING)
        line.send(2)
        running.until(line.arrived)
        line.send(20)
        running.until(line.arrived)
        # The drain waits for the end of the batch that has these, unless it begins between two batches.
        line.send(3)
        first = drained(running).input_rows
    assert 22 <= first <= 25
    with line.running(**REAL_TIME) as running:
        line.send(5)
        running.until(line.arrived)
        assert first + drained(running).input_rows == 30
    assert line.came() == list(range(30)), "each row once"


@pytest.mark.full(gate="spark/test_decode.py::test_a_stream_counts_decoded_and_malformed_records_in_one_pass")
@pytest.mark.S12
def test_real_time_counts_malformed_records_and_violated_expectations(
    spark: SparkSession, kafka: Broker, tmp_path: Path
) -> None:
    line = Line(spark, kafka, tmp_path, "judged")
    decode = {"json": {"schema": "n INT"}, "onMalformedRecord": "drop"}
    small = {"name": "small", "expect": "n < 100", "onViolation": "drop"}
    view = {"sql": "SELECT n FROM raw", "expectations": [small]}
    with line.running(view, {"decode": decode}, **REAL_TIME) as running:
        running.until(lambda: running["forward"].state is QueryState.RUNNING)
        kafka.produce(
            "judged-in", [Record(None, text) for text in (b'{"n":500}', b"{", b'{"n":5}', b'{"n":6}')]
        )
        running.until(lambda: len(kafka.consume_all("judged-out")) == 2)
        status = drained(running)
    [source], [expectation] = status.sources, status.expectations
    assert (source.decoded, source.malformed) == (3, 1)
    assert (expectation.passed, expectation.violated) == (2, 1)


@pytest.mark.full(gate="spark/test_triggers.py::test_spark_rejects_for_real_time_what_the_rules_reject")
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT twice(partition) AS n FROM raw",
        "SELECT CAST(value AS STRING) AS n FROM raw CROSS JOIN letters",
        "SELECT CAST(value AS STRING) AS n FROM raw EXCEPT SELECT letter FROM letters",
    ],
)
def test_spark_rejects_for_real_time_what_the_rules_reject(
    spark: SparkSession, kafka: Broker, tmp_path: Path, sql: str
) -> None:
    kafka.create_topic(topic := f"refused-{abs(hash(sql))}")
    (tmp_path / "letters.csv").write_text("a\nb\n", encoding="utf-8")
    letters = {"csv": {"path": str(tmp_path / "letters.csv"), "schema": "letter STRING"}}
    spec = {
        "connections": [{"name": "events", "kafka": {"bootstrapServers": kafka.bootstrap_servers}}],
        "functions": [{"name": "twice", "python": {"function": "shop:doubled", "returns": "INT"}}],
        "sources": [
            {"name": "raw", "kafka": {"connection": "events", "subscribe": [topic]}},
            {"name": "letters", "static": letters},
        ],
        "views": [{"name": "v", "sql": sql}],
        "queries": [{"name": "q", "from": "v", "to": [{"name": "out", "console": {}}], **REAL_TIME}],
        "checkpoints": {"location": str(tmp_path / "checkpoints")},
    }
    head = pipeline_head("t")
    graph = Graph(StreamingPipeline.model_validate_json(json.dumps(head | {"spec": spec})))
    [query] = graph.spec.queries
    assert [obstacle.reason for obstacle in obstacles(graph, query, "realTime")] == ["TriggerNotForPlan"]
    session = spark.newSession()
    with pytest.raises(PySparkException, match=r"STREAMING_REAL_TIME_MODE|real-time"):
        start(session, build(session, graph, query), query).awaitTermination(60)


@pytest.mark.full(
    gate="spark/test_triggers.py::test_a_start_and_verify_accept_what_spark_writes_with_each_trigger"
)
def test_continuous_loses_no_row(spark: SparkSession, kafka: Broker, tmp_path: Path) -> None:
    line = Line(spark, kafka, tmp_path, "continuous")
    with line.running(trigger={"continuous": "1 second"}) as running:
        line.send(20)
        running.until(line.arrived)
        line.send(5)
        assert drained(running).batch is not None, "the last epoch"
    assert line.failure() == "TriggerChanged", "Spark reads no batches from a continuous stream's checkpoint"
    with line.running(trigger={"continuous": "1 second"}) as running:
        running.until(line.arrived)  # a drain stops its tasks where they are: the next run has the rest
        drained(running)


@pytest.mark.full(
    gate="unit/test_checkpoint_files.py::test_batches_that_async_progress_has_not_recorded_block_no_start"
)
def test_async_progress_may_repeat_rows_and_is_disabled_in_two_steps(
    spark: SparkSession, kafka: Broker, tmp_path: Path
) -> None:
    line = Line(spark, kafka, tmp_path, "beside")

    def gaps() -> bool:
        line.send(1)
        return line.gaps()

    for _ in range(5):  # the last batches of a slow run may all be written down
        with line.running(**beside("2 seconds")) as running:
            running.until(gaps)
            running.until(line.arrived)
            drained(running)
        if line.gaps():
            break
    assert line.failure() == "AsyncProgressLeft"
    with line.running(**beside("0 seconds")) as running:
        for _ in range(3):
            line.send(2)
            running.until(line.arrived)
        drained(running)
    with line.running() as running:
        line.send(2)
        running.until(line.arrived)
        drained(running)
    assert line.arrived(), "no row is lost"


@pytest.mark.full(gate="unit/test_core_check.py::test_the_other_queries_need_a_core_too")
def test_too_few_cores_are_reported_before_the_start(
    spark: SparkSession, kafka: Broker, tmp_path: Path
) -> None:
    line = Line(spark, kafka, tmp_path, "narrow", partitions=3)
    with (
        pytest.raises(NotReady, match="the queries need 3 cores, and there are 2") as refused,
        line.running(**REAL_TIME),
    ):
        pass
    assert refused.value.reason == "CoresMissing"
