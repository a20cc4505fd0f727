"""Sinks that are a user's own Python code, and those for a first look."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from harness import sparks
from harness.sampling import only
from mainstem.dataframes.sinks.batches import batch_writer
from mainstem.dataframes.sinks.writers import Connections
from mainstem.errors import NotReady
from mainstem.language.document import read_text
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession


pytestmark = pytest.mark.S32


def spec(folder: Path, *sinks: dict[str, Any]) -> dict[str, Any]:
    files = {"path": f"{folder}/in", "format": "json", "schema": "k STRING, v STRING"}
    return {
        "sources": [{"name": "lines", "files": files}],
        "queries": [{"name": "q", "from": "lines", "to": list(sinks)}],
        "checkpoints": {"location": f"{folder}/checkpoints"},
    }


def give(folder: Path, number: int, *values: str) -> None:
    for name in ("in", "out"):
        (folder / name).mkdir(exist_ok=True)
    rows = [{"k": str(number), "v": value} for value in values]
    (folder / "in" / f"{number}.json").write_text("".join(json.dumps(row) + "\n" for row in rows))


def foreach(folder: Path) -> dict[str, Any]:
    return {
        "name": "rows",
        "python": {"foreach": "sinks:Lines", "arguments": {"folder": f"{folder}/out"}},
    }


def read(folder: Path) -> dict[str, list[str]]:
    return {
        file.name: [row["v"] for row in json.loads(file.read_text())]
        for file in sorted((folder / "out").glob("*.json"))
    }


@pytest.mark.parametrize("company", only([False, True], {True}))
def test_a_writer_of_rows_opens_processes_and_closes_and_may_raise(
    spark: SparkSession, tmp_path: Path, *, company: bool
) -> None:
    """Alone by Spark's own streaming writer, beside another sink batch by batch: the same."""
    sinks = [foreach(tmp_path), *([{"name": "nowhere", "noop": {}}] if company else [])]
    give(tmp_path, 0, "a", "b")
    sparks.run(spark, spec(tmp_path, *sinks))
    (tmp_path / "checkpoints" / "q" / "1" / "commits" / "0").unlink()
    (tmp_path / "checkpoints" / "q" / "1" / "commits" / ".0.crc").unlink()
    (tmp_path / "out" / "0-0.json").write_text('[{"v": "kept"}]')
    give(tmp_path, 1, "c")
    sparks.run(spark, spec(tmp_path, *sinks))
    assert read(tmp_path) == {"0-0.json": ["kept"], "1-0.json": ["c"]}
    give(tmp_path, 2, "poison")
    with pytest.raises(StreamingQueryException, match="poison"):
        sparks.run(spark, spec(tmp_path, *sinks))
    assert "ValueError" in (tmp_path / "out" / "closed").read_text().split()


def test_a_function_of_batches_gets_the_same_number_for_a_repeated_batch(
    spark: SparkSession, tmp_path: Path
) -> None:
    sink = {"foreachBatch": "sinks:keep", "arguments": {"folder": f"{tmp_path}/out"}}
    give(tmp_path, 0, "a")
    sparks.run(spark, spec(tmp_path, {"name": "code", "python": sink}))
    (tmp_path / "checkpoints" / "q" / "1" / "commits" / "0").unlink()
    (tmp_path / "checkpoints" / "q" / "1" / "commits" / ".0.crc").unlink()
    give(tmp_path, 1, "b")
    sparks.run(spark, spec(tmp_path, {"name": "code", "python": sink}))
    assert read(tmp_path) == {"batch-0.json": ["a"], "batch-1.json": ["b"]}


@pytest.mark.parametrize(
    ("name", "reason"),
    [("nowhere.to.be:found", "ModuleNotFound"), ("sinks:nothing", "FunctionNotFound")],
)
def test_missing_code_is_reported_before_the_query_starts(
    spark: SparkSession, tmp_path: Path, name: str, reason: str
) -> None:
    give(tmp_path, 0, "a")
    with pytest.raises(NotReady) as refused:
        sparks.run(spark, spec(tmp_path, {"name": "code", "python": {"foreachBatch": name}}))
    assert refused.value.reason == reason


def test_a_class_with_other_arguments_is_reported(spark: SparkSession, tmp_path: Path) -> None:
    give(tmp_path, 0, "a")
    with pytest.raises(NotReady, match="'sinks:Lines' cannot be instantiated: TypeError") as refused:
        sparks.run(spark, spec(tmp_path, {"name": "code", "python": {"foreach": "sinks:Lines"}}))
    assert refused.value.reason == "PythonFailed"


def test_the_memory_sink_keeps_rows_and_continues_from_the_checkpoint(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Spark's own memory sink refuses a checkpoint that it has been started with before."""
    give(tmp_path, 0, "a")
    session = sparks.run(spark, spec(tmp_path, {"name": "kept", "memory": {}}))
    assert [row["v"] for row in session.table("kept").collect()] == ["a"]
    give(tmp_path, 1, "b")
    session = sparks.run(spark, spec(tmp_path, {"name": "kept", "memory": {}}))
    assert [row["v"] for row in session.table("kept").collect()] == ["b"]


def test_a_bounded_query_gives_rows_and_batches_to_code_too(spark: SparkSession, tmp_path: Path) -> None:
    give(tmp_path, 0)
    frame = spark.createDataFrame([("a",)], "v STRING")
    [document] = read_text(yaml.safe_dump(sparks.HEAD | {"spec": spec(tmp_path, foreach(tmp_path))}))
    [query] = document.pipeline.spec.queries
    writer = batch_writer(frame, query, query.to[0], Connections())
    writer(frame, 7)
    assert list(read(tmp_path).values()) == [["a"]]
    assert next(iter(read(tmp_path))).startswith("7-")
