"""Missing sources: their queries wait, the others run, and a source is read once it exists."""

from pathlib import Path

import pytest
from harness.clock import OwnClock
from harness.supervisor_loop import Stage
from mainstem.errors import NotReady
from mainstem.language.model.status.states import QueryState
from mainstem.runtime.supervision import input_poller
from pyspark.sql import SparkSession


pytestmark = pytest.mark.S33


@pytest.fixture
def stage(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    monkeypatch.setattr(input_poller, "LOOK_SECONDS", 0.2)
    return Stage(spark.newSession(), tmp_path)


def test_a_query_waits_for_a_missing_directory(stage: Stage) -> None:
    stage.put("early", "a")
    queries = [stage.query("late", "second"), stage.query("early", "first")]
    with stage.running(sources=[stage.files("early"), stage.files("late")], queries=queries) as run:
        run.until(lambda: stage.rows("first") == [{"value": "a"}])
        late = run["to-second"]
        assert (late.state, late.reason, late.id) == (QueryState.WAITING, "PathNotFound", None)
        assert (late.message or "").startswith(
            f"source 'late': nothing exists at {stage.folder}/late; waiting since 20"
        )
        assert [status.name for status in run.supervisor.waiting] == ["to-second"]
        stage.put("late", "b")
        run.until(lambda: stage.rows("second") == [{"value": "b"}])
        run.until(lambda: run["to-second"].batches == 1)
        assert (run["to-second"].state, run["to-second"].reason) == (QueryState.RUNNING, None)
        assert run.supervisor.waiting == []


@pytest.mark.full(gate="spark/test_waiting.py::test_a_query_that_is_rejected_after_its_wait_fails_alone")
def test_a_query_waits_for_a_table_that_another_query_creates(stage: Stage) -> None:
    """In either order; the folder with a file but without a first version is not yet a table."""
    stage.put("raw", "a")
    (stage.folder / "bronze").mkdir()
    (stage.folder / "bronze" / "part.parquet").write_bytes(b"")
    sources = [{"name": "bronze", "delta": {"path": str(stage.folder / "bronze")}}, stage.files("raw")]
    queries = [stage.query("bronze", "silver"), stage.query("raw", "bronze")]
    with stage.running(sources=sources, queries=queries) as run:
        run.until(lambda: stage.rows("silver") == [{"value": "a"}])
        run.until(lambda: set(run.states().values()) == {QueryState.RUNNING})


def test_a_bounded_query_fails_instead_of_waiting(stage: Stage) -> None:
    query = stage.query("late", "out", trigger={"availableNow": True})
    with (
        pytest.raises(NotReady, match=r"source 'late': nothing exists at .*/late") as error,
        stage.running(sources=[stage.files("late")], queries=[query]),
    ):
        pass
    assert error.value.reason == "PathNotFound"


@pytest.mark.full(
    gate="spark/test_waiting.py::test_a_bounded_query_fails_when_no_query_is_left_to_create_its_table"
)
def test_a_bounded_query_waits_for_a_bounded_query_that_creates_its_table(stage: Stage) -> None:
    bounded = {"trigger": {"availableNow": True}}
    stage.put("raw", "a")
    stage.put("more", "x")
    views = [{"name": "known", "sql": "SELECT r.value, b.value AS bronze FROM more r JOIN bronze b"}]
    sources = [stage.table("bronze"), stage.files("more"), stage.files("raw")]
    queries = [stage.query("known", "silver", **bounded), stage.query("raw", "bronze", **bounded)]
    with stage.running(sources=sources, views=views, queries=queries) as run:
        assert run.states() == {"to-silver": QueryState.WAITING, "to-bronze": QueryState.STARTING}
        run.to_the_end()
        assert set(run.states().values()) == {QueryState.COMPLETED}
    assert stage.rows("silver") == [{"value": "x", "bronze": "a"}]


def test_a_bounded_query_fails_when_no_query_is_left_to_create_its_table(stage: Stage) -> None:
    """The maker had nothing to write, so it made no table."""
    bounded = {"trigger": {"availableNow": True}}
    (stage.folder / "raw").mkdir()
    stage.put("more", "x")
    views = [{"name": "known", "sql": "SELECT r.value, b.value AS bronze FROM more r JOIN bronze b"}]
    sources = [stage.table("bronze"), stage.files("more"), stage.files("raw")]
    queries = [stage.query("known", "silver", **bounded), stage.query("raw", "bronze", **bounded)]
    with stage.running(sources=sources, views=views, queries=queries) as run:
        run.to_the_end()
        assert run.states() == {"to-silver": QueryState.FAILED, "to-bronze": QueryState.COMPLETED}
        assert (run["to-silver"].reason or "").startswith(("PATH_", "DELTA_"))


def test_a_query_that_is_rejected_after_its_wait_fails_alone(stage: Stage) -> None:
    stage.put("raw", "a")
    stage.put("more", "x")
    views = [{"name": "known", "sql": "SELECT nothing FROM more r JOIN bronze b"}]
    sources = [stage.table("bronze"), stage.files("more"), stage.files("raw")]
    queries = [stage.query("known", "silver"), stage.query("raw", "bronze")]
    with stage.running(sources=sources, views=views, queries=queries) as run:
        run.until(lambda: run["to-silver"].state is QueryState.FAILED)
        assert run["to-silver"].reason == "UNRESOLVED_COLUMN.WITH_SUGGESTION"
        run.until(lambda: run["to-bronze"].state is QueryState.RUNNING)


def test_a_drain_does_not_start_waiting_queries_and_waiting_is_idle(stage: Stage) -> None:
    clock = OwnClock()
    sources, queries = [stage.files("late")], [stage.query("late", "out")]
    with stage.running(clock=clock, sources=sources, queries=queries) as run:
        assert run.supervisor.idle_seconds() == 0
        clock.advance(60)
        assert run.supervisor.tick()
        assert run.supervisor.idle_seconds() == 60
        assert run.supervisor.drain()
        stage.put("late", "b")
        clock.advance(60)
        run.supervisor.tick()
        assert run["to-out"].state is QueryState.WAITING


def test_a_query_waits_for_a_missing_table_of_the_catalog(stage: Stage) -> None:
    stage.put("lines", "a")
    sources = [stage.files("lines"), {"name": "late", "static": {"table": {"name": "late_words"}}}]
    views = [{"name": "both", "sql": "SELECT value, word FROM lines CROSS JOIN late"}]
    with stage.running(sources=sources, views=views, queries=[stage.query("both", "out")]) as run:
        run.until(lambda: run["to-out"].state is QueryState.WAITING)
        assert run["to-out"].reason == "TableNotFound"
        path = stage.folder / "late_words"
        stage.spark.sql(f"CREATE TABLE late_words USING parquet LOCATION '{path}' AS SELECT 'b' AS word")
        try:
            run.until(lambda: stage.rows("out") == [{"value": "a", "word": "b"}])
        finally:
            stage.spark.sql("DROP TABLE late_words")
