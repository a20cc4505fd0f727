"""Spark's aggregates over a stream, with batches and restarts, equal those of a batch query over the same rows."""

from pathlib import Path
from typing import Any, Final

import pytest
from harness.pipebench import PipeBench
from harness.sampling import sampled
from pyspark.sql import SparkSession


pytestmark = [
    pytest.mark.S17,
    pytest.mark.timeout(400),
    pytest.mark.full(gate="spark/test_checkpoint_copies.py::test_a_rewound_aggregation_counts_each_row_once"),
]
COLUMNS: Final = "k STRING, n INT, x DOUBLE, t STRING"
# Those of floating point are rounded, and lists sorted: a stream adds in another order.
EXACT: Final = (
    "count(*)", "count(n)", "count_if(n > 2)", "count(*) FILTER (WHERE n > 2)", "sum(n)", "try_sum(n)", "min(n)", "max(n)",
    "min(t)", "max(t)", "bool_and(n > 0)", "bool_or(n > 4)", "every(n > 0)", "some(n > 4)", "bit_and(n)", "bit_or(n)",
    "bit_xor(n)", "max_by(t, n)", "min_by(t, n)", "mode(n, true)", "median(n)", "percentile(n, 0.9)", "percentile(n, 0.5, 2)",
    "percentile_cont(0.5) WITHIN GROUP (ORDER BY n)", "percentile_disc(0.5) WITHIN GROUP (ORDER BY n)",
    "percentile_approx(n, 0.5)", "approx_count_distinct(n)", "approx_count_distinct(t, 0.01)",
    "hll_sketch_estimate(hll_sketch_agg(n))", "sort_array(collect_list(n))", "sort_array(collect_set(t))",
    "sort_array(array_agg(n))", "bitmap_count(bitmap_construct_agg(n))", "max(struct(n, t))",
)  # fmt: skip
ROUNDED: Final = (
    "avg(n)", "avg(x)", "try_avg(x)", "sum(x)", "stddev(x)", "stddev_pop(x)", "variance(x)", "var_pop(x)", "skewness(x)",
    "kurtosis(x)", "corr(n, x)", "covar_pop(n, x)", "covar_samp(n, x)", "regr_slope(x, n)", "regr_intercept(x, n)",
    "regr_r2(x, n)", "regr_count(x, n)",
)  # fmt: skip
ALL: Final = (*EXACT, *(f"round({call}, 6)" for call in ROUNDED))
CALLS: Final = ", ".join(f"{call} AS c{index}" for index, call in enumerate(ALL))
SHAPES: Final = {
    "grouped": f"SELECT k, {CALLS} FROM rows GROUP BY k",
    "over another": f"SELECT coalesce(k, '-') AS k, {CALLS} FROM (SELECT * FROM rows WHERE n IS NOT NULL) GROUP BY 1 HAVING count(*) > 1",
    "rolled up": "SELECT coalesce(k, '-') AS k, grouping(k) AS all, count(*) AS c, sum(n) AS s FROM rows GROUP BY ROLLUP (k)",
    "of everything": f"SELECT 'all' AS k, {CALLS} FROM rows",
}


def row(k: str | None, n: int | None, x: float | None, t: str | None) -> dict[str, Any]:
    return {"k": k, "n": n, "x": x, "t": t}


FILES: Final = (
    [row("a", 1, 0.5, "x"), row("a", 3, 1.5, "y"), row("b", 2, 2.5, "x"), row(None, 7, 0.25, None)],
    [],
    [row("a", 3, -4.5, "z"), row("b", None, None, None), row("c", None, None, None), row("a", 5, 8.0, "x")],
)


@pytest.mark.parametrize("sql", sampled(SHAPES.values(), every=2), ids=SHAPES)
def test_an_aggregate_over_a_stream_equals_that_of_a_batch(
    spark: SparkSession, tmp_path: Path, sql: str
) -> None:
    bench = PipeBench(spark, tmp_path, {"rows": COLUMNS})
    for file in FILES:
        bench.put("rows", *file)
        rows = bench.run({"name": "v", "sql": sql}, query={"outputMode": "complete"})
        assert rows == answer(bench, sql)


def test_an_upsert_of_changed_groups_equals_the_answer_of_a_batch(
    spark: SparkSession, tmp_path: Path
) -> None:
    bench = PipeBench(spark, tmp_path, {"rows": COLUMNS})
    sql = SHAPES["grouped"]
    merge = {"keys": ["k"], "allowNullKeys": True}
    sink = {"name": "table", "delta": {"path": str(tmp_path / "out"), "merge": merge}}
    for file in FILES:
        bench.put("rows", *file)
        rows = bench.run({"name": "v", "sql": sql}, query={"outputMode": "update", "to": [sink]})
        assert rows == answer(bench, sql)


def answer(bench: PipeBench, sql: str) -> list[tuple[Any, ...]]:
    """What Spark makes of all rows at once."""
    session = bench.spark.newSession()
    session.read.schema(COLUMNS).json(str(bench.folder / "rows")).createOrReplaceTempView("rows")
    return sorted((tuple(row.asDict(recursive=True).values()) for row in session.sql(sql).collect()), key=str)
