"""What Spark itself makes of a document's view `v` over streams, without the rules of Mainstem."""

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mainstem.dataframes.query import build, start
from mainstem.dataframes.views.builder import Builder
from mainstem.language.analysis.graph import Graph
from mainstem.language.model.pipeline import StreamingPipeline
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQuery


@contextmanager
def silent(spark: SparkSession) -> Iterator[SparkSession]:
    """A session whose errors are answers: Spark logs none of them meanwhile."""
    spark.sparkContext.setLogLevel("OFF")
    yield spark.newSession()
    spark.sparkContext.setLogLevel("WARN")


def put_three_days(folder: Path, names: Iterable[str], row: Mapping[str, Any], time: str) -> None:
    """Write the row into folders of these names, a file for each of three days, which its column `time` has."""
    for name in names:
        (folder / name).mkdir()
        for day in (1, 2, 3):
            text = json.dumps({**row, time: f"2026-01-0{day}T00:00:00Z"})
            (folder / name / f"{day}.json").write_text(f"{text}\n")


def planned(session: SparkSession, document: Mapping[str, Any], mode: str) -> Any:
    """Spark's analysed plan of the view, or its refusal."""
    graph = Graph(StreamingPipeline.model_validate(document))
    try:
        return Builder(session, graph, output_mode=mode).relation("v")._jdf.queryExecution().analyzed()
    except PySparkException as error:
        return str(error)


def refusal(session: SparkSession, plan: Any, mode: str) -> str:
    """Why Spark refuses a plan in an output mode, empty where it takes it; the answer of `planned` if that is a refusal."""
    if isinstance(plan, str):
        return plan
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


def run_to_the_end(session: SparkSession, document: Mapping[str, Any]) -> StreamingQuery:
    """Run the document's only query, in a session of its own.

    Raises:
        PySparkException: Spark does not build it, or it failed.
    """
    graph = Graph(StreamingPipeline.model_validate(document))
    query = graph.spec.queries[0]
    own = session.newSession()
    handle = start(own, build(own, graph, query), query)
    handle.awaitTermination(120)
    return handle
