"""Queries that end, and read what other queries of the document write: none of the rows is missing at the end."""

import os
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from harness.clock import OwnClock
from harness.supervisor_loop import Stage
from mainstem import reasons
from mainstem.errors import NotReady
from mainstem.language.model.status.states import QueryState
from mainstem.runtime.preflight import readiness
from mainstem.runtime.supervision.input_poller import InputPoller
from pyspark.sql import SparkSession


ENDS: dict[str, Any] = {"trigger": {"availableNow": True}}


@pytest.fixture
def stage(spark: SparkSession, tmp_path: Path) -> Stage:
    return Stage(spark.newSession(), tmp_path)


def file_by_file(stage: Stage, name: str = "raw") -> dict[str, Any]:
    """A source that reads one file in a batch, so that its query writes several times."""
    return {"name": name, "files": {"path": str(stage.folder / name), "maxFilesPerTrigger": 1}}


def merged(stage: Stage, read: str, written: str) -> dict[str, Any]:
    sink = {"name": "table", "delta": {"path": str(stage.folder / written), "merge": {"keys": ["value"]}}}
    return {**stage.query(read, written, **ENDS), "outputMode": "update", "to": [sink]}


def stream(stage: Stage, table: str, **more: Any) -> dict[str, Any]:
    return {"name": table, "delta": {"path": str(stage.folder / table), **more}}


def values(stage: Stage, table: str) -> list[Any]:
    return [row["value"] for row in stage.rows(table)]


def test_a_query_reads_all_rows_of_the_queries_that_write_its_input(stage: Stage) -> None:
    """Readers come before their writers in the document, and one waits for a query that waits itself.

    The queries end by the trigger of the pipeline, which is not for the one that reads no stream.
    """
    for value in "ab":
        stage.put("raw", value)
    sources = [
        file_by_file(stage),
        stream(stage, "merged", ignoreChanges=True),
        stream(stage, "appended"),
        {"name": "lines", "static": {"json": {"path": f"{stage.folder}/lines", "schema": "value STRING"}}},
    ]
    lines = {"name": "lines", "json": {"path": str(stage.folder / "lines")}}
    queries = [
        stage.query("lines", "after-lines"),
        stage.query("merged", "after-merged"),
        {**stage.query("appended", "lines"), "to": [lines]},
        merged(stage, "raw", "merged"),
        stage.query("raw", "appended"),
    ]
    with stage.running(sources=sources, queries=queries, **ENDS) as run:
        waiting = {name for name, state in run.states().items() if state is QueryState.WAITING}
        assert waiting == {"to-after-lines", "to-after-merged", "to-lines"}
        assert run["to-lines"].reason == "WriterNotEnded"
        assert (run["to-lines"].message or "").startswith(
            "source 'appended': the query 'to-appended' writes it, and has not ended; waiting since 20"
        )
        run.to_the_end()
        assert set(run.states().values()) == {QueryState.COMPLETED}
    for table in ("merged", "appended", "after-merged", "after-lines"):
        assert values(stage, table) == ["a", "b"], table


@pytest.mark.full(
    gate="spark/test_chains.py::test_a_query_reads_all_rows_of_the_queries_that_write_its_input"
)
def test_a_query_fails_with_the_writer_of_its_input_and_reads_all_rows_in_the_next_run(stage: Stage) -> None:
    for seconds, value in enumerate(("1", "x")):
        stage.put("raw", value)
        newest = max((stage.folder / "raw").iterdir())
        os.utime(newest, (seconds, seconds))
    sources = [file_by_file(stage), stream(stage, "numbers")]

    def document(cast: str) -> dict[str, Any]:
        views = [{"name": "cast", "sql": f"SELECT {cast}(value AS INT) AS value FROM raw"}]
        queries = [stage.query("numbers", "after", **ENDS), stage.query("cast", "numbers", **ENDS)]
        return {"sources": sources, "views": views, "queries": queries}

    with stage.running(**document("CAST")) as run:
        run.to_the_end()
        assert run.states() == {"to-after": QueryState.FAILED, "to-numbers": QueryState.FAILED}
        assert (run["to-after"].reason, run["to-after"].message) == (
            "WriterFailed",
            "source 'numbers': the query 'to-numbers' writes it, and has failed",
        )
        assert [status.name for status in run.supervisor.failures] == ["to-numbers", "to-after"]
    assert values(stage, "numbers") == [1]
    assert values(stage, "after") == []
    with stage.running(**document("TRY_CAST")) as run:
        run.to_the_end()
    assert values(stage, "after") == values(stage, "numbers") == [1, None]


