"""Sources that are not there yet: their queries wait, the others run, and what comes is read."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from mainstem.errors import NotReady
from mainstem.run import preflight, scout
from mainstem.run.progress import QueryStatus, State
from mainstem.run.stop import Stop
from mainstem.run.supervisor import TURN, Supervisor
from mainstem.spec.document import read_text
from mainstem.spec.graph import Graph
from pyspark.sql import SparkSession


pytestmark = pytest.mark.S33

SECONDS = 60.0


class Stage:
    """Pipelines below one folder, their loops turned by the test."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark = spark
        self.folder = folder

    def files(self, name: str) -> dict[str, Any]:
        return {"name": name, "files": {"path": str(self.folder / name)}}

    def table(self, name: str) -> dict[str, Any]:
        return {"name": name, "static": {"delta": {"path": str(self.folder / name)}}}

    def query(self, read: str, written: str, **more: Any) -> dict[str, Any]:
        sink = {"name": "table", "delta": {"path": str(self.folder / written)}}
        return {"name": f"to-{written}", "from": read, "to": [sink], "state": {"partitions": 1}, **more}

    def put(self, source: str, *lines: str) -> None:
        """A new file of a source, whole at once."""
        (self.folder / source).mkdir(exist_ok=True)
        text = "".join(f"{line}\n" for line in lines)
        written = self.folder / f".{source}-{time.monotonic_ns()}"
        written.write_text(text, encoding="utf-8")
        written.rename(self.folder / source / f"{time.monotonic_ns()}.txt")

    def rows(self, table: str) -> list[dict[str, Any]]:
        if not DeltaTable.is_deltatable(str(self.folder / table)):
            return []
        return sorted(DeltaTable(str(self.folder / table)).to_pyarrow_table().to_pylist(), key=str)

    @contextmanager
    def running(self, **spec: Any) -> Iterator["Turning"]:
        """A pipeline that was started, and is drained at the end."""
        spec["checkpoints"] = {"location": str(self.folder / "checkpoints")}
        document = {
            "apiVersion": "mainstem.dev/v1alpha1",
            "kind": "StreamingPipeline",
            "metadata": {"name": "waiting"},
            "spec": spec,
        }
        [found] = read_text(json.dumps(document))
        graph = Graph(found.pipeline)
        preflight.reachable(graph)
        preflight.present(self.spark, graph)
        turning = Turning(Supervisor(self.spark, found.pipeline, lambda _statuses: None, Stop()))
        try:
            turning.supervisor.start()
            yield turning
        finally:
            turning.supervisor.drain()


class Turning:
    """The supervisor's loop, in the test's hands."""

    def __init__(self, supervisor: Supervisor) -> None:
        self.supervisor = supervisor
        self.longest = 0.0

    def until(self, what: Callable[[], bool]) -> None:
        """Turn until it holds."""
        end = time.monotonic() + SECONDS
        while not what():
            assert time.monotonic() < end, self.supervisor.statuses
            began = time.monotonic()
            if not self.supervisor.turn():
                assert what(), self.supervisor.statuses
                return
            self.longest = max(self.longest, time.monotonic() - began)
            time.sleep(TURN / 4)

    def to_the_end(self) -> None:
        self.until(lambda: not self.supervisor.turn())

    def __getitem__(self, query: str) -> QueryStatus:
        return next(status for status in self.supervisor.statuses if status.name == query)

    def states(self) -> dict[str, State]:
        return {status.name: status.state for status in self.supervisor.statuses}


