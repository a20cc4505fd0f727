"""The files that a dead driver leaves, and which of them are removed."""

import os
from pathlib import Path
from urllib.parse import quote

import pytest
from harness.clock import OwnClock
from harness.documents import pipeline_head
from mainstem.errors import NotReady
from mainstem.language.analysis.graph import Graph
from mainstem.language.model.pipeline import StreamingPipeline
from mainstem.runtime.checkpoint import orphan_files
from mainstem.runtime.clock import Clock
from mainstem.runtime.maintenance.orphan_removal import FIRST_INTERVAL, OrphanCleaner
from pyspark.sql import SparkSession


NAME = "part-00000-12345678-1234-1234-1234-{:012d}-c000.snappy.parquet"


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    """A Parquet folder and a checkpoint that has planned batch 1 and committed batch 0."""
    out, checkpoint = tmp_path / "out", tmp_path / "checkpoint"
    (out / "_spark_metadata").mkdir(parents=True)
    for name in ("offsets", "commits"):
        (checkpoint / name).mkdir(parents=True)
        (checkpoint / name / "0").write_text("v1\n")
    (checkpoint / "offsets" / "1").write_text("v1\n")
    return out, checkpoint


def shift_time(path: Path, seconds: float) -> None:
    """Let a file have been written so many seconds later than it was."""
    written = path.stat().st_mtime + seconds
    os.utime(path, (written, written))


def write(path: Path, age: float = 0.0) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"PAR1")
    shift_time(path, -age)
    return path


@pytest.mark.S26
@pytest.mark.S36
def test_only_files_of_the_unfinished_batch_are_suspects(
    spark: SparkSession, folders: tuple[Path, Path]
) -> None:
    out, checkpoint = folders
    logged = write(out / "shop=a,b (c)" / NAME.format(1))
    entry = f'{{"path":"file://{quote(str(logged))}","size":4,"isDir":false,"modificationTime":1,"blockReplication":1,"blockSize":1,"action":"add"}}'
    (out / "_spark_metadata" / "0").write_text(f"v1\n{entry}")
    older = write(out / NAME.format(2), age=3600)
    foreign = write(out / "mine.parquet")
    leftover = write(out / NAME.format(3))
    table = write(out / "late" / NAME.format(5))
    write(out / "late" / "_delta_log" / "00000000000000000000.json")
    deeper = write(out / "shop=a b%20c" / NAME.format(4))
    suspects = orphan_files.suspects(spark, str(out), str(checkpoint))
    assert {Path(file).name for file in suspects.files} == {leftover.name, deeper.name}
    assert suspects.batch == 1
    assert all(file.exists() for file in (logged, older, foreign, table, leftover, deeper))


@pytest.mark.S26
def test_no_file_is_suspect_while_no_batch_is_pending(
    spark: SparkSession, folders: tuple[Path, Path]
) -> None:
    out, checkpoint = folders
    (checkpoint / "commits" / "1").write_text("v1\n")
    write(out / NAME.format(1))
    assert orphan_files.suspects(spark, str(out), str(checkpoint)).files == ()


@pytest.mark.S26
def test_no_file_is_suspect_where_another_job_writes_too(
    spark: SparkSession, folders: tuple[Path, Path]
) -> None:
    out, checkpoint = folders
    (out / "_spark_metadata" / "0").write_text("v1")
    write(out / NAME.format(1))
    assert orphan_files.suspects(spark, str(out), str(checkpoint)).files
    write(out / "_SUCCESS")
    assert orphan_files.suspects(spark, str(out), str(checkpoint)).files == ()


@pytest.mark.S26
def test_a_directory_with_data_is_rejected_for_a_new_checkpoint(spark: SparkSession, tmp_path: Path) -> None:
    write(tmp_path / "out" / NAME.format(1))
    with pytest.raises(NotReady) as refused:
        orphan_files.suspects(spark, str(tmp_path / "out"), str(tmp_path / "checkpoint"))
    assert refused.value.reason == "SinkFolderTaken"


@pytest.mark.S26
@pytest.mark.parametrize("entry", ["2", "9.compact"])
def test_a_directory_ahead_of_the_checkpoint_is_rejected(
    spark: SparkSession, folders: tuple[Path, Path], entry: str
) -> None:
    """Of a checkpoint put back from an older copy, say: Spark would skip the batches that the log has."""
    out, checkpoint = folders
    (out / "_spark_metadata" / entry).write_text("v1")
    with pytest.raises(NotReady) as refused:
        orphan_files.suspects(spark, str(out), str(checkpoint))
    assert refused.value.reason == "SinkFolderTaken"


@pytest.fixture
def copying(tmp_path: Path) -> tuple[Path, Path]:
    """A folder and a checkpoint of the query `copy` that has committed batch 0."""
    out, checkpoint = tmp_path / "out", tmp_path / "checkpoints" / "copy" / "1"
    (out / "_spark_metadata").mkdir(parents=True)
    for name in ("offsets", "commits"):
        (checkpoint / name).mkdir(parents=True)
        (checkpoint / name / "0").write_text("v1\n")
    return out, checkpoint


