"""Every kind of file in and beside a checkpoint, damaged in every way: `verify` shows what a restart does.

A restart either continues with exact rows, or the query fails with a reason that names the file and the ways out, and writes
nothing. The other query runs in both cases.
"""

import json
import os
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.dataset
import pytest
from harness.checkpoints import logged_rows
from harness.supervisor_loop import Stage
from mainstem.checkpoints import finding, state_files
from mainstem.checkpoints.damage.verification import Verification, verify
from mainstem.language.model.status.query_progress import QueryProgress
from mainstem.language.model.status.states import QueryState
from pyspark.sql import SparkSession


pytestmark = [
    pytest.mark.faults,
    pytest.mark.S37,
    pytest.mark.timeout(600),
    pytest.mark.full(
        gate="spark/test_damage_at_the_start.py::test_a_query_with_a_damage_fails_with_its_reason_and_the_others_run"
    ),
]
FILES = 6
"""Files of the source before the damage; a batch each, and one more batch without data."""
CONF = {
    "spark.sql.streaming.stateStore.minDeltasForSnapshot": "2",
    "spark.sql.streaming.stateStore.maintenanceInterval": "500ms",
    # `stop` holds the lock that a running maintenance waits for; by default for 300 seconds.
    "spark.sql.streaming.stateStore.maintenanceShutdownTimeout": "2s",
    "spark.sql.streaming.fileSource.log.compactInterval": "4",
    "spark.sql.streaming.fileSink.log.compactInterval": "4",
}
"""Full copies of the state and compact entries of the logs after few batches."""
HOURS = """SELECT k, count(*) AS n, sum(v) AS v, window(ts, '1 hour').start AS hour
FROM a GROUP BY k, window(ts, '1 hour')"""
PATIENCE = 300.0
"""Seconds for a run of both queries, on a machine that does other things too."""
OUTCOMES = {QueryState.COMPLETED: True, QueryState.FAILED: False}
WAYS_OUT = ("mainstem checkpoint rewind", "checkpoint.generation", "mainstem checkpoint verify")


def last(folder: Path, pattern: str) -> Path:
    """The file with the highest number at the beginning of its name."""
    files = [file for file in folder.glob(pattern) if file.name.split(".")[0].isdigit()]
    return max(files, key=lambda file: int(file.name.split(".")[0]))


def before(file: Path, batches: int) -> Path:
    """The file with a lower number, with the same ending."""
    number, dot, ending = file.name.partition(".")
    return file.with_name(f"{int(number) - batches}{dot}{ending}")


def shared(folder: Path) -> Path:
    """A file of RocksDB that the newest full copy refers to."""
    [first, *_] = state_files.shared_files(last(folder, "*.zip").read_bytes())
    return folder / first.path


