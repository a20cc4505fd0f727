"""Which of two changes of a key wins if their `sequenceBy` is equal: the later record of the source, or the batch fails."""

import json
import os
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from harness.deltabench import DeltaBench
from harness.sampling import only
from mainstem.runtime.failures.classification import classify
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession


pytestmark = pytest.mark.S29
Change = tuple[int, str | None, int | None]
SCHEMA = "id INT, v STRING, seq INT"
MESSAGE = "two rows of one batch have equal keys (id), equal values of sequenceBy (seq), and no known order"
FIRST_AND_SECOND = [(key, v, 1) for key in range(20) for v in ("first", "second")]
SECOND = [(key, "second", 1) for key in range(20)]


@contextmanager
def undecided() -> Iterator[None]:
    """A batch fails here, because no row of a key is the newest."""
    with pytest.raises(StreamingQueryException) as caught:
        yield
    failure = classify(caught.value)
    assert failure.reason == "MergeKeyRepeated"
    assert failure.message.startswith(MESSAGE)


class Bench(DeltaBench):
    """Files of changes, read in one batch and merged by `id` and `seq`."""

    def file(self, name: str, text: str, *, time: int = 0) -> None:
        """A file of the source, with its modification time."""
        (self.folder / "in").mkdir(exist_ok=True)
        path = self.folder / "in" / name
        path.write_text(text, encoding="utf-8")
        os.utime(path, (1_700_000_000 + time, 1_700_000_000 + time))

    def merge(
        self,
        sql: str | None = None,
        merge: dict[str, Any] | None = None,
        outputMode: str = "update",
        **files: Any,
    ) -> Any:
        """One batch with all new files."""
        source = {"path": self.path("in"), "format": "json", "schema": SCHEMA} | files
        settings = {"keys": ["id"], "sequenceBy": "seq"} | (merge or {})
        sink = {"name": "t", "delta": {"path": self.path("out"), "merge": settings}}
        return self.run({"files": source}, {"outputMode": outputMode, "to": [sink]}, sql)

    def failure(self, *args: Any, **more: Any) -> list[tuple[Any, ...]]:
        """The rows of the table after a batch that fails as `MergeKeyRepeated`."""
        with undecided():
            self.merge(*args, **more)
        return self.rows("out")


@pytest.fixture
def bench(spark: SparkSession, tmp_path: Path) -> Bench:
    return Bench(spark, tmp_path)


def lines(changes: Sequence[Change]) -> str:
    return "".join(json.dumps(as_object(change)) + "\n" for change in changes)


def as_object(change: Change) -> dict[str, Any]:
    return dict(zip(("id", "v", "seq"), change, strict=True))


def csv(changes: Sequence[Change]) -> str:
    return "".join(",".join(map(str, change)) + "\n" for change in changes)


def array(changes: Sequence[Change]) -> str:
    return json.dumps([as_object(change) for change in changes])


FORMATS: dict[str, tuple[Callable[[Sequence[Change]], str], dict[str, Any]]] = {
    "json": (lines, {}),
    "array in a file": (array, {"options": {"multiLine": "true"}}),
    "csv": (csv, {"format": "csv"}),
    "quoted csv": (csv, {"format": "csv", "options": {"multiLine": "true"}}),
}


@pytest.mark.parametrize("form", only(FORMATS, ("json", "array in a file")))
def test_of_two_changes_with_one_sequence_the_later_record_of_a_file_wins(bench: Bench, form: str) -> None:
    write, files = FORMATS[form]
    bench.file("1", write(FIRST_AND_SECOND))
    bench.merge(**files)
    assert bench.rows("out") == SECOND


def test_the_later_row_of_a_parquet_file_wins(bench: Bench) -> None:
    bench.spark.createDataFrame(FIRST_AND_SECOND, SCHEMA).coalesce(1).write.parquet(bench.path("in"))
    bench.merge(format="parquet")
    assert bench.rows("out") == SECOND


