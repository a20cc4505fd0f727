"""Side inputs that are read anew while a query runs: what they have now is seen, and no row is lost or written twice."""

from pathlib import Path

import pytest
from harness.supervisor_loop import Stage, Turning
from mainstem.language.model.status.states import QueryState
from pyspark.sql import SparkSession


pytestmark = [pytest.mark.S09, pytest.mark.S20]


@pytest.fixture
def stage(spark: SparkSession, tmp_path: Path) -> Stage:
    return Stage(spark.newSession(), tmp_path)


def refreshed(run: Turning, times: int) -> None:
    """Turn until the query was started again so often."""
    for _ in range(times):
        before = run["to-out"].run_id
        run.until(lambda before=before: run["to-out"].run_id != before)


@pytest.mark.full(
    gate="services/test_side_inputs.py::test_a_running_query_reads_changed_tables_by_their_kind"
)
def test_changed_files_are_used_and_every_row_is_written_once(stage: Stage) -> None:
    side = stage.folder / "side"
    side.mkdir()
    (side / "a.csv").write_text("old\n")
    stage.put("lines", "first")
    stage.spark.sql(f"CREATE TABLE refreshed_words (word STRING) USING csv LOCATION '{side}'")
    sources = [
        stage.files("lines"),
        {"name": "listed", "static": {"csv": {"path": str(side), "schema": "word STRING"}, "refresh": "1s"}},
        {"name": "named", "static": {"table": {"name": "refreshed_words"}, "refresh": "1 hour"}},
    ]
    sql = "SELECT value, l.word AS l, n.word AS n FROM lines CROSS JOIN listed l CROSS JOIN named n"
    queries = [stage.query("joined", "out")]
    try:
        with stage.running(sources=sources, views=[{"name": "joined", "sql": sql}], queries=queries) as run:
            wanted = [{"value": "first", "l": "old", "n": "old"}]
            run.until(lambda: stage.rows("out") == wanted)
            run.until(lambda: run["to-out"].batches == 1)
            (side / "a.csv").rename(stage.folder / "a.csv")
            (side / "b.csv").write_text("new\n")
            refreshed(run, 2)  # the first may have begun before
            for number in range(2):  # rows come all the while
                stage.put("lines", f"row {number}")
                wanted.append({"value": f"row {number}", "l": "new", "n": "new"})
                refreshed(run, 1)
            run.until(lambda: len(stage.rows("out")) >= len(wanted))
            assert stage.rows("out") == wanted
            run.until(lambda: run["to-out"].batches == 3)
            status = run["to-out"]
            assert (status.state, status.restarts, status.reason) == (QueryState.RUNNING, 0, None)
            assert run.supervisor.failures == []
    finally:
        stage.spark.sql("DROP TABLE refreshed_words")