@pytest.mark.full(gate="unit/test_writers.py::test_queries_that_wait_for_each_other_would_never_start")
def test_queries_that_read_each_other_wait_for_no_one(stage: Stage) -> None:
    stage.put("raw", "a")
    sources = [stage.files("raw"), stage.table("left"), stage.table("right")]
    with stage.running(
        sources=sources, queries=[stage.query("raw", x, **ENDS) for x in ("left", "right")]
    ) as run:
        run.to_the_end()
    views = [
        {"name": "to_right", "sql": "SELECT concat(r.value, l.value) AS value FROM raw r JOIN left l"},
        {"name": "to_left", "sql": "SELECT concat(r.value, l.value) AS value FROM raw r JOIN right l"},
    ]
    queries = [stage.query("to_right", "right", **ENDS), stage.query("to_left", "left", **ENDS)]
    stage.put("raw", "b")
    with stage.running(sources=sources, views=views, queries=queries) as run:
        assert set(run.states().values()) == {QueryState.STARTING}
        run.to_the_end()
        assert set(run.states().values()) == {QueryState.COMPLETED}


def seeded(stage: Stage) -> list[dict[str, Any]]:
    """Sources of which `middle` has a row already: its table exists when the run starts."""
    sources = [file_by_file(stage), stream(stage, "middle")]
    stage.put("raw", "0")
    with stage.running(sources=sources, queries=[stage.query("raw", "middle", **ENDS)]) as run:
        run.to_the_end()
    for value in "123":
        stage.put("raw", value)
    return sources


def chain(stage: Stage) -> list[dict[str, Any]]:
    return [stage.query("middle", "out", **ENDS), stage.query("raw", "middle", **ENDS)]


GLITCH = NotReady("the store does not answer", reason=reasons.STORE_UNREACHABLE, transient=True)
GONE = NotReady("no secret", reason=reasons.SECRET_NOT_FOUND)


