"""SQL texts that pass the checks, all the way: built, started, and their rows counted against those of a batch query."""

import json
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from documents.sql_texts import AGGREGATES, AIRPORTS, COLUMNS, JOINS, LONG, PIPES, PLAIN, SHAPES
from harness import refusals
from harness.documents import pipeline_head
from harness.sampling import only
from mainstem.dataframes import query as build
from mainstem.dataframes.batch_query import BatchQuery
from mainstem.errors import SpecInvalid
from mainstem.language.analysis.graph import Graph
from mainstem.language.analysis.occurrences import occurrence_names
from mainstem.language.document import read_text
from mainstem.language.sql.text import unended
from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import SparkSession


SCHEMA: Final = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
MODES: Final = ("complete", "update", "append")
"""In this order a text is tried: in the first that it runs in, one batch writes what a batch query gives."""
DEPARTURES: Final = [
    {"carrier": carrier, "origin": origin, "dest": dest, "time_hour": f"2013-01-01T{hour:02}:00:00Z"}
    | {"dep_delay": delay, "distance": delay * 1.5, "tags": ["a", "b"], "props": {"a": "1"}}
    | {"legs": [{"faa": dest, "miles": 5}], "raw": "YQ=="}
    for hour, (carrier, origin, dest, delay) in enumerate(
        [("AA", "JFK", "ZRH", 1), ("AA", "JFK", "SIN", 20), ("BB", "SIN", "ZRH", 3), ("a", "ZRH", "x", 0)]
    )
]
PLACES: Final = [
    {"faa": faa, "name": name, "lat": lat, "lon": 1.0, "tz": "UTC", "seats": seats}
    for faa, name, lat, seats in (
        ("ZRH", "Zurich", 47.0, 1),
        ("SIN", "Singapore", 1.0, 2),
        ("JFK", "JFK", 40.0, 3),
    )
]


class Runner:
    """Runs a text over one file of departures and a table of airports, as a stream and as a batch.

    Args:
        spark: the tier's session.
        folder: an empty folder.
    """

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self._spark, self._folder = spark, folder
        for name, rows in (("departures", DEPARTURES), ("airports", PLACES)):
            (folder / name).mkdir()
            (folder / name / "1.json").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
        self._batch = spark.newSession()
        for name, schema in (("departures", SCHEMA), ("airports", AIRPORTS)):
            frame = self._batch.read.schema(schema).json(str(folder / name))
            frame.createOrReplaceTempView(name)

    def graph(self, sql: str, mode: str) -> Graph | None:
        """The document's relations; None where the checks refuse it."""
        departures = {"path": str(self._folder / "departures"), "format": "json", "schema": SCHEMA}
        source: dict[str, Any] = {"name": "departures", "files": departures}
        if "WATERMARK" not in sql:
            source["watermark"] = {"column": "time_hour", "delay": "1 hour"}
        table = {"json": {"path": str(self._folder / "airports"), "schema": AIRPORTS}}
        query = {"name": "q", "from": "v", "outputMode": mode, "to": [{"name": "out", "noop": {}}]}
        spec = {
            "sources": [source, {"name": "airports", "static": table}],
            "views": [{"name": "v", "sql": sql}],
            "queries": [query | {"trigger": {"availableNow": True}, "state": {"partitions": 1}}],
            "checkpoints": {"location": str(self._folder / "checkpoints")},
        }
        head = pipeline_head("t")
        try:
            [document] = read_text(json.dumps(head | {"spec": spec}))
        except SpecInvalid:
            return None
        return document.graph

    def rows(self, sql: str) -> int | None:
        """How many rows a batch query of the text gives; None where it fails."""
        try:
            rows = self._batch.sql(unended(sql))
            rows.write.format("noop").mode("overwrite").save()  # a count alone computes no column
            return rows.count()
        except (PySparkException, Py4JJavaError):
            return None

    def streamed(self, graph: Graph) -> int | None:
        """How many rows the query writes; None where Spark's analysis refuses it, or nothing streams.

        Raises:
            StreamingQueryException: the query fails once it runs.
        """
        [query] = graph.spec.queries
        own = self._spark.newSession()
        shutil.rmtree(self._folder / "checkpoints", ignore_errors=True)
        try:
            writer: Any = build.build(own, graph, query)
            if isinstance(writer, BatchQuery):
                return None
            read = build.occurrences(writer)
            handle = build.start(own, writer.format("memory"), query)
        except AnalysisException as error:
            if "DUPLICATE_SOURCE_NAMES" in str(error):
                raise
            return None
        try:
            assert handle.awaitTermination(180)
        finally:
            handle.stop()
        assert read
        assert set(read) <= {name for name, _ in occurrence_names(graph, query.from_)}
        assert all(
            len(json.loads(progress.json)["sources"]) == len(read) for progress in handle.recentProgress
        )
        return own.table("q").count()

    def run(self, sql: str) -> tuple[str, str]:
        """What became of a text, and why, where that is wrong."""
        failed = ""
        for mode in MODES:
            graph = self.graph(sql, mode)
            try:
                streamed = None if graph is None else self.streamed(graph)
            except (PySparkException, Py4JJavaError) as error:
                failed = f"{mode}: {sql}: {_first_line(error)}"
                continue
            if graph is None or streamed is None:
                continue
            rows = self.rows(sql)
            if mode == "append" and graph.aggregated("v") is not False:
                return "not final yet", ""
            wrong = "" if rows == streamed else f"{mode}: {sql}: {streamed} rows, as a batch {rows}"
            return ("OTHER ROWS" if wrong else "same rows"), wrong
        if failed and self.rows(sql) is not None:
            return "FAILS", failed
        return ("fails as a batch too" if failed else "refused"), ""


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0][:300]


@pytest.fixture(scope="module")
def runner(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runner]:
    with refusals.silent(spark):
        yield Runner(spark, tmp_path_factory.mktemp("started"))


IN_THE_GATE: Final = {
    "WITH x AS (SELECT * FROM departures) SELECT carrier, count(*) AS n FROM x GROUP BY carrier",
    "SELECT carrier FROM departures UNION ALL SELECT dest FROM departures",
}
"""Test_views has rows of further shapes."""


@pytest.mark.parametrize("sql", only(SHAPES, IN_THE_GATE))
def test_each_shape_of_plan_starts_and_gives_the_rows_of_a_batch(runner: Runner, sql: str) -> None:
    assert runner.run(sql) == ("same rows", "")


@pytest.mark.full
@pytest.mark.timeout(5400)
def test_every_accepted_text_starts_and_gives_the_rows_of_a_batch(
    runner: Runner, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = PLAIN + JOINS + AGGREGATES + PIPES + LONG
    results = [(sql, *runner.run(sql)) for sql in texts]
    tally = Counter(result for _, result, _ in results)
    with capsys.disabled():
        print(f"\n{len(texts)} texts, started: {dict(sorted(tally.items()))}")
    wrong = [why for sql, _, why in results if why]
    assert wrong == [], "\n".join(wrong)
    assert tally["same rows"] > 250