def cleaner(spark: SparkSession, folder: Path, clock: Clock | None = None, **options: str) -> OrphanCleaner:
    sink = {"name": "files", "parquet": {"path": f"{folder}/out", "options": options}}
    spec = {
        "sources": [{"name": "ticks", "rate": {}}],
        "queries": [{"name": "copy", "from": "ticks", "to": [sink]}],
        "checkpoints": {"location": f"{folder}/checkpoints"},
    }
    document = {
        **pipeline_head("p"),
        "spec": spec,
    }
    return OrphanCleaner(spark, Graph(StreamingPipeline.model_validate(document)), clock or OwnClock())


@pytest.mark.S26
@pytest.mark.S36
def test_files_of_a_lost_executor_are_removed_after_their_batch_is_committed(
    spark: SparkSession, tmp_path: Path, copying: tuple[Path, Path]
) -> None:
    """While the driver lives; those of the running batch stay until it is known which of them it commits."""
    out, checkpoint = copying
    logged = write(out / NAME.format(1))
    entry = f'{{"path":"file://{logged}","size":4,"isDir":false,"modificationTime":1,"blockReplication":1,"blockSize":1,"action":"add"}}'
    (out / "_spark_metadata" / "0").write_text(f"v1\n{entry}")
    strangers = write(out / "mine.parquet"), write(out / NAME.format(2), age=3600)
    orphan = write(out / "shop=a" / NAME.format(3))
    (checkpoint / "offsets" / "1").write_text("v1\n")
    running = write(out / NAME.format(4))
    cleaning = cleaner(spark, tmp_path)
    cleaning.look()
    assert orphan.exists(), "it may be of the running batch"
    assert running.exists()
    (out / "_spark_metadata" / "1").write_text(f"v1\n{entry.replace(logged.name, running.name)}")
    (checkpoint / "commits" / "1").write_text("v1\n")
    later = write(out / NAME.format(5))
    cleaning.look()
    assert not orphan.exists()
    assert all(file.exists() for file in (logged, running, later, *strangers))


@pytest.mark.S26
@pytest.mark.S36
@pytest.mark.parametrize("options", [{}, {"retention": "7d"}], ids=["", "log forgets"])
def test_files_of_a_dead_driver_are_removed_after_their_batch_is_committed(
    spark: SparkSession, tmp_path: Path, copying: tuple[Path, Path], options: dict[str, str]
) -> None:
    """Except the files that a late log entry names."""
    out, checkpoint = copying
    (out / "_spark_metadata" / "0").write_text("v1")
    (checkpoint / "offsets" / "1").write_text("v1\n")
    late, left = write(out / NAME.format(1)), write(out / NAME.format(2))
    cleaning = cleaner(spark, tmp_path, **options)
    cleaning.suspect("copy", f"{tmp_path}/out", orphan_files.suspects(spark, str(out), str(checkpoint)))
    cleaning.look()
    assert late.exists()
    assert left.exists()
    entry = f'{{"path":"file://{late}","size":4,"isDir":false,"modificationTime":1,"blockReplication":1,"blockSize":1,"action":"add"}}'
    (out / "_spark_metadata" / "1").write_text(f"v1\n{entry}")
    (checkpoint / "commits" / "1").write_text("v1\n")
    cleaning.look()
    assert late.exists()
    assert not left.exists()


@pytest.mark.S26
@pytest.mark.S36
def test_a_file_that_an_older_driver_writes_when_it_wakes_up_is_removed(
    spark: SparkSession, tmp_path: Path, copying: tuple[Path, Path]
) -> None:
    """Also if the checkpoint has meanwhile forgotten the batch of the file."""
    out, checkpoint = copying
    (out / "_spark_metadata" / "0").write_text("v1")
    clock = OwnClock()
    cleaning = cleaner(spark, tmp_path, clock)
    cleaning.look()
    late = write(out / NAME.format(1))
    for log in ("offsets", "commits"):
        (checkpoint / log / "7").write_text("v1\n")
        shift_time(checkpoint / log / "7", 60)
        (checkpoint / log / "0").unlink()
    (out / "_spark_metadata" / "7.compact").write_text("v1")
    clock.advance(FIRST_INTERVAL - 1)
    cleaning.look()
    assert late.exists(), "the folder is not listed all the time"
    clock.advance(1)
    cleaning.look()
    assert not late.exists()


@pytest.mark.S26
@pytest.mark.parametrize("case", ["another job writes here too", "the log forgets files"])
def test_files_that_may_be_data_are_kept(
    spark: SparkSession, tmp_path: Path, copying: tuple[Path, Path], case: str
) -> None:
    out, _ = copying
    file = write(out / NAME.format(1))
    if case == "another job writes here too":
        write(out / "_SUCCESS")
    cleaner(spark, tmp_path, **({"retention": "7d"} if case == "the log forgets files" else {})).look()
    assert file.exists()


@pytest.mark.S36
def test_an_incomplete_first_plan_is_removed(spark: SparkSession, tmp_path: Path) -> None:
    stray = write(tmp_path / "offsets" / ".0.3f2a.tmp")
    assert len(orphan_files.clear_incomplete_first_batch(spark, str(tmp_path))) == 1
    assert not stray.exists()


@pytest.mark.S36
def test_an_incomplete_later_plan_is_kept(spark: SparkSession, folders: tuple[Path, Path]) -> None:
    _, checkpoint = folders
    stray = write(checkpoint / "offsets" / ".2.3f2a.tmp")
    assert orphan_files.clear_incomplete_first_batch(spark, str(checkpoint)) == []
    assert stray.exists()
