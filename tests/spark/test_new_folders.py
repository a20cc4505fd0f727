"""Folders such as `k=v` that appear under a running query: each value is in its own column, or the query says why not."""

import json
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.orc
import pyarrow.parquet
import pytest
from harness.sampling import only, sampled
from harness.supervisor_loop import Stage, Turning
from harness.waiting import within
from mainstem.errors import NotReady
from mainstem.language.model.status.states import QueryState
from pyspark.sql import SparkSession


pytestmark = pytest.mark.S06
KINDS = ("json", "csv", "text", "parquet", "orc", "decoded")
IN_THE_GATE = ("json", "text", "parquet")
SCHEMA = "id INT, k INT, other INT"
"""The column of the folders is not the last one: Spark would give its values to the last one."""


class Folder:
    """The folder of a source, with a pipeline that writes what it reads as JSON."""

    def __init__(self, spark: SparkSession, path: Path, kind: str) -> None:
        self.stage = Stage(spark.newSession(), path)
        self.path, self.kind, self.folders = path, kind, ""

    def put(self, name: str, number: int) -> None:
        """A new file with one row, whole at once."""
        final, written = self.path / "in" / f"{name}.{self.kind}", self.path / "written"
        final.parent.mkdir(parents=True, exist_ok=True)
        self.folders += name.rpartition("/")[0]
        table = pyarrow.table({"id": pyarrow.array([number], pyarrow.int32())})
        if self.kind == "parquet":
            pyarrow.parquet.write_table(table, written)
        elif self.kind == "orc":
            pyarrow.orc.write_table(table, written)
        elif self.kind == "csv":
            # A record has the columns that no folder gives.
            gives_k = re.search("(k|%6B)=", self.folders, re.IGNORECASE)
            written.write_text(f"{number}{',' if gives_k else ',,'}\n")
        else:
            written.write_text(f"{number}\n" if self.kind == "text" else f'{{"id": {number}}}\n')
        written.rename(final)

    def spec(self, **more: Any) -> dict[str, Any]:
        files: dict[str, Any] = {"path": f"{self.path}/in", "format": self.kind, **more}
        source: dict[str, Any] = {"name": "rows", "files": files}
        if self.kind == "decoded":
            files["format"] = "text"
            source["decode"] = {"json": {"schema": SCHEMA}}
        elif self.kind != "text":
            files.setdefault("schema", SCHEMA)
        sink = {"name": "t", "json": {"path": f"{self.path}/out"}}
        return {"sources": [source], "queries": [{"name": "q", "from": "rows", "to": [sink]}]}

    def rows(self) -> list[tuple[int, int | None]]:
        """The id and the folder of each row; no row has a value in the other column."""
        lines = [
            line for file in (self.path / "out").glob("*.json") for line in file.read_text().splitlines()
        ]
        rows = [{name.lower(): value for name, value in json.loads(line).items()} for line in lines]
        assert not any("other" in row for row in rows)
        return sorted((int(row.get("id", row.get("value"))), row.get("k")) for row in rows)

    @contextmanager
    def reading(self, first: str, k: int | None = None, **more: Any) -> Iterator[Turning]:
        """The running pipeline, once it has written the row of a first file, whose number is 1."""
        self.put(first, 1)
        with self.stage.running(**self.spec(**more)) as turning:
            turning.until(lambda: self.rows() == [(1, k)])
            yield turning

    def failed(self, turning: Turning) -> tuple[str, str]:
        """The reason and the message of the query, which fails."""
        turning.until(lambda: turning["q"].state is QueryState.FAILED)
        return turning["q"].reason or "", turning["q"].message or ""


