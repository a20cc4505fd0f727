"""Expectations on views: counted in the pass that computes them, and violations dropped, put aside, or fatal."""

from pathlib import Path
from typing import Any

import pytest
from harness.sampling import sampled
from harness.supervisor_loop import Stage
from mainstem.errors import SpecInvalid
from mainstem.language.model.status.query_progress import QueryProgress
from mainstem.language.model.status.states import QueryState
from pyspark.sql import SparkSession


pytestmark = pytest.mark.S12

BOUNDED = {"trigger": {"availableNow": True}}
PARSED = "SELECT TRY_CAST(split(value, ',')[0] AS INT) AS id, split(value, ',')[1] AS word FROM lines"
HAS_ID = {"name": "has_id", "expect": "id > 0"}
HAS_WORD = {"name": "has_word", "expect": "word <> ''"}
LINES = ("1,a", "-2,b", ",c", "4,", "-5,", "6,f")
"""Ids 1, -2, null, 4, -5, 6; words a, b, c, empty, empty, f."""


def view(
    *expectations: dict[str, Any], sql: str = PARSED, name: str = "parsed", **more: Any
) -> dict[str, Any]:
    return {"name": name, "sql": sql, "expectations": list(expectations), **more}


def counts(status: QueryProgress) -> dict[str, tuple[int, int]]:
    return {
        f"{expectation.view}.{expectation.name}": (expectation.passed, expectation.violated)
        for expectation in status.expectations
    }


@pytest.fixture
def stage(spark: SparkSession, tmp_path: Path) -> Stage:
    stage_of_test = Stage(spark.newSession(), tmp_path)
    stage_of_test.put("lines", *LINES)
    return stage_of_test


def run(stage: Stage, *views: dict[str, Any], read: str = "parsed", **query: Any) -> QueryProgress:
    with stage.running(
        sources=[stage.files("lines")],
        views=list(views),
        queries=[stage.query(read, "out", **BOUNDED, **query)],
    ) as running:
        running.to_the_end()
        return running["to-out"]


@pytest.mark.full(gate="spark/test_expectations.py::test_rows_of_an_aggregation_are_counted_as_emitted")
def test_warn_counts_violations_and_keeps_rows(stage: Stage) -> None:
    status = run(stage, view(HAS_ID, HAS_WORD))
    assert counts(status) == {"parsed.has_id": (3, 3), "parsed.has_word": (4, 2)}
    assert len(stage.rows("out")) == 6


@pytest.mark.full(gate="spark/test_expectations.py::test_nested_views_count_separately")
def test_drop_removes_violating_and_null_rows(stage: Stage) -> None:
    status = run(stage, view(HAS_ID | {"onViolation": "drop"}, HAS_WORD))
    assert counts(status) == {"parsed.has_id": (3, 3), "parsed.has_word": (4, 2)}
    assert stage.rows("out") == [{"id": 1, "word": "a"}, {"id": 4, "word": ""}, {"id": 6, "word": "f"}]


def test_fail_ends_the_query_without_data_in_the_message(stage: Stage) -> None:
    status = run(stage, view(HAS_WORD, HAS_ID | {"onViolation": "fail"}))
    assert (status.state, status.reason, status.restarts) == (QueryState.FAILED, "ExpectationFailed", 0)
    assert status.message == (
        "a row of the view 'parsed' violates 'has_id'; correct the data, or set onViolation to warn, drop or quarantine"
    )
    assert stage.rows("out") == []


def test_quarantine_is_a_relation(stage: Stage) -> None:
    views = [view(HAS_ID | {"onViolation": "quarantine"}, HAS_WORD | {"onViolation": "drop"})]
    queries = [stage.query("parsed", "out", **BOUNDED), stage.query("parsed_quarantine", "aside", **BOUNDED)]
    with stage.running(sources=[stage.files("lines")], views=views, queries=queries) as running:
        running.to_the_end()
        both = {"parsed.has_id": (3, 3), "parsed.has_word": (4, 2)}
        assert counts(running["to-out"]) == counts(running["to-aside"]) == both
    assert stage.rows("out") == [{"id": 1, "word": "a"}, {"id": 6, "word": "f"}]
    aside = stage.rows("aside")
    assert all(row.pop("time") is not None for row in aside)
    assert aside == [
        {"id": -2, "word": "b", "violated": ["has_id"]},
        {"id": -5, "word": "", "violated": ["has_id", "has_word"]},
        {"id": None, "word": "c", "violated": ["has_id"]},
    ]


