"""Part e of streaming.py: a batch of one record from a topic with few records, by how long the broker holds a fetch."""

import statistics
import tempfile
import time
from pathlib import Path
from typing import Any, Final

import jobs
from harness import sparks
from harness.kafka import Broker
from harness.records import Record
from mainstem.dataframes.options.kafka import source_options
from mainstem.language.model.connections import KafkaConnection
from mainstem.language.model.connectors.kafka_source import KafkaSource
from pyspark.sql import SparkSession
from stats import span


MAINSTEM: Final = "Mainstem"
KAFKA: Final = "Kafka's default, 500 ms"
FETCH: Final = {KAFKA: {"fetch.max.wait.ms": "500"}, MAINSTEM: {}}
PARTITIONS: Final = 2
WARM_UP: Final = 5
PAUSE: Final = 0.9
"""Seconds between two records: no batch has two of them, and none is still running."""
TIMES: Final = 2.0


def run(count: int, rounds: int) -> dict[str, Any]:
    """Print the table; the milliseconds of every batch."""
    print(f"e. A record every {PAUSE:g} s: {count} batches, {rounds} rounds")
    milliseconds: dict[str, list[int]] = {variant: [] for variant in FETCH}
    with (
        tempfile.TemporaryDirectory() as folder,
        Broker(lasting=True) as broker,
        sparks.opened(Path(folder)) as spark,
    ):
        broker.create_topic("sparse", PARTITIONS)
        for number in range(rounds):
            for variant, properties in FETCH.items():
                checkpoint = f"{folder}/{number}-{len(properties)}"
                milliseconds[variant] += _run(spark, broker, properties, checkpoint, count)
                jobs.note(f"round {number + 1}: {variant}: {statistics.median(milliseconds[variant]):.0f} ms")
    print("\n| a batch of one record, ms | median (min-max) | batches |\n|---|---|---|")
    for variant, durations in milliseconds.items():
        print(f"| {variant} | {span(durations, 0)} | {len(durations)} |")
    times = statistics.median(milliseconds[KAFKA]) / statistics.median(milliseconds[MAINSTEM])
    jobs.shorter("a batch", times, TIMES)
    return dict(milliseconds)


def _run(
    spark: SparkSession, broker: Broker, properties: dict[str, str], checkpoint: str, count: int
) -> list[int]:
    connection = KafkaConnection.model_validate(
        {"bootstrapServers": broker.bootstrap_servers, "properties": properties}
    )
    source = KafkaSource.model_validate({"connection": "local", "subscribe": ["sparse"]})
    reader = spark.readStream.format("kafka").options(**source_options(source, connection)).name("sparse")
    query = reader.load().writeStream.format("noop").option("checkpointLocation", checkpoint).start()
    time.sleep(4 * PAUSE)  # the first, empty batch decides where "latest" is
    for number in range(WARM_UP + count):
        broker.produce("sparse", [Record(None, b"1", partition=number % PARTITIONS)])
        time.sleep(PAUSE)
    query.processAllAvailable()
    durations = [p.durationMs["triggerExecution"] for p in query.recentProgress if p.numInputRows]
    query.stop()
    return durations[WARM_UP:]
