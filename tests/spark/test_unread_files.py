"""Files below a source's path that Spark reads in no batch, or not again: exactly these are counted, and a query shows them."""

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest
from harness.sampling import only
from harness.supervisor_loop import Stage, Turning
from mainstem.language.model.status.query_progress import QueryProgress
from mainstem.language.model.status.states import QueryState
from mainstem.runtime.files.listing import listed, open_log
from mainstem.runtime.files.source_folders import NO_FILES, Files, Folder, Others
from pyspark.sql import SparkSession


pytestmark = pytest.mark.S06
TREES = {
    "beside files of the folder": ["a", "x/b", "x/y/c"],
    "only in folders": ["2024/01/a", "2024/02/b"],
    "beside a folder with a value": ["k=1/a", "c"],
    "within a folder with a value": ["k=1/x/a", "k=1/b"],
    "no file": [],
    "hidden and empty": ["a", "_x/b", ".x/c", "x/_d", "x/.e", "x/0"],
    "summaries of Parquet": ["a", "_metadata", "x/_common_metadata", "x/b"],
    "in a folder with a glob's letters": ["a", "x[1]/b", "x*/c"],
    "in more folders than the driver lists itself": ["a", *(f"x{n}/b" for n in range(40))],
}
"""The names of files, each with a line that is its name; a file called `0` is empty."""


class Read(NamedTuple):
    """How a source reads below a folder.

    Attributes:
        suffix: follows the folder in the path.
        options: those of the reader.
        selects: whether the path and the options select a file.
    """

    suffix: str
    options: Mapping[str, str] = MappingProxyType({})
    selects: Callable[[str], bool] = bool


READS = {
    "the folder": Read(""),
    "a glob of folders": Read("/*"),
    "a glob of files": Read("/*a", selects=lambda name: name == "a"),
    "a file": Read("/a", selects=lambda name: name == "a"),
    "all folders": Read("", {"recursiveFileLookup": "true"}),
    "some names": Read("", {"pathGlobFilter": "[ab]"}, lambda name: name.rpartition("/")[2] in {"a", "b"}),
}


def below(spark: SparkSession, folder: Folder, others: Others) -> Files | None:
    """The files that a source passes over; None if there is nothing."""
    files = listed(spark, folder)
    return None if files is None else files.passed_over(others)


def lay(root: Path, names: list[str]) -> list[str]:
    """Write the files; returns those that are neither hidden nor empty."""
    root.mkdir()
    for name in names:
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("" if file.name == "0" else f"{name}\n")
    return [
        name
        for name in names
        if not name.endswith("/0") and all(part[0] not in "._" for part in name.split("/"))
    ]


@pytest.mark.parametrize("read", READS.values(), ids=READS)
@pytest.mark.parametrize("tree", only(TREES, ("beside files of the folder", "beside a folder with a value")))
def test_exactly_the_files_that_spark_does_not_read_count(
    spark: SparkSession, tmp_path: Path, tree: str, read: Read
) -> None:
    files = lay(tmp_path / "in", TREES[tree])
    path = f"{tmp_path}/in{read.suffix}"
    answer = below(spark, Folder("s", path, read.options, is_stream=False), Others())
    if not any(tmp_path.glob(f"in{read.suffix}")):
        assert answer in {None, NO_FILES}
        return
    frame = spark.read.format("text").options(**read.options).load(path)
    passed = sorted({name for name in files if read.selects(name)} - {row.value for row in frame.collect()})
    assert answer == Files(len(passed), f"file:{tmp_path}/in/{passed[0]}" if passed else "")


def test_folders_that_the_document_uses_do_not_count(spark: SparkSession, tmp_path: Path) -> None:
    lay(tmp_path / "in", ["a", "out{1}/b", "checkpoints/x/c", "more/1/2/e", "ref/zones", "output/d"])
    folder = f"{tmp_path}/in"
    written = (f"{folder}/out{{1}}", f"file://{folder}/checkpoints/", "s3a://other/in")
    read = (str(tmp_path), folder, f"{folder}/m*/*", f"{folder}/ref/zones", "a:b")
    answer = below(spark, Folder("s", folder, {}, is_stream=True), Others(read, written))
    assert answer == Files(1, f"file:{folder}/output/d")


