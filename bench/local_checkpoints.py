"""Part f of streaming.py: a small batch with a local checkpoint, by the class through which Spark writes it."""

import statistics
import tempfile
from pathlib import Path
from typing import Any, Final

import jobs
from harness import sparks
from harness.waiting import within
from mainstem.runtime.spark.conf import LOCAL_CONTEXT
from pyspark.sql import SparkSession
from stats import orders, span


MAINSTEM: Final = "Mainstem"
HADOOP: Final = "Hadoop's default"
CLASSES: Final = {HADOOP: "org.apache.hadoop.fs.local.LocalFs", MAINSTEM: LOCAL_CONTEXT}
STATEFUL: Final = {"without state": False, "with state": True}
ROWS: Final = 10
WARM_UP: Final = 50
"""Number of batches after which Java has compiled most of their code."""
WITHIN: Final = 300.0
TIMES: Final = 2.0


def run(count: int, rounds: int, seed: int) -> dict[str, Any]:
    """Print the table; the milliseconds of every batch."""
    print(f"f. Local checkpoints: {count} batches of {ROWS} rows, {WARM_UP} to warm up, {rounds} rounds")
    cells = [(kind, variant) for kind in STATEFUL for variant in CLASSES]
    milliseconds: dict[tuple[str, str], list[int]] = {cell: [] for cell in cells}
    with tempfile.TemporaryDirectory() as folder, sparks.opened(Path(folder)) as spark:
        for number, order in enumerate(orders(cells, rounds, seed)):
            for place, cell in enumerate(order):
                kind, variant = cell
                checkpoint = f"{folder}/{number}-{place}"
                took = _run(spark.newSession(), STATEFUL[kind], CLASSES[variant], checkpoint, count)
                milliseconds[cell] += took
                jobs.note(f"round {number + 1}: {kind}, {variant}: {statistics.median(took):.0f} ms")
    print(f"\n| a batch of {ROWS} rows, ms | {' | '.join(CLASSES)} | shorter by |\n|---|---|---|---|")
    times = {}
    for kind in STATEFUL:
        figures = [milliseconds[kind, variant] for variant in CLASSES]
        default, ours = map(statistics.median, figures)
        times[kind] = default / ours
        print(f"| {kind} | {' | '.join(span(each, 0) for each in figures)} | {times[kind]:.1f} times |")
    jobs.shorter("a batch", min(times.values()), TIMES)
    return {f"{kind}, {variant}": figures for (kind, variant), figures in milliseconds.items()}


def _run(spark: SparkSession, stateful: bool, files: str, checkpoint: str, count: int) -> list[int]:
    spark.conf.set("fs.AbstractFileSystem.file.impl", files)
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    options = {"rowsPerBatch": str(ROWS), "numPartitions": "1"}
    rows = spark.readStream.format("rate-micro-batch").options(**options).name("ticks").load()
    frame = rows.groupBy((rows["value"] % ROWS).alias("k")).count() if stateful else rows
    writer = frame.writeStream.format("noop").outputMode("update")
    query = writer.option("checkpointLocation", checkpoint).trigger(processingTime="0 seconds").start()
    durations: dict[int, int] = {}

    def has_run() -> bool:
        durations.update({each.batchId: each.durationMs["triggerExecution"] for each in query.recentProgress})
        return len(durations) >= WARM_UP + count

    within(WITHIN, "the batches", has_run, pause=1.0)
    query.stop()
    return [durations[batch] for batch in sorted(durations)][WARM_UP : WARM_UP + count]
