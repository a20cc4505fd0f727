"""The job of overhead.yaml, written by hand in PySpark: the bench compares Mainstem with it.

It takes the same care: a record is good if it is a whole JSON object in UTF-8 whose fields fit the schema, good and
malformed records are counted in the same pass, bad ones are kept with their place and a reason, every query has a scheduler
pool and a checkpoint of its own, and an unreachable broker is an error within seconds.
"""

import argparse
import tempfile
from pathlib import Path
from typing import Final

from plainspark import session
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.streaming import StreamingQuery
from pyspark.sql.types import BooleanType, StringType, StructType


FLIGHT: Final = """
    year INT, month INT, day INT,
    dep_time INT, sched_dep_time INT, dep_delay INT,
    arr_time INT, sched_arr_time INT, arr_delay INT,
    carrier STRING, flight INT, tailnum STRING, origin STRING, dest STRING,
    air_time INT, distance INT, hour INT, minute INT, time_hour TIMESTAMP
"""
POOLS: Final = {"archive": 2, "late": 2, "dead-letters": 1}
CONSUMER: Final = {"kafka.default.api.timeout.ms": "20000", "kafka.request.timeout.ms": "15000"}
PRODUCER: Final = {
    "kafka.max.block.ms": "20000",
    "kafka.request.timeout.ms": "15000",
    "kafka.delivery.timeout.ms": "25000",
}


def main() -> None:
    given = _arguments()
    with tempfile.TemporaryDirectory(prefix="plain-") as scratch:
        spark = session(Path(scratch), given.jars, given.cores, given.heap, POOLS)
        queries = [archive(spark, given), late(spark, given), dead_letters(spark, given)]
        for query in queries:
            query.awaitTermination()
        spark.stop()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    for name in ("brokers", "airlines", "late-topic", "lake", "checkpoints", "jars", "heap"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--cores", type=int, required=True)
    return parser.parse_args()


def archive(spark: SparkSession, given: argparse.Namespace) -> StreamingQuery:
    flights(spark, given.brokers).createOrReplaceTempView("departures")
    airlines = spark.read.format("csv").option("header", value=True).load(given.airlines)
    airlines.createOrReplaceTempView("airlines")
    frame = spark.sql(
        "SELECT d.*, l.name AS airline FROM departures d LEFT JOIN airlines l ON d.carrier = l.carrier"
    )
    return started(frame, "archive", given, "parquet", {"path": f"{given.lake}/archive"})


def late(spark: SparkSession, given: argparse.Namespace) -> StreamingQuery:
    flights(spark, given.brokers).createOrReplaceTempView("departures")
    frame = spark.sql(
        """SELECT carrier, flight, origin, dest, time_hour, dep_delay, arr_delay
           FROM departures
           WHERE dep_delay >= 60"""
    )
    records = frame.select(
        F.to_json(F.struct("carrier", "flight")).alias("key"),
        F.to_json(F.struct(*frame.columns)).alias("value"),
    )
    options = PRODUCER | {"kafka.bootstrap.servers": given.brokers, "topic": given.late_topic}
    return started(records, "late", given, "kafka", options)


def dead_letters(spark: SparkSession, given: argparse.Namespace) -> StreamingQuery:
    frame = bad_records(spark, given.brokers)
    return started(frame, "dead-letters", given, "delta", {"path": f"{given.lake}/dead_letters"})


def started(
    frame: DataFrame, name: str, given: argparse.Namespace, kind: str, options: dict[str, str]
) -> StreamingQuery:
    context = frame.sparkSession.sparkContext
    context.setLocalProperty("spark.scheduler.pool", name)
    writer = frame.writeStream.queryName(name).outputMode("append").trigger(availableNow=True)
    checkpoint = f"{given.checkpoints}/{name}"
    return writer.option("checkpointLocation", checkpoint).format(kind).options(**options).start()


def flights(spark: SparkSession, brokers: str) -> DataFrame:
    good = parsed(topic(spark, brokers, "departures"), FLIGHT, "departures").where("is_good")
    return good.select(
        *(
            F.col("record").getField("object").getField(name).alias(name)
            for name in StructType.fromDDL(FLIGHT).names
        )
    )


def bad_records(spark: SparkSession, brokers: str) -> DataFrame:
    text = F.col("value").cast("string")
    tree = F.try_parse_json(text)
    error = (
        F.when(text.isNull(), "the record has no value")
        .when(~F.is_valid_utf8(text), "not valid UTF-8")
        .when(F.trim(text) == "", "the record is empty")
        .when(tree.isNull(), "not valid JSON")
        .when(~F.schema_of_variant(tree).startswith("OBJECT"), "not a JSON object")
        .when(
            F.try_variant_get(F.try_parse_json(framed(text)), "$.end", "boolean").isNull(),
            "something follows the JSON object",
        )
        .otherwise("a field does not fit the schema")
    )
    return (
        parsed(topic(spark, brokers, "departures_dead_letters"), FLIGHT, "departures_dead_letters")
        .where("NOT is_good")
        .select(
            F.col("value").alias("raw"),
            "topic",
            "partition",
            "offset",
            F.lit(None).cast("string").alias("file"),
            error.alias("error"),
            F.current_timestamp().alias("time"),
        )
    )


def parsed(raw: DataFrame, ddl: str, name: str) -> DataFrame:
    text = F.col("value").cast("string")
    schema = StructType().add("object", StructType.fromDDL(ddl)).add("end", BooleanType())
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": "corrupt"}
    parser = F.from_json(framed(text), schema.add("corrupt", StringType()), options)
    records = raw.withColumn("record", parser)
    return records.withColumn("is_good", is_good(text)).observe(
        f"records.{name}",
        F.count_if("is_good").alias("good"),
        F.count_if(~F.col("is_good")).alias("bad"),
    )


def framed(text: Column) -> Column:
    """The frame around a record: without it Spark's parser ignores text after the first object."""
    return F.concat(F.lit('{"object":'), text, F.lit('\n,"end":true}'))


def is_good(text: Column) -> Column:
    record = F.col("record")
    whole = record.getField("object").isNotNull() & record.getField("end")
    return F.coalesce(record.getField("corrupt").isNull() & whole & F.is_valid_utf8(text), F.lit(False))


def topic(spark: SparkSession, brokers: str, name: str) -> DataFrame:
    options = CONSUMER | {
        "kafka.bootstrap.servers": brokers,
        "subscribe": "departures",
        "startingOffsets": "earliest",
        "failOnDataLoss": "true",
        "maxOffsetsPerTrigger": "250000",
    }
    return spark.readStream.format("kafka").options(**options).name(name).load()


if __name__ == "__main__":
    main()