@pytest.mark.full(gate="unit/test_writers.py::test_a_query_that_ends_waits_for_the_writers_that_end")
@pytest.mark.parametrize("name", ["to-out", "to-middle"])
def test_a_query_that_starts_after_an_outage_still_waits_for_its_writer(
    stage: Stage, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether the reader or the writer was not ready at first."""
    sources = seeded(stage)
    monkeypatch.setattr(readiness, "in_session", lambda *_: {name: GLITCH})
    with stage.running(sources=sources, queries=chain(stage), restart={"policy": "OnFailure"}) as run:
        run.to_the_end(180)
        assert set(run.states().values()) == {QueryState.COMPLETED}
    assert values(stage, "out") == ["0", "1", "2", "3"]


def test_a_writer_that_never_starts_fails_its_readers(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    sources = seeded(stage)
    monkeypatch.setattr(readiness, "before_session", lambda *_: {"to-middle": GONE})
    with stage.running(sources=sources, queries=chain(stage)) as run:
        run.to_the_end()
        assert [(each.name, each.reason) for each in run.supervisor.failures] == [
            ("to-middle", "SecretNotFound"),
            ("to-out", "WriterFailed"),
        ]
    assert values(stage, "out") == []


@pytest.mark.full(
    gate="spark/test_chains.py::test_a_query_reads_all_rows_of_the_queries_that_write_its_input"
)
def test_a_changed_document_that_starts_writer_and_reader_starts_the_reader_last(stage: Stage) -> None:
    """The writer is suspended before, and so ends nothing when the document changes."""
    sources = [*seeded(stage), {"name": "ticks", "rate": {}}]
    endless = {"name": "endless", "from": "ticks", "to": [{"name": "none", "noop": {}}]}
    reader, writer = chain(stage)
    before = stage.document(sources=sources, queries=[{**writer, "suspend": True}, endless])
    after = stage.document(sources=sources, queries=[reader, writer, endless])
    with stage.running_document(before) as run:
        run.until(lambda: run["endless"].state is QueryState.RUNNING)
        run.supervisor.apply(after.graph)
        run.until(lambda: run["to-out"].state is QueryState.COMPLETED)
        assert run["to-middle"].state is QueryState.COMPLETED
    assert values(stage, "out") == ["0", "1", "2", "3"]


@pytest.mark.full(
    gate="spark/test_chains.py::test_a_query_reads_all_rows_of_the_queries_that_write_its_input"
)
def test_a_query_has_the_columns_that_its_writer_adds_in_the_same_run(stage: Stage) -> None:
    sources = seeded(stage)
    writer = stage.query("wider", "middle", **ENDS)
    writer["to"][0]["delta"]["mergeSchema"] = True
    views = [
        {"name": "wider", "sql": "SELECT value, CAST(value AS INT) AS number FROM raw"},
        {"name": "numbers", "sql": "SELECT number AS value FROM middle"},
    ]
    queries = [stage.query("numbers", "out", **ENDS), writer]
    with stage.running(sources=sources, views=views, queries=queries) as run:
        run.to_the_end()
        assert set(run.states().values()) == {QueryState.COMPLETED}
    assert values(stage, "out") == [1, 2, 3, None]


def test_a_run_is_not_idle_between_the_queries_of_a_chain(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The look for the inputs of the next query takes the time that the broker needs; here for ever."""
    sources, clock = seeded(stage), OwnClock()
    with stage.running(clock=clock, sources=sources, queries=chain(stage)) as run:
        monkeypatch.setattr(InputPoller, "take", lambda _: {})
        run.until(lambda: run["to-middle"].state is QueryState.COMPLETED)
        assert run["to-out"].reason == "WriterNotEnded"
        clock.advance(100)
        assert run.supervisor.idle_seconds() == 0


def test_a_join_waits_until_the_writer_of_a_folder_has_written_a_batch(stage: Stage) -> None:
    """The writer creates the folder and its log when it starts; Spark would read this as no rows."""
    stage.put("raw", "a")
    (stage.folder / "later").mkdir()
    sources = [
        stage.files("raw"),
        stage.files("later"),
        {"name": "side", "static": {"json": {"path": f"{stage.folder}/side", "schema": "value STRING"}}},
    ]
    views = [{"name": "both", "sql": "SELECT r.value, s.value AS side FROM raw r LEFT JOIN side s"}]
    written = {"name": "side", "json": {"path": str(stage.folder / "side")}}
    queries = [stage.query("both", "out"), {**stage.query("later", "side"), "to": [written]}]
    with stage.running(sources=sources, views=views, queries=queries) as run:
        run.until((stage.folder / "side" / "_spark_metadata").exists)
        run.until(lambda: "no batch was written" in (run["to-out"].message or ""))
        assert run["to-out"].state is QueryState.WAITING
        stage.put("later", "b")
        run.until(lambda: stage.rows("out") == [{"value": "a", "side": "b"}])


def test_a_merge_makes_no_table_in_a_folder_with_files(stage: Stage) -> None:
    stage.put("raw", "a")
    stage.put("out", "something else")
    with (
        pytest.raises(NotReady, match=r"the folder .*/out has files, and no Delta table") as refused,
        stage.running(sources=[stage.files("raw")], queries=[merged(stage, "raw", "out")]),
    ):
        pass
    assert refused.value.reason == "SinkFolderTaken"


def test_a_merge_writes_its_first_batch_and_its_table_at_once(stage: Stage) -> None:
    """So a query that joins the table never reads it empty."""
    stage.put("raw", "a")
    with stage.running(sources=[stage.files("raw")], queries=[merged(stage, "raw", "out")]) as run:
        run.to_the_end()
    table = DeltaTable(str(stage.folder / "out"))
    assert [entry["operation"] for entry in table.history()] == ["WRITE"]
