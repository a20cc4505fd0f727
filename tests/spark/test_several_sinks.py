"""One query, several sinks: computed once for each batch, and each sink that can is written at most once with it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.dataset
import pytest
from deltalake import DeltaTable
from harness import sparks
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession


pytestmark = pytest.mark.S31
Rows = list[dict[str, Any]]
Run = Callable[..., SparkSession]


@pytest.fixture
def run(spark: SparkSession, tmp_path: Path) -> Run:
    """Runs the query over new lines to its end, in a session of its own, which is returned."""
    (tmp_path / "in").mkdir()
    count = 0

    def once(
        rows: Rows,
        sinks: Rows,
        sql: str = "SELECT * FROM lines",
        mode: str = "append",
        *,
        checked: bool = True,
    ) -> SparkSession:
        nonlocal count
        count += 1
        if rows:
            (tmp_path / "in" / f"{count}.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
        files = {"path": f"{tmp_path}/in", "format": "json", "schema": "k STRING, v STRING, n INT"}
        query = {"name": "q", "from": "v", "outputMode": mode, "to": sinks, "state": {"partitions": 1}}
        spec = {
            "sources": [{"name": "lines", "files": files}],
            "views": [{"name": "v", "sql": sql}],
            "queries": [query],
            "checkpoints": {"location": f"{tmp_path}/checkpoints"},
        }
        return sparks.run(spark, spec, checked=checked)

    return once


def delta(path: Path) -> Rows:
    rows: Rows = DeltaTable(path).to_pyarrow_table().to_pylist()
    return ordered(rows)


def files(path: Path) -> Rows:
    """What a reader sees that knows nothing of Spark's log."""
    return ordered(
        pyarrow.dataset.dataset(path, format="parquet", exclude_invalid_files=True).to_table().to_pylist()
    )


def ordered(rows: Rows) -> Rows:
    return sorted(rows, key=json.dumps)


def forget_commit(tmp_path: Path, batch: int) -> None:
    """As a driver leaves it that dies when all sinks have the batch, and the checkpoint does not know it yet."""
    for name in (f"{batch}", f".{batch}.crc"):
        (tmp_path / "checkpoints" / "q" / "1" / "commits" / name).unlink()


def sinks(tmp_path: Path, *more: dict[str, Any]) -> Rows:
    merge = {"keys": ["k"], "allowNullKeys": True}
    return [
        {"name": "table", "delta": {"path": f"{tmp_path}/table"}},
        {"name": "merged", "delta": {"path": f"{tmp_path}/merged", "merge": merge}},
        {"name": "files", "parquet": {"path": f"{tmp_path}/files"}},
        *more,
    ]


A: Rows = [{"k": "a", "v": "1", "n": 1}, {"k": None, "v": None, "n": None}]
B: Rows = [{"k": "b", "v": "2", "n": 2}]
C: Rows = [{"k": "a", "v": "3", "n": 3}]


@pytest.mark.full(
    gate="spark/test_several_sinks.py::test_a_failure_between_two_sinks_repeats_and_loses_nothing"
)
def test_a_repeated_batch_is_written_to_no_table_twice(run: Run, tmp_path: Path) -> None:
    run(A, sinks(tmp_path))
    forget_commit(tmp_path, 0)
    run(B, sinks(tmp_path))
    forget_commit(tmp_path, 1)
    run(C, sinks(tmp_path))
    assert delta(tmp_path / "table") == files(tmp_path / "files") == ordered([*A, *B, *C])
    assert delta(tmp_path / "merged") == ordered([A[1], *B, *C])


def test_a_failure_between_two_sinks_repeats_and_loses_nothing(run: Run, tmp_path: Path) -> None:
    """The sinks before it have the batch, those behind it do not; what a failed task left in the folder is swept."""
    flag = tmp_path / "flag"
    failing = {"foreachBatch": "sinks:fail_once", "arguments": {"flag": str(flag)}}
    to = sinks(tmp_path)
    to = [to[0], {"name": "failing", "python": failing}, *to[1:]]
    run(A, to)
    flag.touch()
    with pytest.raises(StreamingQueryException, match="as asked"):
        run(B, to)
    assert delta(tmp_path / "table") == ordered([*A, *B])
    assert delta(tmp_path / "merged") == files(tmp_path / "files") == ordered(A)
    run(C, to)
    assert delta(tmp_path / "table") == files(tmp_path / "files") == ordered([*A, *B, *C])
    assert delta(tmp_path / "merged") == ordered([A[1], *B, *C])


