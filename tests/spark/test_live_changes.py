"""A running driver takes another document over: what it touches restarts, and the other queries run on."""

import datetime
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from harness.checkpoints import logged_rows
from harness.documents import pipeline_head
from harness.supervisor_loop import Stage, Turning
from mainstem.changes.consequences import consequences
from mainstem.changes.transition import transition
from mainstem.errors import NotReady, SpecInvalid
from mainstem.language.document import Document, read_text
from mainstem.language.model.status.states import QueryState
from mainstem.runtime.supervision.changing import NeedsDriver
from pyspark.sql import SparkSession


TRIGGER_MS = 400
UNTOUCHED_SECONDS = 2
"""Trigger of the queries that a change does not touch."""


class Changing:
    """A pipeline of queries that read one rate each, whose document the test changes."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage

    def spec(self, *queries: Mapping[str, Any], views: Sequence[Mapping[str, Any]] = (), **more: Any) -> Any:
        names = ("a", "b", "c", "d")
        sources = [
            {"name": f"in_{name}", "rate": {"rowsPerSecond": 20, "numPartitions": 1}} for name in names
        ]
        return {"sources": sources, "views": list(views), "queries": list(queries), **more}

    def query(self, name: str, read: str = "", **more: Any) -> dict[str, Any]:
        return {
            "name": name,
            "from": read or f"in_{name}",
            "to": [{"name": "out", "parquet": {"path": str(self.stage.folder / f"out-{name}")}}],
            "trigger": {"processingTime": f"{TRIGGER_MS} ms"},
            "state": {"partitions": 1},
            **more,
        }

    def rows(self, query: str) -> list[dict[str, Any]]:
        return logged_rows(self.stage.folder / f"out-{query}")

    def record(self, query: str) -> Path:
        """What the driver keeps of the document beside a checkpoint."""
        return self.stage.folder / "checkpoints" / query / "_1.mainstem-document.json"

    def document(self, spec: Mapping[str, Any]) -> Document:
        head = pipeline_head("staged")
        restart = {"policy": "Never"}
        checkpoints = {"location": str(self.stage.folder / "checkpoints")}
        [document] = read_text(
            json.dumps({**head, "spec": {"checkpoints": checkpoints, "restart": restart, **spec}})
        )
        return document

    def apply(self, run: Turning, spec: Mapping[str, Any]) -> None:
        document = self.document(spec)
        run.supervisor.apply(document.graph, document.problem)


@pytest.fixture
def changing(spark: SparkSession, tmp_path: Path) -> Changing:
    return Changing(Stage(spark.newSession(), tmp_path))


def begun(run: Turning, *names: str) -> None:
    run.until(lambda: all((run[name].batch or 0) >= 1 for name in names))


def commits(changing: Changing, query: str) -> dict[int, float]:
    """Batch -> when it was committed, in seconds."""
    folder = changing.stage.folder / "checkpoints" / query / "1" / "commits"
    return {int(file.name): file.stat().st_mtime for file in folder.iterdir() if file.name.isdecimal()}


def test_a_change_restarts_the_query_that_it_touches_and_no_other(changing: Changing) -> None:
    view = {"name": "marked", "sql": "SELECT value, 'old' AS mark FROM in_b"}
    slow = {"trigger": {"processingTime": f"{UNTOUCHED_SECONDS} seconds"}}
    queries = [changing.query("a", **slow), changing.query("b", "marked"), changing.query("c", **slow)]
    spec = changing.spec(*queries, views=[view])
    with changing.stage.running(**spec) as run:
        begun(run, "a", "b", "c")
        before = {name: run[name] for name in "abc"}
        for mark in ("skipped", "new"):  # the second change replaces the first one, which waits for its batch
            changed = {"name": "marked", "sql": f"SELECT value, '{mark}' AS mark FROM in_b"}
            changing.apply(run, {**spec, "views": [changed]})
        assert [name for name in "abc" if run[name].updating] == ["b"]
        run.until(lambda: not run["b"].updating)
        assert run["b"].state is QueryState.STARTING
        run.until(lambda: run["b"].run_id != before["b"].run_id)
        restarted = datetime.datetime.now(datetime.UTC).timestamp()
        run.until(lambda: max(commits(changing, "b").values()) >= restarted)
        last = run["b"].batch or 0
        run.until(lambda: all((run[name].batch or 0) > (before[name].batch or 0) + 2 for name in "ac"))
        run.until(lambda: (run["b"].batch or 0) > last + 1)
        for name in "ac":
            assert run[name].run_id == before[name].run_id
            times = commits(changing, name)
            assert sorted(times) == list(range(len(times)))
        assert (run["b"].id, run["b"].state) == (before["b"].id, QueryState.RUNNING)
        assert run["b"].input_rows > before["b"].input_rows
        assert "'new' AS mark" in changing.record("b").read_text()
    rows = changing.rows("b")
    assert {row["mark"] for row in rows} == {"old", "new"}
    values = sorted(row["value"] for row in rows)
    assert values == list(range(len(values)))
    switch = min(row["value"] for row in rows if row["mark"] == "new")
    assert all((row["mark"] == "new") == (row["value"] >= switch) for row in rows)


def test_queries_are_added_removed_suspended_and_resumed_while_the_others_run(changing: Changing) -> None:
    a, b, c = (changing.query(name) for name in "abc")
    with changing.stage.running(**changing.spec(a, b)) as run:
        begun(run, "a", "b")
        first = run["a"].run_id
        changing.apply(run, changing.spec(a, {**b, "suspend": True}, c))
        begun(run, "c")
        run.until(lambda: run["b"].state is QueryState.SUSPENDED)
        counted = run["b"].input_rows
        assert list(run.states()) == ["a", "b", "c"]
        changing.apply(run, changing.spec(c, b, a))
        run.until(lambda: run["b"].state is QueryState.RUNNING and run["b"].input_rows > counted)
        changing.apply(run, changing.spec(c, a))
        assert run["b"].updating
        run.until(lambda: list(run.states()) == ["c", "a"])
        changing.apply(run, changing.spec(c, b, a))
        run.until(lambda: run.states().get("b") is QueryState.RUNNING)
        assert run["a"].run_id == first
        assert run.supervisor.failures == []
    values = sorted(row["value"] for row in changing.rows("b"))
    assert values == list(range(len(values)))


def pool_of(run: Turning, changing: Changing, name: str) -> tuple[int, int]:
    context: Any = changing.stage.spark.sparkContext._jsc
    pool = context.sc().taskScheduler().rootPool().getSchedulableByName(name)
    return pool.weight(), pool.minShare()


@pytest.mark.full(
    gate="spark/test_live_changes.py::test_exactly_those_queries_restart_of_which_the_comparison_shows_it"
)
def test_weights_and_budgets_change_without_a_restart_of_any_query(changing: Changing) -> None:
    queries = [changing.query("a"), changing.query("b")]
    with changing.stage.running(**changing.spec(*queries)) as run:
        begun(run, "a", "b")
        before = {name: run[name].run_id for name in "ab"}
        changing.apply(
            run,
            changing.spec(
                changing.query("a", pool={"weight": 7, "minShare": 1}),
                queries[1],
                restart={"maxRetries": 9},
                drain={"timeout": "90 seconds"},
            ),
        )
        assert pool_of(run, changing, "a") == (7, 1)
        last = run["a"].batch or 0
        run.until(lambda: (run["a"].batch or 0) > last + 1)
        assert {name: run[name].run_id for name in "ab"} == before


def windows(changing: Changing, minutes: int, **more: Any) -> Any:
    """A pipeline whose query `b` counts in windows of this length; `more` goes to the query."""
    view = {
        "name": "counted",
        "sql": f"SELECT window(timestamp, '{minutes} minutes') AS w, count(*) AS n FROM in_b GROUP BY 1",
    }
    source = {
        "name": "in_b",
        "rate": {"rowsPerSecond": 20},
        "watermark": {"column": "timestamp", "delay": "1 minute"},
    }
    query = changing.query("b", "counted", outputMode="append", **more)
    return changing.spec(changing.query("a"), query, views=[view]) | {
        "sources": [{"name": "in_a", "rate": {"rowsPerSecond": 20}}, source]
    }


def test_a_document_that_spark_refuses_changes_nothing(changing: Changing) -> None:
    """Nor does one that no driver can take over, or that would misread the state of a checkpoint."""
    spec = windows(changing, 5)
    [view] = spec["views"]
    with changing.stage.running(**spec) as run:
        begun(run, "a", "b")
        before = {name: run[name].run_id for name in "ab"}
        bad = {**view, "sql": "SELECT valu FROM in_b JOIN (SELECT 1 AS one) ON true"}
        with pytest.raises(SpecInvalid) as refused:
            changing.apply(run, {**spec, "views": [bad], "queries": [changing.query("b", "counted")]})
        assert any("valu" in problem.message for problem in refused.value.problems)
        missing = {"name": "nothing", "static": {"csv": {"path": "/nowhere/at/all", "schema": "v LONG"}}}
        crossed = {**view, "sql": view["sql"].replace("FROM in_b", "FROM in_b CROSS JOIN nothing")}
        with pytest.raises(NotReady, match="/nowhere/at/all"):
            changing.apply(run, {**spec, "sources": [*spec["sources"], missing], "views": [crossed]})
        with pytest.raises(NeedsDriver, match=r"spec\.timeZone"):
            changing.apply(run, {**spec, "timeZone": "Europe/Berlin"})
        with pytest.raises(NeedsDriver, match="the empty checkpoint of"):
            changing.apply(run, windows(changing, 10, checkpoint={"onChange": "newGeneration"}))
        with pytest.raises(NotReady, match="cannot continue from its checkpoint") as unready:
            changing.apply(run, windows(changing, 10))
        assert unready.value.reason == "CheckpointIncompatible"
        last = run["b"].batch or 0
        run.until(lambda: (run["b"].batch or 0) > last + 1)
        assert {name: run[name].run_id for name in "ab"} == before
        assert list(run.states()) == ["a", "b"]


def test_exactly_those_queries_restart_of_which_the_comparison_shows_it(changing: Changing) -> None:
    def spec(sql: str, **query: Any) -> Any:
        view = {"name": "plus", "sql": sql}
        return changing.spec(changing.query("a", "plus"), changing.query("b", **query), views=[view])

    elsewhere = [{"name": "out", "parquet": {"path": str(changing.stage.folder / "new")}}]
    sql, laid_out = "SELECT value + 1 AS value FROM in_a", "select value + 1 as value\n-- all\nfrom in_a"
    changes = [
        (spec(laid_out), {"a"}),
        (spec(laid_out, pool={"weight": 5}), set()),
        (spec(laid_out, pool={"weight": 5}, to=elsewhere), {"b"}),
    ]
    present = changing.document(spec(sql)).graph
    with changing.stage.running(**spec(sql)) as run:
        begun(run, "a", "b")
        for changed, restarted in changes:
            wanted, before = changing.document(changed).graph, {name: run[name].run_id for name in "ab"}
            shown = consequences(transition(present, wanted), present, wanted)
            assert {query.query for query, each in shown if each.restarts} == restarted
            changing.apply(run, changed)
            run.until(
                lambda ids=before, names=restarted: all(run[name].run_id != ids[name] for name in names)
            )
            begun(run, "a", "b")
            assert {name for name in "ab" if run[name].run_id != before[name]} == restarted
            present = wanted


@pytest.mark.full(
    gate="spark/test_dry_start.py::test_a_document_that_does_not_fit_its_checkpoint_or_folder_is_refused"
)
def test_a_query_does_not_stop_for_an_empty_checkpoint_whose_folder_has_rows(changing: Changing) -> None:
    """Nor does a new query start on the folder of another one. Both are taken with a new path."""
    with changing.stage.running(**changing.spec(changing.query("a"))) as run:
        begun(run, "a")
        before = run["a"].run_id
        taken = changing.query("a")["to"]
        elsewhere = [{"name": "out", "parquet": {"path": str(changing.stage.folder / "new")}}]
        again, more = {"checkpoint": {"generation": 2}}, changing.query("b")
        views = [{"name": "fixed", "sql": "SELECT 1L AS value"}]
        once = [{"name": "once", "from": "fixed", "to": taken}]
        for refused in ([changing.query("a", **again)], [more | {"to": taken}], once):
            with pytest.raises(NotReady) as unready:
                changing.apply(run, changing.spec(*refused, views=views))
            assert unready.value.reason == "SinkFolderTaken"
        last = run["a"].batch or 0
        run.until(lambda: (run["a"].batch or 0) > last + 1)
        assert (run["a"].run_id, list(run.states())) == (before, ["a"])
        changing.apply(run, changing.spec(changing.query("a", **again, to=elsewhere), more))
        run.until(lambda: run["a"].run_id != before)
        begun(run, "a", "b")
    assert logged_rows(changing.stage.folder / "new")


@pytest.mark.full(
    gate="spark/test_live_changes.py::test_a_failed_query_whose_change_does_not_fit_its_checkpoint_refuses_no_document"
)
def test_a_query_that_changed_while_it_was_suspended_is_compared_with_its_checkpoint(
    changing: Changing,
) -> None:
    record = changing.record("b")
    with changing.stage.running(**windows(changing, 5)) as run:
        begun(run, "a", "b")
        run.until(record.exists)
        changing.apply(run, windows(changing, 5, suspend=True))
        run.until(lambda: run["b"].state is QueryState.SUSPENDED)
        changing.apply(run, windows(changing, 10, suspend=True))
        with pytest.raises(NotReady, match="cannot continue from its checkpoint") as refused:
            changing.apply(run, windows(changing, 10))
        assert refused.value.reason == "CheckpointIncompatible"
        with pytest.raises(NeedsDriver, match="chooses by checkpoint"):
            changing.apply(run, windows(changing, 10, checkpoint={"onChange": "newGeneration"}))
        assert run["b"].state is QueryState.SUSPENDED
        changing.apply(run, windows(changing, 5))
        run.until(lambda: run["b"].state is QueryState.RUNNING)


def failing(changing: Changing) -> Any:
    """The windows of `b`, with a filter that fails as soon as the query reads a row."""
    spec = windows(changing, 5)
    [view] = spec["views"]
    sql = view["sql"].replace(" GROUP BY", " WHERE assert_true(value < 0) IS NULL GROUP BY")
    return {**spec, "views": [{**view, "sql": sql}]}


@pytest.mark.faults
def test_a_failed_query_whose_change_does_not_fit_its_checkpoint_refuses_no_document(
    changing: Changing,
) -> None:
    record = changing.record("b")
    with changing.stage.running(**windows(changing, 5)) as run:
        begun(run, "a", "b")
        run.until(record.exists)
        changing.apply(run, failing(changing))
        run.until(lambda: run["b"].state is QueryState.FAILED)
        other = windows(changing, 10)
        slower = changing.query("a", trigger={"processingTime": "300 ms"})
        before = run["a"].run_id
        changing.apply(run, {**other, "queries": [slower, other["queries"][1]]})
        run.until(lambda: run["a"].run_id != before and run["b"].reason == "CheckpointIncompatible")
        assert run["b"].state is QueryState.FAILED
        assert "cannot continue from its checkpoint" in (run["b"].message or "")
        begun(run, "a")
        last = run["b"].batch or 0
        changing.apply(run, windows(changing, 5))
        run.until(lambda: run["b"].state is QueryState.RUNNING and (run["b"].batch or 0) > last)
        assert run["b"].reason is None
        assert run.supervisor.failures == []


@pytest.mark.full(
    gate="spark/test_live_changes.py::test_a_failed_query_whose_change_does_not_fit_its_checkpoint_refuses_no_document"
)
@pytest.mark.faults
def test_a_failed_query_that_a_change_does_not_touch_starts_again_and_loses_nothing(
    changing: Changing,
) -> None:
    out, away = changing.stage.folder / "out-b", changing.stage.folder / "away"
    queries = [changing.query("a"), changing.query("b")]
    with changing.stage.running(**changing.spec(*queries)) as run:
        begun(run, "a", "b")
        out.rename(away)
        out.write_text("a file in the place of the folder")
        run.until(lambda: run["b"].state is QueryState.FAILED)
        out.unlink()
        away.rename(out)
        last = run["b"].batch or 0
        faster = changing.query("a", trigger={"processingTime": "300 ms"})
        changing.apply(run, changing.spec(faster, queries[1]))
        run.until(lambda: run["b"].state is QueryState.RUNNING and (run["b"].batch or 0) > last + 1)
    values = sorted(row["value"] for row in changing.rows("b"))
    assert values == list(range(len(values)))
