"""Each file that a batch was planned with gives its rows, whatever the document says by the time the batch is read."""

from pathlib import Path
from typing import Any

import pytest
from harness.sampling import only
from harness.supervisor_loop import Stage
from mainstem.language.model.status.states import QueryState
from pyspark.sql import SparkSession
from spark.test_files_beside_folders import FORMATS, WITH_COLUMNS, put, spec


pytestmark = pytest.mark.S06
KINDS = tuple(kind for kind in FORMATS if kind != "csv")
"""Formats that need no column for the folders."""
LAYOUTS = {"no folders": ["a1", "b2"], "folders": ["k=1/a1", "k=2/b2"], "beside folders": ["a1", "k=2/b2"]}


@pytest.fixture
def stage(spark: SparkSession, tmp_path: Path) -> Stage:
    return Stage(spark.newSession(), tmp_path)


def folder_value(name: str, kind: str) -> str | None:
    return name[2] if "=" in name and kind in WITH_COLUMNS else None


def narrowed(stage: Stage, document: dict[str, Any], kind: str) -> list[tuple[int, str | None]]:
    """What a first batch gives that was planned with all files, and is read with a glob for some of them."""
    [view] = document["views"]
    sql = view["sql"]
    view["sql"] = sql.replace("FROM", ", assert_true(1 = 0) AS sound FROM")
    assert run(stage, document).state is QueryState.FAILED
    view["sql"] = sql
    document["sources"][0]["files"]["pathGlobFilter"] = f"b*.{kind}"
    status = run(stage, document)
    assert status.state is QueryState.COMPLETED, status
    frame = stage.spark.read.schema("k STRING, id INT").parquet(f"{stage.folder}/out")
    return sorted((row.id, row.k) for row in frame.collect())


def run(stage: Stage, document: dict[str, Any]) -> Any:
    document["queries"][0]["trigger"] = {"availableNow": True}
    with stage.running(**document) as running:
        running.to_the_end()
        return running["q"]


@pytest.mark.parametrize("names", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("kind", only(KINDS, ("json", "parquet", "text")))
def test_a_file_is_read_that_the_glob_no_longer_has(
    stage: Stage, tmp_path: Path, kind: str, names: list[str]
) -> None:
    for name in names:
        put(tmp_path, kind, name, int(name[-1]))
    document = spec(tmp_path, kind, "", None)
    assert narrowed(stage, document, kind) == [(int(name[-1]), folder_value(name, kind)) for name in names]


def test_below_a_glob_a_base_path_gives_the_columns(stage: Stage, tmp_path: Path) -> None:
    put(tmp_path, "json", "k=1/a1", 1)
    put(tmp_path, "json", "k=2/b2", 2)
    document = spec(tmp_path, "json", "", None)
    files = document["sources"][0]["files"]
    files |= {"path": f"{tmp_path}/in/k=*", "options": {"basePath": f"{tmp_path}/in"}}
    assert narrowed(stage, document, "json") == [(1, "1"), (2, "2")]


@pytest.mark.parametrize("kind", only(("parquet", "orc"), ("parquet",)))
def test_a_damaged_file_fails_the_batch_until_it_is_removed(stage: Stage, tmp_path: Path, kind: str) -> None:
    put(tmp_path, kind, "a1", 1)
    damaged = tmp_path / "in" / f"b2.{kind}"
    damaged.write_bytes(b"no columns")
    document = spec(tmp_path, kind, "", None)
    status = run(stage, document)
    assert status.state is QueryState.FAILED, status
    assert damaged.name in (status.message or "")
    damaged.unlink()
    document["sources"][0]["files"]["failOnDataLoss"] = False
    status = run(stage, document)
    assert (status.state, status.sources[0].expired) == (QueryState.COMPLETED, 1), status
    assert stage.spark.read.parquet(f"{tmp_path}/out").count() == 1
