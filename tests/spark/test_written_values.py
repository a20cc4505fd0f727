"""A sink of files keeps each value of each type that it takes, but for those that the page lists."""

from pathlib import Path
from typing import Any

import pytest
from documents.written_values import ALTERED, CORNERS
from harness import sparks
from harness.sampling import only
from pyspark.sql import DataFrame, SparkSession
from spark.test_partition_values import EXACT


pytestmark = [pytest.mark.S26, pytest.mark.S28]
ZONE = "Europe/Zurich"
VALUES = {kind: (*EXACT.get(kind, ()), *CORNERS.get(kind, ()), "NULL") for kind in EXACT | CORNERS}
NESTED = {"ARRAY<INT>", "MAP<STRING,INT>", "STRUCT<a:INT,b:STRING>", "VARIANT"}
INTERVALS = {"INTERVAL DAY TO SECOND", "INTERVAL YEAR TO MONTH"}
NOT_TAKEN = {"csv": NESTED, "orc": {"VARIANT"}, "delta": INTERVALS, "json": set(), "parquet": set()}
"""Types that a sink refuses."""


def comparable(column: str, kind: str) -> str:
    if kind in {"STRING", "BINARY"}:
        return f"hex(CAST({column} AS BINARY))"
    if kind == "TIMESTAMP":
        return f"unix_micros({column})"
    return f"to_json(struct({column}))" if kind in NESTED else f"CAST({column} AS STRING)"


def texts(frame: DataFrame, kinds: list[str]) -> dict[tuple[str, int], Any]:
    shown = frame.selectExpr(
        "id", *(f"{comparable(f'c{place}', kind)} AS c{place}" for place, kind in enumerate(kinds))
    )
    return {(kind, row.id): row[f"c{place}"] for row in shown.collect() for place, kind in enumerate(kinds)}


def relation(kinds: list[str], values: dict[tuple[str, int], str], rows: int) -> str:
    lines = [
        ", ".join([str(row), *(f"CAST({values.get((kind, row), 'NULL')} AS {kind})" for kind in kinds)])
        for row in range(rows)
    ]
    names = ", ".join(["id", *(f"c{place}" for place in range(len(kinds)))])
    return f"SELECT * FROM VALUES ({'), ('.join(lines)}) AS given({names})"


@pytest.mark.parametrize("sink", only(NOT_TAKEN, ("csv", "json")))
def test_a_sink_of_files_keeps_each_value_or_the_page_lists_it(
    spark: SparkSession, tmp_path: Path, sink: str
) -> None:
    kinds = [kind for kind in VALUES if kind not in NOT_TAKEN[sink]]
    given = {(kind, row): value for kind in kinds for row, value in enumerate(VALUES[kind])}
    rows = max(map(len, VALUES.values()))
    session = spark.newSession()
    session.conf.set("spark.sql.session.timeZone", ZONE)
    session.sql(relation(kinds, given, rows)).write.parquet(f"{tmp_path}/given")
    (tmp_path / "in").mkdir()
    (tmp_path / "in/1.json").write_text('{"batch": 1}\n')
    files = {"path": f"{tmp_path}/in", "format": "json", "schema": "batch INT"}
    spec = {
        "timeZone": ZONE,
        "sources": [
            {"name": "lines", "files": files},
            {"name": "given", "static": {"parquet": {"path": f"{tmp_path}/given"}}},
        ],
        "views": [{"name": "v", "sql": "SELECT given.* FROM lines JOIN given ON batch = 1"}],
        "queries": [{"name": "q", "from": "v", "to": [{"name": "t", sink: {"path": f"{tmp_path}/out"}}]}],
        "checkpoints": {"location": f"{tmp_path}/checkpoints"},
    }
    sparks.run(spark, spec)

    becomes = {(each.kind, each.value): each.becomes for each in ALTERED if each.sink == sink}
    wanted = {key: becomes.get((key[0], value), value) for key, value in given.items()}
    reader = session.read.options(multiLine="true", lineSep="\n") if sink == "csv" else session.read
    schema = ", ".join(["id INT", *(f"c{place} {kind}" for place, kind in enumerate(kinds))])
    read = reader.format(sink) if sink == "delta" else reader.format(sink).schema(schema)
    expected = texts(session.sql(relation(kinds, wanted, rows)), kinds)
    there = texts(read.load(f"{tmp_path}/out"), kinds)
    different = {
        given.get(key, "NULL"): there.get(key) for key in expected if there.get(key) != expected[key]
    }
    assert different == {}
    altered = texts(session.sql(relation(kinds, given, rows)), kinds)
    assert {
        (kind, given[kind, row]) for kind, row in given if altered[kind, row] != expected[kind, row]
    } == set(becomes)


@pytest.mark.full(
    gate="spark/test_written_values.py::test_a_sink_of_files_keeps_each_value_or_the_page_lists_it"
)
def test_a_line_break_begins_a_line_of_a_text_and_null_is_an_empty_one(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in/1.json").write_text(
        '{"t": "a\\nb"}\n{"t": null, "n": 1}\n{"t": "", "n": 2}\n{"t": " c "}\n'
    )
    files = {"path": f"{tmp_path}/in", "format": "json", "schema": "t STRING, n INT"}
    spec = {
        "sources": [{"name": "lines", "files": files}],
        "views": [{"name": "v", "sql": "SELECT t FROM lines"}],
        "queries": [{"name": "q", "from": "v", "to": [{"name": "t", "text": {"path": f"{tmp_path}/out"}}]}],
        "checkpoints": {"location": f"{tmp_path}/checkpoints"},
    }
    session = sparks.run(spark, spec)
    [file] = [row.path for row in session.read.format("binaryFile").load(f"{tmp_path}/out").collect()]
    assert Path(file.removeprefix("file:")).read_bytes() == b"a\nb\n\n\n c \n"
