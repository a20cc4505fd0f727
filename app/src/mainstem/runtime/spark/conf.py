"""Computes the Spark properties of a run from the document; pure.

Each value that differs from Spark's default has a comment with the reason. docs/architecture.md has measured costs.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit
from xml.sax.saxutils import quoteattr

from mainstem import secrets
from mainstem.language.model.connections import S3Connection
from mainstem.language.model.pipeline import StreamingPipeline
from mainstem.language.model.queries import STATE_STORES, Pool


CHECKPOINT_FILES: Final = "dev.mainstem.checkpoint.ConditionalCheckpointFileManager"
"""The project's own class, in mainstem-jars: Spark's class for object stores reports some failed writes as a success."""
FILE_BATCHES: Final = "dev.mainstem.files.Extension"
"""The session extension of the project's own jar: a stream reads each file once, and reports files that are gone."""
LOCAL_FILES: Final = "dev.mainstem.files.OrderedLocalFileSystem"
"""The project's own class: it lists the files of a folder in the order of their names, as object stores do."""
LOCAL_CONTEXT: Final = "dev.mainstem.files.LocalFileContext"
"""The project's own class for Hadoop's other interface to local files, through which Spark writes checkpoints."""
S3_CREDENTIALS: Final = "dev.mainstem.secrets.S3Credentials"
"""Reads the files of a connection's secret before each request, in driver and executors."""
MAINTENANCE_POOL: Final = "_maintenance"
"""The scheduler pool of maintenance; no query can have this name."""
LOG4J: Final = Path(__file__).with_name("log4j2.properties")
"""The log4j2 configuration of driver and executors."""
_REDACTED: Final = "(?i)secret|passw|token|access[._-]?key|credential|jaas|private[._-]?key"
"""Names of properties whose values Spark's UI and log hide: Spark's own pattern, and the names of Kafka and clouds."""
JAVA_OPTIONS: Final = (
    # A Turkish locale changes I to another letter in lower case; a POSIX locale reads files as ASCII.
    "-Duser.language=en -Duser.country=US -Dfile.encoding=UTF-8 -Duser.timezone=UTC "
    # The compiler takes a third of the CPU of a new driver, on few cores from the batches. So the second compiler starts
    # five times later than Java's default, and no garbage collector runs concurrently with the batches.
    "-XX:+UseParallelGC -XX:Tier4InvocationThreshold=25000 -XX:Tier4MinInvocationThreshold=3000 "
    "-XX:Tier4CompileThreshold=75000 -XX:Tier4BackEdgeThreshold=200000 "
    # Avro allocates the length that a record states: without limits a malformed record can end the JVM.
    "-Dorg.apache.avro.limits.string.maxLength=67108864 -Dorg.apache.avro.limits.bytes.maxLength=67108864 "
    "-Dorg.apache.avro.limits.collectionItems.maxLength=16777216"
)


@dataclass(frozen=True)
class Machine:
    """The machine or pod that the driver runs on.

    Attributes:
        cores: threads for tasks.
        heap: size of the Java heap in the JVM's notation (`2g`).
        jars: Mainstem's own jars, in the order of the class path.
        log4j: the log4j2 configuration.
        pools: the FAIR allocation file.
        scratch: Spark's local directory.
        defaults: properties of the environment that the document may override.
        owned: properties of the environment that override those of the document.
    """

    cores: int
    heap: str
    jars: tuple[Path, ...]
    log4j: Path
    pools: Path
    scratch: Path
    defaults: Mapping[str, str] = field(default_factory=dict)
    owned: Mapping[str, str] = field(default_factory=dict)