@pytest.mark.full(
    gate="spark/test_merge_order.py::test_a_batch_fails_if_no_record_is_known_to_be_the_later_one"
)
def test_rows_of_an_orc_file_have_no_order_so_the_batch_fails_unless_they_are_equal(bench: Bench) -> None:
    bench.spark.createDataFrame([(1, "equal", 1)] * 3, SCHEMA).coalesce(1).write.orc(bench.path("in"))
    bench.merge(format="orc")
    assert bench.rows("out") == [(1, "equal", 1)]
    bench.spark.createDataFrame([(2, "a", 1), (2, "b", 1)], SCHEMA).coalesce(1).write.mode("append").orc(
        bench.path("in")
    )
    assert bench.failure(format="orc") == [(1, "equal", 1)]


def test_of_two_files_the_one_that_was_modified_later_wins_and_else_the_later_name(bench: Bench) -> None:
    bench.file("a", lines([(1, "later file", 1), (2, "later file", 1)]), time=60)
    bench.file("b", lines([(1, "earlier file", 1), (3, "earlier name", 1)]))
    bench.file("c", lines([(2, "earlier file", 1), (3, "later name", 1)]))
    bench.merge()
    assert bench.rows("out") == [(1, "later file", 1), (2, "later file", 1), (3, "later name", 1)]


def test_the_later_record_wins_in_a_file_that_several_tasks_read(bench: Bench) -> None:
    """The last part of the file is shorter than the others, so Spark reads it in the last task although the file is first."""
    changes = [(number % 7, f"{number:04}", 1) for number in range(1000)]
    bench.file("1", lines(changes))
    bench.conf = {"spark.sql.files.maxPartitionBytes": "4000", "spark.sql.files.openCostInBytes": "0"}
    bench.merge()
    assert bench.rows("out") == sorted({key: (key, v, seq) for key, v, seq in changes}.values())


VIEWS = {
    "nested": "SELECT id, upper(v) AS v, seq FROM (SELECT * FROM rows WHERE id >= 0) AS r WHERE v IS NOT NULL",
    "with": "WITH a AS (SELECT * FROM rows), b AS (SELECT id, upper(v) AS v, seq FROM a) SELECT * FROM b",
    "expanded": "SELECT id, upper(part) AS v, seq FROM rows LATERAL VIEW explode(split(v, ' ')) AS part",
    "joined": "SELECT id, upper(v) AS v, seq FROM rows JOIN (SELECT 1 AS one) ON one = seq",
}


@pytest.mark.parametrize("view", only(VIEWS, ("with",)))
def test_the_order_of_records_passes_through_views_that_keep_rows(bench: Bench, view: str) -> None:
    bench.file("1", lines(FIRST_AND_SECOND))
    bench.merge(VIEWS[view])
    assert bench.rows("out") == [(key, v.upper(), seq) for key, v, seq in SECOND]


UNDECIDED = {
    "rows of one record": "SELECT id, part AS v, seq FROM rows LATERAL VIEW explode(array(v, 'other')) AS part",
    "two readers": "SELECT id, v, seq FROM rows UNION ALL SELECT id, 'again' AS v, seq FROM rows",
    "join of streams": "SELECT a.id, b.v, b.seq FROM rows AS a JOIN rows AS b ON a.id = b.id",
    "deduplicated": "SELECT DISTINCT * FROM rows",
    "clause that is used twice": "WITH a AS (SELECT * FROM rows) SELECT * FROM a UNION ALL SELECT * FROM a",
}


@pytest.mark.parametrize("view", only(UNDECIDED, ("rows of one record",)))
def test_a_batch_fails_if_no_record_is_known_to_be_the_later_one(bench: Bench, view: str) -> None:
    bench.file("1", lines([(1, "a", 1), (1, "b", 1)]))
    more: dict[str, Any] = {"outputMode": "append"} if view == "join of streams" else {}
    assert bench.failure(UNDECIDED[view], **more) == []


