"""Views that a Python function makes: of several relations, of one twice, with arguments; and its failures."""

from pathlib import Path
from typing import Any

import pytest
from harness.pipebench import PipeBench
from harness.sampling import only, sampled
from mainstem.dataframes.query import build, occurrences
from mainstem.errors import NotReady
from pyspark.sql import SparkSession


pytestmark = pytest.mark.S11


@pytest.fixture
def bench(spark: SparkSession, tmp_path: Path) -> PipeBench:
    bench = PipeBench(
        spark, tmp_path, {"orders": "item STRING, count INT", "returns": "item STRING, count INT"}
    )
    bench.put(
        "orders", {"item": "apple", "count": 2}, {"item": "pear", "count": 9}, {"item": None, "count": None}
    )
    bench.put("returns", {"item": "apple", "count": 1})
    return bench


def view(function: str, *inputs: str, **arguments: str) -> dict[str, Any]:
    return {"name": "v", "python": {"function": function, "inputs": list(inputs), "arguments": arguments}}


def test_a_python_view_joins_a_stream_with_a_table(bench: PipeBench) -> None:
    (bench.folder / "prices.csv").write_text("item,price\napple,5\n", encoding="utf-8")
    prices = {"name": "prices", "static": {"csv": {"path": str(bench.folder / "prices.csv"), "header": True}}}
    priced = view("shop:priced", "orders", "prices", least="2")
    assert bench.run(priced, sources=[*bench.sources, prices]) == [("apple", 2, "5"), ("pear", 9, None)]


@pytest.mark.full(gate="spark/test_python_views.py::test_a_python_view_joins_a_stream_with_a_table")
def test_a_python_view_reads_one_relation_twice(bench: PipeBench) -> None:
    """Each input is an occurrence of its own, which is what Spark keeps offsets by."""
    views = [{"name": "few", "sql": "SELECT * FROM orders WHERE count < 5"}, view("shop:pairs", "few", "few")]
    assert bench.run(*views) == [("apple", 2), ("apple", 2)]
    bench.put("orders", {"item": "fig", "count": 1})
    assert bench.run(*views) == [("apple", 2), ("apple", 2), ("fig", 1), ("fig", 1)]


@pytest.mark.parametrize(
    ("function", "read"),
    sampled([("shop:pairs", ["orders", "returns"]), ("shop:second", ["returns"])], every=2),
)
def test_the_sources_that_are_read_are_those_of_the_plan(
    spark: SparkSession, bench: PipeBench, function: str, read: list[str]
) -> None:
    graph = bench.graph(view(function, "orders", "returns"))
    assert occurrences(build(spark.newSession(), graph, graph.spec.queries[0])) == read


FAULTS = {
    "shop:absent": ("FunctionNotFound", "the module 'shop' has no 'absent'"),
    "shop:counted": ("NotADataFrame", "'shop:counted' returned int; it must return a DataFrame"),
    "shop:broken": (
        "PythonFailed",
        r"ValueError: no prices for 2 columns, password=\*\*\*\*\* \(shop.py:\d+ in broken, shop.py:\d+ in _deeper\)",
    ),
    "shop:misspelt": (
        "PythonFailed",
        r"AnalysisException: .*`itme` cannot be resolved.*\(shop.py:\d+ in misspelt\)",
    ),
    "shop:priced": (
        "FunctionNotUsable",
        r"the call is priced\(orders\), but .*missing a required argument: 'prices'",
    ),
}


@pytest.mark.parametrize("function", only(FAULTS, {"shop:counted", "shop:broken", "shop:misspelt"}))
def test_code_that_fails_before_the_query_starts_is_reported(bench: PipeBench, function: str) -> None:
    reason, message = FAULTS[function]
    with pytest.raises(NotReady, match=f"view 'v': .*{message}") as refused:
        bench.start(view(function, "orders"))
    assert refused.value.reason == reason
