"""A Delta table as a stream: rows, batch limits, and upstream changes."""

import datetime
import json
from pathlib import Path
from typing import Any

import pytest
from harness.deltabench import DeltaBench
from mainstem.runtime.failures.classification import Failure, classify
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession


pytestmark = pytest.mark.S07


class Bench(DeltaBench):
    """The table `t` of ids, streamed into the table `out`."""

    def copy(self, out: str = "out", **source: Any) -> Any:
        """Stream `t` into a table of its own name, on a checkpoint of that name."""
        query = {
            "to": [{"name": "out", "delta": {"path": self.path(out)}}],
            "checkpoint": {"id": out},
        }
        return self.run({"delta": {"path": self.path("t"), **source}}, query)

    def failure(self, out: str = "out", **source: Any) -> Failure:
        """Why it fails."""
        with pytest.raises(StreamingQueryException) as caught:
            self.copy(out, **source)
        return classify(caught.value)


@pytest.fixture
def bench(spark: SparkSession, tmp_path: Path) -> Bench:
    bench = Bench(spark, tmp_path)
    for first in (0, 3, 6):
        bench.put("t", f"SELECT id FROM range({first}, {first + 3})")
    return bench


def test_the_table_is_read_and_then_each_commit_once(bench: Bench) -> None:
    bench.copy()
    bench.put("t", "SELECT id FROM range(9, 12)")
    bench.copy()
    bench.copy()
    assert bench.rows("out") == list(range(12))
    offsets = bench.folder / "checkpoints" / "out" / "1" / "offsets" / "1"
    version, _, entry = offsets.read_text(encoding="utf-8").splitlines()
    name, _, offset = entry.partition(":")
    assert (version, name, json.loads(offset)["reservoirVersion"]) == ("v2", "rows", 4)


@pytest.mark.full(
    gate="spark/test_delta_sink.py::test_each_batch_is_one_version_with_partitions_and_new_columns"
)
@pytest.mark.parametrize("limit", [{"maxFilesPerTrigger": 1}, {"maxBytesPerTrigger": "1b"}])
def test_a_batch_is_no_larger_than_its_limit(bench: Bench, limit: dict[str, Any]) -> None:
    batches = [progress.numInputRows for progress in bench.copy(**limit).recentProgress]
    assert batches == [3, 3, 3]
    assert bench.rows("out") == list(range(9))


@pytest.mark.full(
    gate="services/test_kafka_sources.py::test_a_query_starts_at_its_offsets_and_continues_after_a_restart"
)
def test_a_starting_version_applies_only_to_a_new_checkpoint(bench: Bench) -> None:
    bench.copy("one", startingVersion=2)
    assert bench.rows("one") == [6, 7, 8]
    since = datetime.datetime.now(datetime.UTC).isoformat(timespec="microseconds")
    bench.copy("none", startingVersion="latest")
    bench.put("t", "SELECT id FROM range(9, 12)")
    bench.copy("two", startingTimestamp=since)
    assert bench.rows("two") == [9, 10, 11]
    bench.copy("two", startingVersion=0)
    assert bench.rows("two") == [9, 10, 11], "the checkpoint knows where it is"
    bench.copy("excluded", excludeRegex="part-")
    assert bench.rows("excluded") == []


@pytest.mark.full(gate="unit/test_failures.py::test_each_error_text_becomes_one_line_with_a_reason")
def test_an_upstream_update_fails_the_query_with_advice(bench: Bench) -> None:
    for out in ("plain", "deletes", "skipped", "again"):
        bench.copy(out)
    bench.sql("UPDATE t SET id = 100 WHERE id = 1", "t")
    bench.put("t", "SELECT id FROM range(9, 12)")
    for out, more in (("plain", {}), ("deletes", {"ignoreDeletes": True})):
        failure = bench.failure(out, **more)
        assert (failure.reason, failure.permanent) == ("SourceChanged", True)
        assert f"version 3 of the Delta table file:{bench.path('t')} changes" in failure.message
        assert "set skipChangeCommits" in failure.message
        assert bench.rows(out) == list(range(9)), "nothing of the change was taken"
    bench.copy("skipped", skipChangeCommits=True)
    assert bench.rows("skipped") == list(range(12))
    bench.copy("again", ignoreChanges=True)
    assert bench.rows("again") == sorted([*range(12), 0, 100, 2]), "the file of 1 was read again"


