"""Paths of sources with the characters of a glob: what their readers would not find is reported with what to write."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from harness.supervisor_loop import Stage
from mainstem.errors import NotReady
from mainstem.runtime.preflight.inputs import why_missing
from pyspark.sql import SparkSession


NAMES = ("in[1]", "in{a,b}", "star*", "mark?", "open[", "open{", "back\\slash", "plain", "close]")


@pytest.fixture
def folders(tmp_path: Path) -> Iterator[Path]:
    """A folder of each name, with a file of one row, and one that the glob `in[1]` matches."""
    for name in (*NAMES, "in1"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.json").write_text('{"n": 1}\n')
    return tmp_path


@pytest.mark.S16
def test_a_folder_that_its_name_does_not_match_as_a_glob_is_named_as_it_must_be_written(
    spark: SparkSession, folders: Path
) -> None:
    whys = {name: why_missing(spark, "source 's'", f"{folders}/{name}", is_glob=True) for name in NAMES}

    assert {name for name, why in whys.items() if why is None} == {"star*", "mark?", "plain", "close]"}
    for name, why in whys.items():
        assert why is None or f"source 's': {folders}/{name} is read as a glob, which does not match" in why
        path = why.partition("; write ")[2].removesuffix(" for it") if why else f"{folders}/{name}"
        assert spark.read.schema("n INT").json(path).count() == 1


@pytest.mark.S16
def test_a_path_that_is_no_glob_needs_no_escape(spark: SparkSession, folders: Path) -> None:
    assert {why_missing(spark, "s", f"{folders}/{name}", is_glob=False) for name in NAMES} == {None}
    assert why_missing(spark, "s", f"{folders}/in2", is_glob=False) == f"s: nothing exists at {folders}/in2"
    assert (
        why_missing(spark, "s", f"{folders}/in[2]", is_glob=True) == f"s: nothing exists at {folders}/in[2]"
    )


@pytest.mark.S16
def test_a_table_may_have_such_a_name_and_a_stream_is_read_where_the_message_leads(
    spark: SparkSession, folders: Path
) -> None:
    spark.createDataFrame([(1,)], "n INT").write.format("delta").save(f"{folders}/t[1]")

    with pytest.raises(NotReady, match="is read as a glob") as error:
        run(spark, folders, "in[1]", "unread")
    run(spark, folders, error.value.message.partition(f"write {folders}/")[2].removesuffix(" for it"), "read")

    rows = spark.read.schema("n INT, m INT").json(f"{folders}/read")
    assert [(row.n, row.m) for row in rows.collect()] == [(1, 1)]
    assert not (folders / "unread").exists()


def run(spark: SparkSession, folder: Path, name: str, out: str) -> None:
    """A pipeline that joins the files of a folder with the rows of the table `t[1]`."""
    sources = [
        {"name": "lines", "files": {"path": f"{folder}/{name}", "format": "json", "schema": "n INT"}},
        {"name": "t", "static": {"delta": {"path": f"{folder}/t[1]"}}},
    ]
    view = {"name": "v", "sql": "SELECT lines.n, t.n AS m FROM lines JOIN t ON lines.n = t.n"}
    to = [{"name": "o", "json": {"path": f"{folder}/{out}"}}]
    query = {"name": "q", "from": "v", "to": to, "trigger": {"availableNow": True}}
    stage = Stage(spark.newSession(), folder)
    with stage.running(sources=sources, views=[view], queries=[query]) as running:
        running.to_the_end()
