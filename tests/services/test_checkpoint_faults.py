"""Writes of a checkpoint on S3 that fail or lose their answer, a kill, and every row is there once.

The store is real; a proxy before it fails single PUT requests of the plan of a batch, of its commit, of state and of what
Spark writes down of its stateful operators.
"""

import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow.dataset
import pytest
from deltalake import DeltaTable
from harness.checkpoints import data_files, logged_files, newest
from harness.driver import DriverProcess
from harness.s3 import S3Server
from harness.s3proxy import Fault, FaultKind, S3Proxy


pytestmark = pytest.mark.faults


FILES, ROWS = 4, 30
LAST = FILES - 1
LATER = 3
"""Files that come after the kill: a batch that is planned anew has more before it than the one that ran."""
START = 240.0
QUERIES = ("table", "folder", "counts")
"""Each writes a sink at a path that is called like it."""
DOCUMENT = """
apiVersion: mainstem.dev/v1alpha1
kind: StreamingPipeline
metadata: {{name: faults}}
spec:
  connections:
    - {{name: store, s3: {{buckets: [{bucket}], endpoint: "{endpoint}", pathStyle: true}}}}
  sources:
    - name: orders
      files: {{path: {folder}/in, format: json, schema: "id BIGINT, shop STRING", maxFilesPerTrigger: 1}}
  views:
    - {{name: shops, sql: "SELECT shop, count(*) AS orders FROM orders GROUP BY shop"}}
  queries:
    - {{name: table, from: orders, to: [{{name: t, delta: {{path: "s3a://{bucket}/table"}}}}]}}
    - {{name: folder, from: orders, to: [{{name: f, parquet: {{path: "s3a://{bucket}/folder"}}}}]}}
    - name: counts
      from: shops
      outputMode: complete
      to: [{{name: c, delta: {{path: "s3a://{bucket}/counts"}}}}]
      state: {{partitions: 1}}
  checkpoints: {{location: "s3a://{bucket}/checkpoints"}}
  restart: {{maxRetries: 100, backoff: 1 seconds, maxBackoff: 1 seconds}}
  spark:
    conf:
      spark.ui.enabled: "false"
      spark.sql.streaming.stateStore.minDeltasForSnapshot: "2"
      spark.sql.streaming.stateStore.maintenanceInterval: 1s
      # Every one of these requests shall count.
      spark.hadoop.fs.s3a.attempts.maximum: "1"
      spark.hadoop.fs.s3a.retry.limit: "1"
      spark.hadoop.fs.s3a.retry.throttle.limit: "1"
"""


@dataclass
class Bed:
    """A pipeline whose store answers through a proxy."""

    s3: S3Server
    proxy: S3Proxy
    bucket: str
    folder: Path

    @property
    def lake(self) -> Path:
        return self.s3.root / self.bucket

    @property
    def document(self) -> Path:
        file = self.folder / "faults.yaml"
        if not file.exists():
            text = DOCUMENT.format(bucket=self.bucket, endpoint=self.proxy.endpoint, folder=self.folder)
            file.write_text(text, encoding="utf-8")
        return file

    def feed(self, first: int, last: int) -> None:
        (self.folder / "in").mkdir(exist_ok=True)
        for number in range(first, last):
            ids = range(number * ROWS, (number + 1) * ROWS)
            lines = (json.dumps({"id": row, "shop": f"shop-{row % 3}"}) for row in ids)
            part = self.folder / f"part-{number}"
            part.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
            part.rename(self.folder / "in" / f"{number:03}.json")

    def driver(self, *arguments: str) -> DriverProcess:
        env = {"AWS_ACCESS_KEY_ID": self.s3.access_key, "AWS_SECRET_ACCESS_KEY": self.s3.secret_key}
        return DriverProcess(self.document, self.folder / "run", arguments=arguments, env=env)

    def committed(self, query: str) -> int:
        return newest(self.lake / "checkpoints" / query / "1" / "commits")

    def ids(self, folder: str) -> list[int]:
        """In all files of a folder, by a reader that knows nothing of Spark's log."""
        rows = pyarrow.dataset.dataset(self.lake / folder, format="parquet").to_table(columns=["id"])
        return sorted(rows["id"].to_pylist())

    def check(self, files: int) -> None:
        """Every row of the files is in every sink once."""
        expected = list(range(files * ROWS))
        table = DeltaTable(str(self.lake / "table")).to_pyarrow_table()["id"].to_pylist()
        assert sorted(table) == expected, "Delta"
        assert self.ids("folder") == expected, "Parquet"
        counts = DeltaTable(str(self.lake / "counts")).to_pyarrow_table().to_pylist()
        assert sum(row["orders"] for row in counts) == len(expected), "state"