def test_a_source_that_reads_the_same_glob_hides_nothing(spark: SparkSession, tmp_path: Path) -> None:
    """The glob of the source itself is among the paths of the document."""
    lay(tmp_path / "in", ["x/a", "x/y/b", "x/z/c"])
    read = Folder("s", f"{tmp_path}/in/*", {}, is_stream=True)
    assert below(spark, read, Others((read.path, f"{tmp_path}/in/*/z"))) == Files(
        1, f"file:{tmp_path}/in/x/y/b"
    )


def test_of_a_sinks_folder_what_was_not_committed_does_not_count(spark: SparkSession, tmp_path: Path) -> None:
    lay(tmp_path / "in", ["a", "_spark_metadata/0", "x/b"])
    assert below(spark, Folder("s", f"{tmp_path}/in", {}, is_stream=True), Others()) == NO_FILES


def test_where_nothing_exists_nothing_is_known(spark: SparkSession, tmp_path: Path) -> None:
    assert below(spark, Folder("s", f"{tmp_path}/in", {}, is_stream=True), Others()) is None
    assert below(spark, Folder("s", f"{tmp_path}/in/*", {}, is_stream=True), Others()) is None


@pytest.mark.parametrize("read", [READS["the folder"], READS["a glob of folders"]], ids=["folder", "glob"])
@pytest.mark.parametrize(
    "tree", only([tree for tree in TREES if TREES[tree]], ("beside a folder with a value",))
)
def test_a_stream_reads_all_files_but_those(
    spark: SparkSession, tmp_path: Path, tree: str, read: Read
) -> None:
    files = set(lay(tmp_path / "in", TREES[tree]))
    path = f"{tmp_path}/in{read.suffix}"
    _, read_rows = run(spark, tmp_path, path=path)
    passed = below(spark, Folder("s", path, {}, is_stream=True), Others())
    assert passed is not None
    assert passed.number == len(files - set(read_rows))


def run(
    spark: SparkSession, folder: Path, sql: str = "SELECT value FROM lines", **more: Any
) -> tuple[QueryProgress, list[str]]:
    """Read what is there, with the checkpoint of the run before; the last status, and the lines of all runs."""
    document = spec(folder, **more)
    document["views"] = [{"name": "v", "sql": sql}]
    out = {"name": "t", "json": {"path": f"{folder}/out"}}
    document["queries"][0] |= {"from": "v", "to": [out], "trigger": {"availableNow": True}}
    with Stage(spark.newSession(), folder).running(**document) as turning:
        turning.to_the_end()
        return turning["q"], rows(folder / "out")


def spec(folder: Path, *, static: bool = False, **more: Any) -> dict[str, Any]:
    """A pipeline whose sink lies below its source."""
    path = {"path": f"{folder}/in"} | more
    source = {"static": {"text": path}} if static else {"files": path}
    sink = {"name": "t", "json": {"path": f"{folder}/in/out"}}
    return {
        "sources": [{"name": "lines", **source}],
        "queries": [{"name": "q", "from": "lines", "to": [sink]}],
    }


def rows(out: Path) -> list[str]:
    """The lines that the sink has."""
    texts = [file.read_text() for file in out.glob("*.json")]
    return sorted(json.loads(line)["value"] for text in texts for line in text.splitlines())


def shown(turning: Turning) -> tuple[str | None, str | None, int]:
    status = turning["q"]
    return status.reason, status.message, status.sources[0].passed_over


MESSAGE = "source 'lines' passes over {} below its path, first file:{}/in/x/b"


def test_a_running_query_shows_what_it_does_not_read(spark: SparkSession, tmp_path: Path) -> None:
    lay(tmp_path / "in", ["a", "x/b", "y/c"])
    with Stage(spark.newSession(), tmp_path).running(**spec(tmp_path)) as turning:
        turning.until(lambda: turning["q"].state is QueryState.RUNNING and bool(turning["q"].reason))
        assert shown(turning) == ("FilesPassedOver", MESSAGE.format("2 files", tmp_path), 2)
        assert rows(tmp_path / "in" / "out") == ["a"]


