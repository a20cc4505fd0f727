"""Upserts and deletes by keys: the newest row wins, whatever the order and however often a batch runs."""

import json
from pathlib import Path
from typing import Any

import pytest
from harness.deltabench import DeltaBench
from harness.sampling import only
from mainstem.errors import SpecInvalid
from mainstem.runtime.failures.classification import Failure, classify
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession


pytestmark = pytest.mark.S29
SCHEMA = "id INT, v STRING, seq INT, op STRING"
NEWEST = {"keys": ["id"], "sequenceBy": "seq", "deleteWhen": "op = 'D'", "exceptColumns": ["op"]}


class Bench(DeltaBench):
    """Changes as JSON lines, merged into the table `out`."""

    def merge(self, *rows: Any, merge: dict[str, Any] | None = None, **more: Any) -> Any:
        """One batch with the rows (id, v, seq, op), none or one file of them."""
        folder = self.folder / "in"
        folder.mkdir(exist_ok=True)
        if rows:
            lines = [json.dumps(dict(zip(("id", "v", "seq", "op"), row, strict=False))) for row in rows]
            (folder / f"{len(list(folder.iterdir()))}.json").write_text("\n".join(lines), encoding="utf-8")
        sink = {"path": self.path("out"), "merge": merge or NEWEST, **more.pop("sink", {})}
        query = {"outputMode": "update", "to": [{"name": "table", "delta": sink}], **more}
        sql = query.pop("sql", None)
        return self.run({"files": {"path": str(folder), "format": "json", "schema": SCHEMA}}, query, sql)

    def failure(self, *rows: Any, **more: Any) -> Failure:
        """The failure of a batch, which writes nothing."""
        log = self.folder / "out" / "_delta_log"
        before = sorted(log.glob("*.json"))
        with pytest.raises(StreamingQueryException) as caught:
            self.merge(*rows, **more)
        assert sorted(log.glob("*.json")) == before
        return classify(caught.value)

    def refusals(self, **more: Any) -> list[tuple[str, str]]:
        """Path and reason of each problem."""
        with pytest.raises(SpecInvalid) as caught:
            self.merge(**more)
        return sorted((problem.path, problem.reason) for problem in caught.value.problems)


@pytest.fixture
def bench(spark: SparkSession, tmp_path: Path) -> Bench:
    return Bench(spark, tmp_path)


def test_the_newest_row_of_a_key_wins_within_a_batch_and_against_the_table(bench: Bench) -> None:
    allowing = NEWEST | {"allowNullKeys": True}
    bench.merge(
        (1, "old", 1), (1, "new", 3), (1, "middle", 2),
        (2, "gone", 1), (2, None, 2, "D"),
        (3, "back", 5), (3, None, 4, "D"),
        (4, "no sequence", None), (None, "a null is a key", 1),
        (5, "never there", 1, "D"),
        merge=allowing,
    )  # fmt: skip
    assert bench.rows("out", "id", "v", "seq") == [
        (1, "new", 3),
        (3, "back", 5),
        (4, "no sequence", None),
        (None, "a null is a key", 1),
    ]
    bench.merge(
        (1, "late", 2), (1, None, 1, "D"), (1, "without", None),
        (3, "equal is not older", 5),
        (4, "any is newer than none", 0),
        (None, None, 2, "D"),
        merge=allowing,
    )  # fmt: skip
    assert bench.rows("out") == [
        (1, "new", 3),
        (3, "equal is not older", 5),
        (4, "any is newer than none", 0),
    ], "and the column of the operation is not written"
    assert bench.history("out") == ["WRITE", "MERGE"]


@pytest.mark.full(
    gate="spark/test_delta_merge.py::test_a_repeated_batch_and_a_new_checkpoint_are_merged_once"
)
@pytest.mark.parametrize("left", ["", "_staged_commits/", ".00000000000000000000.json.8e1c.tmp"])
def test_a_driver_killed_before_the_first_log_entry_leaves_a_table_that_can_be_merged(
    bench: Bench, left: str
) -> None:
    log = bench.folder / "out" / "_delta_log"
    (log / left).mkdir(parents=True) if left.endswith("/") else log.mkdir(parents=True)
    if left and not left.endswith("/"):
        (log / left).write_text('{"commitInfo"')
    bench.merge((1, "a", 1), sink={"partitionBy": ["id"]})
    bench.merge((1, "b", 2), sink={"partitionBy": ["id"]})
    assert bench.rows("out") == [(1, "b", 2)]
    assert (bench.folder / "out" / "id=1").is_dir()


