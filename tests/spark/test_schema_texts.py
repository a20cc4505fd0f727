"""Mainstem takes the schemas in DDL that Spark takes, and of those that it refuses none starts."""

from pathlib import Path
from typing import Any

import pytest
from documents.schema_texts import TEXTS
from harness import sparks
from mainstem.language.sql.ddl import read
from mainstem.language.sql.ddl_tokens import DdlError
from pyspark.errors import PySparkException, PySparkTypeError
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType


def by_spark(spark: SparkSession, text: str) -> list[str] | None:
    """What Python makes of a text for the readers of decode, files and side inputs."""
    try:
        schema = StructType.fromDDL(text)
    except (PySparkException, PySparkTypeError):
        return None
    return list(schema.names) if isinstance(schema, StructType) else None


def by_mainstem(text: str) -> list[str] | None:
    try:
        return [column.name for column in read(text)]
    except DdlError:
        return None


def test_each_schema_is_read_as_by_spark(spark: SparkSession) -> None:
    assert {text: by_mainstem(text) for text in TEXTS} == {text: by_spark(spark, text) for text in TEXTS}


@pytest.mark.parametrize("schema", ["id INT, Id INT", "s STRUCT<x: INT, X: INT>", "v VARCHAR(3)"])
@pytest.mark.parametrize("place", ["decode", "files", "static"])
def test_a_schema_that_only_its_columns_forbid_does_not_start(
    spark: SparkSession, tmp_path: Path, place: str, schema: str
) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in/1.json").write_text('{"id": 1, "Id": 2, "s": {"x": 1, "X": 2}, "": 3, "v": "abcd"}\n')
    files = {"path": f"{tmp_path}/in"}
    read_as: dict[str, dict[str, Any]] = {
        "decode": {"files": files | {"format": "text"}, "decode": {"json": {"schema": schema}}},
        "files": {"files": files | {"format": "json", "schema": schema}},
        "static": {"static": {"json": {"path": f"{tmp_path}/in", "schema": schema}}},
    }
    lines = {"name": "lines", "files": files | {"format": "text"}}
    spec = {
        "sources": [{"name": "given", **read_as[place]}, *([lines] if place == "static" else [])],
        "views": [
            {"name": "v", "sql": "SELECT given.* FROM given" + " CROSS JOIN lines" * (place == "static")}
        ],
        "queries": [
            {"name": "q", "from": "v", "to": [{"name": "t", "parquet": {"path": f"{tmp_path}/out"}}]}
        ],
        "checkpoints": {"location": f"{tmp_path}/checkpoints"},
    }
    with pytest.raises(PySparkException):
        sparks.run(spark, spec, checked=False)