@pytest.fixture
def stage(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    monkeypatch.setattr(scout, "LOOK_SECONDS", 0.2)
    return Stage(spark.newSession(), tmp_path)


def test_a_folder_that_comes_later(stage: Stage) -> None:
    stage.put("early", "a")
    queries = [stage.query("late", "second"), stage.query("early", "first")]
    with stage.running(sources=[stage.files("early"), stage.files("late")], queries=queries) as run:
        run.until(lambda: stage.rows("first") == [{"value": "a"}])
        late = run["to-second"]
        assert (late.state, late.reason, late.id) == (State.WAITING, "PathNotFound", None)
        assert (late.message or "").startswith(
            f"source 'late': nothing is at {stage.folder}/late; waited for since 20"
        )
        assert [status.name for status in run.supervisor.waiting] == ["to-second"]
        stage.put("late", "b")
        run.until(lambda: stage.rows("second") == [{"value": "b"}])
        run.until(lambda: run["to-second"].batches == 1)
        assert (run["to-second"].state, run["to-second"].reason) == (State.RUNNING, None)
        assert run.supervisor.waiting == []


def test_a_table_that_another_query_of_the_document_makes(stage: Stage) -> None:
    """In either order; the folder with a file but without a first version is not yet a table."""
    stage.put("raw", "a")
    (stage.folder / "bronze").mkdir()
    (stage.folder / "bronze" / "part.parquet").write_bytes(b"")
    sources = [{"name": "bronze", "delta": {"path": str(stage.folder / "bronze")}}, stage.files("raw")]
    queries = [stage.query("bronze", "silver"), stage.query("raw", "bronze")]
    with stage.running(sources=sources, queries=queries) as run:
        run.until(lambda: stage.rows("silver") == [{"value": "a"}])
        run.until(lambda: set(run.states().values()) == {State.RUNNING})


def test_a_bounded_query_fails_sooner_than_it_waits(stage: Stage) -> None:
    query = stage.query("late", "out", trigger={"availableNow": True})
    with (
        pytest.raises(NotReady, match=r"source 'late': nothing is at .*/late") as error,
        stage.running(sources=[stage.files("late")], queries=[query]),
    ):
        pass
    assert error.value.reason == "PathNotFound"


def test_a_bounded_query_waits_for_a_bounded_one_that_makes_its_table(stage: Stage) -> None:
    bounded = {"trigger": {"availableNow": True}}
    stage.put("raw", "a")
    stage.put("more", "x")
    views = [{"name": "known", "sql": "SELECT r.value, b.value AS bronze FROM more r JOIN bronze b"}]
    sources = [stage.table("bronze"), stage.files("more"), stage.files("raw")]
    queries = [stage.query("known", "silver", **bounded), stage.query("raw", "bronze", **bounded)]
    with stage.running(sources=sources, views=views, queries=queries) as run:
        assert run.states() == {"to-silver": State.WAITING, "to-bronze": State.STARTING}
        run.to_the_end()
        assert set(run.states().values()) == {State.COMPLETED}
    assert stage.rows("silver") == [{"value": "x", "bronze": "a"}]


def test_a_bounded_query_fails_once_nobody_is_left_to_make_its_table(stage: Stage) -> None:
    """The maker had nothing to write, so it made no table."""
    bounded = {"trigger": {"availableNow": True}}
    (stage.folder / "raw").mkdir()
    stage.put("more", "x")
    views = [{"name": "known", "sql": "SELECT r.value, b.value AS bronze FROM more r JOIN bronze b"}]
    sources = [stage.table("bronze"), stage.files("more"), stage.files("raw")]
    queries = [stage.query("known", "silver", **bounded), stage.query("raw", "bronze", **bounded)]
    with stage.running(sources=sources, views=views, queries=queries) as run:
        run.to_the_end()
        assert run.states() == {"to-silver": State.FAILED, "to-bronze": State.COMPLETED}
        assert (run["to-silver"].reason or "").startswith(("PATH_", "DELTA_"))


def test_what_comes_and_is_refused_fails_alone(stage: Stage) -> None:
    stage.put("raw", "a")
    stage.put("more", "x")
    views = [{"name": "known", "sql": "SELECT nothing FROM more r JOIN bronze b"}]
    sources = [stage.table("bronze"), stage.files("more"), stage.files("raw")]
    queries = [stage.query("known", "silver"), stage.query("raw", "bronze")]
    with stage.running(sources=sources, views=views, queries=queries) as run:
        run.until(lambda: run["to-silver"].state is State.FAILED)
        assert run["to-silver"].reason == "UNRESOLVED_COLUMN.WITH_SUGGESTION"
        run.until(lambda: run["to-bronze"].state is State.RUNNING)


def test_a_drain_leaves_what_waits_and_a_wait_is_idle(stage: Stage) -> None:
    with stage.running(sources=[stage.files("late")], queries=[stage.query("late", "out")]) as run:
        assert run.supervisor.idle_seconds() < 5
        run.until(lambda: run.supervisor.idle_seconds() > 1)
        assert run.longest < 1  # the loop waits for nobody
        assert run.supervisor.drain()
        assert run["to-out"].state is State.WAITING
        stage.put("late", "b")
        time.sleep(0.5)
        assert run["to-out"].state is State.WAITING