@pytest.mark.full(
    gate="spark/test_several_sinks.py::test_a_failure_between_two_sinks_repeats_and_loses_nothing"
)
def test_a_sink_added_later_gets_only_later_batches(run: Run, tmp_path: Path) -> None:
    """A table and a folder know their batches by the same account alone and in company, in both directions."""
    table, _, folder = sinks(tmp_path)
    run(A, [folder])
    forget_commit(tmp_path, 0)
    run(B, [table, folder])
    forget_commit(tmp_path, 1)
    run(C, [table])
    assert files(tmp_path / "files") == ordered([*A, *B])
    assert delta(tmp_path / "table") == ordered([*A, *B, *C])


def test_a_batch_sorted_by_a_renamed_column_is_kept_and_read_by_every_sink(run: Run, tmp_path: Path) -> None:
    """Spark 4.2 plans max(text) as a sorted aggregation, and its kept plan cannot be read once the column is renamed."""
    merge = {"keys": ["kk"], "allowNullKeys": True}
    to: Rows = [
        {"name": "merged", "delta": {"path": f"{tmp_path}/merged", "merge": merge}},
        {"name": "code", "python": {"foreachBatch": "sinks:keep", "arguments": {"folder": str(tmp_path)}}},
    ]
    sql = "SELECT k AS kk, max(v) AS v FROM lines GROUP BY k"
    run([{"k": "x", "v": "1"}, {"k": "x", "v": "3"}, {"k": None, "v": "2"}], to, sql, "update")
    forget_commit(tmp_path, 0)
    run([{"k": "x", "v": "2"}, {"k": "y"}], to, sql, "update")
    x, y, none = {"kk": "x", "v": "3"}, {"kk": "y", "v": None}, {"kk": None, "v": "2"}
    assert delta(tmp_path / "merged") == ordered([x, y, none])
    batches = [ordered(json.loads((tmp_path / f"batch-{number}.json").read_text())) for number in (0, 1)]
    assert batches == [ordered([x, none]), ordered([x, y])]


def test_a_batch_is_computed_once(run: Run, tmp_path: Path) -> None:
    """Each sink has the same random numbers."""
    tables: Rows = [{"name": name, "delta": {"path": f"{tmp_path}/{name}"}} for name in "abc"]
    run(A, tables, "SELECT k, rand() AS r FROM lines")
    assert delta(tmp_path / "a") == delta(tmp_path / "b") == delta(tmp_path / "c")


@pytest.mark.full(
    gate="spark/test_delta_sink.py::test_complete_mode_replaces_the_table_and_its_columns_if_allowed"
)
def test_complete_replaces_the_table_and_the_view_in_memory(run: Run, tmp_path: Path) -> None:
    to: Rows = [
        {"name": "table", "delta": {"path": f"{tmp_path}/table"}},
        {"name": "kept", "memory": {}},
        {"name": "screen", "console": {"numRows": 1}},
        {"name": "nowhere", "noop": {}},
    ]
    sql = "SELECT k, count(*) AS n FROM lines GROUP BY k"
    run(A, to, sql, "complete")
    session = run(C, to, sql, "complete")
    rows: Rows = [{"k": "a", "n": 2}, {"k": None, "n": 1}]
    assert delta(tmp_path / "table") == ordered(rows)
    assert ordered([row.asDict() for row in session.table("kept").collect()]) == ordered(rows)


@pytest.mark.full(gate="unit/test_bad_documents.py::test_a_bad_document_is_rejected_with_exactly_these_words")
def test_without_the_rule_a_table_named_twice_would_lose_the_rows_of_the_second_sink(
    run: Run, tmp_path: Path
) -> None:
    """Why `FolderShared` refuses it: a table knows its batches by the query's id."""
    twice: Rows = [{"name": name, "delta": {"path": f"{tmp_path}/table"}} for name in "ab"]
    run(A, twice, checked=False)
    assert delta(tmp_path / "table") == ordered(A)


@pytest.mark.full(gate="unit/test_bad_documents.py::test_a_bad_document_is_rejected_with_exactly_these_words")
def test_without_the_rule_a_merge_would_not_replace_in_complete_mode(run: Run, tmp_path: Path) -> None:
    """Why `OutputModeNotAllowed` refuses it: a group that is gone would stay."""
    to: Rows = [{"name": "a", "delta": {"path": f"{tmp_path}/a", "merge": {"keys": ["n"]}}}]
    sql = "SELECT count(*) AS n FROM lines"
    run(A, to, sql, "complete", checked=False)
    run(B, to, sql, "complete", checked=False)
    assert delta(tmp_path / "a") == [{"n": 2}, {"n": 3}]