def side(bench: Bench) -> dict[str, Any]:
    """A side input with two rows for the key 1, in the order of its lines."""
    (bench.folder / "side.json").write_text('{"k": 1, "w": "x"}\n{"k": 1, "w": "y"}\n', encoding="utf-8")
    return {
        "name": "side",
        "static": {"json": {"path": bench.path("side.json"), "schema": "k INT, w STRING"}},
    }


def merge_with(bench: Bench, sources: list[dict[str, Any]], view: dict[str, Any]) -> list[tuple[Any, ...]]:
    """The table after one batch of the view over the sources."""
    sink = {"path": bench.path("out"), "merge": {"keys": ["id"], "sequenceBy": "seq"}}
    query = {"outputMode": "append", "to": [{"name": "t", "delta": sink}], "from": view["name"]}
    document = json.loads(bench.document({}, query))
    document["spec"] |= {"sources": sources, "views": [view]}
    bench.run_text(json.dumps(document))
    return bench.rows("out")


def rows_of_files(bench: Bench) -> dict[str, Any]:
    bench.file("1", lines([(1, "first", 1), (1, "second", 1)]))
    return {"name": "rows", "files": {"path": bench.path("in"), "format": "json", "schema": SCHEMA}}


@pytest.mark.full(
    gate="spark/test_merge_order.py::test_a_batch_fails_if_no_record_is_known_to_be_the_later_one"
)
def test_a_side_input_neither_gives_rows_an_order_nor_takes_it_away(bench: Bench) -> None:
    joined = "SELECT id, concat(v, '/', w) AS v, seq FROM rows JOIN side ON k = id AND w {which}"
    stream = rows_of_files(bench)
    single = {"name": "result", "sql": joined.format(which="= 'x'")}
    assert merge_with(bench, [stream, side(bench)], single) == [(1, "second/x", 1)]
    bench = Bench(bench.spark, bench.folder / "other")
    bench.folder.mkdir()
    bench.put("delta", "SELECT 1 AS id, 'only' AS v, 1 AS seq")
    table = {"name": "rows", "delta": {"path": bench.path("delta")}}
    both = {"name": "result", "sql": joined.format(which="IS NOT NULL")}
    with undecided():
        merge_with(bench, [table, side(bench)], both)


def test_of_equal_rows_a_deduplication_keeps_any_so_it_ends_the_order(bench: Bench) -> None:
    view = {"name": "result", "deduplicate": {"from": "rows", "columns": ["id", "v"]}}
    with undecided():
        merge_with(bench, [rows_of_files(bench)], view)


def test_a_column_may_have_the_name_of_sparks_metadata(bench: Bench) -> None:
    bench.spark.sql("SELECT 1 AS id, 'a' AS v, 1 AS seq, named_struct('x', 5) AS _metadata").write.parquet(
        bench.path("in")
    )
    bench.merge(format="parquet", schema=f"{SCHEMA}, _metadata STRUCT<x: INT>")
    assert [(row[0], row[3]["x"]) for row in bench.rows("out", "id", "v", "seq", "_metadata")] == [(1, 5)]


@pytest.mark.full(
    gate="spark/test_merge_order.py::test_of_equal_rows_a_deduplication_keeps_any_so_it_ends_the_order"
)
def test_rows_that_are_written_alike_count_as_one(bench: Bench) -> None:
    """They differ in a column that the merge does not write; both would write the same row."""
    rows = bench.spark.createDataFrame([(1, "a", 1, "I"), (1, "a", 1, "U")], f"{SCHEMA}, op STRING").coalesce(
        1
    )
    rows.write.orc(bench.path("in"))
    source: dict[str, Any] = {"format": "orc", "schema": f"{SCHEMA}, op STRING"}
    bench.merge(merge={"exceptColumns": ["op"]}, **source)
    assert bench.rows("out") == [(1, "a", 1)]
    rows.selectExpr("2 AS id", "v", "seq", "op").write.mode("append").orc(bench.path("in"))
    removing = {"exceptColumns": ["op"], "deleteWhen": "op = 'U'"}
    assert bench.failure(merge=removing, **source) == [(1, "a", 1)]


