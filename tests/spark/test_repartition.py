"""`mainstem checkpoint repartition`: the state of a copy has another number of partitions, and each row counts once."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner
from harness.checkpoints import logged_rows
from harness.documents import pipeline_head
from harness.supervisor_loop import Stage
from mainstem.checkpoints import owner
from mainstem.cli import main
from mainstem.language.document import read_text
from mainstem.language.model.status.states import QueryState
from mainstem.runtime.checkpoint import repartitioning
from mainstem.runtime.query.changed_documents import admit
from pyspark.sql import SparkSession
from spark.test_checkpoint_copies import WINDOWS, Bench, command, contents


pytestmark = [pytest.mark.S37, pytest.mark.timeout(600)]
COUNTS = "SELECT v % 5 AS k, count(*) AS n, sum(v) AS v FROM a GROUP BY v % 5"
Command = Callable[["Bench | Files", int], tuple[int, str]]


@pytest.fixture
def repartition(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> Command:
    """The command, which finds Spark started: this process can have only one."""

    @contextmanager
    def opened(*_: Any, **__: Any) -> Iterator[SparkSession]:
        yield spark.newSession()

    monkeypatch.setattr(repartitioning, "open_session", opened)

    def run(bench: Bench | Files, partitions: int) -> tuple[int, str]:
        head = {"apiVersion": "mainstem.dev/v1alpha1", "kind": "StreamingPipeline", "metadata": {"name": "p"}}
        source = {"path": f"{bench.folder}/a", "format": "json", "schema": "k STRING, ts TIMESTAMP, v INT"}
        query = {"name": "q", "from": "a", "to": [{"name": "none", "noop": {}}]}
        spec = {"sources": [{"name": "a", "files": source}], "queries": [query]}
        spec["checkpoints"] = {"location": f"{bench.folder}/checkpoints"}  # type: ignore[assignment]
        document = bench.folder / "document.yaml"
        document.write_text(yaml.safe_dump(head | {"spec": spec}), encoding="utf-8")
        words = ["checkpoint", "repartition", "-f", str(document), "--partitions", str(partitions)]
        result = CliRunner().invoke(main, [*words, "--output", "json"])
        return result.exit_code, result.output if result.exit_code else result.stdout

    return run


def partitions(checkpoint: str) -> set[int]:
    state = command("show", checkpoint)["state"]
    return {store["partitions"] for operator in state for store in operator["stores"]}


@pytest.mark.full(gate="spark/test_repartition.py::test_fewer_partitions_lose_no_state")
def test_a_repartitioned_aggregation_counts_each_row_once_in_a_merged_table(
    spark: SparkSession, tmp_path: Path, repartition: Command
) -> None:
    table = {"path": f"{tmp_path}/table", "merge": {"keys": ["k"]}}
    bench = Bench(
        spark,
        tmp_path,
        COUNTS,
        outputMode="update",
        to=[{"name": "table", "delta": table}],
        state={"partitions": 2},
    )
    bench.put(*range(4))
    bench.run("table")
    before = contents(bench.checkpoint)
    code, text = repartition(bench, 3)
    assert code == 0, text
    shown = json.loads(text)
    assert (shown["to"], shown["before"], shown["partitions"]) == (f"{tmp_path}/checkpoints/q/2", 2, 3)
    assert contents(bench.checkpoint) == before
    assert (partitions(str(bench.checkpoint)), partitions(shown["to"])) == ({2}, {3})
    assert command("verify", shown["to"])["sound"]
    assert [each["batch"] for each in command("show", shown["to"])["canGoBackTo"]] == [shown["batch"] + 1]
    bench.put(*range(4, 12))
    bench.query["state"] = {"partitions": 3}
    bench.run("table", generation=2)
    expected = [(k, len(vs), sum(vs)) for k in range(5) if (vs := [v for v in range(12) if v % 5 == k])]
    assert bench.rows("table") == expected
    assert partitions(shown["to"]) == {3}
    assert contents(bench.checkpoint) == before


def test_fewer_partitions_lose_no_state(spark: SparkSession, tmp_path: Path, repartition: Command) -> None:
    bench = Bench(spark, tmp_path, COUNTS, outputMode="complete", state={"partitions": 3})
    bench.put(*range(5))
    bench.run("table")
    code, text = repartition(bench, 1)
    assert code == 0, text
    bench.put(5)
    bench.query["state"] = {"partitions": 1}
    bench.run("again", generation=2)
    assert bench.rows("again") == [(0, 2, 5), (1, 1, 1), (2, 1, 2), (3, 1, 3), (4, 1, 4)]


@pytest.mark.full
def test_a_repartitioned_query_keeps_its_watermark_and_its_open_windows(
    spark: SparkSession, tmp_path: Path, repartition: Command
) -> None:
    bench = Bench(spark, tmp_path, WINDOWS, outputMode="append")
    bench.put(0, 2, 4)
    bench.run("table")
    code, text = repartition(bench, 4)
    assert code == 0, text
    bench.put(6, 8)
    bench.query["state"] = {"partitions": 4}
    bench.run("table", generation=2)
    rows = bench.rows("table")
    assert [(hour.hour, n) for hour, _, n in rows] == [(0, 1), (2, 1), (4, 1), (6, 1)]


@pytest.mark.full(gate="spark/test_repartition.py::test_fewer_partitions_lose_no_state")
def test_a_sink_of_files_continues_after_the_batch_that_it_has_not_seen(
    spark: SparkSession, tmp_path: Path, repartition: Command
) -> None:
    to = [{"name": "files", "parquet": {"path": f"{tmp_path}/out"}}]
    bench = Bench(spark, tmp_path, WINDOWS, outputMode="append", to=to)
    bench.put(0, 2)
    bench.run("none")
    before = contents(bench.checkpoint)
    code, text = repartition(bench, 2)
    assert code == 0, text
    copy = json.loads(text)["to"]
    assert (contents(bench.checkpoint), partitions(copy)) == (before, {2})
    bench.put(*range(4, 16, 2))  # more batches than Spark compacts at once
    bench.query["state"] = {"partitions": 2}
    bench.run("none", generation=2)
    hours = sorted(row["hour"].hour for row in logged_rows(tmp_path / "out"))
    assert hours == list(range(0, 14, 2))
    assert list((tmp_path / "out" / "_spark_metadata").glob("*.compact"))
    assert partitions(copy) == {2}
    assert command("verify", copy)["sound"]
    assert contents(bench.checkpoint) == before


@pytest.mark.full(gate="spark/test_repartition.py::test_fewer_partitions_lose_no_state")
def test_spark_refuses_another_state_store_and_the_copy_is_removed(
    spark: SparkSession, tmp_path: Path, repartition: Command
) -> None:
    bench = Bench(spark, tmp_path, COUNTS, outputMode="complete", state={"provider": "hdfs"})
    bench.put(0, 1)
    bench.run("table")
    code, text = repartition(bench, 4)
    assert code == 5
    assert "[StateNotRepartitioned]" in text
    assert not (tmp_path / "checkpoints" / "q" / "2").exists()


@pytest.mark.full(gate="spark/test_repartition.py::test_fewer_partitions_lose_no_state")
def test_a_checkpoint_without_state_has_nothing_to_repartition(
    spark: SparkSession, tmp_path: Path, repartition: Command
) -> None:
    bench = Bench(spark, tmp_path, "SELECT k, v FROM a")
    bench.put(0)
    bench.run("table")
    code, text = repartition(bench, 4)
    assert code == 5
    assert "has no state [StateNotRepartitioned]" in text
    assert not (tmp_path / "checkpoints" / "q" / "2").exists()


@pytest.mark.full(gate="spark/test_repartition.py::test_fewer_partitions_lose_no_state")
def test_a_run_accepts_the_document_that_the_command_asks_for(
    spark: SparkSession, tmp_path: Path, repartition: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With what a run writes beside a checkpoint: owner and document record."""
    bench = Files(spark, tmp_path)
    bench.put(*range(4))
    bench.run(partitions=2)
    # The owner in the record is this process, which is to count as a driver that has ended.
    monkeypatch.setattr(owner, "is_alive", lambda _process: False)
    code, text = repartition(bench, 2)
    assert (code, "[StateNotRepartitioned]" in text) == (5, True), text
    assert not (tmp_path / "checkpoints" / "q" / "2").exists(), "a copy that Spark does not repartition"
    code, text = repartition(bench, 3)
    assert code == 0, text
    bench.put(*range(4, 7))
    assert bench.refused(partitions=2, generation=2) == {"q": "CheckpointIncompatible"}
    assert bench.refused(partitions=3, generation=2) == {}
    bench.run(partitions=3, generation=2)
    assert bench.counted() == 7


