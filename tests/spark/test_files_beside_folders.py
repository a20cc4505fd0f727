"""Files beside folders such as `k=v`: every file that a checkpoint has as read gave its rows, with NULL for the folders."""

import json
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.orc
import pyarrow.parquet
import pytest
from harness import sparks
from harness.sampling import only, sampled
from pyspark.sql import SparkSession


pytestmark = pytest.mark.S06
FORMATS = ("json", "csv", "text", "parquet", "orc", "decoded")
WITH_COLUMNS = ("json", "csv", "parquet", "orc")
"""Formats whose relation has the columns of folders that the schema names."""
DECODE = {"decode": {"json": {"schema": "id INT"}}}
BATCHES = {
    "in one batch": [("k=1/a", 1), ("b", 2), ("c", 3), ("k=2/d", 4)],
    "beside first": [("k=1/a", 1), ("k=2/d", 4), None, ("b", 2), ("c", 3)],
    "one at a time": [("k=1/a", 1), None, ("b", 2), None, ("c", 3), None, ("k=2/d", 4)],
}
"""The files in the order of their arrival, with their id; None begins a batch, and the query starts again before it."""
KEYS = {1: "1", 2: None, 3: None, 4: "2"}


def put(folder: Path, kind: str, name: str, number: int) -> None:
    file = folder / "in" / f"{name}.{kind}"
    file.parent.mkdir(parents=True, exist_ok=True)
    if kind == "parquet":
        pyarrow.parquet.write_table(pyarrow.table({"id": pyarrow.array([number], pyarrow.int32())}), file)
    elif kind == "orc":
        pyarrow.orc.write_table(pyarrow.table({"id": pyarrow.array([number], pyarrow.int32())}), file)
    else:
        texts = {"json": json.dumps({"id": number}), "decoded": json.dumps({"id": number})}
        file.write_text(texts.get(kind, str(number)) + "\n")


def spec(folder: Path, kind: str, where: str, per_batch: int | None) -> dict[str, Any]:
    files: dict[str, Any] = {"path": f"{folder}/in", "format": kind}
    if kind in WITH_COLUMNS:
        files["schema"] = "id INT, k INT"
    if kind == "decoded":
        files["format"] = "text"
    if per_batch:
        files["maxFilesPerTrigger"] = per_batch
    number = "CAST(value AS INT) AS id" if kind == "text" else "id"
    key = "CAST(k AS STRING) AS k" if kind in WITH_COLUMNS else "CAST(NULL AS STRING) AS k"
    return {
        "sources": [{"name": "rows", "files": files, **(DECODE if kind == "decoded" else {})}],
        "views": [{"name": "v", "sql": f"SELECT {key}, {number} FROM rows {where}"}],
        "queries": [{"name": "q", "from": "v", "to": [{"name": "t", "parquet": {"path": f"{folder}/out"}}]}],
        "checkpoints": {"location": f"{folder}/checkpoints"},
    }


def rows_of(spark: SparkSession, folder: Path) -> list[tuple[str | None, int]]:
    frame = spark.read.schema("k STRING, id INT").parquet(f"{folder}/out")
    return sorted(((row.k, row.id) for row in frame.collect()), key=lambda row: row[1])


def run(
    spark: SparkSession,
    folder: Path,
    kind: str,
    arrivals: list[Any],
    where: str = "",
    per_batch: int | None = None,
) -> None:
    for arrival in [*arrivals, None]:
        if arrival is None:
            sparks.run(spark, spec(folder, kind, where, per_batch))
        else:
            put(folder, kind, *arrival)


@pytest.mark.parametrize("arrivals", BATCHES.values(), ids=BATCHES)
@pytest.mark.parametrize("kind", only(FORMATS, ("json",)))
def test_each_file_gives_its_rows_with_null_for_the_folders(
    spark: SparkSession, tmp_path: Path, kind: str, arrivals: list[Any]
) -> None:
    run(spark, tmp_path, kind, arrivals)
    assert rows_of(spark, tmp_path) == [(KEYS[n] if kind in WITH_COLUMNS else None, n) for n in KEYS]


@pytest.mark.parametrize("kind", only(FORMATS, ("parquet",)))
def test_one_file_in_each_batch_of_one_run(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    run(spark, tmp_path, kind, BATCHES["in one batch"], per_batch=1)
    assert rows_of(spark, tmp_path) == [(KEYS[n] if kind in WITH_COLUMNS else None, n) for n in KEYS]


@pytest.mark.parametrize(
    ("where", "ids"),
    sampled(
        [
            ("WHERE k IS NULL", {2, 3}),
            ("WHERE k = 1", {1}),
            ("WHERE k IS NULL OR k = 2", {2, 3, 4}),
            ("WHERE coalesce(k, 7) = 7 AND id > 2", {3}),
            ("WHERE k <=> NULL AND id < 3", {2}),
            ("WHERE NOT (k <=> 1)", {2, 3, 4}),
        ],
        every=2,
    ),
)
def test_conditions_on_a_folder_hold_for_the_files_beside_it(
    spark: SparkSession, tmp_path: Path, where: str, ids: set[int]
) -> None:
    run(spark, tmp_path, "parquet", BATCHES["in one batch"], where)
    assert {number for _, number in rows_of(spark, tmp_path)} == ids


def test_what_is_no_data_beside_the_folders_is_not_read(spark: SparkSession, tmp_path: Path) -> None:
    """The summary that writers of Parquet leave, whose footer refers to the other files, and empty files."""
    put(tmp_path, "parquet", "k=1/a", 1)
    written: list[pyarrow.parquet.FileMetaData] = []
    table = pyarrow.table({"id": pyarrow.array([2], pyarrow.int32())})
    pyarrow.parquet.write_table(table, tmp_path / "in" / "b.parquet", metadata_collector=written)
    written[0].set_file_path("b.parquet")
    pyarrow.parquet.write_metadata(table.schema, tmp_path / "in" / "_metadata", metadata_collector=written)
    (tmp_path / "in" / "empty.parquet").touch()
    (tmp_path / "in" / "k=1" / "empty.parquet").touch()
    run(spark, tmp_path, "parquet", [])
    assert rows_of(spark, tmp_path) == [("1", 1), (None, 2)]


def test_an_empty_compressed_file_in_a_folder_has_no_rows(spark: SparkSession, tmp_path: Path) -> None:
    put(tmp_path, "json", "k=1/a", 1)
    (tmp_path / "in" / "k=1" / "b.json.gz").touch()
    put(tmp_path, "json", "c", 3)
    run(spark, tmp_path, "json", [])
    assert rows_of(spark, tmp_path) == [("1", 1), (None, 3)]
