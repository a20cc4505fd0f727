"""A row that fails its query does so whatever later views keep of it: no filter, join or group of theirs hides the row."""

import gzip
from pathlib import Path
from typing import Any

import pytest
from harness.sampling import only
from harness.supervisor_loop import Stage
from mainstem.language.model.status.states import QueryState
from pyspark.sql import SparkSession


pytestmark = pytest.mark.S12

KEPT = {
    "all": "SELECT i FROM rows",
    "no column": "SELECT 1 AS one FROM rows",
    "a filter": "SELECT i FROM rows WHERE i > 0",
    "a filter on two columns": "SELECT i FROM rows WHERE i > 0 AND t LIKE 'x%'",
    "not null": "SELECT i FROM rows WHERE i IS NOT NULL",
    "a constant filter": "SELECT i FROM rows WHERE i = 1",
    "a group": "SELECT i, count(*) AS n FROM rows WHERE i = 1 GROUP BY i",
    "a join": "SELECT r.i FROM rows r JOIN names n ON r.i = n.k",
    "a join and a filter": "SELECT r.i FROM rows r JOIN names n ON r.i = n.k WHERE r.t > 'a'",
    "exists": "SELECT i FROM rows r WHERE EXISTS (SELECT 1 FROM names n WHERE n.k = r.i)",
    "a union": "SELECT i FROM rows WHERE i > 0 UNION ALL SELECT i FROM rows WHERE i < 0",
}
"""What a view keeps of the relation `rows`, with the columns i INT and t STRING."""
MALFORMED = {
    "json": ('{"i":1,"t":"x"}', '{"i":"no"}'),
    "json, cut off": ('{"i":1,"t":"x"}', '{"i":'),
    "csv": ("1,x", "no,x"),
    "csv, too few fields": ("1,x", ""),
}
"""A record that is decoded and one that is malformed, and so null in each column."""
SIDE = {
    "a join without a filter": "SELECT r.i FROM rows r JOIN names n ON r.i = n.k JOIN side s ON n.k = s.k",
    "a filter on the key": "SELECT r.i FROM rows r JOIN side s ON r.i = s.k WHERE s.k > 0",
    "read twice": "SELECT r.i FROM rows r JOIN side s ON r.i = s.k JOIN side t ON r.i = t.k WHERE s.k > 0 AND t.k > 0",
    "a join": "SELECT r.i FROM rows r JOIN side s ON r.i = s.k",
    "a join and a filter": "SELECT r.i FROM rows r JOIN side s ON r.i = s.k WHERE s.v > 'a'",
    "a filter below the join": "SELECT r.i FROM rows r JOIN (SELECT k FROM side WHERE v > 'a') s ON r.i = s.k",
    "exists": "SELECT i FROM rows r WHERE EXISTS (SELECT 1 FROM side s WHERE s.k = r.i AND s.v > 'a')",
    "in": "SELECT i FROM rows WHERE i IN (SELECT k FROM side WHERE v > 'a')",
    "the largest": "SELECT i, (SELECT max(v) FROM side s WHERE s.k = r.i) AS v FROM rows r",
    "lateral": "SELECT r.i, s.v FROM rows r, LATERAL (SELECT v FROM side WHERE side.k = r.i) s",
}
ARCHIVE = gzip.compress("".join(f'{{"k":{number},"v":"x"}}\n' for number in range(4000)).encode())
TABLES: dict[str, tuple[str, bytes, dict[str, str]]] = {
    "csv": ("side.csv", b"1,x\n2\n", {}),
    "json": ("side.json", b'{"k":1,"v":"x"}\n{"k":"no"}\n', {}),
    "json, cut off": ("side.json", b'{"k":1,"v":"x"}\n{"k":2,"v":\n', {}),
    "json, multiLine": ("side.json", b'[{"k":1,"v":"x"},{"k":"no"}]', {"multiLine": "true"}),
    "json, a cut off archive": ("side.json.gz", ARCHIVE[: len(ARCHIVE) // 2], {}),
}
"""Side inputs with a malformed record: the name of the file, its bytes and options."""


@pytest.fixture
def stage(spark: SparkSession, tmp_path: Path) -> Stage:
    (tmp_path / "names").write_text('{"k": 1}\n{"k": 2}\n', encoding="utf-8")
    (tmp_path / "in").mkdir()
    return Stage(spark.newSession(), tmp_path)


def failure(
    stage: Stage, sql: str, *sources: dict[str, Any], views: tuple[dict[str, Any], ...] = (), **query: Any
) -> tuple[str | None, int]:
    """The reason for which a query of a view failed, and how many rows it has written."""
    names = {"name": "names", "static": {"json": {"path": f"{stage.folder}/names", "schema": "k INT"}}}
    mode = {"outputMode": "complete"} if "GROUP BY" in sql else {}
    with stage.running(
        sources=[*sources, names],
        views=[*views, {"name": "kept", "sql": sql}],
        queries=[stage.query("kept", "out", **mode, **query)],
    ) as run:
        run.to_the_end()
        assert run["to-out"].state is QueryState.FAILED, run["to-out"]
        return run["to-out"].reason, len(stage.rows("out"))


def files(stage: Stage, kind: str, schema: str = "i INT, t STRING") -> dict[str, Any]:
    return {"name": "rows", "files": {"path": f"{stage.folder}/in", "format": kind, "schema": schema}}


ENDS = {"trigger": {"availableNow": True}}


@pytest.mark.parametrize("kind", only(MALFORMED, ("csv, too few fields",)))
@pytest.mark.parametrize("kept", only(KEPT, ("a filter", "a join and a filter")))
def test_a_malformed_record_fails_the_query_whatever_is_kept(stage: Stage, kept: str, kind: str) -> None:
    (stage.folder / "in" / "a").write_text("\n".join(MALFORMED[kind]) + "\n", encoding="utf-8")
    assert failure(stage, KEPT[kept], files(stage, kind.partition(",")[0]), **ENDS) == ("MalformedRecord", 0)


@pytest.mark.parametrize("rows", only(["stream", "read twice", "table"], ["stream", "table"]))
@pytest.mark.parametrize("kept", only(KEPT, ("a filter",)))
def test_a_violation_fails_the_query_whatever_is_kept(stage: Stage, kept: str, rows: str) -> None:
    """The row violates the expectation by what is null in it, and later views drop it for that."""
    (stage.folder / "in" / "a").write_text('{"i":1,"t":"x"}\n{"t":"x"}\n', encoding="utf-8")
    source = files(stage, "json")
    if rows == "table":
        read = {"path": f"{stage.folder}/in", "schema": "i INT, t STRING"}
        source = {"name": "rows", "static": {"json": read}}
    has_id = {"name": "has_id", "expect": "i IS NOT NULL", "onViolation": "fail"}
    checked = {"name": "checked", "sql": "SELECT * FROM rows", "expectations": [has_id]}
    sql = KEPT[kept].replace("FROM rows", "FROM checked")
    if rows == "read twice":
        sql = f"SELECT * FROM ({sql}) UNION ALL SELECT * FROM ({sql})"
    query = {} if rows == "table" else ENDS
    assert failure(stage, sql, source, views=(checked,), **query) == ("ExpectationFailed", 0)


@pytest.mark.parametrize("table", only(TABLES, ("json",)))
@pytest.mark.parametrize("kept", only(SIDE, ("read twice",)))
def test_a_malformed_record_of_a_side_input_fails_the_query_whatever_is_kept(
    stage: Stage, kept: str, table: str
) -> None:
    (stage.folder / "in" / "a").write_text('{"i":1,"t":"x"}\n', encoding="utf-8")
    name, data, options = TABLES[table]
    (stage.folder / name).write_bytes(data)
    settings = {"path": f"{stage.folder}/{name}", "schema": "k INT, v STRING", "options": options}
    side = {"name": "side", "static": {table.partition(",")[0]: settings}}
    assert failure(stage, SIDE[kept], files(stage, "json"), side, **ENDS) == ("MalformedRecord", 0)
