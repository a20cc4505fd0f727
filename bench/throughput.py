"""Three queries from one topic: once with Mainstem, and twice with the hand-written job."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import flights
import jobs
import pyarrow.parquet
import yaml
from deltalake import DeltaTable
from harness.kafka import Broker
from jobs import Measured, RunFailed
from mainstem.language.document import read
from mainstem.runtime.spark.conf import Machine, spark_conf
from plain import POOLS
from plainspark import properties
from stats import orders


PLAIN: Final = "plain PySpark"
MAINSTEM: Final = "Mainstem"
AGAIN: Final = "plain PySpark again"
VARIANTS: Final = (PLAIN, MAINSTEM, AGAIN)
PARTITIONS: Final = 2
# What names a run, or where its files are; what a log hides; and Mainstem's own format of the log, and its own classes for
# checkpoint files and local files.
_OWN: Final = {
    "spark.app.name",
    "spark.local.dir",
    "spark.sql.warehouse.dir",
    "spark.scheduler.allocation.file",
    "spark.driver.extraJavaOptions",
    "spark.sql.streaming.checkpointFileManagerClass",
    "spark.sql.extensions",
    "spark.hadoop.fs.file.impl",
    "spark.hadoop.fs.AbstractFileSystem.file.impl",
    "spark.redaction.regex",
    "spark.executorEnv.TZ",
}
# Mainstem sets it per query, from the document's state.partitions.
_PER_QUERY: Final = {"spark.sql.shuffle.partitions"}


@dataclass(frozen=True)
class Bench:
    """The filled topic, and the rows that the sinks must hold.

    Attributes:
        broker: the broker with the topic.
        airlines: the CSV file of the joined table.
        rows: rows that each sink must hold after a run.
    """

    broker: Broker
    airlines: Path
    rows: dict[str, int]


def differing_properties() -> list[str]:
    """Spark properties that differ between the document's run and the hand-written job, beyond names and places."""
    with TemporaryDirectory() as folder:
        scratch = Path(folder)
        plain = properties(scratch, jobs.jars(), jobs.CORES, jobs.HEAP, POOLS)
        paths = tuple(map(Path, jobs.jars().split(":")))
        machine = Machine(jobs.CORES, jobs.HEAP, paths, scratch, scratch, scratch)
        document = spark_conf(read(str(jobs.HERE / "overhead.yaml"), {}).pipeline, machine)
    names = (set(plain) | set(document)) - _OWN - _PER_QUERY
    return sorted(
        f"{name}: {document.get(name)!r} by Mainstem, {plain.get(name)!r} by hand"
        for name in names
        if document.get(name) != plain.get(name)
    )


@contextmanager
def opened(records: int, seed: int) -> Iterator[Bench]:
    """A new broker with the topic `departures`; it ends with the context."""
    airlines = jobs.fresh("reference") / "airlines.csv"
    airlines.write_text(flights.airlines_csv(), encoding="utf-8")
    with Broker(lasting=True) as broker:
        broker.create_topic("departures", PARTITIONS)
        broker.produce("departures", flights.records(records, seed, PARTITIONS))
        yield Bench(broker, airlines, flights.expected(records, seed))


def rounds(bench: Bench, pairs: int, seed: int) -> Iterator[tuple[int, str, Measured]]:
    """(round, variant, CPU and time) for every run, after an uncounted run that warms the page cache."""
    _run(bench, PLAIN, "warm-up")
    for number, order in enumerate(orders(VARIANTS, pairs, seed)):
        for place, variant in enumerate(order):
            yield number, variant, _run(bench, variant, f"{number}-{place}")


def _run(bench: Bench, variant: str, name: str) -> Measured:
    folder = jobs.fresh("run")
    topic = f"late-{name}"
    bench.broker.create_topic(topic, PARTITIONS)
    values = {
        "brokers": bench.broker.bootstrap_servers,
        "airlines": bench.airlines,
        "late_topic": topic,
        "lake": folder / "lake",
        "checkpoints": folder / "checkpoints",
    }
    job = jobs.mainstem("overhead.yaml", values) if variant == MAINSTEM else jobs.by_hand("plain.py", values)
    first = folder / "checkpoints/archive" / ("1" if variant == MAINSTEM else "") / "commits/0"
    took = jobs.measure(job, folder, first)
    _check(bench, folder / "lake", topic)
    shutil.rmtree(folder)
    return took


def _check(bench: Bench, lake: Path, topic: str) -> None:
    counts = {
        "archive": _parquet_rows(lake / "archive"),
        "late": _topic_rows(bench.broker, topic),
        "dead_letters": DeltaTable(lake / "dead_letters").to_pyarrow_dataset().count_rows(),
    }
    if counts != bench.rows:
        raise RunFailed(f"the sinks hold {counts}, and should hold {bench.rows}")


def _parquet_rows(folder: Path) -> int:
    return sum(pyarrow.parquet.read_metadata(file).num_rows for file in folder.glob("*.parquet"))


def _topic_rows(broker: Broker, topic: str) -> int:
    from confluent_kafka import Consumer, TopicPartition

    consumer = Consumer({**broker.client, "group.id": "bench"})
    try:
        ends = [
            consumer.get_watermark_offsets(TopicPartition(topic, number), timeout=10)
            for number in broker.partitions(topic)
        ]
    finally:
        consumer.close()
    return sum(high - low for low, high in ends)


def batch_size() -> int:
    """Records per batch, from the document."""
    document = yaml.safe_load((jobs.HERE / "overhead.yaml").read_text(encoding="utf-8"))
    return int(document["spec"]["sources"][0]["kafka"]["maxOffsetsPerTrigger"])
