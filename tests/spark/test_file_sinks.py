"""Folders of files of every format: after any crash exact for Spark and for plain readers of the directory."""

import csv
import json
from pathlib import Path
from typing import Any

import pyarrow.orc
import pyarrow.parquet
import pytest
from harness import sparks
from harness.sampling import only, sampled
from mainstem.errors import NotReady, SpecInvalid
from pyspark.errors import AnalysisException, StreamingQueryException
from pyspark.sql import SparkSession


pytestmark = pytest.mark.S26
ENDINGS = {"parquet": "parquet", "orc": "orc", "csv": "csv", "json": "json", "text": "txt"}
SQL = {"text": "SELECT shop, concat_ws(' ', id, name) AS line FROM lines"}
ROWS = [
    {"id": 1, "name": 'a,"b"', "shop": "x/y"},
    {"id": 2, "name": None, "shop": None},
    {"id": None, "name": "", "shop": "z"},
]


def spec(folder: Path, kind: str, sink: dict[str, Any], sql: str | None = None) -> dict[str, Any]:
    files = {"path": f"{folder}/in", "format": "json", "schema": "id INT, name STRING, shop STRING"}
    to = [{"name": "files", kind: {"path": f"{folder}/out"} | sink}]
    return {
        "sources": [{"name": "lines", "files": files}],
        "views": [{"name": "v", "sql": sql or SQL.get(kind, "SELECT * FROM lines")}],
        "queries": [{"name": "q", "from": "v", "to": to}],
        "checkpoints": {"location": f"{folder}/checkpoints"},
    }


def give(folder: Path, number: int, rows: list[dict[str, Any]]) -> None:
    (folder / "in").mkdir(exist_ok=True)
    (folder / "in" / f"{number}.json").write_text("".join(json.dumps(row) + "\n" for row in rows))


def ids(folder: Path, kind: str) -> list[int | None]:
    """The ids in all files below the folder, as a reader sees them who knows nothing of Spark's log."""
    values: list[int | None] = []
    for file in sorted((folder / "out").rglob(f"part-*.{ENDINGS[kind]}")):
        if kind == "parquet":
            values += pyarrow.parquet.ParquetFile(file).read()["id"].to_pylist()
        elif kind == "orc":
            values += pyarrow.orc.ORCFile(file).read()["id"].to_pylist()
        elif kind == "csv":
            values += [
                int(row["id"]) if row["id"] else None
                for row in csv.DictReader(file.read_text().splitlines(), escapechar="\\")
            ]
        elif kind == "json":
            values += [json.loads(line).get("id") for line in file.read_text().splitlines()]
        else:
            words = [line.partition(" ")[0] for line in file.read_text().splitlines()]
            values += [int(word) if word.isdigit() else None for word in words]
    return sorted(values, key=str)


@pytest.mark.parametrize("kind", only(ENDINGS, ("parquet",)))
def test_a_directory_is_exact_after_a_crash_within_a_batch(
    spark: SparkSession, tmp_path: Path, kind: str
) -> None:
    """The files of the batch are there, its entry in the log and in the checkpoint is not: a death before the commit."""
    sink: dict[str, Any] = {"partitionBy": ["shop"]} | (
        {"options": {"header": "true"}} if kind == "csv" else {}
    )
    give(tmp_path, 0, ROWS)
    sparks.run(spark, spec(tmp_path, kind, sink))
    give(tmp_path, 1, [{"id": 4, "name": "d", "shop": "x/y"}])
    sparks.run(spark, spec(tmp_path, kind, sink))
    for log in (tmp_path / "out" / "_spark_metadata", tmp_path / "checkpoints" / "q" / "1" / "commits"):
        for name in ("1", ".1.crc"):
            (log / name).unlink()
    give(tmp_path, 2, [{"id": 5, "name": "e", "shop": "z"}])
    sparks.run(spark, spec(tmp_path, kind, sink))
    assert ids(tmp_path, kind) == [1, 2, 4, 5, None]
    assert (tmp_path / "out" / "shop=x%2Fy").is_dir()
    assert spark.read.format(kind).option("header", value=True).load(f"{tmp_path}/out").count() == 5


@pytest.mark.parametrize("kind", only(ENDINGS, ("parquet", "text")))
def test_a_new_checkpoint_is_rejected_for_a_directory_with_data(
    spark: SparkSession, tmp_path: Path, kind: str
) -> None:
    give(tmp_path, 0, ROWS)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / f"mine.{ENDINGS[kind]}").write_text("mine")
    with pytest.raises(NotReady) as refused:
        sparks.run(
            spark, spec(tmp_path, kind, {}, SQL["text"].replace("shop, ", "") if kind == "text" else None)
        )
    assert refused.value.reason == "SinkFolderTaken"


@pytest.mark.parametrize("sql", sampled(["SELECT id, name FROM lines", "SELECT id FROM lines"], every=2))
def test_lines_of_text_need_one_string_column(spark: SparkSession, tmp_path: Path, sql: str) -> None:
    give(tmp_path, 0, ROWS)
    with pytest.raises(SpecInvalid) as refused:
        sparks.run(spark, spec(tmp_path, "text", {}, sql))
    assert [problem.reason for problem in refused.value.problems] == ["TextNeedsOneColumn"]


@pytest.mark.full(gate="spark/test_file_sinks.py::test_lines_of_text_need_one_string_column")
def test_without_the_check_spark_rejects_two_columns_of_text_at_run_time(
    spark: SparkSession, tmp_path: Path
) -> None:
    give(tmp_path, 0, ROWS)
    frame = (
        spark.readStream.format("json").schema("id STRING, name STRING").name("lines").load(f"{tmp_path}/in")
    )
    stream = frame.writeStream.format("text").option("checkpointLocation", f"{tmp_path}/c")
    with pytest.raises((StreamingQueryException, AnalysisException), match="single column"):
        stream.trigger(availableNow=True).start(f"{tmp_path}/out").awaitTermination()