STATE = "state/0/0"
FULL_COPY = {"rocksdb": ".zip", "hdfs": ".snapshot"}
"""State store -> the ending of its full copies, which Spark's maintenance writes when it comes to it."""
KINDS: dict[str, Callable[[Path], Path]] = {
    "newest plan": lambda c: last(c / "offsets", "*"),
    "plan before": lambda c: before(last(c / "offsets", "*"), 1),
    "old plan": lambda c: before(last(c / "offsets", "*"), 4),
    "newest commit": lambda c: last(c / "commits", "*"),
    "old commit": lambda c: before(last(c / "commits", "*"), 3),
    "metadata": lambda c: c / "metadata",
    "newest source entry": lambda c: c / "sources/a" / str(FILES - 1),
    "compact source entry": lambda c: last(c / "sources/a", "*.compact"),
    "old source entry": lambda c: c / "sources/a/1",
    "newest changes": lambda c: last(c / STATE, "*.changelog"),
    "old changes": lambda c: before(last(c / STATE, "*.changelog"), 4),
    "newest copy": lambda c: last(c / STATE, "*.zip"),
    "old copy": lambda c: before(last(c / STATE, "*.zip"), 2),
    "file of RocksDB": lambda c: shared(c / STATE),
    "schema": lambda c: c / STATE / "_metadata/schema",
    "operator": lambda c: c / "state/0/_metadata/metadata",
    "owner record": lambda c: c.parent / "_1.mainstem-owner.json",
    "document record": lambda c: c.parent / "_1.mainstem-document.json",
}
HDFS_KINDS: dict[str, Callable[[Path], Path]] = {
    "newest changes": lambda c: last(c / STATE, "*.delta"),
    "old changes": lambda c: before(last(c / STATE, "*.delta"), 5),
    "newest copy": lambda c: last(c / STATE, "*.snapshot"),
}
DAMAGES: dict[str, Callable[[bytes], bytes | None]] = {
    "empty": lambda _: b"",
    "half": lambda content: content[: len(content) // 2],
    "random": lambda content: random.Random(1).randbytes(len(content)),
    "deleted": lambda _: None,
}


class Row(NamedTuple):
    """One damage.

    Attributes:
        kind: of the file.
        damage: what happens to it.
        on_disk: whether Hadoop's checksums stay beside it; a store has none.
        provider: of the state.
    """

    kind: str
    damage: str
    on_disk: bool = True
    provider: str = "rocksdb"

    def __str__(self) -> str:
        return f"{self.provider}-{self.kind}-{self.damage}-{'disk' if self.on_disk else 'store'}".replace(
            " ", "_"
        )


TABLE = [
    Row(kind, damage, on_disk, provider)
    for provider, kinds in (("rocksdb", KINDS), ("hdfs", HDFS_KINDS))
    for kind in kinds
    for damage in DAMAGES
    for on_disk in ((True,) if damage == "deleted" else (True, False))
]


class Damaged(Stage):
    """Two queries over one source: one has state and writes files, the other only copies."""

    def __init__(self, spark: SparkSession, folder: Path, provider: str) -> None:
        super().__init__(spark, folder / provider)
        self.provider = provider
        self._base = folder / f"{provider}-base"
        self._begin()
        shutil.copytree(self.folder, self._base)
        self.written = self.bare("hours")
        self.feed(FILES)
        assert self.restarted()["hourly"].state is QueryState.COMPLETED
        self.expected, self.copied = self.bare("hours"), self.bare("copy")
        assert len(self.expected) > len(self.written) > 0

    def _begin(self) -> None:
        """Run over the first files; again, if Spark's maintenance wrote no full copy of the state meanwhile."""
        for _ in range(5):
            self._clear()
            (self.folder / "in").mkdir(parents=True)
            for number in range(FILES):
                self.feed(number)
            assert self.restarted()["hourly"].state is QueryState.COMPLETED
            if list(self.checkpoint.glob(f"{STATE}/*{FULL_COPY[self.provider]}")):
                return
        raise AssertionError("five runs, and no full copy of the state")

    def _clear(self) -> None:
        """Delete the folder, and what Spark has of it: it keeps the state of ended queries, and writes full copies of it."""
        stores: Any = self.spark.sparkContext._jvm
        getattr(
            getattr(stores.org.apache.spark.sql.execution.streaming.state, "StateStore$"), "MODULE$"
        ).stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def checkpoint(self) -> Path:
        return self.folder / "checkpoints" / "hourly" / "1"

    def feed(self, number: int) -> None:
        """A file with an hour of its own, which closes the hour before it."""
        rows = [{"k": "xy"[v % 2], "ts": f"2026-01-01T{number:02}:{v:02}:00Z", "v": v} for v in range(4)]
        file = self.folder / "in" / f"{number:03}.json"
        file.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
        os.utime(file, (1_700_000_000 + number,) * 2)

    def restore(self) -> None:
        """As before the damage, with one more file of the source."""
        self._clear()
        shutil.copytree(self._base, self.folder)
        self.feed(FILES)

    def restarted(self) -> dict[str, QueryProgress]:
        """Run both queries over all that there is."""
        reads = {"path": f"{self.folder}/in", "format": "json", "schema": "k STRING, ts TIMESTAMP, v INT"}
        source = {
            "name": "a",
            "files": reads | {"maxFilesPerTrigger": 1},
            "watermark": {"column": "ts", "delay": "1 minute"},
        }
        ends: dict[str, Any] = {"trigger": {"availableNow": True}}
        hours = [{"name": "files", "parquet": {"path": f"{self.folder}/hours"}}]
        copies = [{"name": "files", "parquet": {"path": f"{self.folder}/copy"}}]
        state = {"partitions": 1, "provider": self.provider}
        queries = [
            {
                "name": "hourly",
                "from": "counted",
                "to": hours,
                "outputMode": "append",
                "state": state,
                **ends,
            },
            {"name": "beside", "from": "a", "to": copies, **ends},
        ]
        views = [{"name": "counted", "sql": HOURS}]
        with self.running(sources=[source], views=views, queries=queries) as run:
            run.to_the_end(PATIENCE)
            return {status.name: status for status in run.supervisor.statuses}

    def bare(self, folder: str) -> list[str]:
        """The rows of all files of a folder, by a reader that knows nothing of its log."""
        files = [str(file) for file in (self.folder / folder).glob("part-*.parquet")]
        rows = pyarrow.dataset.dataset(files, format="parquet").to_table().to_pylist()
        return sorted(str(sorted(row.items())) for row in rows)

    def logged(self, folder: str) -> list[str]:
        """The rows that Spark's readers see."""
        return sorted(str(sorted(row.items())) for row in logged_rows(self.folder / folder))

    def verified(self) -> Verification:
        checkpoint = finding.stream(finding.opened(str(self.checkpoint)))
        return verify(checkpoint.folder, checkpoint.layout)


def damage(file: Path, how: str, *, on_disk: bool) -> None:
    """Damage a file, and on a store forget its checksums: there are none."""
    content, checksums = DAMAGES[how](file.read_bytes()), file.with_name(f".{file.name}.crc")
    if content is None:
        file.unlink()
    else:
        file.write_bytes(content)
    if content is None or not on_disk:
        checksums.unlink(missing_ok=True)


@pytest.fixture(scope="module")
def stages(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[str], Damaged]]:
    """The pipeline of a state provider, run once for all rows."""
    folder, made = tmp_path_factory.mktemp("damaged"), dict[str, Damaged]()
    # Sessions of queries begin with the properties of the application.
    context: Any = spark.sparkContext._jsc
    conf = context.sc().conf()
    for key, value in CONF.items():
        conf.set(key, value)

    def stage(provider: str) -> Damaged:
        if provider not in made:
            made[provider] = Damaged(spark, folder, provider)
        made[provider].restore()
        return made[provider]

    yield stage
    for key in CONF:
        conf.remove(key)


