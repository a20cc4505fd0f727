"""Views as Spark runs them: every occurrence of a stream under its own name, on checkpoints that outlive the text."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from harness.documents import pipeline_head
from harness.sampling import only
from mainstem.dataframes.query import build, checkpoint, start
from mainstem.dataframes.views.builder import Builder
from mainstem.errors import SpecInvalid
from mainstem.language.analysis.graph import Graph
from mainstem.language.analysis.occurrences import occurrence_names
from mainstem.language.document import read_text
from mainstem.language.model.pipeline import StreamingPipeline
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession


pytestmark = [pytest.mark.S14, pytest.mark.S37]


class Bench:
    """Pipelines over the folders `a`, `b` and `c`, whose query writes the view `result` as Parquet."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark = spark
        self.folder = folder
        self.files = 0
        for name in "abc":
            (folder / name).mkdir()

    def put(self, source: str, *lines: str) -> None:
        """One more file for a source."""
        self.files += 1
        text = "".join(f"{line}\n" for line in lines)
        (self.folder / source / f"{self.files}.txt").write_text(text, encoding="utf-8")

    def document(self, *views: str, read: str = "abc", result: str = "result") -> dict[str, Any]:
        """Views as `name: sql`; the sources in the order of `read`."""
        pairs = [view.split(": ", 1) for view in views]
        sources = [{"name": name, "files": {"path": str(self.folder / name)}} for name in read]
        sink = {"name": "out", "parquet": {"path": str(self.folder / "out")}}
        query = {"name": "copy", "from": result, "to": [sink], "trigger": {"availableNow": True}, "state": {"partitions": 1}}  # fmt: skip
        return {
            **pipeline_head("views"),
            "spec": {
                "sources": sources,
                "views": [{"name": name, "sql": sql} for name, sql in pairs],
                "queries": [query],
                "checkpoints": {"location": str(self.folder / "checkpoints")},
            },
        }

    def graph(self, *views: str, **more: str) -> Graph:
        [document] = read_text(json.dumps(self.document(*views, **more)))
        return document.graph

    def run(self, *views: str, **more: str) -> list[str]:
        """Run to the end of what is there; the rows of all runs, as text, sorted."""
        graph = self.graph(*views, **more)
        [query] = graph.spec.queries
        session = self.spark.newSession()
        handle = start(session, build(session, graph, query), query)
        handle.awaitTermination(120)
        self.names = [name for name, _ in occurrence_names(graph, query.from_)]
        rows = self.spark.read.parquet(str(self.folder / "out")).collect()
        return sorted(" ".join(map(str, row)) for row in rows)

    def offsets(self) -> set[str]:
        """The names under which the newest entry of the checkpoint's offset log keeps its offsets."""
        logs = self.folder / "checkpoints" / "copy" / "1" / "offsets"
        newest = max((log for log in logs.iterdir() if log.name.isdigit()), key=lambda log: int(log.name))
        version, _, *entries = newest.read_text(encoding="utf-8").splitlines()
        assert version == "v2"
        return {entry.partition(":")[0] for entry in entries}


@pytest.fixture
def bench(spark: SparkSession, tmp_path: Path) -> Bench:
    return Bench(spark, tmp_path)


CASES = {
    "one source": (["result: SELECT value FROM a"], ["1", "2"], ["a"]),
    "self-union": (
        ["result: SELECT value FROM a UNION ALL SELECT concat(a.value, '!') FROM a"],
        ["1", "1!", "2", "2!"],
        ["a", "a_2"],
    ),
    "self-join": (
        ["result: SELECT l.value AS l, r.value AS r FROM a l JOIN a r ON l.value = r.value"],
        ["1 1", "2 2"],
        ["a", "a_2"],
    ),
    "self-join without an alias": (
        ["result: SELECT a.value AS l, r.value AS r FROM a JOIN a AS r ON a.value = r.value"],
        ["1 1", "2 2"],
        ["a", "a_2"],
    ),
    "a view twice": (
        ["v: SELECT value AS x FROM a", "result: SELECT v.x FROM v UNION ALL SELECT v.x FROM v"],
        ["1", "1", "2", "2"],
        ["a", "a_2"],
    ),
    "a CTE twice": (
        ["result: WITH v AS (SELECT value FROM a) SELECT value FROM v UNION ALL SELECT value FROM v WHERE value = '1'"],
        ["1", "1", "2"],
        # Spark inlines the CTE; a reader is then shared, and Spark counts it once.
        ["a"],
    ),
    "nested views": (
        [
            "v: SELECT value AS x FROM a WHERE value < '2'",
            "w: SELECT x FROM v UNION ALL SELECT value FROM b",
            "result: SELECT concat(w.x, a.value) AS y FROM w JOIN a ON w.x = a.value UNION ALL SELECT x FROM v",
        ],
        ["1", "11"],
        ["a", "b", "a_2", "a_3"],
    ),
    "two sources and back": (
        ["result: SELECT value FROM b UNION ALL SELECT value FROM a UNION ALL SELECT value FROM b"],
        ["1", "2", "x", "x"],
        ["b", "a", "b_2"],
    ),
    "a name in a string": (["result: SELECT value, 'FROM a JOIN a' AS s FROM a -- a, a"], ["1 FROM a JOIN a", "2 FROM a JOIN a"], ["a"]),
    "capitals and quotes": (["result: SELECT `A`.value FROM `a` AS A UNION ALL SELECT value FROM A"], ["1", "1", "2", "2"], ["a", "a_2"]),
}  # fmt: skip