@pytest.mark.S36
@pytest.mark.S37
def test_a_repeated_batch_and_a_new_checkpoint_are_merged_once(bench: Bench) -> None:
    """A kill before the first log entry, and one between table and checkpoint; the batch runs again, its sink renamed.

    And the trap: a new checkpoint counts from 0 again, and is not skipped.
    """
    log, by_id = bench.folder / "out" / "_delta_log", {"partitionBy": ["id"]}
    log.mkdir(parents=True)
    (log / ".00000000000000000000.json.8e1c.tmp").write_text('{"commitInfo"')
    bench.merge((1, "b", 2), (2, "b", 1), sink=by_id)
    assert (bench.folder / "out" / "id=1").is_dir()
    commits = bench.folder / "checkpoints" / "copy" / "1" / "commits"
    for name in ("0", ".0.crc"):
        (commits / name).unlink(missing_ok=True)
    before = bench.history("out")
    bench.merge(to=[{"name": "renamed", "delta": {"path": bench.path("out"), "merge": NEWEST, **by_id}}])
    assert bench.history("out") == before, "Delta knows the batch"
    assert (commits / "0").exists()
    bench.merge(checkpoint={"generation": 2}, sink=by_id)
    assert bench.history("out") == [*before, "MERGE"], "all is read again, and merged"
    assert bench.rows("out") == [(1, "b", 2), (2, "b", 1)]


@pytest.mark.full(
    gate="spark/test_delta_merge.py::test_a_repeated_batch_and_a_new_checkpoint_are_merged_once"
)
@pytest.mark.S36
@pytest.mark.S37
@pytest.mark.parametrize("renamed", ["nothing", "query", "sink"])
def test_a_repeated_batch_never_overwrites_newer_rows(bench: Bench, renamed: str) -> None:
    """Killed between table and checkpoint; another query writes newer rows; then the batch runs again, renamed or not."""
    keyed = {"keys": ["id"], "deleteWhen": "op = 'D'", "exceptColumns": ["op"]}
    table = {"delta": {"path": bench.path("out"), "merge": keyed}}
    bench.merge((1, "a", 1), merge=keyed)
    bench.merge((1, "b", 2), (2, None, 2, "D"), merge=keyed)
    commits = bench.folder / "checkpoints" / "copy" / "1" / "commits"
    for name in ("1", ".1.crc"):
        (commits / name).unlink(missing_ok=True)
    bench.sql("UPDATE t SET v = 'newer'", "out")
    bench.put("out", "SELECT 2 AS id, 'newer' AS v, 3 AS seq")
    again: dict[str, Any] = {"merge": keyed}
    if renamed == "query":
        again |= {"name": "renamed", "checkpoint": {"id": "copy"}}
    if renamed == "sink":
        again |= {"to": [{"name": "renamed", **table}]}
    bench.merge(**again)
    assert (commits / "1").exists(), "the batch ran again"
    assert bench.rows("out", "id", "v") == [(1, "newer"), (2, "newer")]


@pytest.mark.full(
    gate="spark/test_delta_sink.py::test_each_batch_is_one_version_with_partitions_and_new_columns"
)
def test_new_columns_need_schema_evolution(bench: Bench) -> None:
    bench.spark.sql("SELECT 1 AS id, 'old' AS v, 'x' AS mine").write.format("delta").save(bench.path("out"))
    keyed = {"keys": ["id"], "exceptColumns": ["op"]}
    with pytest.raises(StreamingQueryException):
        bench.merge((1, "new", 2), (2, "more", 3), merge=keyed)
    bench.merge(merge=keyed, sink={"mergeSchema": True})
    assert bench.rows("out", "id", "v", "mine", "seq") == [(1, "new", "x", 2), (2, "more", None, 3)]


@pytest.mark.full(
    gate="spark/test_delta_merge.py::test_the_newest_row_of_a_key_wins_within_a_batch_and_against_the_table"
)
def test_the_first_batch_writes_one_file_into_each_partition(bench: Bench) -> None:
    """As a MERGE does, and not one file from each task, of which a large batch has many."""
    bench.conf["spark.sql.adaptive.coalescePartitions.enabled"] = "false"
    bench.merge(
        *((number, "abc"[number % 3], 1) for number in range(60)),
        sink={"partitionBy": ["v"]},
        state={"partitions": 8},
    )
    assert len(list((bench.folder / "out").glob("v=*/*.parquet"))) == 3