@pytest.mark.parametrize("row", TABLE, ids=str)
def test_a_restart_does_what_verify_shows(stages: Callable[[str], Damaged], row: Row) -> None:
    stage = stages(row.provider)
    kinds = KINDS if row.provider == "rocksdb" else HDFS_KINDS
    file = kinds[row.kind](stage.checkpoint)
    damage(file, row.damage, on_disk=row.on_disk)
    result = stage.verified()
    shown = str(file.relative_to(stage.checkpoint)) if file.is_relative_to(stage.checkpoint) else file.name
    if row.damage == "deleted":
        shown = shown.removesuffix(".compact")  # no other file shows that it had the entries before it
    statuses = stage.restarted()
    status = statuses["hourly"]
    print(f"{row}: {result.problems} -> {status.state} {status.reason} {status.message}")
    assert result.sound is OUTCOMES[status.state], (result.problems, status)
    if result.sound:
        assert stage.bare("hours") == stage.logged("hours") == stage.expected
    else:
        message = status.message or ""
        assert shown in message
        assert stage.bare("hours") == stage.logged("hours") == stage.written, "it wrote something"
        assert any(problem.file.endswith(shown) for problem in result.blocking)
        if "owner" not in shown:
            assert status.reason == "CheckpointDamaged"
            assert all(way in message for way in WAYS_OUT)
    assert statuses["beside"].state is QueryState.COMPLETED
    assert stage.bare("copy") == stage.logged("copy") == stage.copied


LOGS: dict[str, Callable[[Path], Path]] = {
    "newest entry": lambda log: last(log, "*[0-9]"),
    "compact entry": lambda log: last(log, "*.compact"),
}


@pytest.mark.parametrize(("kind", "how"), [(kind, how) for kind in LOGS for how in DAMAGES])
def test_a_damaged_log_of_a_folder_costs_no_file(
    stages: Callable[[str], Damaged], kind: str, how: str
) -> None:
    stage = stages("rocksdb")
    file = LOGS[kind](stage.folder / "hours" / "_spark_metadata")
    damage(file, how, on_disk=True)
    statuses = stage.restarted()
    status = statuses["hourly"]
    print(f"{kind} {how}: {status.state} {status.reason} {status.message}")
    assert set(stage.written) <= set(stage.bare("hours")), "files of committed batches were removed"
    assert (status.state, status.reason) == (QueryState.FAILED, "SinkLogDamaged")
    assert f"_spark_metadata/{file.name}" in (status.message or "")
    assert statuses["beside"].state is QueryState.COMPLETED
    assert stage.bare("copy") == stage.copied