def test_a_view_read_twice_counts_once(stage: Stage) -> None:
    twice = view(sql="SELECT id FROM parsed UNION ALL SELECT id FROM parsed", name="twice")
    status = run(stage, view(HAS_ID | {"onViolation": "drop"}), twice, read="twice")
    assert counts(status) == {"parsed.has_id": (3, 3)}
    assert [row["id"] for row in stage.rows("out")] == [1, 1, 4, 4, 6, 6]


def test_nested_views_count_separately(stage: Stage) -> None:
    above = view(HAS_WORD | {"onViolation": "drop"}, sql="SELECT * FROM parsed", name="above")
    status = run(stage, view(HAS_ID | {"onViolation": "drop"}), above, read="above")
    assert counts(status) == {"parsed.has_id": (3, 3), "above.has_word": (2, 1)}
    assert [row["id"] for row in stage.rows("out")] == [1, 6]


@pytest.mark.full(gate="spark/test_expectations.py::test_nested_views_count_separately")
def test_a_random_expression_is_evaluated_once_a_row(stage: Stage) -> None:
    stage.put("lines", *(f"{number},x" for number in range(1, 200)))
    status = run(stage, view({"name": "lucky", "expect": "rand() < 0.5", "onViolation": "drop"}))
    [lucky] = status.expectations
    assert lucky.passed == len(stage.rows("out"))
    assert 0 < lucky.violated < 205


@pytest.mark.parametrize("mode", sampled(["update", "complete"], every=2))
def test_rows_of_an_aggregation_are_counted_as_emitted(stage: Stage, mode: str) -> None:
    """Counts are of emitted rows: in complete mode all rows of the aggregation in each batch."""
    counted = view(
        {"name": "few", "expect": "n < 3"},
        sql="SELECT word, count(*) AS n FROM parsed GROUP BY word",
        name="counted",
    )
    sink = {"name": "none", "noop": {}}
    status = run(stage, view(HAS_ID), counted, read="counted", outputMode=mode, to=[sink])
    assert counts(status) == {"parsed.has_id": (3, 3), "counted.few": (5, 0)}


@pytest.mark.full(gate="spark/test_expectations.py::test_a_view_read_twice_counts_once")
def test_a_self_join_counts_once(stage: Stage) -> None:
    pairs = view(sql="SELECT a.id FROM parsed a JOIN parsed b ON a.id = b.id", name="pairs")
    status = run(stage, view(HAS_ID | {"onViolation": "drop"}), pairs, read="pairs")
    assert counts(status) == {"parsed.has_id": (3, 3)}
    assert [row["id"] for row in stage.rows("out")] == [1, 4, 6]


@pytest.mark.full(gate="spark/test_several_sinks.py::test_a_batch_is_computed_once")
def test_several_sinks_and_a_merge_count_once(stage: Stage) -> None:
    plain = {"name": "one", "delta": {"path": str(stage.folder / "one")}}
    two = {"name": "two", "delta": {"path": str(stage.folder / "two"), "merge": {"keys": ["word"]}}}
    distinct = view(HAS_ID | {"onViolation": "drop"})
    status = run(stage, distinct, to=[plain, two])
    assert counts(status) == {"parsed.has_id": (3, 3)}
    assert [row["id"] for row in stage.rows("one")] == [row["id"] for row in stage.rows("two")] == [1, 4, 6]
    status = run(stage, distinct, to=[two], checkpoint={"id": "merge"})
    assert counts(status) == {"parsed.has_id": (3, 3)}


def test_an_invalid_predicate_is_rejected_at_the_start(stage: Stage) -> None:
    for expect in ("count(*) > 1", "id + 1", "nothing > 1", "id >"):
        with pytest.raises(SpecInvalid):
            run(stage, view({"name": "odd", "expect": expect}))
