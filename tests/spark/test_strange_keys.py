"""A JSON object that has none of the columns is malformed: usually its keys are others, and it would be a row of nulls."""

import json
from pathlib import Path
from typing import Any

import pytest
from harness.sampling import only
from mainstem.dataframes.decode import file_records
from mainstem.dataframes.decode.decoding import DecodedRecords
from mainstem.dataframes.options.connections import Connections
from mainstem.dataframes.sources import static
from mainstem.language.model.connectors.static_sources import StaticSource
from mainstem.language.model.decode import Decode
from mainstem.language.model.sources import Source
from mainstem.runtime.failures.classification import classify
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession


pytestmark = pytest.mark.S10

VALUES: dict[str, Any] = {
    "BOOLEAN": False, "TINYINT": 0, "SMALLINT": 0, "INT": 0, "BIGINT": 0, "FLOAT": 0.0, "DOUBLE": 0.0,
    "DECIMAL(10,2)": 0, "STRING": "", "BINARY": "", "DATE": "2024-01-31",
    "TIMESTAMP": "2024-01-31T00:00:00Z", "TIMESTAMP_NTZ": "2024-01-31T00:00:00",
    "INTERVAL DAY TO SECOND": "INTERVAL '0 00:00:00' DAY TO SECOND", "ARRAY<INT>": [], "MAP<STRING,INT>": {},
    "STRUCT<x: INT>": {}, "VARIANT": 0, "ARRAY<STRUCT<x: VARIANT>>": [], "MAP<STRING,ARRAY<INT>>": {},
}  # fmt: skip
"""A value of each type that looks like none: zero, false or empty."""
SCHEMA = ", ".join(f"c{number} {kind}" for number, kind in enumerate(VALUES))
OPTIONS = [
    ({}, b"{'c0':null}", None),
    ({"allowUnquotedFieldNames": "true"}, b"{c0:null}", None),
    ({"allowUnquotedFieldNames": "true"}, b"{C0:null}", "no key of the JSON object is a column: 'C0'"),
    ({"allowComments": "true"}, b'{/* "c0":1, */"d":1}', "no key of the JSON object is a column: 'd'"),
    (
        {"maxNestingDepth": "5000"},
        b'{"x":' + b"[" * 1500 + b"]" * 1500 + b"}",
        "no column has a value, and the keys of the JSON object are nested too deep",
    ),
    (
        {"encoding": "UTF-8"},
        '{"ключ":{"c0":1}}'.encode(),
        "no key of the JSON object is a column: 'ключ'",
    ),
]
STRANGE = b'{"C0":true,"C1":1}'


def lines(spark: SparkSession, raws: list[bytes], schema: str = SCHEMA, **decode: Any) -> DecodedRecords:
    how = Decode.model_validate({"json": {"schema": schema, **decode}, "onMalformedRecord": "deadLetter"})
    rows = [(raw, "t", 0, place) for place, raw in enumerate(raws)]
    frame = spark.createDataFrame(rows, "value BINARY, topic STRING, partition INT, offset BIGINT")
    return DecodedRecords(frame, how, "src", is_counted=False)


def malformed(decoded: DecodedRecords) -> dict[int, str]:
    return {row.offset: row.error for row in decoded.dead_letters().collect()}


def test_a_value_of_any_type_is_enough(spark: SparkSession) -> None:
    raws = [json.dumps({f"c{number}": value}).encode() for number, value in enumerate(VALUES.values())]
    assert malformed(lines(spark, raws)) == {}


def test_null_is_a_value_of_a_column(spark: SparkSession) -> None:
    raws = [f'{{"other":1,"c{number}":null}}'.encode() for number in range(len(VALUES))]
    decoded = lines(spark, [*raws, b'{"c0":null,"c0":null}', STRANGE])
    assert decoded.rows().where("c0 IS NULL").count() == len(raws) + 1
    assert list(malformed(decoded)) == [len(raws) + 1]


@pytest.mark.parametrize(
    "columns",
    [
        "id INT, m MAP<STRING, INT>, s STRUCT<a: INT NOT NULL>",
        "id INT NOT NULL COMMENT 'the id', s STRUCT<a: ARRAY<STRUCT<b: INT NOT NULL>> NOT NULL>, v VARIANT NOT NULL",
    ],
)
def test_fields_that_are_never_null_can_be_missing(spark: SparkSession, columns: str) -> None:
    """Spark's parser returns null for them, and a type of its own."""
    decoded = lines(spark, [b'{"id":1}', b'{"s":null}', b'{"S":{}}'], columns)
    assert sorted(row.id or 0 for row in decoded.rows().collect()) == [0, 1]
    assert list(malformed(decoded)) == [2]