@pytest.fixture
def bed(s3: S3Server, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Bed]:
    bucket = f"faults-{zlib.crc32(request.node.name.encode()):x}"
    s3.make_bucket(bucket)
    with S3Proxy(s3) as proxy:
        yield Bed(s3, proxy, bucket, tmp_path)


def all_kinds(proxy: S3Proxy, kind: FaultKind, times: int | None) -> list[Fault]:
    """Faults of one object each: plans and commits of all queries, and whatever keeps state."""
    return [
        proxy.fail(f"/table/1/offsets/{LAST}", kind, times),
        proxy.fail("/folder/1/commits/2", kind, times),
        proxy.fail("/counts/1/state/0/_metadata/.*", kind, 2),
        proxy.fail("/counts/1/state/0/0/2[.]changelog", kind, 2),
        proxy.fail("/counts/1/state/0/0/[0-9]+[.]zip", kind, 2),
    ]


@pytest.mark.full(gate="services/test_checkpoint_files.py::test_a_write_that_the_store_rejects_fails")
@pytest.mark.S29
@pytest.mark.S31
@pytest.mark.timeout(900)
@pytest.mark.parametrize("kind", ["refuse", "cut"])
def test_failed_checkpoint_writes_and_a_kill_lose_and_repeat_nothing(bed: Bed, kind: FaultKind) -> None:
    """Plan and commit fail for as long as the first driver lives."""
    faults = all_kinds(bed.proxy, kind, None)
    bed.feed(0, FILES)
    with bed.driver() as driver:
        driver.until(lambda: all(len(fault.hits) >= 2 for fault in faults), START)
        # Without its plan the last batch must not run; that it has been refused several times shows that it is not given up.
        driver.until(lambda: bed.committed("table") == LAST or len(faults[0].hits) >= 6, START)
        driver.until(lambda: bed.committed("counts") == LAST, START)
        driver.kill()
    bed.proxy.heal()
    bed.feed(FILES, FILES + LATER)
    with bed.driver("--stop-when-idle=3s") as driver:
        assert driver.wait(START) == 0, driver.stderr[-4000:]
    print({fault.pattern.pattern: len(fault.hits) for fault in faults})
    bed.check(FILES + LATER)


@pytest.mark.full
@pytest.mark.S29
@pytest.mark.timeout(900)
@pytest.mark.parametrize("kind", ["refuse", "cut"], ids=["refuse-once", "cut-once"])
def test_short_failures_of_checkpoint_writes_lose_and_repeat_nothing(bed: Bed, kind: FaultKind) -> None:
    faults = all_kinds(bed.proxy, kind, 1)
    bed.feed(0, FILES)
    with bed.driver("--stop-when-idle=5s") as driver:
        assert driver.wait(START) == 0, driver.stderr[-4000:]
    assert all(fault.hits for fault in faults)
    bed.check(FILES)