class Files:
    """A pipeline of one query, which runs until it has read all files."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.stage, self.folder = Stage(spark.newSession(), folder), folder

    def put(self, *values: int) -> None:
        (self.folder / "a").mkdir(exist_ok=True)
        for v in values:
            (self.folder / "a" / f"{v}.json").write_text(json.dumps({"v": v}) + "\n", encoding="utf-8")

    def spec(self, partitions: int, generation: int) -> dict[str, Any]:
        query = {
            "name": "q",
            "from": "counted",
            "outputMode": "complete",
            "to": [{"name": "table", "delta": {"path": f"{self.folder}/table"}}],
            "trigger": {"availableNow": True},
            "state": {"partitions": partitions},
            "checkpoint": {"generation": generation},
        }
        files = {"path": f"{self.folder}/a", "format": "json", "schema": "v INT"}
        view = {"name": "counted", "sql": "SELECT v % 2 AS k, count(*) AS n FROM a GROUP BY v % 2"}
        checkpoints = {"location": f"{self.folder}/checkpoints"}
        sources = [{"name": "a", "files": files}]
        return {"sources": sources, "views": [view], "queries": [query], "checkpoints": checkpoints}

    def refused(self, partitions: int, generation: int) -> dict[str, str]:
        """Query -> the reason for which a start does not admit it."""
        text = json.dumps(pipeline_head("staged") | {"spec": self.spec(partitions, generation)})
        _, refused = admit(self.stage.spark, read_text(text)[0])
        return {name: error.reason for name, error in refused.items()}

    def run(self, partitions: int, generation: int = 1) -> None:
        with self.stage.running(**self.spec(partitions, generation)) as run:
            run.to_the_end()
            assert run["q"].state is QueryState.COMPLETED

    def counted(self) -> int:
        return sum(row["n"] for row in self.stage.rows("table"))
