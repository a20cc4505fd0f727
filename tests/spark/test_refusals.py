"""What the rules refuse of streams, built without the rules: Spark rejects the same, and accepts the rest."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from documents.stream_plans import GROUPS, LATE, MODES, ROWS, SILENT, Row
from harness import refusals
from harness.sampling import only
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession


pytestmark = [pytest.mark.S19, pytest.mark.S20, pytest.mark.S21]

WORDS: Final = {
    "AggregationNeeded": "no streaming aggregations",
    "WatermarkNeeded": "(?i)without(_| a |.)?watermark|dropDuplicatesWithinWatermark",
    "SortNotAllowed": "Sorting is not supported",
    "LimitNotAllowed": "(Limits are|Offset is) not supported",
    "SampleNotAllowed": "Sampling is not supported",
    "WindowFunctionNotAllowed": "NON_TIME_WINDOW_NOT_SUPPORTED_IN_STREAMING",
    "FunctionNotAllowed": "monotonically_increasing_id.. is not supported",
    "SubqueryNotAllowed": "Streaming query is not allowed in subquery",
    "SetOperationNotAllowed": "(Union between|Intersect of|Except on).* not supported",
    "DistinctNotAllowed": "Distinct aggregations are not supported",
    "JoinNotAllowed": "join.* not supported",
    "StateNotAllowed": "(?i)applyInPandasWithState.* not supported|FlatMapGroupsInPandasWithState|correctness",
    "WatermarkTwice": "Redefining watermark is disallowed",
    "EqualityNeeded": "without equality predicate",
    "WindowKeyNeeded": "(?i)without(_| a |.)?watermark",
    "KeyNeeded": "Global aggregation with session window|session window streaming aggregations",
    "OutputModeNotAllowed": "not supported in|not supported for session window|Detected pattern of possible",
}
"""Our reason -> pattern of Spark's message for the same query; where there are several, one is enough."""


@pytest.fixture(scope="module")
def folder(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sources of every row."""
    folder: Path = tmp_path_factory.mktemp("refusals")
    refusals.put_three_days(folder, "abct", {"k": "x", "v": 1, "n": 1}, "ts")
    return folder


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> Iterator[SparkSession]:
    with refusals.silent(spark) as session:
        yield session


def spark_says(session: SparkSession, row: Row, folder: Path) -> dict[str, str]:
    """Output mode -> Spark's refusal, empty where it takes the query. Only steps with code are planned for a mode."""
    depends = any(isinstance(view, dict) and "state" in view for view in (row.view, row.below))
    plans: dict[str, Any] = {}
    for own in ("append", "update") if depends else ("append",):
        plans[own] = refusals.planned(session, row.document(own, str(folder)), own)
    return {mode: refusals.refusal(session, plans.get(mode, plans["append"]), mode) for mode in MODES}


def named(rows: list[Row], starts: tuple[str, ...]) -> list[Row]:
    """One row for each beginning: the first that has it."""
    return [next(row for row in rows if row.id.startswith(start)) for start in starts]


IN_THE_GATE: Final = named(
    ROWS,
    (
        "SELECT k FROM a ORDER BY k",
        "SELECT count(*) AS n FROM a",
        "SELECT a.k FROM a LEFT JOIN b ON a.k = b.k AND b.ts BETWEEN",
        "SELECT window(window_time(w), '1 day')",
        "{'state': {'from': 'a', 'keys': ['k'], 'schema': 'k STRING, ts TIMESTAMP, n BIGINT', 'function'",
        "{'deduplicate': {'from': 'c', 'columns': ['k'], 'withinWatermark': True}}",
    ),
)
"""An operator, an aggregation, a join, a chain, code with state and a step; every rule is in unit/test_stream_plans."""


@pytest.mark.parametrize("row", only(ROWS, IN_THE_GATE), ids=lambda row: row.id)
def test_spark_rejects_what_the_rules_reject(session: SparkSession, folder: Path, row: Row) -> None:
    message = spark_says(session, row, folder)
    assert {mode: bool(text) for mode, text in message.items()} == {m: bool(row.reason(m)) for m in MODES}
    for mode, text in message.items():
        reason = row.reason(mode)
        allowed = (WORDS[reason], WORDS["AggregationNeeded"], WORDS["WatermarkNeeded"]) if reason else ()
        assert not reason or any(re.search(words, text) for words in allowed), text


def fate(
    session: SparkSession,
    row: Row,
    mode: str,
    folder: Path,
    checkpoints: Path,
    sink: dict[str, Any] | None = None,
) -> str:
    """Spark's message for a query that runs over all rows, a file a batch; empty where it comes to its end."""
    data = row.document(mode, str(folder))
    data["spec"]["checkpoints"]["location"] = str(checkpoints / mode)
    data["spec"]["queries"][0]["to"] = [{"name": "out", **(sink or {"noop": {}})}]
    try:
        refusals.run_to_the_end(session, data)
    except PySparkException as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    "row", only(LATE, named(LATE, ("SELECT a.k FROM a CROSS JOIN b",))), ids=lambda row: row.id
)
def test_spark_fails_at_run_time_what_the_rules_reject(
    session: SparkSession, folder: Path, tmp_path: Path, row: Row
) -> None:
    for mode in MODES:
        reason, message = row.reason(mode), fate(session, row, mode, folder, tmp_path)
        assert bool(message) is bool(reason), message
        assert not reason or re.search(WORDS[reason], message), message


@pytest.mark.full(gate="unit/test_stream_plans.py::test_a_plan_is_rejected_only_for_its_reason")
def test_spark_would_write_nothing_below_a_second_watermark(
    session: SparkSession, folder: Path, tmp_path: Path
) -> None:
    counts = []
    for number, row in enumerate((Row(GROUPS), SILENT)):
        out = str(tmp_path / f"out{number}")
        assert fate(session, row, "append", folder, tmp_path / str(number), {"parquet": {"path": out}}) == ""
        counts.append(session.read.schema("ts TIMESTAMP, n BIGINT").parquet(out).count())
    assert [count > 0 for count in counts] == [True, False]
    for mode in ("update", "complete"):
        assert re.search(WORDS["WatermarkTwice"], fate(session, SILENT, mode, folder, tmp_path / mode))


@pytest.mark.full(gate="unit/test_stream_plans.py::test_a_plan_is_rejected_only_for_its_reason")
def test_spark_would_remove_the_rows_of_the_table_again_in_each_batch(
    session: SparkSession, folder: Path, tmp_path: Path
) -> None:
    own, text = session.newSession(), "SELECT k FROM a EXCEPT ALL SELECT k FROM t"
    own.conf.set("spark.sql.shuffle.partitions", "1")
    rows, read = str(folder / "a"), own.readStream.schema("k STRING").option("maxFilesPerTrigger", 1)
    own.read.schema("k STRING").json(rows).createOrReplaceTempView("a")
    own.createDataFrame([("x",)], "k STRING").createOrReplaceTempView("t")
    assert own.sql(text).count() == 2
    read.name("a").json(rows).createOrReplaceTempView("a")
    writer = own.sql(text).writeStream.format("memory").queryName("out").outputMode("update")
    writer = writer.option("checkpointLocation", str(tmp_path)).trigger(availableNow=True)
    writer.start().awaitTermination(120)
    assert own.table("out").count() == 0


@pytest.mark.full
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_what_the_rules_accept_runs_to_its_end(
    session: SparkSession, folder: Path, tmp_path: Path, row: Row
) -> None:
    for mode in MODES:
        assert row.reason(mode) or fate(session, row, mode, folder, tmp_path) == ""
