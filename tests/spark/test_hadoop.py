"""Folders as the sweep sees them: what is listed can be deleted, whatever its name."""

from pathlib import Path

import pytest
from mainstem.runtime.clients.filesystem import Directory
from pyspark.sql import SparkSession


# As Spark names the folders of a partition: it escapes some letters itself.
NAMES = ["plain", "shop=a b", "shop=Zürich", "at=05%3A00", "share=5%25", "x=a+b", "x=[1]", "x={a,b}", "x=#1"]


@pytest.mark.parametrize("name", NAMES)
def test_a_listed_file_can_be_deleted(spark: SparkSession, tmp_path: Path, name: str) -> None:
    (tmp_path / "out" / name).mkdir(parents=True)
    for file in ("part-0.parquet", "part-1.parquet"):
        (tmp_path / "out" / name / file).write_bytes(b"")
    listed = sorted(file.path for file in Directory(spark, str(tmp_path / "out")).files())
    assert [path.rpartition("/")[2] for path in listed] == ["part-0.parquet", "part-1.parquet"]
    Directory(spark, listed[0]).delete()
    assert [file.name for file in (tmp_path / "out" / name).iterdir() if file.suffix == ".parquet"] == ["part-1.parquet"]  # fmt: skip


def test_what_is_not_there_is_told(spark: SparkSession, tmp_path: Path) -> None:
    folder = Directory(spark, str(tmp_path / "none"))
    assert not folder.exists()
    assert not (folder / "*").matches()
    folder.make()
    assert folder.exists()
    (folder / "probe").touch()
    assert (folder / "pr*").matches()
    assert (folder / "probe").modified() > 0
