"""Folders as the sweep sees them: what is listed can be deleted, whatever its name."""

import threading
from pathlib import Path

import pytest
from harness.sampling import sampled
from mainstem.filesystem import Directory, newest
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


def test_a_missing_directory_is_reported_and_can_be_created(spark: SparkSession, tmp_path: Path) -> None:
    folder = Directory(spark, str(tmp_path / "none"))
    assert not folder.exists()
    assert not (folder / "*").matches()
    folder.make()
    assert folder.exists()
    (folder / "probe").touch()
    assert (folder / "pr*").matches()
    assert (folder / "probe").modified() > 0


@pytest.mark.parametrize("times", sampled([60, 200], every=2))
def test_a_directory_is_listed_while_its_files_are_renamed(
    spark: SparkSession, tmp_path: Path, times: int
) -> None:
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "part-0.parquet").write_bytes(b"")
    over = threading.Event()

    def rename() -> None:
        number = 0
        while not over.is_set():
            number += 1
            temporary = tmp_path / f".{number}.tmp"
            temporary.write_text("plan")
            temporary.rename(tmp_path / str(number))
            (tmp_path / str(number - 20)).unlink(missing_ok=True)

    writer = threading.Thread(target=rename)
    writer.start()
    folder = Directory(spark, str(tmp_path))
    try:
        for _ in range(times):
            newest(folder)
            assert any(file.path.endswith("below/part-0.parquet") for file in folder.files())
    finally:
        over.set()
        writer.join()
