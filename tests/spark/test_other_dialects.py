"""docs/other-dialects.md: Spark refuses each text of another dialect over a stream, and runs what stands in its place."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from documents.other_dialects import PAIRS, Pair, document
from harness.sampling import only, sampled
from mainstem.dataframes.query import build, start
from mainstem.dataframes.views.builder import Builder
from mainstem.language.analysis.graph import Graph
from mainstem.language.model.pipeline import StreamingPipeline
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession


HERE: Final = [pair for pair in PAIRS if pair.here]
IN_THE_GATE: Final = [
    next(pair for pair in HERE if word in pair.here) for word in ("session_window", "max_by")
]


@pytest.fixture(scope="module")
def folder(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Orders, payments and shops of three days, a file for each day."""
    folder: Path = tmp_path_factory.mktemp("dialects")
    for name in ("orders", "payments", "shops"):
        (folder / name).mkdir()
        for day in (1, 2, 3):
            row = {
                "id": day,
                "shop": "2026-01-01",
                "amount": day,
                "items": ["x"],
                "at": f"2026-01-0{day}T00:00:00Z",
            }
            (folder / name / f"{day}.json").write_text(json.dumps(row) + "\n")
    return folder


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> Iterator[SparkSession]:
    spark.sparkContext.setLogLevel("OFF")
    yield spark.newSession()
    spark.sparkContext.setLogLevel("WARN")


def is_refused(session: SparkSession, sql: str, mode: str, folder: Path) -> bool:
    """Whether Spark refuses a text: its parser, its analysis, or its checks of a stream."""
    graph = Graph(StreamingPipeline.model_validate(document(sql, mode, str(folder))))
    jvm: Any = session._jvm
    modes = jvm.org.apache.spark.sql.streaming.OutputMode
    checker = jvm.org.apache.spark.sql.catalyst.analysis.UnsupportedOperationChecker
    try:
        plan = Builder(session, graph, output_mode=mode).relation("v")._jdf.queryExecution().analyzed()
        checker.checkForStreaming(plan, getattr(modes, mode.capitalize())())
    except (PySparkException, Py4JJavaError):
        return True
    return False


@pytest.mark.parametrize("pair", sampled(PAIRS, every=9), ids=lambda pair: pair.there)
def test_spark_refuses_the_text_of_another_dialect_and_takes_the_one_in_its_place(
    session: SparkSession, folder: Path, pair: Pair
) -> None:
    assert is_refused(session, pair.there, pair.mode, folder)
    assert not pair.here or not is_refused(session, pair.here, pair.mode, folder)


@pytest.mark.parametrize("pair", only(HERE, IN_THE_GATE), ids=lambda pair: pair.here)
def test_the_text_in_its_place_writes_rows(
    session: SparkSession, folder: Path, tmp_path: Path, pair: Pair
) -> None:
    data = document(pair.here, pair.mode, str(folder))
    data["spec"]["checkpoints"]["location"] = str(tmp_path)
    data["spec"]["queries"][0]["trigger"] = {"availableNow": True}
    graph = Graph(StreamingPipeline.model_validate(data))
    query = graph.spec.queries[0]
    own = session.newSession()
    handle = start(own, build(own, graph, query), query)
    handle.awaitTermination(120)
    assert sum(progress["sink"]["numOutputRows"] for progress in handle.recentProgress) > 0
