"""What the rules refuse of streams, built as if there were no rules: Spark refuses it too, and takes what they let pass."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from documents.stream_plans import MODES, ROWS, Row
from mainstem.build.query import build, start
from mainstem.build.views import Builder
from mainstem.spec.graph import Graph
from mainstem.spec.pipeline import StreamingPipeline
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession


pytestmark = [pytest.mark.S19, pytest.mark.S20, pytest.mark.S21]

WORDS: Final = {
    "AggregationNeeded": "no streaming aggregations",
    "WatermarkNeeded": "without( a)? watermark",
    "SortNotAllowed": "Sorting is not supported",
    "LimitNotAllowed": "(Limits are|Offset is) not supported",
    "SampleNotAllowed": "Sampling is not supported",
    "WindowFunctionNotAllowed": "NON_TIME_WINDOW_NOT_SUPPORTED_IN_STREAMING",
    "FunctionNotAllowed": "monotonically_increasing_id.. is not supported",
    "SubqueryNotAllowed": "Streaming query is not allowed in subquery",
    "SetOperationNotAllowed": "(Union between|Intersect of|Except on).* not supported",
    "DistinctNotAllowed": "Distinct aggregations are not supported",
    "JoinNotAllowed": "join.* not supported",
    "OutputModeNotAllowed": "not supported in|not supported for session window|Detected pattern of possible",
}
"""Our reason -> what Spark says of the same query; where it has several words to say, one is enough."""


@pytest.fixture(scope="module")
def folder(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sources of every row."""
    folder: Path = tmp_path_factory.mktemp("refusals")
    for name in "abct":
        (folder / name).mkdir()
        (folder / name / "1.json").write_text('{"k": "x", "v": 1, "n": 1, "ts": "2026-01-01T00:00:00Z"}\n')
    return folder


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> Iterator[SparkSession]:
    spark.sparkContext.setLogLevel("OFF")
    yield spark.newSession()
    spark.sparkContext.setLogLevel("WARN")


def spark_says(session: SparkSession, row: Row, folder: Path) -> dict[str, str]:
    """Output mode -> Spark's refusal, empty where it takes the query."""
    graph = Graph(StreamingPipeline.model_validate(row.document("append", str(folder))))
    try:
        plan = Builder(session, graph).relation("v")._jdf.queryExecution().analyzed()
    except PySparkException as error:
        return dict.fromkeys(MODES, str(error))
    return {mode: _checked(session, plan, mode) for mode in MODES}


def _checked(session: SparkSession, plan: Any, mode: str) -> str:
    jvm: Any = session._jvm
    modes = jvm.org.apache.spark.sql.streaming.OutputMode
    checker = jvm.org.apache.spark.sql.catalyst.analysis.UnsupportedOperationChecker
    try:
        checker.checkForStreaming(plan, getattr(modes, mode.capitalize())())
    except Py4JJavaError as error:
        return str(error.java_exception.getMessage())
    except PySparkException as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    "row", [row for row in ROWS if row.append != "WatermarkTwice"], ids=lambda row: row.id
)
def test_spark_says_the_same(session: SparkSession, folder: Path, row: Row) -> None:
    said = spark_says(session, row, folder)
    assert {mode: bool(text) for mode, text in said.items()} == {m: bool(row.reason(m)) for m in MODES}
    for mode, text in said.items():
        reason = row.reason(mode)
        allowed = (WORDS[reason], WORDS["AggregationNeeded"], WORDS["WatermarkNeeded"]) if reason else ()
        assert not reason or any(re.search(words, text) for words in allowed), text


def test_event_time_that_is_declared_twice_ends_the_query(
    session: SparkSession, folder: Path, tmp_path: Path
) -> None:
    [row] = [row for row in ROWS if row.append == "WatermarkTwice"]
    data = row.document("append", str(folder))
    data["spec"]["checkpoints"]["location"] = str(tmp_path)
    graph = Graph(StreamingPipeline.model_validate(data))
    query = graph.spec.queries[0]
    handle = start(session, build(session, graph, query), query)
    with pytest.raises(PySparkException, match="Redefining watermark is disallowed"):
        handle.awaitTermination(60)
