"""Functions of the user's in SQL: Python for values, Series and groups, Java by class; and the messages of those that fail."""

import re
from pathlib import Path
from typing import Any

import pytest
from harness.pipebench import PipeBench
from mainstem.dataframes.query import build
from mainstem.dataframes.user_code import functions
from mainstem.errors import NotReady, SpecInvalid
from mainstem.language.sql.builtins import AGGREGATES, BUILTINS
from mainstem.runtime.failures.classification import classify
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession


pytestmark = pytest.mark.S11
PARSE = {
    "name": "parse_order",
    "python": {"function": "shop:parse", "returns": "STRUCT<count INT, item STRING>"},
}
DOUBLED = {"name": "doubled", "python": {"function": "shop:doubled", "returns": "BIGINT", "vectorized": True}}
GEOMETRIC = {
    "name": "geometric",
    "python": {"function": "shop:geometric", "returns": "DOUBLE", "aggregate": True},
}
OF_LIST = {"name": "geometric_of", "python": {"function": "shop:geometric_of", "returns": "DOUBLE"}}
THRICE = {"name": "thrice", "python": {"function": "shop:thrice", "returns": "INT"}}
JAR = str(Path(__file__).parents[1] / "usercode" / "java" / "udfs.jar")
SHOUT = {"name": "shout", "java": {"class": "com.example.Shout", "jar": JAR, "returns": "STRING"}}
LONGEST = {"name": "longest", "java": {"class": "com.example.Longest", "jar": JAR, "aggregate": True}}


@pytest.fixture
def bench(spark: SparkSession, tmp_path: Path) -> PipeBench:
    bench = PipeBench(spark, tmp_path, {"orders": "text STRING"})
    bench.put("orders", {"text": "2:apples"}, {"text": "3:pears"}, {"text": None})
    return bench


def test_a_python_function_of_values_runs(bench: PipeBench) -> None:
    view = {"name": "v", "sql": "SELECT parse_order(text).count AS n, thrice(length(text)) AS t FROM orders"}
    assert bench.run(view, functions=[PARSE, THRICE]) == [(2, 24), (3, 21), (None, None)]


def test_a_python_function_of_series_runs(bench: PipeBench) -> None:
    bench.put("orders")
    view = {"name": "v", "sql": "SELECT doubled(length(text)) AS n FROM orders WHERE text IS NOT NULL"}
    assert bench.run(view, functions=[DOUBLED]) == [(14,), (16,)]


def shouted(bench: PipeBench) -> list[tuple[Any, ...]]:
    """The longest text so far, by two classes of Java."""
    view = {"name": "v", "sql": "SELECT shout(longest(text)) AS s FROM orders"}
    return bench.run(view, query={"outputMode": "complete"}, functions=[SHOUT, LONGEST])


def test_java_functions_run(bench: PipeBench) -> None:
    assert shouted(bench) == [("2:APPLES!",)]


@pytest.mark.full(gate="spark/test_functions.py::test_java_functions_run")
def test_an_aggregate_of_java_keeps_its_state(bench: PipeBench) -> None:
    assert shouted(bench) == [("2:APPLES!",)]
    bench.put("orders", {"text": "4:pineapples"})
    assert shouted(bench) == [("4:PINEAPPLES!",)]


@pytest.mark.full(gate="spark/test_functions.py::test_a_python_function_of_values_runs")
@pytest.mark.S17
def test_an_aggregate_in_python_over_a_stream_takes_a_collected_list(bench: PipeBench) -> None:
    sql = "SELECT geometric_of(collect_list(length(text))) AS g FROM orders"
    query = {"outputMode": "complete"}
    assert bench.run({"name": "v", "sql": sql}, query=query, functions=[OF_LIST]) == [
        (pytest.approx(56**0.5),)
    ]
    bench.put("orders", {"text": "1"})
    assert bench.run({"name": "v", "sql": sql}, query=query, functions=[OF_LIST]) == [
        (pytest.approx(56 ** (1 / 3)),)
    ]


@pytest.mark.full(gate="spark/test_functions.py::test_a_python_function_of_values_runs")
@pytest.mark.S17
def test_an_aggregate_over_series_runs_on_a_bounded_query(spark: SparkSession, bench: PipeBench) -> None:
    (bench.folder / "prices.json").write_text('{"p": 2}\n{"p": 8}\n', encoding="utf-8")
    prices = {"name": "prices", "static": {"json": {"path": str(bench.folder / "prices.json")}}}
    graph = bench.graph(
        {"name": "mean", "sql": "SELECT geometric(p) AS g FROM prices"},
        {"name": "v", "sql": "SELECT text, g FROM orders CROSS JOIN mean WHERE text LIKE '2%'"},
        sources=[*bench.sources, prices],
        functions=[GEOMETRIC],
    )
    session = spark.newSession()
    build(session, graph, graph.spec.queries[0]).start().awaitTermination(60)
    assert bench.rows() == [("2:apples", 4.0)]


