"""A key of a JSON object that differs from a column only in case leaves the column NULL: the query's status names it."""

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from harness.sampling import only
from harness.supervisor_loop import Stage
from mainstem.language.model.status.states import QueryState
from pyspark.sql import SparkSession


SCHEMA = "id INT, name STRING, inner STRUCT<a: INT>"


WHOLE = '{"id": 1, "name": "a", "inner": {"a": 1}}'


class Case(NamedTuple):
    """Lines of a file, and how the warning spells the key; empty for no warning."""

    lines: list[str]
    spelled: str = ""
    settings: dict[str, Any] = {}  # noqa: RUF012 - never changed


CASES = {
    "a key": Case(['{"ID": 3, "name": "c"}'], "'ID' instead of id"),
    "in one record": Case([WHOLE] * 50 + ['{"id": 2, "Name": "b", "inner": {}}'], "'Name' instead of name"),
    "the first of two columns": Case(['{"NAME": "a", "ID": 3, "inner": {"a": 1}}'], "'NAME' instead of name"),
    "no column at all": Case(['{"ID": 3}'], "'ID' instead of id", {"allowRecordsWithoutColumns": True}),
    "beside the column's own key": Case(['{"id": 3, "ID": 4}', '{"ID": 4, "id": null}']),
    "another key": Case(['{"id": 3, "number": 4, "ids": 5}']),
    "a column without a key": Case(['{"id": 3}']),
    "a large record": Case([json.dumps({"ID": 1, "name": "n" * 17_000})]),
    "beside malformed records": Case(
        ['{"ID": 3, "name": "c"}', *['{"id": "x"}'] * 9], "'ID' instead of id", {"onMalformedRecord": "drop"}
    ),
    "no object": Case(['{"ID": 3', "[1]", "", '{"id": 3}'], settings={"onMalformedRecord": "drop"}),
}


@pytest.mark.S12
@pytest.mark.parametrize("case", only(CASES, ("a key", "beside the column's own key", "no object")))
def test_the_status_names_a_key_in_another_case(spark: SparkSession, tmp_path: Path, case: str) -> None:
    lines, spelled, settings = CASES[case]
    stage = Stage(spark.newSession(), tmp_path)
    stage.put("lines", *lines)
    settings = dict(settings)
    parser = {"schema": SCHEMA} | {
        key: settings.pop(key) for key in ("allowRecordsWithoutColumns",) if key in settings
    }
    source = stage.files("lines") | {"decode": {"json": parser, **settings}}
    with stage.running(sources=[source], queries=[stage.query("lines", "table")]) as turning:
        turning.until(lambda: turning["to-table"].input_rows == len(lines))
        status = turning["to-table"]
    expected = ("KeysDifferInCase", spelled) if spelled else (None, "")
    assert (status.state, status.reason) == (QueryState.RUNNING, expected[0])
    assert expected[1] in (status.message or "")


@pytest.mark.S12
def test_columns_that_folders_give_have_no_keys(spark: SparkSession, tmp_path: Path) -> None:
    stage = Stage(spark.newSession(), tmp_path)
    (tmp_path / "lines" / "id=7").mkdir(parents=True)
    (tmp_path / "lines" / "id=7" / "a.json").write_text('{"ID": 1}\n')
    files = {"path": f"{tmp_path}/lines", "format": "json", "schema": "id INT"}
    with stage.running(
        sources=[{"name": "lines", "files": files}], queries=[stage.query("lines", "table")]
    ) as turning:
        turning.until(lambda: turning["to-table"].input_rows == 1)
        status = turning["to-table"]
    assert (status.state, status.reason) == (QueryState.RUNNING, None)
    assert [row["id"] for row in stage.rows("table")] == [7]


@pytest.mark.S12
def test_a_file_of_many_objects_is_looked_at_too(spark: SparkSession, tmp_path: Path) -> None:
    stage = Stage(spark.newSession(), tmp_path)
    files = {
        "path": f"{tmp_path}/lines",
        "format": "json",
        "schema": SCHEMA,
        "options": {"multiLine": "true"},
    }
    stage.put("lines", json.dumps([{"ID": 1, "name": "a"}, {"id": 2}], indent=1))
    source = {"name": "lines", "files": files}
    with stage.running(sources=[source], queries=[stage.query("lines", "table")]) as turning:
        turning.until(lambda: turning["to-table"].input_rows > 0)
        status = turning["to-table"]
    assert status.reason == "KeysDifferInCase"
    assert {row["id"] for row in stage.rows("table")} == {None, 2}
