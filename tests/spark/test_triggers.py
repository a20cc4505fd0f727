"""Triggers: Spark rejects what the rules reject, and accepts what they accept.

Spark reports half of real-time mode's limits after `start()` has returned, so a query that starts is watched for a while.
"""

import json
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import pytest
from harness.checkpoints import blocking_problems, newest
from harness.documents import pipeline_head
from harness.sampling import only, sampled
from harness.supervisor_loop import Stage
from harness.waiting import asked
from mainstem.dataframes.query import build, start
from mainstem.language.analysis.eligibility import async_progress_obstacles, obstacles
from mainstem.language.analysis.graph import Graph
from mainstem.language.model.pipeline import StreamingPipeline
from mainstem.language.model.status.query_progress import QueryProgress
from mainstem.language.model.status.states import QueryState
from mainstem.runtime.plans import plan
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession


pytestmark = pytest.mark.S34

CONTINUOUS = {"continuous": "1 second"}
REAL_TIME = {"realTime": "5 seconds"}
SECONDS = 6.0
"""A query that lives so long was taken."""


class Bench:
    """Documents over rows of a rate, files and a table, built without the rules."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark, self.folder, self.count = spark, folder, 0
        (folder / "in").mkdir()
        spark.range(3).write.parquet(str(folder / "table"))

    def graph(self, sql: str, trigger: dict[str, Any], sink: dict[str, Any], **query: Any) -> Graph:
        self.count += 1
        document = {
            **pipeline_head("triggers"),
            "spec": {
                "functions": [{"name": "twice", "python": {"function": "shop:doubled", "returns": "BIGINT"}}],
                "sources": [
                    {"name": "ticks", "rate": {}},
                    {"name": "lines", "files": {"path": str(self.folder / "in")}},
                    {"name": "known", "static": {"parquet": {"path": str(self.folder / "table")}}},
                ],
                "views": [{"name": "v", "sql": sql}],
                "queries": [
                    {
                        "name": f"q{self.count}",
                        "from": "v",
                        "to": [{"name": "out", **sink}],
                        "trigger": trigger or None,
                        "state": {"partitions": 1},
                        **query,
                    }
                ],
                "checkpoints": {"location": str(self.folder / "checkpoints")},
            },
        }
        return Graph(StreamingPipeline.model_validate_json(json.dumps(document)))

    def refusal(self, graph: Graph) -> str | None:
        """Spark's message against the query; None where it runs."""
        [query] = graph.spec.queries
        session = self.spark.newSession()
        try:
            handle = start(session, build(session, graph, query), query)
        except PySparkException as error:
            return str(error)
        try:
            asked(
                SECONDS,
                lambda: not handle.isActive or str(handle.status["message"]).startswith("Committing epoch"),
            )
            error = handle.exception()
            return None if error is None else str(error)
        finally:
            handle.stop()


