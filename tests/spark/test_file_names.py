"""Files with any name, also with characters that paths, globs and URLs read as something else, and of any age: each is read once."""

import os
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from harness import sparks
from harness.sampling import only
from mainstem.dataframes.options.connections import Connections
from mainstem.dataframes.sources import static
from mainstem.language.model.connectors.static_sources import StaticSource
from pyarrow import orc, parquet
from pyspark.sql import SparkSession


NAMES = (
    *("plain", "a1b", "a[1]b", "star*", "mark?", "open[", "close]", "{a,b}", "back\\slash", "a\\*b"),
    *(
        "hash#",
        "100%",
        "a%20b",
        "%41",
        "a b",
        "tab\t",
        "new\nline",
        "ünïcödé-日本",
        "plus+&=;'\"$`~^|<>,@!",
    ),
)
"""One of each character that a glob, a URL, a shell or Hadoop's Path gives a meaning to."""
PASSED_OVER = ("_hidden", ".hidden")
"""Spark, like Hadoop, takes such files for its own."""


def _parquet(path: Path, number: int) -> None:
    parquet.write_table(pa.table({"n": [number]}), str(path))


def _orc(path: Path, number: int) -> None:
    orc.write_table(pa.table({"n": [number]}), str(path))


WRITERS: dict[str, Callable[[Path, int], object]] = {
    "text": lambda path, number: path.write_text(f"{number}\n"),
    "json": lambda path, number: path.write_text(f'{{"n": {number}}}\n'),
    "csv": lambda path, number: path.write_text(f"{number}\n"),
    "parquet": _parquet,
    "orc": _orc,
}
IN_THE_GATE = ("json", "parquet")
"""A reader of Mainstem's, and one of Spark's."""


@pytest.mark.S06
@pytest.mark.parametrize("kind", only(WRITERS, ("parquet",)))
def test_each_file_of_a_stream_is_read_once_for_any_name(
    spark: SparkSession, tmp_path: Path, kind: str
) -> None:
    folder = filled(tmp_path / "in", kind)
    source = {"path": str(folder), "format": kind} | ({} if kind == "text" else {"schema": "n BIGINT"})

    assert streamed(spark, tmp_path, source) == list(range(len(NAMES)))


@pytest.mark.S06
def test_a_glob_of_directories_and_partitions_reads_each_file_once(
    spark: SparkSession, tmp_path: Path
) -> None:
    filled(tmp_path / "in" / "day=1", "json")
    source = {"format": "json", "schema": "n BIGINT"}

    partitions = streamed(
        spark, tmp_path / "a", source | {"path": str(tmp_path / "in"), "schema": "n BIGINT, day INT"}
    )
    globbed = streamed(spark, tmp_path / "b", source | {"path": str(tmp_path / "i?" / "day=*")})

    assert partitions == globbed == list(range(len(NAMES)))


@pytest.mark.S06
def test_an_empty_file_with_a_special_name_repeats_no_other_file(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a[1].json").touch()
    (tmp_path / "in" / "plain.json").write_text('{"n": 7}')

    assert streamed(
        spark, tmp_path, {"path": str(tmp_path / "in"), "format": "json", "schema": "n BIGINT"}
    ) == [7]


@pytest.mark.S06
@pytest.mark.parametrize("kind", only(WRITERS, ("json",)))
def test_a_file_is_read_whatever_its_age(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    """Spark's default passes over a new file whose time is a week before the newest one's."""
    folder = tmp_path / "in"
    folder.mkdir()
    source = {"path": str(folder), "format": kind} | ({} if kind == "text" else {"schema": "n BIGINT"})
    for number, days in enumerate((0, 8, 10_000, 1)):
        WRITERS[kind](folder / f"{number}.{kind}", number)
        time = 1_700_000_000 - days * 86_400
        os.utime(folder / f"{number}.{kind}", (time, time))
        assert streamed(spark, tmp_path, source) == list(range(number + 1))


@pytest.mark.S08
@pytest.mark.parametrize("kind", only(WRITERS, IN_THE_GATE))
def test_a_static_directory_reads_each_file_once(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    folder = filled(tmp_path / "in", kind)
    table = {"path": str(folder)} | ({"schema": "n BIGINT"} if kind in ("json", "csv") else {})
    source = StaticSource.model_validate({kind: table})

    rows = static.table(spark, "side", "side", source, Connections()).collect()

    assert sorted(int(row[0]) for row in rows) == list(range(len(NAMES)))


def filled(folder: Path, kind: str) -> Path:
    """The folder with a file of each name, which holds the name's place in the list."""
    folder.mkdir(parents=True)
    for number, name in enumerate((*NAMES, *PASSED_OVER)):
        WRITERS[kind](folder / name, number)
    return folder


def streamed(spark: SparkSession, folder: Path, source: dict[str, object]) -> list[int]:
    """The numbers that a query reads of the source, as it writes them."""
    column = "value" if source["format"] == "text" else "n"
    spec = {
        "sources": [{"name": "src", "files": source}],
        "views": [{"name": "numbers", "sql": f"SELECT CAST({column} AS BIGINT) AS n FROM src"}],
        "queries": [
            {"name": "q", "from": "numbers", "to": [{"name": "out", "json": {"path": str(folder / "out")}}]}
        ],
        "checkpoints": {"location": str(folder / "checkpoints")},
    }
    own = sparks.run(spark, spec)
    return sorted(row.n for row in own.read.schema("n BIGINT").json(str(folder / "out")).collect())
