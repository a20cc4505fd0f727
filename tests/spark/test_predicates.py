"""What Mainstem takes for a predicate over one row is what Spark takes for one."""

import pytest
from mainstem.language.sql.predicates import beyond_a_row
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F


OF_ONE_ROW = [
    "n > 1", "n BETWEEN 1 AND 2", "exists(xs, x -> x > n)", "forall(xs, x -> x > 0)",
    "aggregate(xs, 0, (a, x) -> a + x) > 1", "reduce(xs, 0, (a, x) -> a + x) > 1", "array_max(xs) > 1", "size(xs) > 1",
    "greatest(n, 1) > least(n, 2)", "window(at, '1 hour').start > at", "rand() > 2", "first.x > 1", "max = 1", "s LIKE 'count(%'",
    "/* count(*) */ n > 1", "array_position(xs, 1) > 0", "element_at(xs, 1) = 1", "transform(xs, x -> x + 1)[0] = 1",
    "s = any_value", "s IN ('sum(n)', 'max')", "try_divide(n, 0) > 1", "CASE WHEN n > 1 THEN true ELSE false END",
    "xs[0] = ANY_VALUE", "from_json(s, 'a INT').a > 1", "array_sort(xs)[0] = 1", "n IS DISTINCT FROM 1", "s LIKE ANY ('a%', 'b%')",
    "s LIKE SOME ('a%')", "s ILIKE ANY ('A')", "s NOT LIKE ANY ('a', 'b')", "s LIKE ALL ('a%', '%b')",
]  # fmt: skip
BEYOND = {
    "a subquery": ["n IN (SELECT 1)", "EXISTS (SELECT 1)", "n > (SELECT 1)"],
    "a window function": ["row_number() OVER (ORDER BY n) = 1", "sum(n) OVER () > 1", "lag(n) OVER (ORDER BY at) < n"],
    "an aggregate": [
        "count(*) > 1", "n > max(n)", "sum(n) FILTER (WHERE n > 1) > 1", "first(n) IGNORE NULLS > 1", "any(n > 1)", "some(n > 1)",
        "every(n > 1)", "bool_and(n > 1)", "any_value(n) > 1", "percentile_cont(0.5) WITHIN GROUP (ORDER BY n) > 1", "mode(n) = 1",
        "listagg(s) = ''", "approx_count_distinct(n) > 1", "array_size(collect_list(n)) > 1", "NOT (max(n) > 1 OR n > 2)",
    ],
    "a function that makes several rows of one": [
        "explode(xs) > 1", "n > 1 AND posexplode(xs) > 1", "stack(1, n) > 1", "inline(array(struct(n))) > 1", "json_tuple(s, 'a') = ''",
        "explode_outer(xs) > 1",
    ],
}  # fmt: skip
COLUMNS = "n INT, xs ARRAY<INT>, at TIMESTAMP, s STRING, first STRUCT<x: INT>, max INT, any_value STRING"


def is_taken(spark: SparkSession, text: str) -> bool:
    frame = spark.createDataFrame([], COLUMNS)
    try:
        _ = frame.where(F.expr(text)).schema
    except AnalysisException:
        return False
    return True


@pytest.mark.S17
def test_a_predicate_of_one_row_is_read_as_spark_reads_it(spark: SparkSession) -> None:
    read = {text: beyond_a_row(text) for text in OF_ONE_ROW}
    assert read == dict.fromkeys(OF_ONE_ROW)
    assert [text for text in OF_ONE_ROW if not is_taken(spark, text)] == []


@pytest.mark.S17
def test_what_spark_refuses_in_a_predicate_is_named(spark: SparkSession) -> None:
    read = {text: beyond_a_row(text) for texts in BEYOND.values() for text in texts}
    assert read == {text: name for name, texts in BEYOND.items() for text in texts}
    subqueries = set(
        BEYOND["a subquery"]
    )  # Spark takes them in a filter of a batch, and in none of a stream or merge
    assert [text for text in read if text not in subqueries and is_taken(spark, text)] == []
