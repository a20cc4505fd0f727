"""A folder of files has one type for each column: a query with another one converts exactly, or is refused."""

import json
from pathlib import Path
from typing import Any

import pytest
from harness.sampling import only
from harness.supervisor_loop import Stage
from mainstem.errors import SpecInvalid
from mainstem.language.model.status.states import QueryState
from pyspark.sql import SparkSession


pytestmark = pytest.mark.S26
FORMS = ("parquet", "orc", "parquet beside another", "bounded parquet")
"""Formats, and forms of queries with another writer."""
BEFORE = "day STRING, i INT, d DECIMAL(10,2), s STRUCT<list: ARRAY<FLOAT>>"
WIDER = "day STRING, i DOUBLE, d DECIMAL(10,4), s STRUCT<list: ARRAY<DOUBLE>>, new INT"
EXACT = "day STRING, i BIGINT, d DECIMAL(12,1), s STRUCT<list: ARRAY<INT>>, new INT"


@pytest.fixture
def stage(spark: SparkSession, tmp_path: Path) -> Stage:
    return Stage(spark.newSession(), tmp_path)


def spec(stage: Stage, schema: str, form: str) -> dict[str, Any]:
    """A query of rows of this schema, into a folder with partitions."""
    (stage.folder / "in").mkdir(exist_ok=True)
    path = f"{stage.folder}/in"
    bounded = form.startswith("bounded")
    source = {"static": {"json": {"path": path, "schema": schema}}} if bounded else {
        "files": {"path": path, "format": "json", "schema": schema}
    }  # fmt: skip
    kind = "orc" if form == "orc" else "parquet"
    to = [{"name": "folder", kind: {"path": f"{stage.folder}/out", "partitionBy": ["day"]}}]
    to += [{"name": "none", "noop": {}}] if "beside" in form else []
    trigger = {} if bounded else {"trigger": {"availableNow": True}}
    return {
        "sources": [{"name": "rows"} | source],
        "queries": [{"name": "q", "from": "rows", "to": to} | trigger],
    }


def ended(stage: Stage, schema: str, form: str) -> tuple[QueryState, str | None, str]:
    """State, reason and message of the query at the end of its run."""
    with stage.running(**spec(stage, schema, form)) as run:
        run.to_the_end(180)
        return run["q"].state, run["q"].reason, run["q"].message or ""


def put(stage: Stage, **row: Any) -> None:
    stage.put("in", json.dumps(row))


def rows(stage: Stage, form: str) -> list[dict[str, Any]]:
    """All rows of the folder, read with the types of its first version."""
    frame = (
        stage.spark.read.schema(BEFORE)
        .format("orc" if form == "orc" else "parquet")
        .load(f"{stage.folder}/out")
    )
    return sorted((row.asDict(recursive=True) for row in frame.collect()), key=lambda row: str(row["i"]))


@pytest.fixture(params=only(FORMS, ("parquet",)))
def form(request: pytest.FixtureRequest, stage: Stage) -> str:
    """A form of a query that has written its first batch."""
    put(stage, day="a", i=1, d=1.5, s={"list": [1]})
    assert ended(stage, BEFORE, request.param)[0] is QueryState.COMPLETED
    return str(request.param)


def test_a_change_of_a_type_that_may_alter_values_is_refused_with_each_column(
    stage: Stage, form: str
) -> None:
    with pytest.raises(SpecInvalid) as refused, stage.running(**spec(stage, WIDER, form)):
        pass
    kind = "orc" if form == "orc" else "parquet"
    assert [(problem.path, problem.reason) for problem in refused.value.problems] == [
        (f"spec.queries[0].to[0].{kind}", "TypeTooNarrow")
    ] * 3
    messages = " ".join(problem.message for problem in refused.value.problems)
    assert (
        "'i' is DOUBLE, and INT in the folder's files may alter its values; CAST it in a view to that type"
        in messages
    )
    assert "'s.list.element' is DOUBLE, and FLOAT in the folder's files" in messages
    assert "or give the sink a new path" in messages


@pytest.mark.full(
    gate="spark/test_folder_types.py::test_a_change_of_a_type_that_may_alter_values_is_refused_with_each_column"
)
def test_rows_get_the_types_of_the_files_before_them(stage: Stage, form: str) -> None:
    put(stage, day="b", i=2, d=2.5, s={"list": [3]}, new=7)
    state, reason, message = ended(stage, EXACT, form)
    assert state is QueryState.COMPLETED, (reason, message)
    new = [row for row in rows(stage, form) if row["day"] == "b"]
    assert [(row["i"], str(row["d"]), row["s"]) for row in new] == [(2, "2.50", {"list": [3.0]})]


@pytest.mark.full(
    gate="spark/test_stored_types.py::test_a_value_that_the_type_cannot_have_fails_the_batch_with_the_column"
)
def test_a_value_that_the_type_cannot_have_fails_the_batch(stage: Stage, form: str) -> None:
    put(stage, day="b", i=3_000_000_000)
    state, reason, message = ended(stage, EXACT, form)
    assert (state, reason) == (QueryState.FAILED, "ValueOutOfRange"), message
    assert (
        "'i' is BIGINT, with a value that INT in the folder's files cannot have; correct or drop" in message
    )
    assert [row["day"] for row in rows(stage, form)] == ["a"]


@pytest.mark.full(
    gate="spark/test_folder_types.py::test_a_change_of_a_type_that_may_alter_values_is_refused_with_each_column"
)
def test_a_folder_whose_newest_file_was_removed_is_not_compared(stage: Stage, form: str) -> None:
    for file in (stage.folder / "out").rglob("part-*"):
        file.unlink()
    put(stage, day="b", i=2.5)
    state, reason, message = ended(stage, WIDER, form)
    assert state is QueryState.COMPLETED, (reason, message)