@pytest.mark.parametrize("kind", only(KINDS, IN_THE_GATE))
def test_a_folder_that_appears_gives_its_column(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    folder = Folder(spark, tmp_path, kind)
    with folder.reading("a") as turning:
        folder.put("k=7/b", 2)
        turning.until(lambda: len(folder.rows()) == 2)
        folder.put("k=8/c", 3)
        folder.put("d", 4)
        turning.until(lambda: len(folder.rows()) == 4)
        status = turning["q"]
    assert folder.rows() == [(1, None), (2, 7), (3, 8), (4, None)]
    assert (status.state, status.restarts) == (QueryState.RUNNING, 0)


@pytest.mark.parametrize("kind", only(KINDS, ("json",)))
@pytest.mark.parametrize("name", sampled(["x/k=7", "x/K=7", "x/%6B=7/y"], every=3))
def test_below_a_glob_folders_give_their_columns_too(
    spark: SparkSession, tmp_path: Path, kind: str, name: str
) -> None:
    folder = Folder(spark, tmp_path, kind)
    with folder.reading("x/a", path=f"{tmp_path}/in/*") as turning:
        folder.put(f"{name}/b", 2)
        turning.until(lambda: len(folder.rows()) == 2)
        folder.put("x/k=8/c", 3)
        turning.until(lambda: len(folder.rows()) == 3)
    assert folder.rows() == [(1, None), (2, 7), (3, 8)]


@pytest.mark.full(gate="spark/test_new_folders.py::test_a_folder_that_appears_gives_its_column")
@pytest.mark.parametrize("kind", only(KINDS, ("json",)))
@pytest.mark.parametrize("name", sampled(["k=7/b", "j=3/k=7/b"], every=2))
def test_folders_of_another_name_give_their_column_once_the_old_ones_are_gone(
    spark: SparkSession, tmp_path: Path, kind: str, name: str
) -> None:
    folder = Folder(spark, tmp_path, kind)
    with folder.reading("j=1/a") as turning:
        shutil.rmtree(tmp_path / "in" / "j=1")
        folder.put(name, 2)
        turning.until(lambda: len(folder.rows()) == 2)
    assert folder.rows() == [(1, None), (2, 7)]


@pytest.mark.parametrize("kind", only(("json", "csv", "parquet", "orc", "decoded"), ("parquet",)))
def test_columns_keep_their_places(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    """Spark moves the columns of folders to the end; a sink of csv and a UNION take columns by their place."""
    folder = Folder(spark, tmp_path, kind)
    folder.put("a", 1)
    spec = folder.spec()
    spec["views"] = [{"name": "both", "sql": "SELECT * FROM rows UNION ALL SELECT * FROM rows"}]
    sink = {"name": "t", "csv": {"path": f"{tmp_path}/out"}}
    spec["queries"] = [{"name": "q", "from": "both", "to": [sink]}]

    def written() -> list[str]:
        return sorted(line for file in (tmp_path / "out").glob("*.csv") for line in file.read_text().split())

    with folder.stage.running(**spec) as turning:
        turning.until(lambda: written() == ["1,,"] * 2)
        folder.put("k=7/b", 2)
        turning.until(lambda: len(written()) == 4)
    assert written() == ["1,,", "1,,", "2,7,", "2,7,"]


@pytest.mark.parametrize("kind", only(KINDS, ("parquet",)))
@pytest.mark.parametrize("below", sampled(["", "x/"], every=2))
def test_a_query_starts_again_once_its_folders_are_gone(
    spark: SparkSession, tmp_path: Path, kind: str, below: str
) -> None:
    """When a query starts, Spark plans its last batch once more, with files that may be gone."""
    folder = Folder(spark, tmp_path, kind)
    path = f"{tmp_path}/in/{'*' if below else ''}"
    with folder.reading(f"{below}k=7/a", k=7, path=path):
        pass
    shutil.rmtree(tmp_path / "in" / f"{below}k=7")
    folder.folders = ""
    folder.put(f"{below}b", 2)
    with folder.stage.running(**folder.spec(path=path)) as turning:
        turning.until(lambda: len(folder.rows()) == 2)
    assert folder.rows() == [(1, 7), (2, None)]


@pytest.mark.parametrize("kind", only(["json", "parquet"], ("json",)))
@pytest.mark.parametrize(
    ("name", "value"), sampled([("a%252Fb", "a%2Fb"), ("x y", "x y"), ("007", "007")], every=3)
)
def test_below_a_glob_texts_of_folders_are_as_elsewhere(
    spark: SparkSession, tmp_path: Path, kind: str, name: str, value: str
) -> None:
    folder = Folder(spark, tmp_path, kind)
    folder.put(f"x/k={name}/a", 1)
    for number, place in enumerate(("in", "in/*")):
        out = tmp_path / "out" / str(number)
        spec = folder.spec(path=f"{tmp_path}/{place}", schema="id INT, k STRING, other INT")
        spec["checkpoints"] = {"location": f"{tmp_path}/checkpoints/{number}"}
        spec["queries"][0]["to"] = [{"name": "t", "json": {"path": str(out)}}]
        with folder.stage.running(**spec) as turning:
            turning.until(lambda out=out: any(out.glob("*.json")))
    written = [json.loads(file.read_text()) for file in (tmp_path / "out").glob("*/*.json")]
    assert written == [{"id": 1, "k": value}] * 2


def test_a_stop_meanwhile_is_no_failure(spark: SparkSession, tmp_path: Path) -> None:
    folder = Folder(spark, tmp_path, "json")
    with folder.reading("a") as turning:
        execution = turning.supervisor._queries[0].execution
        folder.put("k=7/b", 2)
        within(60, "the batch that fails", lambda: not execution.active)
        turning.supervisor.drain()
        status = turning["q"]
    assert (status.state, status.reason) == (QueryState.INTERRUPTED, None)


CONFLICTS = {"another name": ("k=1/a", "j=2/b"), "another level": ("k=1/a", "k=1/j=2/b")}


@pytest.mark.parametrize("kind", only(KINDS, ("parquet",)))
@pytest.mark.parametrize("names", sampled(CONFLICTS, every=2))
def test_folders_that_conflict_are_named(spark: SparkSession, tmp_path: Path, kind: str, names: str) -> None:
    folder, (first, then) = Folder(spark, tmp_path, kind), CONFLICTS[names]
    with folder.reading(first, k=1) as turning:
        folder.put(then, 2)
        reason, message = folder.failed(turning)
    assert reason == "FoldersConflict"
    assert f"/in/{then.removesuffix('/b')}" in message
    assert "recursiveFileLookup" in message


@pytest.mark.parametrize("kind", only(KINDS, ("json",)))
@pytest.mark.parametrize("names", sampled(CONFLICTS, every=2))
def test_folders_that_conflict_at_the_start_are_named_too(
    spark: SparkSession, tmp_path: Path, kind: str, names: str
) -> None:
    folder = Folder(spark, tmp_path, kind)
    for number, name in enumerate(CONFLICTS[names]):
        folder.put(name, number)
    with pytest.raises(NotReady) as refused, folder.stage.running(**folder.spec()):
        pass
    assert refused.value.reason == "FoldersConflict"
    for name in CONFLICTS[names]:
        assert f"/in/{name[:-2]}" in refused.value.message
    if kind == "csv":  # a record has all columns of the schema, and here no folder gives one
        return
    with folder.stage.running(**folder.spec(options={"recursiveFileLookup": "true"})) as turning:
        turning.until(lambda: folder.rows() == [(0, None), (1, None)])


@pytest.mark.parametrize("kind", only(KINDS, ("json",)))
@pytest.mark.parametrize("value", sampled(["x", "2.5", "99999999999"], every=3))
def test_a_folder_whose_value_does_not_fit_is_named(
    spark: SparkSession, tmp_path: Path, kind: str, value: str
) -> None:
    folder = Folder(spark, tmp_path, kind)
    with folder.reading("k=1/a", k=1) as turning:
        folder.put(f"k={value}/b", 2)
        reason, message = folder.failed(turning)
    assert reason == "FoldersConflict"
    assert f"'{value}'" in message
    assert "`k`" in message
