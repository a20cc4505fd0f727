"""Delta as a sink: append, complete, partitions, new columns, and the message of a rejected write."""

from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from harness.deltabench import DeltaBench
from mainstem.errors import SpecInvalid
from mainstem.runtime.failures.classification import Failure, classify
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession


pytestmark = pytest.mark.S28


class Bench(DeltaBench):
    """The table `t`, streamed by some SQL into the table `out`."""

    def write(self, sql: str, mode: str = "append", **sink: Any) -> Any:
        """Run to the end of what is there."""
        query = {"outputMode": mode, "to": [{"name": "table", "delta": {"path": self.path("out"), **sink}}]}
        return self.run({"delta": {"path": self.path("t"), "maxFilesPerTrigger": 1}}, query, sql)

    def refusal(self, sql: str, mode: str = "append", **sink: Any) -> Failure:
        """Why it fails."""
        with pytest.raises(StreamingQueryException) as caught:
            self.write(sql, mode, **sink)
        return classify(caught.value)


@pytest.fixture
def bench(spark: SparkSession, tmp_path: Path) -> Bench:
    bench = Bench(spark, tmp_path)
    bench.put("t", "SELECT id, id % 2 AS odd FROM range(0, 4)")
    return bench


def test_each_batch_is_one_version_with_partitions_and_new_columns(bench: Bench) -> None:
    bench.put("t", "SELECT id, id % 2 AS odd FROM range(4, 6)")
    bench.write("SELECT * FROM rows", partitionBy=["odd"])
    assert bench.history("out") == ["STREAMING UPDATE"] * 2
    assert DeltaTable(bench.path("out")).metadata().partition_columns == ["odd"]
    bench.put("t", "SELECT id, id % 2 AS odd FROM range(6, 8)")
    later = "SELECT *, id * 10 AS tenfold, 'x' AS why FROM rows"
    failure = bench.refusal(later, partitionBy=["odd"])
    assert (failure.reason, failure.permanent) == ("DELTA_METADATA_MISMATCH", True)
    assert failure.message == (
        "the columns do not fit the table: the table has no tenfold, why; set mergeSchema to add new ones"
    )
    assert bench.rows("out", "id") == list(range(6)), "readers see whole batches"
    bench.write(later, partitionBy=["odd"], mergeSchema=True)
    assert bench.rows("out", "id", "tenfold")[-3:] == [(5, None), (6, 60), (7, 70)]
    bench.put("t", "SELECT id, id % 2 AS odd FROM range(8, 9)")
    with pytest.raises(SpecInvalid) as refused:
        bench.write("SELECT array(id) AS id, odd FROM rows", partitionBy=["odd"], mergeSchema=True)
    [problem] = refused.value.problems
    assert problem.reason == "TypeTooNarrow"
    assert "'id' is ARRAY<BIGINT>, and BIGINT in the table" in problem.message


def test_complete_mode_replaces_the_table_and_its_columns_if_allowed(bench: Bench) -> None:
    counts = "SELECT odd, count(*) AS n FROM rows GROUP BY odd"
    bench.put("t", "SELECT id, id % 2 AS odd FROM range(4, 5)")
    bench.write(counts, "complete")
    assert bench.history("out") == ["STREAMING UPDATE"] * 2, "a batch for each file"
    assert bench.rows("out", "odd", "n") == [(0, 3), (1, 2)]
    bench.put("t", "SELECT id, id % 2 AS odd FROM range(5, 6)")
    renamed = "SELECT odd, count(*) AS total FROM rows GROUP BY odd"
    assert "the table has no total" in bench.refusal(renamed, "complete").message
    bench.write(renamed, "complete", overwriteSchema=True)
    assert bench.rows("out", "odd", "total") == [(0, 3), (1, 3)]
