"""Rules for owned options and properties: Mainstem sets them, or the document has a field for them."""

from collections.abc import Iterator
from typing import Final

from mainstem import reasons
from mainstem.errors import Problem
from mainstem.language.rules.connectors.options import maps
from mainstem.language.rules.context import Context
from mainstem.language.yaml.yamltext import Path


_EXECUTOR_JAVA_OPTIONS: Final = (
    "JAVA_TOOL_OPTIONS in env of the container executor in spec.executors.template"
)
# These decide whether a committed batch survives: how Spark writes checkpoints, state, Delta's log and files.
_DURABLE: Final = dict.fromkeys(
    (
        "spark.sql.streaming.checkpointFileManagerClass",
        "spark.sql.streaming.minBatchesToRetain",
        "spark.sql.streaming.commitProtocolClass",
        "spark.sql.streaming.aggregation.stateFormatVersion",
        "spark.sql.streaming.flatMapGroupsWithState.stateFormatVersion",
        "spark.sql.streaming.join.stateFormatV4.enabled",
        "spark.sql.streaming.join.stateFormatVersion",
        "spark.sql.streaming.sessionWindow.stateFormatVersion",
        "spark.sql.streaming.transformWithState.stateSchemaVersion",
        "spark.sql.streaming.stateStore.autoSnapshotRepair.enabled",
        "spark.sql.streaming.stateStore.autoSnapshotRepair.maxChangeFileReplay",
        "spark.sql.streaming.stateStore.autoSnapshotRepair.numFailuresBeforeActivating",
        "spark.sql.streaming.stateStore.checkpointFormatVersion",
        "spark.sql.streaming.stateStore.commitValidation.enabled",
        "spark.sql.streaming.stateStore.compression.codec",
        "spark.sql.streaming.stateStore.encodingFormat",
        "spark.sql.streaming.stateStore.formatValidation.enabled",
        "spark.sql.streaming.stateStore.rocksdb.formatVersion",
        "spark.sql.streaming.stateStore.rocksdb.mergeOperatorVersion",
        "spark.sql.streaming.stateStore.rowChecksum.enabled",
        "spark.sql.streaming.stateStore.stateSchemaCheck",
        "spark.sql.sources.commitProtocolClass",
        "spark.sql.sources.outputCommitterClass",
        "spark.sql.parquet.output.committer.class",
        "spark.hadoop.fs.s3a.impl",
        "spark.hadoop.fs.s3a.performance.flag",
        "spark.hadoop.mapred.output.committer.class",
    ),
    "",
)
# With these Spark passes over what it cannot read, and the checkpoint has it as read.
_LOSSY: Final = {
    "spark.sql.files.ignoreCorruptFiles": "onMalformedRecord of a source",
    "spark.sql.files.ignoreMissingFiles": "failOnDataLoss of a source",
    "spark.sql.files.ignoreInvalidPartitionPaths": "",
    "spark.files.ignoreCorruptFiles": "",
    "spark.files.ignoreMissingFiles": "",
    "spark.hadoop.orc.skip.corrupt.data": "",
    "spark.hadoop.hive.exec.orc.skip.corrupt.data": "",
    "spark.hive.exec.orc.skip.corrupt.data": "",
    "spark.hadoop.mapreduce.input.linerecordreader.line.maxlength": "",
}
_UNSAFE: Final = _DURABLE | _LOSSY
OWNED_CONF: Final = _UNSAFE | {
    "spark.master": "`mainstem run --cores`, or executors on a cluster",
    "spark.app.name": "metadata.name",
    "spark.driver.memory": "`mainstem run --heap`, or driver.heap on a cluster",
    "spark.driver.cores": "`mainstem run --cores`, or driver.cores on a cluster",
    "spark.driver.host": "",
    "spark.driver.bindAddress": "",
    "spark.driver.port": "",
    "spark.driver.blockManager.port": "",
    "spark.blockManager.port": "",
    "spark.driver.extraClassPath": "spec.packages",
    "spark.driver.extraJavaOptions": "",
    "spark.driver.defaultJavaOptions": "JAVA_TOOL_OPTIONS in the environment",
    "spark.driver.extraLibraryPath": "",
    "spark.executor.extraClassPath": "spec.packages",
    "spark.executor.extraLibraryPath": "",
    "spark.executor.instances": "executors.instances",
    "spark.executor.cores": "executors.cores",
    "spark.executor.memory": "executors.heap",
    "spark.executor.memoryOverhead": "executors.resources",
    "spark.executor.memoryOverheadFactor": "executors.resources",
    "spark.executor.pyspark.memory": "executors.resources",
    "spark.executor.extraJavaOptions": _EXECUTOR_JAVA_OPTIONS,
    "spark.executor.defaultJavaOptions": _EXECUTOR_JAVA_OPTIONS,
    # Documents can set the other properties of dynamic allocation, for example its timeouts.
    "spark.dynamicAllocation.enabled": "executors.dynamicAllocation",
    "spark.dynamicAllocation.initialExecutors": "executors.instances",
    "spark.dynamicAllocation.minExecutors": "executors.dynamicAllocation",
    "spark.dynamicAllocation.maxExecutors": "executors.dynamicAllocation",
    "spark.dynamicAllocation.shuffleTracking.enabled": "",
    "spark.decommission.enabled": "",
    "spark.storage.decommission.enabled": "",
    "spark.storage.decommission.shuffleBlocks.enabled": "",
    "spark.storage.decommission.rddBlocks.enabled": "",
    "spark.executor.maxNumFailures": "",
    "spark.executor.failuresValidityInterval": "",
    "spark.scheduler.minRegisteredResourcesRatio": "",
    "spark.scheduler.maxRegisteredResourcesWaitingTime": "",
    # Code and files from other places: they belong into the image, or into a field of the document.
    "spark.plugins": "",
    "spark.files": "",
    "spark.archives": "",
    "spark.extraListeners": "listeners",
    "spark.sql.streaming.streamingQueryListeners": "listeners",
    "spark.sql.queryExecutionListeners": "",
    "spark.pyspark.python": "",
    "spark.pyspark.driver.python": "",
    "spark.python.daemon.module": "",
    "spark.python.worker.module": "",
    "spark.scheduler.mode": "queries[].pool",
    "spark.scheduler.allocation.file": "queries[].pool",
    "spark.sql.session.timeZone": "timeZone",
    "spark.sql.shuffle.partitions": "queries[].state.partitions",
    "spark.sql.variable.substitute": "parameters",
    # Otherwise SELECT * FROM text.`/var/run/secrets/...` reads the pod's own files.
    "spark.sql.runSQLOnFiles": "sources",
    "spark.sql.parquet.outputTimestampType": "",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "",
    "spark.sql.extensions": "",
    "spark.hadoop.fs.file.impl": "",
    "spark.hadoop.fs.AbstractFileSystem.file.impl": "",
    "spark.sql.catalog.spark_catalog": "",
    "spark.sql.streaming.checkpointLocation": "checkpoints.location",
    "spark.sql.streaming.queryEvolution.enableSourceEvolution": "",
    "spark.sql.streaming.offsetLog.formatVersion": "",
    "spark.sql.streaming.stateStore.providerClass": "queries[].state.provider",
    "spark.sql.streaming.stopActiveRunOnRestart": "",
}
OWNED_PREFIXES: Final = {
    "spark.jars": "spec.packages",
    "spark.plugins.": "",
    "spark.kubernetes.": "spec.driver and spec.executors",
    "spark.submit.": "",
    "spark.mainstem.": "",
    "spark.authenticate": "",
    "spark.executorEnv.": "env of the container executor in spec.executors.template",
    "spark.hadoop.fs.s3a.access.key": "connections[].s3",
    "spark.hadoop.fs.s3a.secret.key": "connections[].s3",
    "spark.hadoop.fs.s3a.session.token": "connections[].s3",
    "spark.hadoop.fs.s3a.aws.credentials": "connections[].s3",
    "spark.hadoop.fs.s3a.auth.": "connections[].s3",
    "spark.hadoop.fs.s3a.bucket.": "connections[].s3",
    "spark.hadoop.fs.s3a.endpoint": "connections[].s3",
    "spark.hadoop.fs.s3a.path.style.access": "connections[].s3",
    "spark.hadoop.fs.s3a.connection.ssl.enabled": "connections[].s3",
    "fs.s3a.": "connections[].s3",
    # Prefixes of further properties that decide whether a committed batch survives.
    "spark.delta.logStore.": "",
    "spark.databricks.delta.logStore.": "",
    "spark.io.delta.storage.": "",
    "spark.hadoop.delta.logStore": "",
    "spark.hadoop.fs.AbstractFileSystem.": "",
    "spark.hadoop.fs.s3a.committer.": "",
    "spark.hadoop.fs.s3a.create.": "",
    "spark.hadoop.mapreduce.fileoutputcommitter.": "",
    "spark.hadoop.mapreduce.outputcommitter.": "",
}
OWNED_IN_PODS: Final = {
    "spark.local.dir": "a volume that driver.template or executors.template mounts",
    "spark.redaction.regex": "",
    "spark.ui.enabled": "",
    "spark.ui.port": "",
    "spark.ui.killEnabled": "",
}
"""Properties that only `mainstem run` uses. The operator rejects them, because Mainstem sets them in pods."""