@pytest.mark.full(
    gate="spark/test_merge_order.py::test_a_batch_fails_if_no_record_is_known_to_be_the_later_one"
)
def test_a_document_can_fail_every_batch_with_equal_sequences(bench: Bench) -> None:
    strict = {"onEqualSequence": "fail"}
    bench.file("1", lines([(1, "equal", 1), (1, "equal", 1), (2, "a", 1), (2, "b", 2)]))
    bench.merge(merge=strict)
    assert bench.rows("out") == [(1, "equal", 1), (2, "b", 2)]
    bench.file("2", lines([(2, "c", 3), (2, "d", 3)]))
    assert bench.failure(merge=strict) == [(1, "equal", 1), (2, "b", 2)]


@pytest.mark.full(
    gate="spark/test_delta_merge.py::test_the_newest_row_of_a_key_wins_within_a_batch_and_against_the_table"
)
def test_the_second_column_of_a_sequence_decides_if_the_first_ones_are_equal(bench: Bench) -> None:
    """Within a batch and against the table; null is the lowest value in each column."""
    columns: dict[str, Any] = {"keys": ["id"], "sequenceBy": ["seq", "v"]}
    rows = [(1, "b", 2), (1, "a", 2), (1, "z", 1), (2, "a", None), (2, None, None), (3, None, 1), (4, "b", 2)]
    bench.file("1", lines(rows))
    bench.merge(merge=columns)
    assert bench.rows("out") == [(1, "b", 2), (2, "a", None), (3, None, 1), (4, "b", 2)]
    older = [(1, "a", 2), (1, "z", 1), (1, "z", None), (2, None, None), (4, None, 2)]
    bench.file("2", lines([*older, (3, "a", 1)]))
    bench.merge(merge=columns)
    assert bench.rows("out") == [(1, "b", 2), (2, "a", None), (3, "a", 1), (4, "b", 2)]


@pytest.mark.parametrize("seed", only(range(3), (0,)))
def test_the_table_has_the_newest_change_of_each_key_for_any_files(bench: Bench, seed: int) -> None:
    draw = random.Random(seed)
    changes = [
        (draw.randrange(8), f"{number:03}", draw.choice([None, 1, 2, 3]))
        for number in range(draw.randrange(1, 200))
    ]
    cuts = sorted(draw.sample(range(len(changes) + 1), k=min(3, len(changes))))
    parts = [changes[start:end] for start, end in zip([0, *cuts], [*cuts, len(changes)], strict=True)]
    names = draw.sample("abcd", k=len(parts))
    for time, (name, part) in enumerate(zip(names, parts, strict=False)):
        bench.file(name, lines(part), time=time)
    bench.merge()
    newest: dict[int, tuple[Any, ...]] = {}
    for change in changes:
        best = newest.get(change[0])
        if best is None or (change[2] or 0) >= (best[2] or 0):
            newest[change[0]] = change
    assert bench.rows("out") == sorted(newest.values())


def test_only_the_merge_sees_the_order_of_records(bench: Bench) -> None:
    bench.file("1", lines(FIRST_AND_SECOND))
    merged = {"path": bench.path("out"), "merge": {"keys": ["id"], "sequenceBy": "seq"}}
    sinks = [
        {"name": "merged", "delta": merged},
        {"name": "plain", "json": {"path": bench.path("plain")}},
    ]
    files = {"path": bench.path("in"), "format": "json", "schema": SCHEMA}
    bench.run({"files": files}, {"outputMode": "append", "to": sinks})
    assert bench.rows("out") == SECOND
    plain = bench.spark.read.json(bench.path("plain"))
    assert plain.columns == ["id", "seq", "v"]
    assert plain.count() == len(FIRST_AND_SECOND)
