"""A dry start refuses what a start refuses, accepts what runs, and leaves everything as it is, also beside a run."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from harness.documents import pipeline_head
from harness.sampling import only
from harness.supervisor_loop import Stage
from mainstem import reasons
from mainstem.checkpoints.owner import DriverIdentity
from mainstem.errors import NotReady, SpecInvalid
from mainstem.language.analysis.graph import Graph
from mainstem.language.document import Document
from mainstem.runtime import dry_start
from mainstem.runtime.clock import Clock
from mainstem.runtime.preflight.inputs import Absent
from mainstem.runtime.query.refusals import not_ready
from pyspark.sql import SparkSession


pytestmark = [pytest.mark.S35, pytest.mark.timeout(600)]
STATE = {"partitions": 1}
COUNTS = "SELECT {} AS k, count(*) AS n FROM words GROUP BY {}"


class Rehearsing(Stage):
    """A pipeline of a query that keeps state, and of one that writes files."""

    def spec(self, key: str = "word") -> dict[str, Any]:
        files = {"path": f"{self.folder}/in", "format": "json", "schema": "word STRING, v INT"}
        counted = {
            "delta": {"path": f"{self.folder}/counts", "merge": {"keys": ["k"], "allowNullKeys": True}}
        }
        copied = {"parquet": {"path": f"{self.folder}/copied"}}
        return {
            "sources": [{"name": "words", "files": files}],
            "views": [{"name": "counts", "sql": COUNTS.format(key, key)}],
            "queries": [
                {
                    "name": "count",
                    "from": "counts",
                    "to": [{"name": "t", **counted}],
                    "outputMode": "update",
                    "state": STATE,
                },
                {"name": "copy", "from": "words", "to": [{"name": "t", **copied}]},
            ],
        }

    def dry(
        self, spec: dict[str, Any], *, pipeline: str = "staged", running: dict[str, Any] | None = None
    ) -> dict[str, Absent | None]:
        """A dry start while nothing runs, which must leave every file as it is."""
        before = self.files_now()
        try:
            return self.dry_beside_a_run(spec, pipeline=pipeline, running=running)
        finally:
            assert self.files_now() == before

    def dry_beside_a_run(
        self, spec: dict[str, Any], *, pipeline: str = "staged", running: dict[str, Any] | None = None
    ) -> dict[str, Absent | None]:
        document = self.document(**deepcopy(spec))
        graph = None if running is None else self.document(**deepcopy(running)).graph
        return dry_start.run(document, self.opened, DriverIdentity(pipeline), Clock(), graph)

    @contextmanager
    def opened(self, _document: Document, _graph: Graph) -> Iterator[SparkSession]:
        yield self.spark.newSession()

    def files_now(self) -> dict[str, tuple[int, int]]:
        """Path -> size and time of each file, and of each folder that it exists."""
        return {
            str(each): ((info := each.stat()).st_size, info.st_mtime_ns) if each.is_file() else (0, 0)
            for each in self.folder.rglob("*")
            if ".mainstem-probe" not in each.name and each.name != "checkpoints"
        }

    def has(self, word: str) -> bool:
        """Whether the counts have the word."""
        return word in {row["k"] for row in self.rows("counts")}

    def run_once(self) -> None:
        """Everything that is there is read, and committed by both queries."""
        spec = self.spec()
        for query in spec["queries"]:
            query["trigger"] = {"availableNow": True}
        with self.running(**spec) as turning:
            turning.to_the_end()


def begun(spark: SparkSession, folder: Path) -> Rehearsing:
    """A pipeline with one word to read."""
    stage = Rehearsing(spark.newSession(), folder)
    stage.put("in", json.dumps({"word": "a", "v": 1}))
    return stage


@pytest.fixture
def stage(spark: SparkSession, tmp_path: Path) -> Rehearsing:
    return begun(spark, tmp_path)


@pytest.fixture(scope="module")
def ran(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[Rehearsing, Path]:
    """A pipeline that has run, and a copy of its folder."""
    stage = begun(spark, tmp_path_factory.mktemp("ran"))
    stage.run_once()
    return stage, shutil.copytree(stage.folder, tmp_path_factory.mktemp("copy") / "ran")


@pytest.fixture
def committed(ran: tuple[Rehearsing, Path]) -> Rehearsing:
    """A pipeline that has run, each time as it was then."""
    stage, copy = ran
    shutil.rmtree(stage.folder)
    shutil.copytree(copy, stage.folder)
    return stage


def test_a_document_that_starts_is_ready_before_its_first_start_and_after_batches(stage: Rehearsing) -> None:
    ready = {"count": None, "copy": None}
    assert stage.dry(stage.spec()) == ready
    assert not (stage.folder / "copied").exists()
    stage.run_once()
    assert stage.dry(stage.spec()) == ready


@pytest.mark.full(gate="services/test_dry_start.py::test_no_topic_and_no_table_is_made")
def test_a_run_goes_on_beside_dry_starts(stage: Rehearsing) -> None:
    record = stage.folder / "checkpoints" / "count" / "_1.mainstem-document.json"
    with stage.running(**stage.spec()) as turning:
        turning.until(record.exists)
        assert stage.dry_beside_a_run(stage.spec()) == {"count": None, "copy": None}
        with pytest.raises(NotReady) as error:
            stage.dry_beside_a_run(stage.spec("upper(word)"))
        assert error.value.reason == reasons.CHECKPOINT_INCOMPATIBLE
        stage.put("in", json.dumps({"word": "b", "v": 1}))
        turning.until(partial(stage.has, "b"))
    assert [row["n"] for row in stage.rows("counts")] == [1, 1]


def test_all_that_spark_refuses_is_shown_with_its_place(stage: Rehearsing) -> None:
    spec = stage.spec("named_struct('a', word).b")
    spec["views"].append({"name": "unread", "sql": "SELECT named_struct('a', v).c AS c FROM words"})
    with pytest.raises(SpecInvalid) as refused:
        stage.dry(spec)
    places = [(problem.path, problem.reason) for problem in refused.value.problems]
    assert places == [("spec.views[0].sql", "FIELD_NOT_FOUND"), ("spec.views[1].sql", "FIELD_NOT_FOUND")]


def _other_partitions(spec: dict[str, Any]) -> None:
    """The checkpoint must be without its record, which would be compared before."""
    (record,) = Path(spec["checkpoints"]["location"]).glob("count/_1.mainstem-document.json")
    record.unlink()
    spec["queries"][0]["state"] = {"partitions": 2}


def _another_generation(spec: dict[str, Any]) -> None:
    spec["queries"][1]["checkpoint"] = {"generation": 2}


def _a_folder_ahead(spec: dict[str, Any]) -> None:
    """The folder of a sink whose log is ahead of the checkpoint."""
    folder = Path(spec["checkpoints"]["location"]).parent / "ahead"
    (folder / "_spark_metadata").mkdir(parents=True)
    (folder / "_spark_metadata" / "57").write_text("v1")
    spec["queries"][1]["to"][0]["parquet"]["path"] = str(folder)


def _a_batch_into_a_folder_with_data(spec: dict[str, Any]) -> None:
    folder = Path(spec["checkpoints"]["location"]).parent / "foreign"
    folder.mkdir()
    (folder / "1.parquet").write_text("x")
    files = {"path": spec["sources"][0]["files"]["path"], "schema": "word STRING"}
    spec["sources"].append({"name": "static", "static": {"json": files}})
    to = [{"name": "t", "parquet": {"path": str(folder)}}]
    spec["queries"].append({"name": "once", "from": "static", "to": to})


def _a_second_folder_that_is_taken(spec: dict[str, Any]) -> None:
    _a_batch_into_a_folder_with_data(spec)
    foreign = spec["queries"].pop()["to"]
    new = {"name": "new", "json": {"path": f"{Path(spec['checkpoints']['location']).parent}/new"}}
    spec["queries"].append({"name": "both", "from": "words", "to": [new, *foreign]})


def _other_grouping(spec: dict[str, Any]) -> None:
    spec["views"][0]["sql"] = COUNTS.format("v", "v")


EDITS = [
    (_other_partitions, reasons.STATE_LAYOUT_CHANGED),
    (_another_generation, reasons.SINK_FOLDER_TAKEN),
    (_a_second_folder_that_is_taken, reasons.SINK_FOLDER_TAKEN),
    (_a_folder_ahead, reasons.SINK_FOLDER_TAKEN),
    (_a_batch_into_a_folder_with_data, reasons.SINK_FOLDER_TAKEN),
    (_other_grouping, reasons.CHECKPOINT_INCOMPATIBLE),
]


@pytest.mark.parametrize(
    ("edit", "reason"),
    only(EDITS, EDITS[:3]),
)
def test_a_document_that_does_not_fit_its_checkpoint_or_folder_is_refused(
    committed: Rehearsing, edit: Any, reason: reasons.Reason
) -> None:
    spec = committed.spec() | {"checkpoints": {"location": f"{committed.folder}/checkpoints"}}
    edit(spec)
    with pytest.raises(NotReady) as error:
        committed.dry(spec)
    assert error.value.reason == reason
    assert not error.value.transient


def test_a_new_generation_that_the_document_asks_for_is_accepted(committed: Rehearsing) -> None:
    spec = committed.spec("upper(word)")
    spec["queries"][0]["checkpoint"] = {"onChange": "newGeneration"}
    assert committed.dry(spec) == {"count": None, "copy": None}


@pytest.mark.full(
    gate="spark/test_preflight_pod.py::test_a_checkpoint_belongs_to_the_pipeline_of_the_pod_and_to_no_other_one"
)
def test_the_checkpoints_of_another_pipeline_are_refused(committed: Rehearsing) -> None:
    with pytest.raises(NotReady) as error:
        committed.dry(committed.spec(), pipeline="another")
    assert error.value.reason == reasons.CHECKPOINT_IN_USE
    assert "takeOver: staged" in str(error.value)


def test_a_query_waits_for_its_input_unless_it_runs_now(stage: Rehearsing) -> None:
    spec = stage.spec()
    spec["sources"][0]["files"]["path"] = f"{stage.folder}/nowhere"
    waits = stage.dry(spec)
    assert {absent and absent.reason for absent in waits.values()} == {reasons.PATH_NOT_FOUND}
    assert dry_start.lines(waits)[0] == (
        f"query count: waits: source 'words': nothing exists at {stage.folder}/nowhere [PathNotFound]"
    )
    with pytest.raises(NotReady) as error:
        stage.dry(spec, running=stage.spec())
    assert error.value.reason == reasons.PATH_NOT_FOUND
    assert error.value.transient
    assert stage.dry(spec, running=spec) == waits


def test_a_query_that_awaits_its_writer_is_accepted_although_it_runs(stage: Rehearsing) -> None:
    spec = stage.spec()
    bounded = {"trigger": {"availableNow": True}}
    table = {"name": "table", "delta": {"path": f"{stage.folder}/counts", "ignoreChanges": True}}
    spec["sources"].append(table)
    after = {
        "name": "after",
        "from": "table",
        "to": [{"name": "t", "delta": {"path": f"{stage.folder}/after"}}],
    }
    spec["queries"] = [each | bounded for each in (*spec["queries"], after)]
    absent = stage.dry(spec, running=spec)["after"]
    assert absent is not None
    assert absent.reason == reasons.WRITER_NOT_ENDED


@pytest.mark.parametrize(
    "listener", ["nowhere:Listener", "shop:Nowhere", "shop:NOT_CALLABLE", "builtins:dict"]
)
def test_a_listener_that_cannot_be_created_is_refused(stage: Rehearsing, listener: str) -> None:
    with pytest.raises(NotReady) as error:
        stage.dry(stage.spec() | {"listeners": [listener]})
    assert error.value.reason == reasons.LISTENER_NOT_FOUND


def test_an_owner_record_that_cannot_be_read_is_named(committed: Rehearsing) -> None:
    (record,) = committed.folder.glob("checkpoints/count/*owner*")
    record.unlink()
    record.mkdir()
    with pytest.raises(NotReady) as error:
        committed.dry(committed.spec())
    assert error.value.reason == reasons.CHECKPOINT_OWNER_UNREADABLE


def test_several_causes_are_transient_only_together() -> None:
    lasting, passing = (NotReady(text, reason=reasons.PATH_NOT_FOUND, transient=text == "b") for text in "ab")
    later = NotReady("c", reason=reasons.PATH_NOT_FOUND, transient=True)
    assert not not_ready({"x": lasting, "y": passing}).transient
    assert not_ready({"x": passing, "y": later}).transient


def test_a_suspended_query_is_not_looked_at(committed: Rehearsing) -> None:
    spec = committed.spec()
    _another_generation(spec)
    spec["queries"][1]["suspend"] = True
    assert committed.dry(spec) == {"count": None}


@pytest.mark.full(
    gate="spark/test_dry_start.py::test_a_document_that_starts_is_ready_before_its_first_start_and_after_batches"
)
def test_the_command_shows_each_query_and_its_exit_code(stage: Rehearsing) -> None:
    spec = stage.spec() | {"checkpoints": {"location": f"{stage.folder}/checkpoints"}}
    (stage.folder / "beside.py").write_text("def parse(text):\n    return text\n")
    spec["functions"] = [{"name": "parse", "python": {"function": "beside:parse", "returns": "STRING"}}]
    spec["views"].append({"name": "parsed", "sql": "SELECT parse(word) AS word, v FROM words"})
    spec["queries"][1]["from"] = "parsed"
    good, bad = stage.folder / "good.yaml", stage.folder / "bad.yaml"
    good.write_text(json.dumps(pipeline_head("p") | {"spec": spec}))
    refused = stage.spec("named_struct('a', word).b") | {"checkpoints": spec["checkpoints"]}
    bad.write_text(json.dumps(pipeline_head("p") | {"spec": refused}))
    for file, code, output, errors in [
        (good, 0, f"{good}: query count: ready\n{good}: query copy: ready\n", ""),
        (bad, 3, "", "spec.views[0].sql: Spark refuses it"),
    ]:
        command = (sys.executable, "-m", "mainstem", "preflight", file, "--against", good, "--cores=1")
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        assert (done.returncode, done.stdout) == (code, output), done.stderr
        assert errors in done.stderr