def spark_conf(pipeline: StreamingPipeline, machine: Machine) -> dict[str, str]:
    """Every Spark property of a run.

    Later ones override earlier ones: those of a local run, the environment's defaults, the document's, and those that the
    environment owns.
    """
    spec = pipeline.spec
    conf = {
        "spark.app.name": pipeline.name,
        # local[n] never retries a task: one S3 503 would fail a query. The 4 allows three retries.
        "spark.master": f"local[{machine.cores}, 4]",
        "spark.driver.memory": machine.heap,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraClassPath": ":".join(map(str, machine.jars)),
        "spark.driver.extraJavaOptions": f"{JAVA_OPTIONS} -Dlog4j2.configurationFile=file:{machine.log4j}",
        "spark.local.dir": str(machine.scratch),
        "spark.sql.warehouse.dir": str(machine.scratch / "warehouse"),
        "spark.scheduler.mode": "FAIR",
        "spark.scheduler.allocation.file": f"file:{machine.pools}",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": spec.time_zone,
        # Plain Python functions see times in the zone of their process.
        "spark.executorEnv.TZ": spec.time_zone,
        # Otherwise each function of a DataFrame asks the JVM a dozen times for the place that called it: some 5 ms.
        "spark.python.sql.dataFrameDebugging.enabled": "false",
        # Otherwise SELECT '${env:SECRET}' prints the secret.
        "spark.sql.variable.substitute": "false",
        # Otherwise SELECT * FROM text.`/var/run/secrets/...` reads the pod's own files.
        "spark.sql.runSQLOnFiles": "false",
        # With named sources and offset log v2, sources can be added, removed and reordered on the same checkpoint.
        "spark.sql.streaming.queryEvolution.enableSourceEvolution": "true",
        "spark.sql.streaming.offsetLog.formatVersion": "2",
        # With offset log v2 this check fails a stateless query with None.get if a batch is pending (Spark 4.2.0).
        "spark.sql.streaming.checkUnfinishedRepartitionOnRestart": "false",
        "spark.sql.streaming.stateStore.providerClass": STATE_STORES["rocksdb"],
        "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
        # On S3: one conditional PUT instead of a rename, and no write fails silently. Set wherever the checkpoint is,
        # because the log of a file sink may be on S3. On other file systems it uses Spark's own manager.
        "spark.sql.streaming.checkpointFileManagerClass": CHECKPOINT_FILES,
        # A second start on the same checkpoint would be a bug of Mainstem; it must not silently stop the first query.
        "spark.sql.streaming.stopActiveRunOnRestart": "false",
        # By default Spark, and with it the supervisor's loop, waits forever for a batch that ignores the interruption.
        "spark.sql.streaming.stopTimeout": "15s",
        # Adds rates, lag and state of each query to Spark's own metrics.
        "spark.sql.streaming.metricsEnabled": "true",
        "spark.metrics.conf.*.sink.prometheusServlet.class": "org.apache.spark.metrics.sink.PrometheusServlet",
        "spark.metrics.conf.*.sink.prometheusServlet.path": "/metrics/prometheus",
        "spark.sql.extensions": f"io.delta.sql.DeltaSparkSessionExtension,{FILE_BATCHES}",
        # A stream reads files with one modification time, as copies have, in the order in which they are listed.
        "spark.hadoop.fs.file.impl": LOCAL_FILES,
        # Neither runs a process for each file that is written, and this is what writes checkpoints.
        "spark.hadoop.fs.AbstractFileSystem.file.impl": LOCAL_CONTEXT,
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        # Delta rebuilds its snapshot in every batch; its default of 50 tasks costs four times as much as a few tasks.
        "spark.databricks.delta.snapshotPartitions": str(max(1, min(machine.cores, 8))),
        # Most other readers read INT96, Spark's default, as nanoseconds: they show the year 9999 as 1816.
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
        # The other modes shift days before 1582 or fail on them; only Spark shifts them back when it reads.
        "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
        # A merge reads its source twice: materialized, the batch updates its state and its counts only once.
        "spark.databricks.delta.merge.materializeSource": "all",
        "spark.databricks.delta.properties.defaults.enableDeletionVectors": "false",
    }
    if spec.checkpoints.location.startswith("s3a://") and not spec.checkpoints.require_conditional_writes:
        bucket = urlsplit(spec.checkpoints.location).netloc
        conf[f"spark.hadoop.fs.s3a.bucket.{bucket}.create.conditional.enabled"] = "false"
    conf |= redaction(pipeline)
    for connection in spec.connections:
        if connection.s3:
            for bucket in connection.s3.buckets:
                conf |= _bucket(bucket, connection.s3)
    return conf | _S3_PATIENCE | dict(machine.defaults) | dict(spec.spark.conf) | dict(machine.owned)


def redaction(pipeline: StreamingPipeline) -> dict[str, str]:
    """The properties that hide credentials in Spark's UI, plans and log.

    They hide the values of names like those of a credential, and every option from a secret.
    """
    connectors = [each.spark or each.catalog for each in pipeline.spec.connections]
    names = "|".join(sorted({re.escape(key) for each in connectors if each for key in each.secret_options}))
    if not names:
        return {"spark.redaction.regex": _REDACTED}
    return {
        "spark.redaction.regex": rf"{_REDACTED}|^spark\.sql\.catalog\.[^.]+\.(?:{names})$",
        "spark.sql.redaction.options.regex": f"(?i)url|^(?:{names})$",
    }


# With Hadoop's defaults an unreachable store fails only after minutes.
_S3_PATIENCE: Final = {
    "spark.hadoop.fs.s3a.attempts.maximum": "4",
    "spark.hadoop.fs.s3a.retry.limit": "4",
    "spark.hadoop.fs.s3a.retry.interval": "250ms",
    # With Hadoop's default of 20 attempts, each after twice the pause, a store that answers 503 blocks for hours.
    "spark.hadoop.fs.s3a.retry.throttle.limit": "5",
    # Objects of a store that is not AWS's may lack an ETag.
    "spark.hadoop.fs.s3a.change.detection.version.required": "false",
    "spark.hadoop.fs.s3a.input.stream.type": "classic",
}


def _bucket(bucket: str, s3: S3Connection) -> dict[str, str]:
    settings = {"endpoint.region": s3.region, "path.style.access": str(s3.path_style).lower()}
    if s3.endpoint:
        settings["endpoint"] = s3.endpoint
        settings["connection.ssl.enabled"] = str(s3.endpoint.startswith("https://")).lower()
    if s3.secret_ref:
        settings["aws.credentials.provider"] = S3_CREDENTIALS
        settings["mainstem.secret"] = str(secrets.folder(s3.secret_ref.name))
    return {f"spark.hadoop.fs.s3a.bucket.{bucket}.{key}": value for key, value in settings.items()}


def pools_xml(pipeline: StreamingPipeline) -> str:
    """Spark's FAIR allocation file: one pool for each query, with the query's name, and one for table maintenance."""
    queries = pipeline.spec.queries
    shares = [(query.name, query.pool) for query in queries]
    if any(sink.delta and sink.delta.maintenance for query in queries for sink in query.to):
        shares.append((MAINTENANCE_POOL, Pool()))
    pools = "".join(
        f"  <pool name={quoteattr(name)}><schedulingMode>FIFO</schedulingMode>"
        f"<weight>{pool.weight}</weight><minShare>{pool.min_share}</minShare></pool>\n"
        for name, pool in shares
    )
    return f'<?xml version="1.0"?>\n<allocations>\n{pools}</allocations>\n'