@pytest.mark.full(gate="services/test_checkpoint_files.py::test_an_older_driver_creates_no_plan")
@pytest.mark.S29
@pytest.mark.timeout(600)
def test_a_second_driver_is_rejected_and_a_newer_driver_of_another_machine_takes_over(bed: Bed) -> None:
    """The second driver on this machine ends; a record of a later driver elsewhere ends the first one."""
    bed.feed(0, 2)
    other = bed.folder / "other.yaml"
    with bed.driver() as first:
        first.until(lambda: all(bed.committed(query) == 1 for query in QUERIES), START)
        text = bed.document.read_text(encoding="utf-8").replace("{name: faults}", "{name: thief}")
        for query in QUERIES:  # a table that another pipeline writes would be refused too
            text = text.replace(f"{bed.bucket}/{query}", f"{bed.bucket}/thief-{query}")
        other.write_text(text, encoding="utf-8")
        for document, message in (
            (bed.document, "another run uses the checkpoint"),
            (other, "belongs to the pipeline 'faults'"),
        ):
            env = {"AWS_ACCESS_KEY_ID": bed.s3.access_key, "AWS_SECRET_ACCESS_KEY": bed.s3.secret_key}
            with DriverProcess(document, bed.folder / "second", env=env) as second:
                assert second.wait(START) == 5, second.stderr[-3000:]
            assert "[CheckpointInUse]" in second.stderr
            assert message in second.stderr
        assert first.process.poll() is None
        for query in QUERIES:
            record = bed.lake / "checkpoints" / query / "_1.mainstem-owner.json"
            owner = json.loads(record.read_text(encoding="utf-8"))
            owner |= {
                "token": "another",
                "process": "elsewhere",
                "description": "the pipeline 'faults' on host-2",
            }
            record.write_text(json.dumps(owner).ljust(1023) + "\n", encoding="utf-8")
        bed.feed(2, 4)
        assert first.wait(START) == 8, first.stderr[-3000:]
        assert {bed.committed(query) for query in QUERIES} == {1}
    states = {(query["state"], query.get("reason")) for query in first.final()["queries"]}
    assert ("Failed", "Fenced") in states
    assert "[Fenced]" in first.stderr
    assert "the pipeline 'faults' on host-2" in first.stderr
    with bed.driver("--stop-when-idle=3s") as again:
        assert again.wait(START) == 0, again.stderr[-3000:]
    bed.check(4)


@pytest.mark.full(
    gate="spark/test_leftovers.py::test_files_of_a_dead_driver_are_removed_after_their_batch_is_committed"
)
@pytest.mark.S29
@pytest.mark.timeout(600)
def test_a_late_entry_of_a_directory_log_names_existing_files(bed: Bed) -> None:
    """The PUT of a driver that was killed arrives while the next one runs the same batch; both have written its files."""
    late = bed.proxy.fail("/folder/_spark_metadata/1", "hold", 2)
    bed.feed(0, 2)
    with bed.driver("--query=folder") as old:
        old.until(lambda: len(late.hits) == 1, START)
        old.kill()
    with bed.driver("--query=folder", "--stop-when-idle=10s") as new:
        new.until(lambda: len(late.hits) == 2, START)
        late.let_one_go_on()
        new.until((bed.lake / "folder/_spark_metadata/1").exists, START)
        late.let_one_go_on()
        bed.feed(2, 4)
        assert new.wait(START) == 0, new.stderr[-4000:]
    assert logged_files(bed.lake / "folder") == data_files(bed.lake / "folder")
    assert bed.ids("folder") == list(range(4 * ROWS))


@pytest.mark.full(
    gate="services/test_small_files.py::test_a_store_without_conditional_writes_holds_no_checkpoints"
)
@pytest.mark.timeout(400)
def test_a_store_without_conditional_writes_is_rejected(bed: Bed) -> None:
    bed.proxy.fail(".*[^/]", "overwrite")
    bed.feed(0, 2)
    with bed.driver() as driver:
        assert driver.wait(START) == 5, driver.stderr[-3000:]
    assert "[CheckpointStoreNotConditional]" in driver.stderr
    assert "checkpoints.requireConditionalWrites: false" in driver.stderr
    assert not list(bed.lake.rglob("*probe*"))


@pytest.mark.full
@pytest.mark.timeout(400)
def test_a_store_without_conditional_writes_works_if_the_risk_is_accepted(bed: Bed) -> None:
    bed.proxy.fail(".*[^/]", "overwrite")
    bed.feed(0, 2)
    text = bed.document.read_text(encoding="utf-8")
    location = f'"s3a://{bed.bucket}/checkpoints"'
    assert location in text
    bed.document.write_text(
        text.replace(location, f"{location}, requireConditionalWrites: false"), encoding="utf-8"
    )
    with bed.driver("--stop-when-idle=3s") as driver:
        assert driver.wait(START) == 0, driver.stderr[-3000:]
    bed.check(2)
