"""A query whose checkpoint does not fit the changed document: it does not start, or starts as `checkpoint.onChange` says."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from harness.documents import pipeline_head
from harness.supervisor_loop import Stage, Turning
from mainstem.language.document import Document, read_text
from mainstem.language.model.status.query_progress import QueryProgress
from mainstem.language.model.status.states import QueryState
from mainstem.runtime.clock import Clock
from mainstem.runtime.preflight import readiness
from mainstem.runtime.query.changed_documents import admit
from mainstem.runtime.stop import Stop
from mainstem.runtime.supervision.supervisor import Supervisor
from pyspark.sql import SparkSession


pytestmark = pytest.mark.S37

WINDOW = """SELECT date_format(w.start, 'HH:mm') AS s, n FROM
(SELECT window(ts, '{}') AS w, count(*) AS n FROM lines GROUP BY window(ts, '{}'))"""


class Changing(Stage):
    """One pipeline of two queries, whose document changes between its runs."""

    def kept(self, read: str, written: str, **more: Any) -> dict[str, Any]:
        """A query whose batches are kept one by one, which is quicker than a table."""
        code = {"foreachBatch": "sinks:keep", "arguments": {"folder": str(self.folder / written)}}
        (self.folder / written).mkdir(exist_ok=True)
        return self.query(read, written, to=[{"name": "seen", "python": code}], **more)

    def rows(self, table: str) -> list[dict[str, Any]]:
        """The rows of the newest batch, or of all files of the folder `copied`."""
        if table == "copied":
            return [
                row
                for file in (self.folder / table).glob("*.parquet")
                for row in pq.read_table(file).to_pylist()
            ]
        newest = max((self.folder / table).iterdir(), key=lambda file: int(file.stem.removeprefix("batch-")))
        return list(json.loads(newest.read_text(encoding="utf-8")))

    def document(self, length: str, checkpoint: dict[str, Any], *, beside: bool) -> Document:
        reads = {"path": str(self.folder / "in"), "format": "json", "schema": "ts TIMESTAMP"}
        source = {"name": "lines", "files": reads, "watermark": {"column": "ts", "delay": "1 day"}}
        bounded: dict[str, Any] = {"trigger": {"availableNow": True}}
        files = {"name": "files", "parquet": {"path": str(self.folder / "copied")}}
        spec = {
            "sources": [source],
            "views": [{"name": "windows", "sql": WINDOW.format(length, length)}],
            "queries": [
                self.kept("windows", "windowed", outputMode="complete", checkpoint=checkpoint, **bounded),
                *([self.query("lines", "copied", to=[files], **bounded)] if beside else []),
            ],
            "checkpoints": {"location": str(self.folder / "checkpoints")},
            "restart": {"policy": "Never"},
        }
        [read] = read_text(json.dumps({**pipeline_head("staged"), "spec": spec}, indent=1), "staged.json")
        return read

    @contextmanager
    def started(self, document: Document) -> Iterator[Turning]:
        ready, unready = admit(self.spark, document)
        unready |= readiness.in_session(self.spark, ready.graph, "staged", Clock())
        turning = Turning(
            Supervisor(self.spark, ready.graph, lambda _statuses: None, Stop(), locate=document.problem)
        )
        try:
            turning.supervisor.start(unready=unready)
            yield turning
        finally:
            turning.supervisor.drain()
            turning.supervisor.close()

    def run(
        self, length: str, checkpoint: dict[str, Any] | None = None, *, beside: bool = False
    ) -> dict[str, QueryProgress]:
        """A new minute for the source, and one run over all that there is."""
        self.put("in", json.dumps({"ts": f"2026-01-01 00:{len(list((self.folder / 'in').glob('*'))):02}:00"}))
        with self.started(self.document(length, checkpoint or {}, beside=beside)) as turning:
            turning.to_the_end()
            return {status.name.removeprefix("to-"): status for status in turning.supervisor.statuses}

    def record(self, query: str, generation: int = 1) -> dict[str, Any]:
        file = self.folder / "checkpoints" / f"to-{query}" / f"_{generation}.mainstem-document.json"
        return dict(json.loads(file.read_text(encoding="utf-8")))

    def files(self, query: str) -> dict[str, int]:  # type: ignore[override]
        folder = self.folder / "checkpoints" / f"to-{query}"
        return {str(path.relative_to(folder)): path.stat().st_mtime_ns for path in folder.rglob("*")}


@pytest.fixture
def changing(spark: SparkSession, tmp_path: Path) -> Changing:
    stage = Changing(spark, tmp_path)
    (tmp_path / "in").mkdir()
    return stage


def test_a_query_with_another_window_is_refused_and_writes_nothing_while_the_others_run(
    changing: Changing,
) -> None:
    first = changing.run("1 minute", beside=True)
    assert {name: status.state for name, status in first.items()} == {
        "windowed": QueryState.COMPLETED,
        "copied": QueryState.COMPLETED,
    }
    rows, files = changing.rows("windowed"), changing.files("windowed")
    second = changing.run("5 minutes", beside=True)
    refused = second["windowed"]
    assert (refused.state, refused.reason) == (QueryState.FAILED, "CheckpointIncompatible")
    message = refused.message or ""
    assert "the query 'to-windowed' cannot continue from its checkpoint" in message
    assert "(staged.json:" in message
    assert "undo the change; or start with an empty checkpoint" in message
    assert (changing.rows("windowed"), changing.files("windowed")) == (rows, files)
    assert second["copied"].state is QueryState.COMPLETED
    assert len(changing.rows("copied")) == 2
    undone = changing.run("1 minute")
    assert undone["windowed"].state is QueryState.COMPLETED
    assert len(changing.rows("windowed")) == 3
    assert changing.record("windowed")["document"]["spec"]["queries"][0]["name"] == "to-windowed"
    kept = changing.run("5 minutes", {"onChange": "keep"})
    assert kept["windowed"].state is QueryState.COMPLETED
    assert "5 minutes" in changing.record("windowed")["document"]["spec"]["views"][0]["sql"]
    checkpoint = changing.folder / "checkpoints" / "to-windowed" / "1"
    checkpoint.rename(changing.folder / "aside")
    assert changing.run("10 minutes")["windowed"].state is QueryState.COMPLETED, (
        "a record counts only with a checkpoint"
    )


@pytest.mark.full(
    gate="spark/test_changed_documents.py::test_a_query_with_another_window_is_refused_and_writes_nothing_while_the_others_run"
)
def test_keep_continues_on_the_checkpoint_and_records_the_document(changing: Changing) -> None:
    changing.run("1 minute")
    kept = changing.run("5 minutes", {"onChange": "keep"})
    assert (kept["windowed"].state, kept["windowed"].batch) == (QueryState.COMPLETED, 1)
    assert "5 minutes" in changing.record("windowed")["document"]["spec"]["views"][0]["sql"]
    assert changing.run("5 minutes")["windowed"].state is QueryState.COMPLETED, (
        "the record is that of the kept document"
    )


@pytest.mark.full(
    gate="spark/test_dry_start.py::test_a_new_generation_that_the_document_asks_for_is_accepted"
)
def test_new_generation_starts_the_next_one_once_and_finds_it_again(changing: Changing) -> None:
    new = {"onChange": "newGeneration"}
    changing.run("1 minute", new)
    for _ in range(2):
        status = changing.run("5 minutes", new)["windowed"]
        assert status.state is QueryState.COMPLETED
        assert status.checkpoint.endswith("/to-windowed/2")
    assert sum(row["n"] for row in changing.rows("windowed")) == 3, "the second generation read everything"
    ahead = changing.run("1 minute", new | {"generation": 7})["windowed"]
    assert ahead.checkpoint.endswith("/to-windowed/7"), "the document has the lowest generation"


@pytest.mark.full(gate="unit/test_document_records.py::test_a_text_that_is_no_record_is_not_parsed")
@pytest.mark.parametrize("spoiled", ["removed", "not parsed"])
def test_a_checkpoint_without_a_readable_record_is_taken_as_it_is_and_gets_one(
    changing: Changing, spoiled: str
) -> None:
    changing.run("1 minute")
    file = changing.folder / "checkpoints" / "to-windowed" / "_1.mainstem-document.json"
    file.unlink() if spoiled == "removed" else file.write_text("{}", encoding="utf-8")
    for crc in file.parent.glob("._1.mainstem-document*.crc"):
        crc.unlink()
    assert changing.run("5 minutes")["windowed"].state is QueryState.COMPLETED
    assert "5 minutes" in changing.record("windowed")["document"]["spec"]["views"][0]["sql"]


@pytest.mark.full(
    gate="spark/test_changed_documents.py::test_a_query_with_another_window_is_refused_and_writes_nothing_while_the_others_run"
)
def test_a_record_counts_only_with_a_checkpoint_that_has_batches(changing: Changing) -> None:
    changing.run("1 minute")
    checkpoint = changing.folder / "checkpoints" / "to-windowed" / "1"
    checkpoint.rename(changing.folder / "aside")
    assert changing.run("5 minutes")["windowed"].state is QueryState.COMPLETED