@pytest.fixture(scope="module")
def bench(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    return Bench(spark, tmp_path_factory.mktemp("triggers"))


NOT_CONTINUOUS = {
    "a source": ("SELECT value FROM lines", "console", "does not support StreamingRelation"),
    "explode": ("SELECT explode(array(value)) AS v FROM ticks", "console", "does not support Generate"),
    "the time": ("SELECT value, current_timestamp() AS t FROM ticks", "console", "does not support current time"),
    "a union": ("SELECT value FROM ticks UNION ALL SELECT value FROM ticks", "console", "does not support"),
    "a CTE": ("WITH a AS (SELECT value FROM ticks) SELECT value FROM a", "console", "does not support CTE"),
    "a join": ("SELECT t.value FROM ticks t JOIN known k ON t.value = k.id", "console", "does not support"),
    "distinct": ("SELECT DISTINCT value FROM ticks", "console", "does not support|not supported"),
    "a limit": ("SELECT value FROM ticks LIMIT 3", "console", "does not support"),
    "parquet": ("SELECT value FROM ticks", "parquet", "Unknown type of trigger"),
    "delta": ("SELECT value FROM ticks", "delta", "Unknown type of trigger"),
    "memory": ("SELECT value FROM ticks", "memory", "not supported with continuous trigger"),
}  # fmt: skip


@pytest.mark.parametrize(
    "name", only(NOT_CONTINUOUS, {"a source", "explode", "the time", "parquet", "memory"})
)
def test_spark_rejects_for_continuous_what_the_rules_reject(bench: Bench, name: str) -> None:
    sql, sink, message = NOT_CONTINUOUS[name]
    graph = bench.graph(sql, CONTINUOUS, _sink(bench, sink))
    assert obstacles(graph, graph.spec.queries[0], "continuous")
    assert any(words in (bench.refusal(graph) or "") for words in message.split("|"))


@pytest.mark.parametrize(
    "sql",
    sampled(
        [
            "SELECT value + 1 AS v FROM ticks WHERE value > 2",
            "SELECT value, (SELECT max(id) FROM known) AS m FROM ticks",
            "SELECT twice(value) AS v FROM ticks",
        ],
        every=3,
    ),
)
def test_spark_accepts_for_continuous_what_the_rules_accept(bench: Bench, sql: str) -> None:
    graph = bench.graph(sql, CONTINUOUS, _sink(bench, "console"))
    assert obstacles(graph, graph.spec.queries[0], "continuous") == []
    assert bench.refusal(graph) is None


@pytest.mark.parametrize(
    ("sql", "trigger", "sink", "mode", "output"),
    [
        ("SELECT value FROM ticks", REAL_TIME, "console", "update", "INPUT_STREAM_NOT_SUPPORTED"),
        ("SELECT value FROM lines", REAL_TIME, "console", "update", "INPUT_STREAM_NOT_SUPPORTED"),
        ("SELECT value FROM ticks", REAL_TIME, "console", "append", "OUTPUT_MODE_NOT_SUPPORTED"),
        ("SELECT value FROM ticks", REAL_TIME, "noop", "update", "OPERATOR_OR_SINK_NOT_IN_ALLOWLIST"),
        ("SELECT value FROM ticks", {"realTime": "4 seconds"}, "console", "update", "TRIGGER_INTERVAL"),
    ],
)
def test_spark_rejects_for_real_time_what_the_rules_reject(
    bench: Bench, sql: str, trigger: dict[str, str], sink: str, mode: str, output: str
) -> None:
    graph = bench.graph(sql, trigger, _sink(bench, sink), outputMode=mode)
    assert obstacles(graph, graph.spec.queries[0], "realTime")
    assert output in (bench.refusal(graph) or "")


NOT_ASYNC: dict[str, tuple[str, dict[str, Any], str, str]] = {
    "parquet": ("SELECT value FROM ticks", {}, "parquet", "does not support async progress tracking"),
    "delta": ("SELECT value FROM ticks", {}, "delta", "does not support async progress tracking"),
    "memory": ("SELECT value FROM ticks", {}, "memory", "does not support async progress tracking"),
    "a limit": ("SELECT value FROM ticks LIMIT 3", {}, "console", "does not support async progress tracking"),
    "available": ("SELECT value FROM ticks", {"availableNow": True}, "console", "cannot be used with AvailableNow"),
    "once": ("SELECT value FROM ticks", {"once": True}, "console", "cannot be used with Once"),
    "a count": ("SELECT value, count(*) AS n FROM ticks GROUP BY value", {}, "console", "does not support async"),
}  # fmt: skip


@pytest.mark.parametrize("name", only(NOT_ASYNC, {"parquet", "available", "once", "a count"}))
def test_spark_rejects_for_async_progress_what_the_rules_reject(bench: Bench, name: str) -> None:
    sql, trigger, sink, output = NOT_ASYNC[name]
    mode = "update" if "count" in sql else "append"
    graph = bench.graph(sql, trigger, _sink(bench, sink), outputMode=mode, asyncProgressTracking={})
    assert async_progress_obstacles(graph, graph.spec.queries[0])
    assert output in (bench.refusal(graph) or "")


def test_once_and_available_now_end_without_a_signal(bench: Bench) -> None:
    (bench.folder / "in" / "1.txt").write_text("a\nb\n", encoding="utf-8")
    for trigger in ({"once": True}, {"availableNow": True}):
        graph = bench.graph("SELECT value FROM lines", trigger, _sink(bench, "parquet"))
        [query] = graph.spec.queries
        session = bench.spark.newSession()
        handle = start(session, build(session, graph, query), query)
        assert handle.awaitTermination(60)
        folder = query.to[0].member("parquet").path
        assert sorted(row.value for row in bench.spark.read.parquet(folder).collect()) == ["a", "b"]


EACH_SECOND = {"processingTime": "1 second"}
TRIGGERS: dict[str, dict[str, Any]] = {
    "default": {},
    "interval": {"trigger": EACH_SECOND},
    "available": {"trigger": {"availableNow": True}},
    "once": {"trigger": {"once": True}},
    "continuous": {"trigger": {"continuous": "1 second"}},
    "beside": {"trigger": EACH_SECOND, "asyncProgressTracking": {"checkpointInterval": "0 seconds"}},
    "beside-rarely": {"trigger": EACH_SECOND, "asyncProgressTracking": {"checkpointInterval": "2 seconds"}},
}
READ: dict[str, tuple[str, ...]] = {
    "lines": ("default", "interval", "available", "once"),
    "table": ("available",),
    "made": ("once",),
    "ticks": ("interval", "continuous", "beside", "beside-rarely"),
    "counted": ("interval",),
}
"""Source or view -> the triggers with which a query reads it. Triggers of Kafka are in test_low_latency.py."""
BOUNDED = ("available", "once")
PATIENCE = 240.0
"""Seconds for the first batches of ten queries at a time, on a machine that does other things too."""


def each_trigger(folder: Path, chosen: Collection[str]) -> dict[str, Any]:
    """A pipeline with a query for each of the chosen triggers of each source."""
    sources: list[dict[str, Any]] = [
        {"name": "lines", "files": {"path": str(folder / "lines"), "format": "text"}},
        {"name": "table", "delta": {"path": str(folder / "table")}},
        {"name": "made", "rateMicroBatch": {"rowsPerBatch": 3}},
        {"name": "ticks", "rate": {"rowsPerSecond": 5, "numPartitions": 1}},
    ]
    counted = {"name": "counted", "sql": "SELECT value, count(*) AS n FROM lines GROUP BY value"}
    queries = [
        {
            "name": f"{read}-{trigger}",
            "from": read,
            "to": [{"name": "out", "console": {}}],
            "outputMode": "update" if read == "counted" else "append",
            "state": {"partitions": 1},
            **TRIGGERS[trigger],
        }
        for read, triggers in READ.items()
        for trigger in triggers
        if trigger in chosen
    ]
    return {"sources": sources, "views": [counted], "queries": queries}


def committed(status: QueryProgress) -> int:
    return -1 if status.batch is None else status.batch


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    "chosen",
    [
        pytest.param({"beside-rarely"}, marks=pytest.mark.full),  # the one that leaves commits out
        {"continuous"},  # it needs all cores
        pytest.param(set(TRIGGERS) - {"continuous"}, marks=pytest.mark.full),
    ],
    ids=["beside", "continuous", "all others"],
)
def test_a_start_and_verify_accept_what_spark_writes_with_each_trigger(
    spark: SparkSession, tmp_path: Path, chosen: set[str]
) -> None:
    stage = Stage(spark.newSession(), tmp_path)
    spec = each_trigger(tmp_path, chosen)
    names = [query["name"] for query in spec["queries"]]
    read = {query["from"] for query in spec["queries"]}
    for part in ("first", "second"):
        stage.put("lines", part)
        if "table" in read:
            spark.range(3).write.format("delta").mode("append").save(str(tmp_path / "table"))
        before = {name: newest(tmp_path / "checkpoints" / name / "1" / "commits") for name in names}
        with stage.running(**spec) as run:
            run.until(lambda: all(committed(run[name]) > before[name] for name in names), PATIENCE)  # noqa: B023
            for name in (name for name in names if name.endswith(BOUNDED)):
                run.until(lambda: run[name].state is QueryState.COMPLETED, PATIENCE)  # noqa: B023
            run.supervisor.drain()
            assert run.supervisor.failures == []
        problems = {name: blocking_problems(tmp_path / "checkpoints" / name / "1") for name in names}
        assert {name: against for name, against in problems.items() if against} == {}


def test_a_query_is_explained_without_a_start(bench: Bench) -> None:
    graph = bench.graph("SELECT count(*) AS n FROM ticks", {}, {"console": {}}, outputMode="complete")
    explanation = plan(bench.spark, graph, graph.spec.queries[0])
    assert "== Analyzed Logical Plan ==" in explanation
    assert "StateStoreSave" in explanation.partition("== Physical Plan ==")[2]


def _sink(bench: Bench, kind: str) -> dict[str, Any]:
    settings = {"path": str(bench.folder / f"out{bench.count}")} if kind in ("parquet", "delta") else {}
    return {kind: settings}
