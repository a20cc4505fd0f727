"""Local files through Hadoop: what Java does itself is what `chmod` and `readlink` did, and a batch runs no process."""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from harness import sparks
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession


MODES = (0o755, 0o644, 0o600, 0o000, 0o777, 0o1777)
BEFORE = (0o755, 0o600, 0o2775, 0o1777)
"""Modes of a folder, of which some have bits that `chmod` keeps."""


@pytest.fixture
def local(spark: SparkSession) -> Any:
    """The file system of `file:`, as Spark's own code gets it."""
    return _java(spark).org.apache.hadoop.fs.FileSystem.get(_uri(spark), _conf(spark))


@pytest.fixture
def hadoops(spark: SparkSession) -> Any:
    """Hadoop's own, which runs a process."""
    files = _java(spark).org.apache.hadoop.fs.RawLocalFileSystem()
    files.initialize(_uri(spark), _conf(spark))
    return files


@pytest.fixture
def processes(spark: SparkSession, tmp_path: Path) -> Iterator[Any]:
    """A function that returns the commands of the processes that the JVM has started since the test began."""
    jfr = _java(spark).jdk.jfr
    recording = jfr.Recording()
    recording.enable("jdk.ProcessStart")
    recording.start()

    def commands() -> list[str]:
        recording.stop()
        file = _java(spark).java.nio.file.Path.of(
            _java(spark).java.net.URI(f"file://{tmp_path}/processes.jfr")
        )
        recording.dump(file)
        return [event.getString("command") for event in jfr.consumer.RecordingFile.readAllEvents(file)]

    yield commands
    recording.close()


def _java(spark: SparkSession) -> Any:
    return spark._jvm


def _conf(spark: SparkSession) -> Any:
    return spark._jsc.hadoopConfiguration()  # type: ignore[attr-defined]


def _uri(spark: SparkSession) -> Any:
    return _java(spark).java.net.URI("file:///")


def _path(spark: SparkSession, path: Path) -> Any:
    return _java(spark).org.apache.hadoop.fs.Path(str(path))


def _permission(spark: SparkSession, mode: int) -> Any:
    return _java(spark).org.apache.hadoop.fs.permission.FsPermission(f"{mode:03o}")


def test_a_stateful_batch_with_a_local_checkpoint_runs_no_process(
    spark: SparkSession, tmp_path: Path, processes: Any
) -> None:
    """Twelve of them took four times as long as the batch."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.json").write_text('{"k": "a"}\n', encoding="utf-8")
    files = {"path": f"{tmp_path}/in", "format": "json", "schema": "k STRING"}
    sparks.run(
        spark,
        {
            "sources": [{"name": "lines", "files": files}],
            "views": [{"name": "counts", "sql": "SELECT k, count(*) AS n FROM lines GROUP BY k"}],
            "queries": [
                {
                    "name": "q",
                    "from": "counts",
                    "outputMode": "complete",
                    "to": [{"name": "table", "delta": {"path": f"{tmp_path}/out"}}],
                }
            ],
            "checkpoints": {"location": f"{tmp_path}/checkpoints"},
        },
    )
    _java(spark).java.lang.Runtime.getRuntime().exec("true").waitFor()
    started = processes()
    assert "true" in started, "the recording has processes"
    assert [command for command in started if command.split()[0] in ("chmod", "readlink", "ls")] == []


@pytest.mark.parametrize("before", BEFORE, ids=oct)
def test_a_folder_gets_the_mode_that_chmod_gives_it(
    spark: SparkSession, local: Any, tmp_path: Path, before: int
) -> None:
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    for folder in (ours, theirs):
        folder.mkdir()
    for mode in MODES:
        for folder in (ours, theirs):
            folder.chmod(before)
        local.setPermission(_path(spark, ours), _permission(spark, mode))
        subprocess.run(["chmod", f"{mode:04o}", str(theirs)], check=True)
        assert oct(ours.stat().st_mode) == oct(theirs.stat().st_mode), oct(mode)


def test_the_permissions_of_a_link_are_those_of_its_target(
    spark: SparkSession, local: Any, tmp_path: Path
) -> None:
    (tmp_path / "file").touch(0o600)
    (tmp_path / "link").symlink_to("file")
    local.setPermission(_path(spark, tmp_path / "link"), _permission(spark, 0o640))
    assert oct((tmp_path / "file").stat().st_mode & 0o7777) == "0o640"


def test_a_missing_file_has_no_permissions(spark: SparkSession, local: Any, tmp_path: Path) -> None:
    with pytest.raises(Py4JJavaError, match="NoSuchFileException"):
        local.setPermission(_path(spark, tmp_path / "missing"), _permission(spark, 0o640))


@pytest.mark.parametrize("name", ["file", "folder", "link", "linked folder", "dangling"])
def test_a_link_is_what_it_is_for_hadoop(
    spark: SparkSession, local: Any, hadoops: Any, tmp_path: Path, name: str
) -> None:
    (tmp_path / "file").write_text("text", encoding="utf-8")
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "file")
    (tmp_path / "linked folder").symlink_to(tmp_path / "folder")
    (tmp_path / "dangling").symlink_to(tmp_path / "missing")
    path = _path(spark, tmp_path / name)
    texts = [str(files.getFileLinkStatus(path).toString()) for files in (local.getRaw(), hadoops)]
    assert texts[0] == texts[1]


def test_a_checkpoint_may_lie_behind_a_link(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "checkpoints").symlink_to(tmp_path / "disk")
    context = _java(spark).org.apache.hadoop.fs.FileContext.getFileContext(_uri(spark), _conf(spark))
    status = context.getFileStatus(_path(spark, tmp_path / "checkpoints"))
    assert status.isDirectory()


def test_both_interfaces_write_what_hadoops_own_writes(spark: SparkSession, tmp_path: Path) -> None:
    """The checksums beside the files too, so that every reader finds a damaged one."""
    java, conf = _java(spark), _conf(spark)
    plain = java.org.apache.hadoop.conf.Configuration()
    written = {}
    for name, configuration in (("ours", conf), ("hadoops", plain)):
        folder = tmp_path / name
        context = java.org.apache.hadoop.fs.FileContext.getFileContext(_uri(spark), configuration)
        flags = java.java.util.EnumSet.of(java.org.apache.hadoop.fs.CreateFlag.CREATE)
        options = spark.sparkContext._gateway.new_array(java.org.apache.hadoop.fs.Options.CreateOpts, 1)  # type: ignore[union-attr]
        options[0] = java.org.apache.hadoop.fs.Options.CreateOpts.createParent()
        stream = context.create(_path(spark, folder / "in" / "file"), flags, options)
        stream.write(bytes(range(256)) * 5)
        stream.close()
        written[name] = {
            str(file.relative_to(folder)): (
                oct(file.stat().st_mode),
                None if file.is_dir() else file.read_bytes(),
            )
            for file in folder.rglob("*")
        }
    assert written["ours"] == written["hadoops"]
    assert {Path(file).name for file in written["ours"]} == {"in", "file", ".file.crc"}
