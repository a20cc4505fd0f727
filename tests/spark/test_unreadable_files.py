"""Files that are gone, truncated or damaged when their batch reads them: counted, named, and never read in silence."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from harness.supervisor_loop import Stage
from mainstem.language.model.status.states import QueryState
from pyspark.sql import SparkSession


LINES = [f'{{"n": {number}}}' for number in range(20_000)]


@pytest.fixture
def stage(spark: SparkSession, tmp_path: Path) -> Stage:
    return Stage(spark.newSession(), tmp_path)


def planned_and_gone(stage: Stage, **source: Any) -> dict[str, Any]:
    """A pipeline whose first batch is planned with two files and not committed, and one of them is deleted then.

    Returns:
        The document's `spec` that runs the batch again.
    """
    for number in (1, 2):
        stage.put("lines", str(number))
    read = {"name": "lines", "files": {"path": str(stage.folder / "lines"), **source}}

    def spec(sql: str) -> dict[str, Any]:
        views = [{"name": "numbers", "sql": sql}]
        return {"sources": [read], "views": views, "queries": [stage.query("numbers", "table", trigger={"availableNow": True})]}  # fmt: skip

    with stage.running(
        **spec("SELECT CAST(raise_error('not yet') AS STRING) AS value FROM lines")
    ) as running:
        running.to_the_end()
        assert running["to-table"].state is QueryState.FAILED
    next(path for path in (stage.folder / "lines").iterdir() if path.read_text() == "1\n").unlink()
    return spec("SELECT value FROM lines")


@pytest.mark.S06
def test_a_missing_file_ends_the_query_with_its_name(stage: Stage) -> None:
    with stage.running(**planned_and_gone(stage)) as running:
        running.to_the_end()
        status = running["to-table"]
    assert (status.state, status.reason) == (QueryState.FAILED, "FilesExpired")
    assert str(stage.folder / "lines") in (status.message or "")
    assert "failOnDataLoss: false" in (status.message or "")
    assert stage.rows("table") == []


@pytest.mark.S06
def test_without_fail_on_data_loss_a_missing_file_is_counted(stage: Stage) -> None:
    with stage.running(**planned_and_gone(stage, failOnDataLoss=False)) as running:
        running.to_the_end()
        status = running["to-table"]
    assert (status.state, status.sources[0].expired) == (QueryState.COMPLETED, 1)
    assert stage.rows("table") == [{"value": "2"}]


def damaged(folder: Path) -> None:
    """A sound file, a truncated one, and one that is no gzip at all."""
    folder.mkdir()
    (folder / "sound.json.gz").write_bytes(gzip.compress(b'{"n": -1}\n'))
    whole = gzip.compress("".join(f"{line}\n" for line in LINES).encode())
    (folder / "truncated.json.gz").write_bytes(whole[: len(whole) // 2])
    (folder / "none.json.gz").write_bytes(b'{"n": -2}\n')


def decoding(stage: Stage, way: str, *queries: dict[str, Any]) -> dict[str, Any]:
    decode = {"json": {"schema": "n INT"}, "onMalformedRecord": way}
    source = {"name": "lines", "files": {"path": str(stage.folder / "lines")}, "decode": decode}
    return {
        "sources": [source],
        "queries": [stage.query("lines", "table", trigger={"availableNow": True}), *queries],
    }


@pytest.mark.S10
@pytest.mark.S11
def test_a_damaged_file_is_a_malformed_record_with_its_name(stage: Stage) -> None:
    damaged(stage.folder / "lines")
    letters = stage.query("lines_dead_letters", "letters", trigger={"availableNow": True})
    with stage.running(**decoding(stage, "deadLetter", letters)) as running:
        running.to_the_end()
        assert set(running.states().values()) == {QueryState.COMPLETED}
        source = running["to-table"].sources[0]
    read = [row["n"] for row in stage.rows("table")]
    assert (source.decoded, source.malformed) == (len(read), 2)
    # What stood before the damage was read, each record once.
    assert sorted(read) == [-1, *range(len(read) - 1)]
    assert 1000 < len(read) < len(LINES)
    letters_of = {Path(row["file"]).name: (row["raw"], row["error"]) for row in stage.rows("letters")}
    error = "the file is truncated or damaged: the part after the last record cannot be read"
    assert letters_of == {"truncated.json.gz": (None, error), "none.json.gz": (None, error)}


@pytest.mark.full(
    gate="spark/test_unreadable_files.py::test_a_damaged_file_is_a_malformed_record_with_its_name"
)
@pytest.mark.S11
def test_a_damaged_file_ends_a_query_that_fails_on_malformed_records(stage: Stage) -> None:
    damaged(stage.folder / "lines")
    with stage.running(**decoding(stage, "fail")) as running:
        running.to_the_end()
        status = running["to-table"]
    assert (status.state, status.reason) == (QueryState.FAILED, "MalformedRecord")
    assert ".json.gz" in json.dumps(status.message)


@pytest.mark.S06
def test_a_file_name_that_hadoop_cannot_open_is_reported(stage: Stage) -> None:
    (stage.folder / "lines").mkdir()
    (stage.folder / "lines" / "co:lon").write_text("1\n")
    with stage.running(sources=[stage.files("lines")], queries=[stage.query("lines", "table")]) as running:
        running.until(lambda: running["to-table"].state is QueryState.FAILED)
        status = running["to-table"]
    assert status.reason == "FileNameNotSupported"
    assert "co:lon" in (status.message or "")
