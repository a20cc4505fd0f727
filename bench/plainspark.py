"""The Spark session of the hand-written jobs, with the properties that Mainstem sets too.

`overhead.py` compares the two sets before it measures.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from pyspark.sql import SparkSession


JAVA_OPTIONS: Final = (
    "-Duser.language=en -Duser.country=US -Dfile.encoding=UTF-8 -Duser.timezone=UTC "
    "-XX:+UseParallelGC -XX:Tier4InvocationThreshold=25000 -XX:Tier4MinInvocationThreshold=3000 "
    "-XX:Tier4CompileThreshold=75000 -XX:Tier4BackEdgeThreshold=200000 "
    "-Dorg.apache.avro.limits.string.maxLength=67108864 "
    "-Dorg.apache.avro.limits.bytes.maxLength=67108864 "
    "-Dorg.apache.avro.limits.collectionItems.maxLength=16777216"
)
CONF: Final = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.extraJavaOptions": JAVA_OPTIONS,
    "spark.scheduler.mode": "FAIR",
    "spark.ui.showConsoleProgress": "false",
    "spark.metrics.conf.*.sink.prometheusServlet.class": "org.apache.spark.metrics.sink.PrometheusServlet",
    "spark.metrics.conf.*.sink.prometheusServlet.path": "/metrics/prometheus",
    "spark.sql.streaming.metricsEnabled": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "8",
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    "spark.sql.variable.substitute": "false",
    "spark.sql.runSQLOnFiles": "false",
    "spark.sql.streaming.queryEvolution.enableSourceEvolution": "true",
    "spark.sql.streaming.offsetLog.formatVersion": "2",
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.sql.streaming.checkUnfinishedRepartitionOnRestart": "false",
    "spark.sql.streaming.stopActiveRunOnRestart": "false",
    "spark.sql.streaming.stopTimeout": "15s",
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.databricks.delta.merge.materializeSource": "all",
    "spark.databricks.delta.properties.defaults.enableDeletionVectors": "false",
    "spark.hadoop.fs.s3a.attempts.maximum": "4",
    "spark.hadoop.fs.s3a.retry.limit": "4",
    "spark.hadoop.fs.s3a.retry.interval": "250ms",
    "spark.hadoop.fs.s3a.retry.throttle.limit": "5",
    "spark.hadoop.fs.s3a.change.detection.version.required": "false",
    "spark.hadoop.fs.s3a.input.stream.type": "classic",
}


def properties(scratch: Path, jars: str, cores: int, heap: str, pools: Mapping[str, int]) -> dict[str, str]:
    """Every property of a hand-written job; writes the file of the pools, each with its weight."""
    file = scratch / "pools.xml"
    file.write_text(_pools(pools), encoding="utf-8")
    return CONF | {
        "spark.app.name": "plain",
        "spark.master": f"local[{cores}, 4]",
        "spark.driver.memory": heap,
        "spark.driver.extraClassPath": jars,
        "spark.local.dir": str(scratch),
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        "spark.scheduler.allocation.file": f"file:{file}",
        "spark.databricks.delta.snapshotPartitions": str(max(1, min(cores, 8))),
    }


def session(scratch: Path, jars: str, cores: int, heap: str, pools: Mapping[str, int]) -> SparkSession:
    builder: SparkSession.Builder = SparkSession.builder
    return builder.config(map=dict(properties(scratch, jars, cores, heap, pools))).getOrCreate()


def _pools(pools: Mapping[str, int]) -> str:
    each = "".join(
        f'<pool name="{name}"><schedulingMode>FIFO</schedulingMode><weight>{weight}</weight></pool>'
        for name, weight in pools.items()
    )
    return f'<?xml version="1.0"?><allocations>{each}</allocations>'