@pytest.mark.full(gate="unit/test_failures.py::test_each_error_text_becomes_one_line_with_a_reason")
def test_an_upstream_delete_of_whole_files_can_be_ignored(bench: Bench) -> None:
    bench.copy("plain")
    bench.copy("deletes")
    bench.sql("DELETE FROM t WHERE id < 3", "t")
    assert bench.failure("plain").reason == "SourceChanged"
    bench.copy("deletes", ignoreDeletes=True)
    bench.copy("fresh")
    assert (bench.rows("deletes"), bench.rows("fresh")) == (list(range(9)), list(range(3, 9)))


def test_the_change_feed_is_read_as_rows(bench: Bench) -> None:
    bench.sql("ALTER TABLE t SET TBLPROPERTIES (delta.enableChangeDataFeed = true)", "t")
    bench.sql("UPDATE t SET id = 100 WHERE id = 1", "t")
    bench.sql("DELETE FROM t WHERE id = 8", "t")
    bench.copy(readChangeFeed=True, startingVersion=4)
    assert bench.rows("out", "id", "_change_type", "_commit_version") == [
        (1, "update_preimage", 4),
        (8, "delete", 5),
        (100, "update_postimage", 4),
    ]
    failure = bench.failure("early", readChangeFeed=True, startingVersion=0)
    assert (failure.reason, failure.permanent) == ("DELTA_MISSING_CHANGE_DATA", True)


@pytest.mark.full(gate="spark/test_delta_source.py::test_the_table_is_read_and_then_each_commit_once")
def test_an_upstream_compaction_is_not_read_again(bench: Bench) -> None:
    bench.copy()
    bench.sql("OPTIMIZE t ", "t")
    bench.copy()
    assert bench.rows("out") == list(range(9))


@pytest.mark.full(
    gate="spark/test_delta_sink.py::test_each_batch_is_one_version_with_partitions_and_new_columns"
)
def test_a_new_upstream_column_is_read_after_a_restart(bench: Bench) -> None:
    """Each start builds the DataFrame again, with the new column."""
    bench.copy()
    bench.spark.sql("SELECT 9L AS id, 'a' AS name").write.format("delta").mode("append").option(
        "mergeSchema", "true"
    ).save(bench.path("t"))
    query = {"to": [{"name": "out", "delta": {"path": bench.path("out"), "mergeSchema": True}}], "checkpoint": {"id": "out"}}  # fmt: skip
    bench.run({"delta": {"path": bench.path("t")}}, query)
    assert bench.rows("out", "id", "name")[-1] == (9, "a")


@pytest.mark.full(gate="spark/test_delta_source.py::test_the_table_is_read_and_then_each_commit_once")
def test_a_replaced_table_is_not_read_further(bench: Bench) -> None:
    bench.copy()
    other = Bench(bench.spark, bench.folder / "other")
    other.put("t", "SELECT id FROM range(0, 5)")
    (bench.folder / "t").rename(bench.folder / "old")
    (bench.folder / "other" / "t").rename(bench.folder / "t")
    bench.spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()  # type: ignore[union-attr]
    failure = bench.failure()
    assert (failure.reason, failure.permanent) == ("SourceReplaced", True)


@pytest.mark.full(gate="unit/test_bad_documents.py::test_a_bad_document_is_rejected_with_exactly_these_words")
def test_spark_accepts_or_fails_late_what_the_conflict_rule_rejects(bench: Bench) -> None:
    """Why `FieldsConflict`: two starts fail at run time, and Spark silently ignores one of two switches."""

    def plain(out: str, **options: str) -> Any:
        reader = bench.spark.newSession().readStream.format("delta").options(**options).name("rows")
        writer = reader.load(bench.path("t")).writeStream.format("delta").trigger(availableNow=True)
        handle = writer.option("checkpointLocation", bench.path(f"ck-{out}")).start(bench.path(out))
        handle.awaitTermination(60)

    with pytest.raises(StreamingQueryException, match="BOTH_SET"):
        plain("both", startingVersion="0", startingTimestamp="2026-01-01")
    plain("two")
    bench.sql("ALTER TABLE t SET TBLPROPERTIES (delta.enableChangeDataFeed = true)", "t")
    bench.sql("UPDATE t SET id = 100 WHERE id = 1", "t")
    plain("two", skipChangeCommits="true", ignoreChanges="true")
    assert bench.rows("two") == list(range(9)), "ignoreChanges was passed over"
    for switch in ("ignoreChanges", "ignoreDeletes", "skipChangeCommits"):
        plain(switch, readChangeFeed="true", startingVersion="4", **{switch: "true"})
        assert len(bench.rows(switch, "id", "_change_type")) == 2, "the switch was passed over"