@pytest.mark.parametrize("static", [False, True])
def test_a_query_that_ends_shows_what_it_has_not_read(
    spark: SparkSession, tmp_path: Path, *, static: bool
) -> None:
    """A bounded query ends within less time than lies between two looks."""
    lay(tmp_path / "in", ["a", "x/b"])
    document = spec(tmp_path, static=static)
    if not static:
        document["queries"][0]["trigger"] = {"availableNow": True}
    with Stage(spark.newSession(), tmp_path).running(**document) as turning:
        turning.to_the_end()
        assert rows(tmp_path / "in" / "out") == ["a"]
        assert turning["q"].state is QueryState.COMPLETED
        assert (turning["q"].reason, turning["q"].message) == (
            "FilesPassedOver",
            MESSAGE.format("1 file", tmp_path),
        )


def test_a_source_of_all_folders_has_nothing_to_show(spark: SparkSession, tmp_path: Path) -> None:
    lay(tmp_path / "in", ["a", "x/b"])
    document = spec(tmp_path, options={"recursiveFileLookup": "true"})
    document["queries"][0]["trigger"] = {"availableNow": True}
    with Stage(spark.newSession(), tmp_path).running(**document) as turning:
        turning.to_the_end()
        assert rows(tmp_path / "in" / "out") == ["a", "x/b"]
        assert shown(turning) == (None, None, 0)


def append(file: Path) -> None:
    """A line more, as a process writes that keeps a file open."""
    file.write_text(f"{file.read_text()}more\n")
    later(file)


def later(file: Path, seconds: float = 10.0) -> None:
    """Another time of modification."""
    time = file.stat().st_mtime + seconds
    os.utime(file, (time, time))


def overwrite(file: Path, seconds: float = 10.0) -> None:
    """As many characters as before."""
    time = file.stat().st_mtime + seconds
    file.write_text("z\n")
    os.utime(file, (time, time))


def replace_by_older(file: Path) -> None:
    """A copy that keeps its time takes the place of a newer file."""
    written = file.parent / "_written"
    written.write_text("older\n")
    os.utime(written, (10**9, 10**9))
    written.rename(file)


def write_anew(file: Path) -> None:
    """Deleted, as `cleanSource` does it, and later written again."""
    time = file.stat().st_mtime
    file.unlink()
    file.write_text("again\n")
    os.utime(file, (time + 10, time + 10))


def empty(file: Path) -> None:
    file.write_text("")
    later(file)


class Change(NamedTuple):
    """What happens to files between two runs.

    Attributes:
        make: changes a file.
        name: the file.
        counts: whether what the file then has is not read.
        rows: what the second run reads.
    """

    make: Callable[[Path], Any]
    name: str = "a"
    counts: bool = True
    rows: tuple[str, ...] = ()


CHANGES = {
    "appended": Change(append),
    "overwritten by as many characters": Change(overwrite),
    "replaced by an older file": Change(replace_by_older),
    "deleted and written again": Change(write_anew),
    "written after it was empty": Change(append, "0"),
    "in a folder with a value": Change(append, "k=1/a b%c"),
    "of another time only": Change(later),
    "nothing": Change(Path.exists, counts=False),
    "emptied": Change(empty, counts=False),
    "deleted": Change(Path.unlink, counts=False),
    "a new file": Change(lambda file: (file.parent / "n").write_text("n\n"), counts=False, rows=("n",)),
    "overwritten, with the time that it had": Change(lambda file: overwrite(file, 0.0), counts=False),
}
"""The last is what nobody can notice."""


@pytest.mark.parametrize(
    "change",
    only(CHANGES, ("appended", "replaced by an older file", "written after it was empty", "a new file")),
)
def test_exactly_the_files_that_changed_after_a_run_are_counted(
    spark: SparkSession, tmp_path: Path, change: str
) -> None:
    made = CHANGES[change]
    lay(tmp_path / "in", sorted({"a", "b", "0", made.name}))
    before = run(spark, tmp_path)[1]
    made.make(tmp_path / "in" / made.name)
    status, after = run(spark, tmp_path)
    assert after == sorted([*before, *made.rows])
    message = (
        f"source 'lines' does not read 1 file again that changed since, first file:{tmp_path}/in/{made.name}"
    )
    expected = ("FilesChanged", message, 1) if made.counts else (None, None, 0)
    assert (status.reason, status.message, status.sources[0].changed) == expected