def test_a_column_of_a_folder_is_a_column(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "day=1").mkdir()
    (tmp_path / "day=1" / "a.json").write_text('{"id":1}\n{"day":7}\n')
    rows = side(spark, tmp_path, schema="id INT, day INT").collect()
    assert sorted((row.id or 0, row.day) for row in rows) == [(0, 1), (1, 1)]
    (tmp_path / "day=1" / "a.json").write_text('{"DAY":7}\n')
    with pytest.raises(PySparkException, match="no key of the JSON object is a column: 'DAY'"):
        side(spark, tmp_path, schema="id INT, day INT").collect()


def test_the_document_can_allow_records_without_columns(spark: SparkSession) -> None:
    decoded = lines(spark, [STRANGE, b"{}"], allowRecordsWithoutColumns=True)
    assert [set(row) for row in decoded.rows().collect()] == [{None}, {None}]


@pytest.mark.parametrize(("options", "raw", "error"), only(OPTIONS, OPTIONS[1:4:2]))
def test_keys_are_read_with_the_options_of_the_reader(
    spark: SparkSession, options: dict[str, str], raw: bytes, error: str | None
) -> None:
    errors = malformed(lines(spark, [raw], "c0 STRING, s STRING", options=options))
    assert (not errors) if error is None else errors[0].startswith(error)


def test_each_object_of_a_file_has_a_column(spark: SparkSession, tmp_path: Path) -> None:
    objects = {
        "whole": [{"id": 1}, {"id": None}, {"id": 2, "name": None}],
        "strange": [{"id": 3}, {"ID": 4}, {"no": 5}],
        "empty": [],
    }
    (tmp_path / "lenient.json").write_text("[{'id':3},{'ID':4,'ID':5}]")
    for name, content in objects.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(content, indent=1))
    files = {"path": str(tmp_path), "format": "json", "options": {"multiLine": "true"}}
    source = Source.model_validate({"name": "src", "files": {**files, "schema": "id INT, name STRING"}})
    assert source.files is not None
    assert source.files.decoding is not None
    how = source.files.decoding.model_copy(update={"on_malformed_record": "deadLetter"})
    raw = file_records.table(spark.newSession(), str(tmp_path), how, source.files.options)
    decoded = DecodedRecords(raw, how, "src", is_counted=False, many=True)
    assert sorted(row.id or 0 for row in decoded.rows().collect()) == [0, 1, 2]
    errors = {Path(letter.file).name: letter.error for letter in decoded.dead_letters().collect()}
    other = "no key of the JSON object is a column: 'ID'; keys are case-sensitive, and these differ from columns only in case: 'ID'"
    assert errors == {"strange.json": other, "lenient.json": other}


def side(spark: SparkSession, path: Path, **settings: Any) -> DataFrame:
    source = StaticSource.model_validate({"json": {"path": str(path), **settings}})
    return static.table(spark.newSession(), "side", "side", source, Connections())


def test_a_side_input_has_its_columns_too(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"id":1}\n{"ID":2}\n')
    with pytest.raises(PySparkException) as raised:
        side(spark, tmp_path, schema="id INT").collect()
    assert "no key of the JSON object is a column: 'ID'" in classify(raised.value).message
    rows = side(spark, tmp_path, schema="id INT", allowRecordsWithoutColumns=True).collect()
    assert sorted(row.id or 0 for row in rows) == [0, 1]


@pytest.mark.full(gate="spark/test_strange_keys.py::test_a_side_input_has_its_columns_too")
def test_columns_that_spark_takes_from_the_keys_have_a_key_in_each_object(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "a.json").write_text('{"id":1}\n{"ID":2}\n{"name":"c"}\n')
    with pytest.raises(PySparkException, match=r"no key of the JSON object is a column: '(id|ID)'"):
        side(spark, tmp_path).collect()
    (tmp_path / "a.json").write_text('{"id":1}\n{"name":"c"}\n')
    assert len(side(spark, tmp_path).collect()) == 2