@pytest.mark.parametrize("first", only([None, 1, 2], (None,)), ids=["new table", "new key", "known key"])
def test_two_rows_of_one_key_need_a_sequence(bench: Bench, first: int | None) -> None:
    if first:
        bench.merge((first, "a", 1), merge={"keys": ["id"]})
    failure = bench.failure((2, "b", 1), (2, "c", 1), (3, "d", 1), merge={"keys": ["id"]})
    assert (failure.reason, failure.permanent) == ("MergeKeyRepeated", True)
    assert failure.message == (
        "two rows of one batch have equal keys (id); "
        "add a column to merge.sequenceBy that orders them, or aggregate by the keys (sink 'table')"
    )


NULL_KEYS: dict[str, tuple[list[str], tuple[Any, ...], str]] = {
    "new row": (["id"], (None, "a", 2), "id"),
    "second key": (["id", "v"], (1, None, 2), "v"),
    "removed row": (["id"], (None, None, 2, "D"), "id"),
    "older row": (["v"], (1, None, 0), "v"),
    "other case": (["V"], (1, None, 2), "V"),
}


@pytest.mark.parametrize("there", only([False, True], (False,)), ids=["new table", "known table"])
@pytest.mark.parametrize("row", only(NULL_KEYS, ("second key", "removed row")))
def test_a_row_whose_key_is_null_fails_its_batch(bench: Bench, row: str, *, there: bool) -> None:
    keys, values, name = NULL_KEYS[row]
    merge = NEWEST | {"keys": keys}
    if there:
        bench.merge((1, "a", 1), (None, None, 3), merge=merge | {"allowNullKeys": True})
    failure = bench.failure((7, "b", 1), values, merge=merge)
    assert (failure.reason, failure.permanent) == ("KeyIsNull", True)
    assert failure.message == (
        f"'{name}' is null in a row, and is a key; drop such rows in a view, or set merge.allowNullKeys: true (sink 'table')"
    )


@pytest.mark.full(gate="spark/test_delta_merge.py::test_a_row_whose_key_is_null_fails_its_batch")
def test_a_null_within_a_key_fails_its_batch_and_names_the_field(bench: Bench) -> None:
    structs = "SELECT struct(id, struct(v)) AS key, seq, op FROM rows"
    bench.merge((1, "a", 1), sql=structs, merge=NEWEST | {"keys": ["key"]})
    failure = bench.failure((2, None, 1), sql=structs, merge=NEWEST | {"keys": ["key"]})
    assert failure.message.startswith("'key.col2.v' is null in a row")
    assert len(bench.rows("out", "seq")) == 1


def test_unknown_columns_are_rejected_before_a_table_is_created(bench: Bench) -> None:
    at = "spec.queries[0].to[0].delta.merge"
    assert bench.refusals(merge={"keys": ["idd"], "sequenceBy": "sequence", "exceptColumns": ["ops"]}) == [
        (f"{at}.exceptColumns[0]", "UnknownColumn"),
        (f"{at}.keys[0]", "UnknownColumn"),
        (f"{at}.sequenceBy", "UnknownColumn"),
    ]
    conditions = dict.fromkeys(("operation = 'D'", "op", "op ==== 1"), "InvalidCondition")
    for condition, reason in (conditions | {"count(*) > 1": "NotAPredicate"}).items():
        merge = {"keys": ["id"], "deleteWhen": condition}
        assert bench.refusals(merge=merge) == [(f"{at}.deleteWhen", reason)], condition
    assert not (bench.folder / "out").exists()


@pytest.mark.full(
    gate="spark/test_several_sinks.py::test_a_batch_sorted_by_a_renamed_column_is_kept_and_read_by_every_sink"
)
@pytest.mark.S36
def test_the_state_of_a_repeated_batch_is_kept_although_the_table_has_the_batch(bench: Bench) -> None:
    """A kill between table and checkpoint: the merge skips the batch, but the next batch needs its state."""
    counts = "SELECT id, count(*) AS n FROM rows GROUP BY id"

    def run(*rows: Any) -> None:
        bench.merge(*rows, merge={"keys": ["id"]}, sql=counts, outputMode="update")

    run((1, "a", 1))
    commits = bench.folder / "checkpoints" / "copy" / "1" / "commits"
    for name in ("0", ".0.crc"):
        (commits / name).unlink(missing_ok=True)
    run((1, "b", 2), (2, "c", 1))
    assert bench.rows("out") == [(1, 2), (2, 1)]