FAULTS: dict[str, tuple[dict[str, Any], str, str]] = {
    "no module": ({"function": "shops:parse"}, "ModuleNotFound", "function 'f': no module 'shops'"),
    "no package": ({"function": "shop.deep:parse"}, "ModuleNotFound", "no module 'shop.deep'"),
    "a module that needs another": (
        {"function": "needy:parse"},
        "ModuleNotFound",
        "'needy' imports 'module_that_is_not_there', which is not installed",
    ),
    "a module that fails": (
        {"function": "failing:parse"},
        "ModuleFailed",
        r"importing 'failing' failed: RuntimeError: no licence, token=\*\*\*\*\* \(failing.py:3 in <module>\)",
    ),
    "no function": ({"function": "shop:parsed"}, "FunctionNotFound", "the module 'shop' has no 'parsed'"),
    "no callable": ({"function": "shop:NOT_CALLABLE"}, "FunctionNotFound", "is of type int, not a function or a class"),
    "a UDF already": (
        {"function": "shop:wrapped"},
        "FunctionNotUsable",
        "is already a UDF; name the Python function inside it: shop:wrapped.func",
    ),
    "a function as an aggregate": (
        {"function": "shop:without_hints", "aggregate": True},
        "FunctionNotUsable",
        "return a Series, but aggregate is true",
    ),
    "an aggregate as a function": (
        {"function": "shop:geometric", "vectorized": True},
        "FunctionNotUsable",
        "return one value for each group, but aggregate is false",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("python", "reason", "message"), FAULTS.values(), ids=FAULTS)
def test_unusable_code_is_rejected(
    spark: SparkSession, bench: PipeBench, python: dict[str, Any], reason: str, message: str
) -> None:
    function = {"name": "f", "python": {"returns": "INT", **python}}
    graph = bench.graph({"name": "v", "sql": "SELECT * FROM orders"}, functions=[function])
    with pytest.raises(NotReady, match=message) as refused:
        functions.register(spark.newSession(), graph)
    assert refused.value.reason == reason


def test_an_invalid_type_is_rejected(spark: SparkSession, bench: PipeBench) -> None:
    function = {"name": "f", "python": {"function": "shop:parse", "returns": "NUMBER"}}
    graph = bench.graph({"name": "v", "sql": "SELECT f(text) FROM orders"}, functions=[function])
    with pytest.raises(SpecInvalid) as refused:
        functions.register(spark.newSession(), graph)
    [problem] = refused.value.problems
    assert (problem.path, problem.reason) == ("spec.functions[0].python.returns", "InvalidType")


@pytest.mark.parametrize("name", ["com.example.Absent", "java.lang.String"])
def test_unusable_java_classes_are_rejected(spark: SparkSession, bench: PipeBench, name: str) -> None:
    function = {"name": "f", "java": {"class": name, "returns": "STRING"}}
    graph = bench.graph({"name": "v", "sql": "SELECT f(text) FROM orders"}, functions=[function])
    with pytest.raises(NotReady, match=f"function 'f': .*{re.escape(name)}") as refused:
        functions.register(spark.newSession(), graph)
    assert refused.value.reason == "FunctionNotUsable"


@pytest.mark.full(
    gate="spark/test_python_results.py::test_a_result_that_does_not_fit_fails_the_batch_by_name"
)
def test_a_row_that_the_function_rejects_fails_the_query(bench: PipeBench) -> None:
    bench.put("orders", {"text": "many:apples"})
    view = {"name": "v", "sql": "SELECT parse_order(text) AS p FROM orders"}
    with pytest.raises(StreamingQueryException) as failed:
        bench.run(view, functions=[PARSE])
    failure = classify(failed.value)
    assert failure.reason == "PythonFailed"
    assert re.fullmatch(
        r"ValueError: invalid literal for int\(\) with base 10: 'many' \(shop.py:\d+ in parse\)",
        failure.message,
    )


def test_the_list_of_builtin_names_matches_spark(spark: SparkSession) -> None:
    """The list of the rule equals that of the installed Spark."""
    builtins = {row[0].lower() for row in spark.sql("SHOW SYSTEM FUNCTIONS").collect()}
    assert {name for name in builtins if re.fullmatch(r"[a-z]\w*", name)} == set(BUILTINS)


def test_the_list_of_aggregates_matches_spark(spark: SparkSession) -> None:
    """Spark documents most in a group of their own, and has a class for the others."""
    registry = spark._jsparkSession.sessionState().functionRegistry()
    kind = spark._jvm.java.lang.Class.forName(
        "org.apache.spark.sql.catalyst.expressions.aggregate.AggregateFunction"
    )
    names, aggregates = registry.listFunction().iterator(), set()
    while names.hasNext():
        identifier = names.next()
        about = registry.lookupFunction(identifier).get()
        own_class = spark._jvm.java.lang.Class.forName(about.getClassName())
        group = about.getGroup()
        if group == "agg_funcs" or (kind.isAssignableFrom(own_class) and group != "window_funcs"):
            aggregates.add(identifier.funcName())
    assert aggregates & BUILTINS == AGGREGATES


def test_spark_would_ignore_a_function_with_a_builtin_name(spark: SparkSession) -> None:
    session = spark.newSession()
    session.udf.register("upper", lambda _text: "mine")
    assert session.sql("SELECT upper('a')").collect() == [("A",)]