def options(context: Context) -> Iterator[Problem]:
    """No map of options contains an option that has a field, or that Mainstem sets."""
    for path, given, owned in maps(context):
        for key in given:
            if key.lower() in owned:
                yield context.problem(
                    (*path, key), _owned(key, owned[key.lower()]), reasons.OWNED_OPTION, key=True
                )


def spark_conf(context: Context) -> Iterator[Problem]:
    """`spark.conf` contains only Spark properties, and none that Mainstem owns."""
    for key in context.spec.spark.conf:
        path: Path = ("spark", "conf", key)
        prefix = next((prefix for prefix in OWNED_PREFIXES if key.startswith(prefix)), None)
        if key in OWNED_CONF:
            yield context.problem(path, _owned(key, OWNED_CONF[key]), reasons.OWNED_CONF, key=True)
        elif prefix is not None:
            yield context.problem(path, _owned(key, OWNED_PREFIXES[prefix]), reasons.OWNED_CONF, key=True)
        elif not key.startswith("spark."):
            message = f"{key!r} is not a Spark property; names of Spark properties start with spark."
            yield context.problem(path, message, reasons.INVALID_CONF, key=True)


def client_properties(context: Context) -> Iterator[Problem]:
    """Properties of a connection are properties of Kafka clients. No client knows them with Spark's prefix `kafka.`."""
    for index, connection in enumerate(context.spec.connections):
        for key in connection.kafka.properties if connection.kafka else ():
            if key.lower().startswith("kafka."):
                message = (
                    f"{key} has Spark's prefix, and properties are those of Kafka's clients; write {key[6:]}"
                )
                yield context.problem(
                    ("connections", index, "kafka", "properties", key),
                    message,
                    reasons.KAFKA_PREFIX,
                    key=True,
                )


def _owned(key: str, instead: str) -> str:
    if instead.lower() == key.lower():
        return f"{key} is a field one level up; move it out of options"
    return f"{key} is set by Mainstem" + (f"; use {instead}" if instead else " and cannot be changed")
