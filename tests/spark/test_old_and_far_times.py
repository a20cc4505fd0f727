"""Times far from today are the same for every reader: pyarrow, delta-rs and DuckDB know nothing of Spark's calendars."""

import csv
import datetime
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow
import pyarrow.dataset
import pytest
from deltalake import DeltaTable
from harness import sparks
from harness.sampling import only
from mainstem.dataframes.sinks.kafka_records import records
from mainstem.language.model.connectors.kafka_sink import KafkaSink
from pyspark.sql import SparkSession


TIMES = [
    "0001-01-01T00:00:00.000001Z",
    "1582-10-10T12:00:00Z",  # a day that the Julian calendar's end left out
    "1600-02-29T23:59:59.999999Z",
    "1969-12-31T23:59:59.999999Z",
    "2262-04-12T00:00:00Z",  # past the last day that nanoseconds in 64 bits reach
    "9999-12-31T23:59:59.999999Z",
]
EXPECTED = [datetime.datetime.fromisoformat(text) for text in TIMES]
DAYS = [time.date() for time in EXPECTED]
SINKS = ("parquet", "orc", "delta", "merged", "csv", "json")


@pytest.fixture(scope="module")
def written(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a folder of each sink, all written by one document."""
    folder = tmp_path_factory.mktemp("times")
    (folder / "in").mkdir()
    rows = [{"id": number, "at": time, "day": time[:10]} for number, time in enumerate(TIMES)]
    (folder / "in" / "0.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
    sinks: list[dict[str, Any]] = [
        {"name": kind, kind: {"path": f"{folder}/{kind}"}} for kind in SINKS if kind != "merged"
    ]
    sinks.append({"name": "merged", "delta": {"path": f"{folder}/merged", "merge": {"keys": ["id"]}}})
    files = {"path": f"{folder}/in", "format": "json", "schema": "id INT, at TIMESTAMP, day DATE"}
    spec = {
        "sources": [{"name": "lines", "files": files}],
        "queries": [{"name": "q", "from": "lines", "to": sinks}],
        "checkpoints": {"location": f"{folder}/checkpoints"},
    }
    sparks.run(spark, spec)
    return folder


def by_pyarrow(folder: Path) -> pyarrow.Table:
    return in_microseconds(pyarrow.dataset.dataset(folder, format="parquet").to_table())


def by_delta_rs(folder: Path) -> pyarrow.Table:
    return in_microseconds(DeltaTable(folder).to_pyarrow_table())


def by_duckdb(folder: Path) -> pyarrow.Table:
    with duckdb.connect() as database:
        sql = f"""SELECT id, epoch_us("at") AS "at", day FROM read_parquet('{folder}/*.parquet')"""
        return database.sql(sql).to_arrow_table()


def in_microseconds(table: pyarrow.Table) -> pyarrow.Table:
    """The times as whole microseconds since 1970: not every time zone of Python's bears the year 1."""
    micros = table["at"].cast(pyarrow.timestamp("us", "UTC")).cast(pyarrow.int64())
    return table.set_column(table.schema.get_field_index("at"), "at", micros)


@pytest.mark.S26
@pytest.mark.S28
@pytest.mark.S29
@pytest.mark.parametrize(
    ("sink", "reader"),
    only(
        [
            ("parquet", by_pyarrow),
            ("parquet", by_duckdb),
            ("delta", by_delta_rs),
            ("delta", by_duckdb),
            ("merged", by_delta_rs),
        ],
        [("parquet", by_pyarrow), ("merged", by_delta_rs)],
    ),
)
def test_other_readers_read_the_written_times(
    written: Path, sink: str, reader: Callable[[Path], pyarrow.Table]
) -> None:
    table = reader(written / sink).sort_by("id")
    epoch = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
    assert table["at"].to_pylist() == [
        (time - epoch) // datetime.timedelta(microseconds=1) for time in EXPECTED
    ]
    assert table["day"].to_pylist() == DAYS


@pytest.mark.S28
def test_delta_rs_filters_the_times_by_their_statistics(written: Path) -> None:
    """A filter reads no file whose statistics rule its rows out; those of far times must not."""
    table = DeltaTable(written / "delta")
    late = table.to_pyarrow_table(filters=[("at", ">", datetime.datetime(9000, 1, 1, tzinfo=datetime.UTC))])
    early = table.to_pyarrow_table(filters=[("at", "<", datetime.datetime(1000, 1, 1, tzinfo=datetime.UTC))])
    assert (late["id"].to_pylist(), early["id"].to_pylist()) == ([5], [0])


@pytest.mark.S26
def test_orc_is_exact_and_pyarrow_rejects_its_far_times(spark: SparkSession, written: Path) -> None:
    """ORC keeps seconds and nanoseconds apart, by the Julian calendar before 1582; pyarrow makes one number of them."""
    # ORC has no name for ten days of October 1582, and adds a second to fractions of the last second before 1970.
    skipped = {1, 3}
    table = spark.read.orc(f"{written}/orc").selectExpr("id", "unix_micros(at)", "CAST(day AS STRING)")
    by_spark = {number: (at, day) for number, at, day in table.collect() if number not in skipped}
    micros = by_pyarrow(written / "parquet").sort_by("id")["at"].to_pylist()
    rows = enumerate(zip(micros, map(str, DAYS), strict=True))
    assert by_spark == {number: row for number, row in rows if number not in skipped}
    with pytest.raises(pyarrow.ArrowInvalid, match="out of range"):
        pyarrow.dataset.dataset(written / "orc", format="orc").to_table()


@pytest.mark.S26
def test_lines_of_text_have_full_times(written: Path) -> None:
    lines = [
        json.loads(line)
        for file in (written / "json").glob("part-*")
        for line in file.read_text().splitlines()
    ]
    cells = [
        row for file in (written / "csv").glob("part-*") for row in csv.reader(file.read_text().splitlines())
    ]
    by_format = {
        "json": {(row["id"], row["at"], row["day"]) for row in lines},
        "csv": {(int(number), at, day) for number, at, day in cells},
    }
    for rows in by_format.values():
        times = {number: datetime.datetime.fromisoformat(at) for number, at, _ in rows}
        assert [times[number] for number in range(len(TIMES))] == EXPECTED
        assert sorted((number, day) for number, _, day in rows) == [
            (n, str(day)) for n, day in enumerate(DAYS)
        ]


@pytest.mark.S27
def test_records_for_kafka_have_full_times(spark: SparkSession, written: Path) -> None:
    """In the key too: two keys that differ in their microseconds alone are two, also for compaction."""
    sink = KafkaSink.model_validate({"connection": "events", "topic": "times", "key": ["at"]})
    rows = records(spark.read.parquet(f"{written}/parquet").orderBy("id"), sink).collect()
    for column in ("value", "key"):
        times = [json.loads(row[column])["at"] for row in rows]
        assert [datetime.datetime.fromisoformat(time) for time in times] == EXPECTED