@pytest.mark.full(
    gate="spark/test_unread_files.py::test_exactly_the_files_that_changed_after_a_run_are_counted"
)
def test_a_file_of_any_batch_counts_once(spark: SparkSession, tmp_path: Path) -> None:
    """Spark joins the entries of ten batches in its log. A query may read a source twice."""
    names = lay(tmp_path / "in", [f"{n:02}" for n in range(12)])
    both = "SELECT value FROM lines UNION ALL SELECT value FROM lines"
    run(spark, tmp_path, both, maxFilesPerTrigger=1)
    for name in ("00", "08", "11"):
        append(tmp_path / "in" / name)
    status, after = run(spark, tmp_path, both)
    assert after == sorted([*names, *names])
    assert [(source.name, source.changed) for source in status.sources] == [("lines", 3), ("lines_2", 3)]
    assert str(status.message).endswith(f"3 files again that changed since, first file:{tmp_path}/in/00")


@pytest.mark.parametrize(("now", "counts"), [(2, 0), (3, 1)])
def test_of_a_file_that_was_read_twice_the_last_time_counts(
    spark: SparkSession, tmp_path: Path, now: int, counts: int
) -> None:
    """Spark alone, and earlier releases, forget a file that is a week older than the newest."""
    lay(tmp_path / "in", ["a"])
    file, log = tmp_path / "in" / "a", tmp_path / "log"
    log.mkdir()
    for batch, time in enumerate((1000, 2000)):
        entry = {"path": f"file://{file}", "timestamp": time, "batchId": batch}
        (log / str(batch)).write_text(f"v1\n{json.dumps(entry)}")
    os.utime(file, (now, now))
    opened = open_log(spark, str(log))
    files = listed(spark, Folder("s", f"{tmp_path}/in", {}, is_stream=True))
    assert files is not None
    assert files.changed(opened).number == counts


def test_a_file_that_was_repaired_counts_although_the_batch_reads_it_then(
    spark: SparkSession, tmp_path: Path
) -> None:
    """The log has the time of the listing; nothing keeps what a batch has read."""
    lay(tmp_path / "in", ["a"])
    read = {"format": "json", "schema": "value STRING"}
    assert run(spark, tmp_path, **read)[0].state is QueryState.FAILED
    file = tmp_path / "in" / "a"
    file.write_text(json.dumps({"value": "repaired"}))
    later(file)
    status, after = run(spark, tmp_path, **read)
    assert (status.state, after, status.sources[0].changed) == (QueryState.COMPLETED, ["repaired"], 1)


@pytest.mark.parametrize("moved", only([False, True], (True,)))
def test_of_files_that_are_known_by_name_another_one_with_the_name_counts(
    spark: SparkSession, tmp_path: Path, *, moved: bool
) -> None:
    """A file that was only moved keeps its time, and was read."""
    lay(tmp_path / "in", ["x/a", "y/b", "y/a b"])
    named = {"path": f"{tmp_path}/in/*", "fileNameOnly": True}
    _, before = run(spark, tmp_path, **named)
    (tmp_path / "in/x/a").rename(tmp_path / "in/y/a")
    if not moved:
        lay(tmp_path / "in/z", ["a", "a b", "c"])
        later(tmp_path / "in/z/a")
        later(tmp_path / "in/z/a b")
    status, after = run(spark, tmp_path, **named)
    assert after == sorted([*before, *([] if moved else ["c"])])
    message = f"source 'lines' does not read 2 files with a name that it has read before, first file:{tmp_path}/in/z/a"
    expected = (None, None, 0) if moved else ("FilesChanged", message, 2)
    assert (status.reason, status.message, status.sources[0].changed) == expected
