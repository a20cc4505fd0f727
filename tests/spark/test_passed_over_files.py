"""Files below a source's path that Spark reads in no batch: exactly these are counted, and a query shows them."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest
from harness.sampling import only
from harness.supervisor_loop import Stage, Turning
from mainstem.language.model.status.states import QueryState
from mainstem.runtime.files.passed_over_files import Folder, Others, PassedOver, below
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
        assert answer in {None, PassedOver(0, "")}
        return
    frame = spark.read.format("text").options(**read.options).load(path)
    passed = sorted({name for name in files if read.selects(name)} - {row.value for row in frame.collect()})
    assert answer == PassedOver(len(passed), f"file:{tmp_path}/in/{passed[0]}" if passed else "")


def test_folders_that_the_document_uses_do_not_count(spark: SparkSession, tmp_path: Path) -> None:
    lay(tmp_path / "in", ["a", "out{1}/b", "checkpoints/x/c", "more/1/2/e", "ref/zones", "output/d"])
    folder = f"{tmp_path}/in"
    written = (f"{folder}/out{{1}}", f"file://{folder}/checkpoints/", "s3a://other/in")
    read = (str(tmp_path), folder, f"{folder}/m*/*", f"{folder}/ref/zones", "a:b")
    answer = below(spark, Folder("s", folder, {}, is_stream=True), Others(read, written))
    assert answer == PassedOver(1, f"file:{folder}/output/d")


def test_a_source_that_reads_the_same_glob_hides_nothing(spark: SparkSession, tmp_path: Path) -> None:
    """The glob of the source itself is among the paths of the document."""
    lay(tmp_path / "in", ["x/a", "x/y/b", "x/z/c"])
    read = Folder("s", f"{tmp_path}/in/*", {}, is_stream=True)
    assert below(spark, read, Others((read.path, f"{tmp_path}/in/*/z"))) == PassedOver(
        1, f"file:{tmp_path}/in/x/y/b"
    )


def test_of_a_sinks_folder_what_was_not_committed_does_not_count(spark: SparkSession, tmp_path: Path) -> None:
    lay(tmp_path / "in", ["a", "_spark_metadata/0", "x/b"])
    assert below(spark, Folder("s", f"{tmp_path}/in", {}, is_stream=True), Others()) == PassedOver(0, "")


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
    document = spec(tmp_path)
    path = document["sources"][0]["files"]["path"] + read.suffix
    document["sources"][0]["files"]["path"] = path
    document["views"] = [{"name": "v", "sql": "SELECT value FROM lines"}]
    out = {"name": "t", "json": {"path": f"{tmp_path}/out"}}
    document["queries"][0] |= {"from": "v", "to": [out], "trigger": {"availableNow": True}}
    with Stage(spark.newSession(), tmp_path).running(**document) as turning:
        turning.to_the_end()
    passed = below(spark, Folder("s", path, {}, is_stream=True), Others())
    assert passed is not None
    assert passed.files == len(files - set(rows(tmp_path / "out")))


def spec(folder: Path, *, static: bool = False, **more: Any) -> dict[str, Any]:
    """A pipeline whose sink lies below its source."""
    path = {"path": f"{folder}/in"}
    source = {"static": {"text": path}} if static else {"files": path | more}
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
