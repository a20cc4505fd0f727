"""Local files through Hadoop: what Java does itself is what `chmod` and `readlink` did, and a batch runs no process."""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from harness.pipebench import PipeBench
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession


MODES = (0o755, 0o644, 0o600, 0o000, 0o777, 0o1777)
BEFORE = (0o755, 0o600, 0o2775, 0o1777)
"""Modes of a folder, of which some have bits that `chmod` keeps."""
COUNTS = {"name": "counts", "sql": "SELECT k, count(*) AS n FROM lines GROUP BY k"}


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


@pytest.mark.full(gate="spark/test_local_files.py::test_both_interfaces_write_what_hadoops_own_write")
def test_a_stateful_batch_with_a_local_checkpoint_runs_no_process(
    spark: SparkSession, tmp_path: Path, processes: Any
) -> None:
    bench = PipeBench(spark, tmp_path, {"lines": "k STRING"})
    bench.put("lines", {"k": "a"})
    assert bench.run(COUNTS, query={"outputMode": "complete"}) == [("a", 1)]
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


def test_a_missing_file_is_no_link(spark: SparkSession, local: Any, tmp_path: Path) -> None:
    with pytest.raises(Py4JJavaError, match="FileNotFoundException"):
        local.getFileLinkStatus(_path(spark, tmp_path / "missing"))


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


@pytest.mark.full(gate="spark/test_local_files.py::test_a_link_is_what_it_is_for_hadoop")
def test_a_checkpoint_may_lie_behind_a_link(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "checkpoints").symlink_to(tmp_path / "disk")
    bench = PipeBench(spark, tmp_path, {"lines": "k STRING"})
    for number in (1, 2):
        bench.put("lines", {"k": "a"})
        assert bench.run(COUNTS, query={"outputMode": "complete"}) == [("a", number)]
    assert (tmp_path / "disk" / "out" / "1" / "commits" / "1").exists()


def test_both_interfaces_write_what_hadoops_own_write(
    spark: SparkSession, local: Any, tmp_path: Path
) -> None:
    """The checksums beside the files too, so that every reader finds a damaged one."""
    hadoop = _java(spark).org.apache.hadoop
    plain = hadoop.fs.LocalFileSystem()
    plain.initialize(_uri(spark), _conf(spark))
    contexts = [
        hadoop.fs.FileContext.getFileContext(_uri(spark), conf)
        for conf in (_conf(spark), hadoop.conf.Configuration())
    ]
    names = [context.getDefaultFileSystem().getClass().getSimpleName() for context in contexts]
    assert names == ["LocalFileContext", "LocalFs"]
    flags = _java(spark).java.util.EnumSet.of(hadoop.fs.CreateFlag.CREATE)
    options = spark.sparkContext._gateway.new_array(hadoop.fs.Options.CreateOpts, 1)  # type: ignore[union-attr]
    options[0] = hadoop.fs.Options.CreateOpts.createParent()

    def written(number: int, files: Any, *more: Any) -> dict[str, tuple[str, bytes | None]]:
        folder = tmp_path / str(number)
        stream = files.create(_path(spark, folder / "in" / "file"), *more)
        stream.write(bytes(range(256)) * 5)
        stream.close()
        return {
            str(file.relative_to(folder)): (oct(file.stat().st_mode), None if file.is_dir() else file.read_bytes())
            for file in folder.rglob("*")
        }  # fmt: skip

    by_context = [written(number, context, flags, options) for number, context in enumerate(contexts)]
    by_system = [written(number, system) for number, system in enumerate((local, plain), 2)]
    assert by_context[0] == by_context[1]
    assert by_system[0] == by_system[1]
    for files in (by_context[0], by_system[0]):
        assert set(files) == {"in", "in/file", "in/.file.crc"}