@pytest.mark.parametrize("case", only(CASES, {"self-union", "capitals and quotes"}))
def test_rows_are_right_and_a_restart_continues(bench: Bench, case: str) -> None:
    views, rows, names = CASES[case]
    bench.put("a", "1", "2")
    bench.put("b", "x")
    assert bench.run(*views) == rows
    assert bench.names == names
    assert bench.offsets() == set(names)
    assert bench.run(*views) == rows
    bench.put("c", "never read")
    assert bench.run(*views) == rows


def test_a_user_column_may_have_the_name_file(bench: Bench) -> None:
    bench.put("a", '{"file": "one.txt", "size": 1}')
    document = bench.document(result="a")
    document["spec"]["sources"] = [
        {
            "name": "a",
            "files": {"path": str(bench.folder / "a"), "format": "json", "schema": "file STRING, size INT"},
        }
    ]
    [read] = read_text(json.dumps(document))
    graph = read.graph
    frame = Builder(bench.spark.newSession(), graph).relation("a")
    assert frame.columns == ["file", "size"]
    query = graph.spec.queries[0]
    start(bench.spark, build(bench.spark, graph, query), query).awaitTermination(120)
    assert [tuple(row) for row in bench.spark.read.parquet(str(bench.folder / "out")).collect()] == [
        ("one.txt", 1)
    ]


def test_an_unknown_key_is_rejected_before_a_table_is_created(bench: Bench) -> None:
    document = bench.document("result: SELECT s.* FROM (SELECT named_struct('shop', value) AS s FROM a)")
    sink = {"name": "out", "delta": {"path": str(bench.folder / "out"), "merge": {"keys": ["SHOP", "shpo"]}}}
    document["spec"]["queries"][0] |= {"to": [sink], "outputMode": "update"}
    [read] = read_text(json.dumps(document))
    graph = read.graph
    with pytest.raises(SpecInvalid) as refused:
        build(bench.spark, graph, graph.spec.queries[0])
    assert [problem.render("f.yaml") for problem in refused.value.problems] == [
        "f.yaml:0:0: spec.queries[0].to[0].delta.merge.keys[1]: 'result' has no column 'shpo'; did you mean 'shop'? [UnknownColumn]"
    ]
    assert not (bench.folder / "out").exists()


@pytest.mark.full(gate="spark/test_views.py::test_rows_are_right_and_a_restart_continues")
def test_a_source_may_join_a_union_and_leave_it(bench: Bench) -> None:
    bench.put("a", "1")
    assert bench.run("result: SELECT value FROM a") == ["1"]
    bench.put("a", "2")
    bench.put("b", "x")
    more = "result: SELECT value FROM b UNION ALL SELECT value FROM a"
    assert bench.run(more) == ["1", "2", "x"]
    assert bench.offsets() == {"a", "b"}
    bench.put("a", "3")
    bench.put("b", "y")
    turned = "result: SELECT value FROM a UNION ALL SELECT value FROM b UNION ALL SELECT value FROM c"
    assert bench.run(turned, read="cba") == ["1", "2", "3", "x", "y"]
    bench.put("a", "4")
    bench.put("b", "z")
    bench.put("c", "-")
    assert bench.run("result: SELECT value FROM b UNION ALL SELECT value FROM c") == ["-", "1", "2", "3", "x", "y", "z"]  # fmt: skip


@pytest.mark.full(gate="spark/test_views.py::test_rows_are_right_and_a_restart_continues")
def test_a_new_view_in_between_keeps_the_checkpoint(bench: Bench) -> None:
    bench.put("a", "1")
    assert bench.run("result: SELECT value FROM a") == ["1"]
    bench.put("a", "2")
    assert bench.run("v: SELECT upper(value) AS value FROM a", "result: SELECT value FROM v") == ["1", "2"]


