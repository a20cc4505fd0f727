"""The jobs of streaming.py, written by hand in PySpark: `ysb`, `relay`, `small_batches`, `mixed`.

`ysb` and `relay` have the properties that Mainstem sets and take its care with records; `small_batches` and `mixed` are
as a first program would be: Spark's own defaults, one pool.
"""

import argparse
import tempfile
import time
from pathlib import Path

from plain import CONSUMER, PRODUCER, parsed
from plainspark import session
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.streaming.readwriter import DataStreamReader, DataStreamWriter


EVENT = (
    "user_id STRING, page_id STRING, ad_id STRING, ad_type STRING, event_type STRING, event_time TIMESTAMP, "
    "ip_address STRING"
)
HEAVY = """
SELECT size(filter(sequence(1, 100000), x -> sha2(cast(x + offset AS STRING), 512) LIKE 'ff%')) AS work
FROM (SELECT /*+ REPARTITION(64) */ offset FROM busy)
"""


def main() -> None:
    given = _arguments()
    with tempfile.TemporaryDirectory(prefix="plain-") as scratch:
        {"ysb": ysb, "relay": relay, "small_batches": small_batches, "mixed": mixed}[given.job](
            scratch, given
        )


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("job")
    for name in ("brokers", "campaigns", "topic", "lake", "checkpoints", "store", "jars", "heap"):
        parser.add_argument(f"--{name}")
    parser.add_argument("--cores", type=int, required=True)
    return parser.parse_args()


def ysb(scratch: str, given: argparse.Namespace) -> None:
    spark = session(Path(scratch), given.jars, given.cores, given.heap, {"counts": 1})
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    source = kafka(spark, given, "events", maxOffsetsPerTrigger="500000")
    events = parsed(source.name("events").load(), EVENT, "events").where("is_good")
    events = events.select("record.object.ad_id", "record.object.event_time", "record.object.event_type")
    campaigns = spark.read.option("header", value=True).csv(given.campaigns)
    counted = (
        events.withWatermark("event_time", "1 minute")
        .where("event_type = 'view'")
        .join(campaigns, "ad_id")
        .groupBy("campaign_id", F.window("event_time", "10 seconds"))
        .count()
        .select("campaign_id", F.col("window.start").alias("window_start"), F.col("count").alias("views"))
    )
    records = counted.select(
        F.to_json(F.struct("campaign_id", "window_start")).alias("key"),
        F.to_json(F.struct("campaign_id", "window_start", "views")).alias("value"),
    )
    writer = topic(records, given, given.topic).outputMode("update").trigger(availableNow=True)
    writer.queryName("counts").start().awaitTermination()
    spark.stop()


def relay(scratch: str, given: argparse.Namespace) -> None:
    spark = session(Path(scratch), given.jars, given.cores, given.heap, {"relay": 1})
    incoming = (
        kafka(spark, given, "incoming", startingOffsets="latest").name("incoming").load().select("value")
    )
    writer = topic(incoming, given, "outgoing").option("kafka.linger.ms", "0").outputMode("update")
    writer.trigger(realTime="1 minute").queryName("relay").start().awaitTermination()


def small_batches(_scratch: str, given: argparse.Namespace) -> None:
    spark = bare(given)
    numbers = kafka(spark, given, "numbers", maxOffsetsPerTrigger="500").load()
    writer = numbers.writeStream.format("delta").option("checkpointLocation", f"{given.checkpoints}/table")
    writer.trigger(availableNow=True).start(f"{given.lake}/numbers").awaitTermination()
    spark.stop()


def mixed(_scratch: str, given: argparse.Namespace) -> None:
    spark = bare(given)
    kafka(spark, given, "busy", maxOffsetsPerTrigger="64").load().createOrReplaceTempView("busy")
    calm = spark.readStream.format("rate").option("rowsPerSecond", 1).load()
    for name, frame in (("heavy", spark.sql(HEAVY)), ("light", calm)):
        writer = frame.writeStream.format("console").option("numRows", 1).queryName(name)
        writer = writer.trigger(processingTime="1 second") if name == "light" else writer
        writer.option("checkpointLocation", f"{given.checkpoints}/{name}").start()
    while True:
        time.sleep(1)


def bare(given: argparse.Namespace) -> SparkSession:
    """Spark's defaults, and what Delta and a store ask for."""
    builder: SparkSession.Builder = SparkSession.builder
    builder = builder.master(f"local[{given.cores}]").config("spark.driver.memory", given.heap)
    builder = builder.config("spark.driver.extraClassPath", given.jars).config(
        "spark.ui.showConsoleProgress", "false"
    )
    builder = builder.config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
    catalog = "org.apache.spark.sql.delta.catalog.DeltaCatalog"
    if given.store:
        builder = builder.config("spark.hadoop.fs.s3a.endpoint", given.store)
        builder = builder.config("spark.hadoop.fs.s3a.endpoint.region", "us-east-1")
        builder = builder.config("spark.hadoop.fs.s3a.path.style.access", "true")
    return builder.config("spark.sql.catalog.spark_catalog", catalog).getOrCreate()


def kafka(spark: SparkSession, given: argparse.Namespace, name: str, **options: str) -> DataStreamReader:
    start = {"subscribe": name, "startingOffsets": "earliest", "kafka.bootstrap.servers": given.brokers}
    return spark.readStream.format("kafka").options(**(CONSUMER | start | options))


def topic(frame: DataFrame, given: argparse.Namespace, name: str) -> DataStreamWriter:
    options = PRODUCER | {"kafka.bootstrap.servers": given.brokers, "topic": name}
    writer = frame.writeStream.format("kafka").options(**options)
    return writer.option(
        "checkpointLocation", f"{given.checkpoints}/{'relay' if name == 'outgoing' else 'counts'}"
    )


if __name__ == "__main__":
    main()