def test_two_queries_read_one_source_independently(bench: Bench) -> None:
    bench.put("a", "1")
    document = bench.document("result: SELECT value FROM a", "other: SELECT value FROM a")
    sink = {"name": "out", "parquet": {"path": str(bench.folder / "out2")}}
    document["spec"]["queries"].append(
        {"name": "second", "from": "other", "to": [sink], "trigger": {"availableNow": True}}
    )
    [read] = read_text(json.dumps(document))
    graph = read.graph
    handles = []
    for query in graph.spec.queries:
        session = bench.spark.newSession()
        handles.append(start(session, build(session, graph, query), query))
    for handle in handles:
        handle.awaitTermination(120)
    for folder in ("out", "out2"):
        assert [row.value for row in bench.spark.read.parquet(str(bench.folder / folder)).collect()] == ["1"]
    for query in graph.spec.queries:
        assert (Path(checkpoint(graph, query)) / "commits" / "0").exists()


def test_views_of_one_query_are_hidden_from_another(bench: Bench) -> None:
    graph = bench.graph("result: SELECT value FROM a")
    session = bench.spark.newSession()
    Builder(session, graph).relation("result")
    assert session.catalog.tableExists("a")
    assert not bench.spark.newSession().catalog.tableExists("a")


@pytest.fixture
def run_command(bench: Bench) -> Callable[[str], PySparkException]:
    """Builds a view whose SQL no rule has seen, as if the rules had let it pass, and returns Spark's refusal."""

    def refuse(sql: str) -> PySparkException:
        document = bench.document("result: SELECT value FROM a")
        document["spec"]["views"][0]["sql"] = sql
        graph = Graph(StreamingPipeline.model_validate(document))
        with pytest.raises(PySparkException) as raised:
            Builder(bench.spark.newSession(), graph).relation("result")
        return raised.value

    return refuse


COMMANDS = [
    "FROM a INSERT INTO kept SELECT value",
    "FROM a INSERT OVERWRITE TABLE kept SELECT value",
    "INSERT INTO kept SELECT value FROM a",
    "WITH v AS (SELECT 'x' AS value) INSERT INTO kept SELECT value FROM v",
    "DROP TABLE kept",
    "CREATE TABLE made USING parquet AS SELECT 'x' AS value",
    "CREATE TEMPORARY VIEW made AS SELECT 1",
    "TRUNCATE TABLE kept",
    "SET spark.sql.ansi.enabled=false",
    "SET x.y=z",
    "ADD JAR /tmp/x.jar",
    "CACHE TABLE made AS SELECT 1",
    "EXECUTE IMMEDIATE 'DROP TABLE kept'",
    "BEGIN DROP TABLE kept; END",
    "SHOW TABLES",
    "DESCRIBE kept",
    "SELECT 1; DROP TABLE kept",
    "MERGE INTO kept USING a ON kept.value = a.value WHEN MATCHED THEN DELETE",
    "CALL system.x()",
    "DECLARE VARIABLE v = 1",
]


@pytest.fixture(scope="module")
def kept(spark: SparkSession) -> Callable[[], tuple[int, set[str]]]:
    """A table that is to stay as it is; what the catalog holds now."""
    spark.sql("CREATE TABLE IF NOT EXISTS kept (value STRING) USING parquet")
    spark.sql("INSERT INTO kept VALUES ('mine')")
    return lambda: (spark.table("kept").count(), {table.name for table in spark.catalog.listTables()})


BY_SPARK_IN_THE_GATE = {
    "FROM a INSERT INTO kept SELECT value",
    "EXECUTE IMMEDIATE 'DROP TABLE kept'",
    "SELECT 1; DROP TABLE kept",
}
"""A query's own text that writes, a text that runs another, and two statements; the rules reject each command first."""


@pytest.mark.parametrize("sql", only(COMMANDS, BY_SPARK_IN_THE_GATE))
def test_without_the_rules_a_command_executes_nothing(
    bench: Bench,
    run_command: Callable[[str], PySparkException],
    kept: Callable[[], tuple[int, set[str]]],
    sql: str,
) -> None:
    bench.put("a", "1")
    before = kept()
    error = run_command(sql)
    assert kept() == before
    assert re.search(r"PARSE_SYNTAX_ERROR|PARSE|SYNTAX|NOT_SUPPORTED|UNSUPPORTED|INVALID", str(error)), str(
        error
    )


@pytest.mark.parametrize("sql", COMMANDS)
def test_the_rules_reject_a_command_before_spark_parses_it(bench: Bench, sql: str) -> None:
    with pytest.raises(SpecInvalid) as refused:
        bench.graph(f"result: {sql}")
    assert {problem.reason for problem in refused.value.problems} & {"NotAQuery", "InvalidSql"}
