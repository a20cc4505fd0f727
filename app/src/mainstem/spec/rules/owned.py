"""Options and properties that Mainstem sets itself, and secrets, which no document holds."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from mainstem.errors import Problem
from mainstem.spec.rules.context import Context
from mainstem.spec.rules.places import paths
from mainstem.spec.sinks import Sink
from mainstem.spec.sources import Source
from mainstem.spec.yamltext import Path


Given = tuple[Path, Mapping[str, str], Mapping[str, str]]
"""Where a map of options stands, what it holds, and what is owned there (option -> what to use instead)."""

_KAFKA_SOURCE: Final = {
    "subscribe": "subscribe",
    "subscribepattern": "subscribePattern",
    "assign": "assign",
    "startingoffsets": "startingOffsets",
    "startingtimestamp": "startingTimestamp",
    "startingoffsetsbytimestamp": "startingOffsetsByTimestamp",
    "startingoffsetsbytimestampstrategy": "startingOffsetsByTimestampStrategy",
    "endingoffsets": "endingOffsets",
    "endingtimestamp": "endingTimestamp",
    "endingoffsetsbytimestamp": "endingOffsetsByTimestamp",
    "maxoffsetspertrigger": "maxOffsetsPerTrigger",
    "minoffsetspertrigger": "minOffsetsPerTrigger",
    "maxtriggerdelay": "maxTriggerDelay",
    "minpartitions": "minPartitions",
    "maxrecordsperpartition": "maxRecordsPerPartition",
    "failondataloss": "failOnDataLoss",
    "includeheaders": "includeHeaders",
    "kafka.bootstrap.servers": "the connection's bootstrapServers",
    "kafka.group.id": "",
}
_KAFKA_SINK: Final = {"topic": "topic", "kafka.bootstrap.servers": "the connection's bootstrapServers", "checkpointlocation": "checkpoints"}  # fmt: skip
_FILES: Final = {
    "path": "path",
    "maxbytespertrigger": "maxBytesPerTrigger",
    "maxfileage": "maxFileAge",
    "filenameonly": "fileNameOnly",
    "cleansource": "cleanSource",
    "sourcearchivedir": "cleanSource.archive",
    "maxfilespertrigger": "maxFilesPerTrigger",
    "latestfirst": "latestFirst",
    "pathglobfilter": "pathGlobFilter",
}
_DELTA_SOURCE: Final = {
    "path": "path",
    "maxfilespertrigger": "maxFilesPerTrigger",
    "maxbytespertrigger": "maxBytesPerTrigger",
    "startingversion": "startingVersion",
    "startingtimestamp": "startingTimestamp",
    "ignoredeletes": "ignoreDeletes",
    "ignorechanges": "ignoreChanges",
    "ignorefiledeletion": "ignoreDeletes",
    "skipchangecommits": "skipChangeCommits",
    "readchangefeed": "readChangeFeed",
    "readchangedata": "readChangeFeed",
    "excluderegex": "excludeRegex",
    "failondataloss": "failOnDataLoss",
}
_CSV_TABLE: Final = {"path": "path", "header": "header"}
_TABLE: Final = {"path": "path"}
_JDBC_TABLE: Final = {"url": "the connection's url", "dbtable": "table", "query": "query", "user": "the connection's secretRef"}  # fmt: skip
_JDBC: Final = {"url": "url", "dbtable": "", "query": "", "user": "secretRef"}
_WRITER: Final = {
    "path": "path",
    "checkpointlocation": "checkpoints",
    "txnappid": "",
    "txnversion": "",
    "partitionby": "partitionBy",
}
_DELTA_SINK: Final = {"mergeschema": "mergeSchema", "overwriteschema": "overwriteSchema"}
_PARSED: Final = {"mode": "onBadRecord", "columnnameofcorruptrecord": "onBadRecord"}
_DECODE: Final = {
    "json": _PARSED,
    "csv": _PARSED | {"maxcolumns": ""},
    "avro": {"mode": "onBadRecord", "avroschema": "schema", "avroschemaurl": "schemaFile"},
}
# The sweep knows files by their endings.
_FILE_WRITER: Final = _WRITER | {"extension": ""}
_JDBC_WRITER: Final = {
    "url": "the connection's url",
    "dbtable": "table",
    "user": "the connection's secretRef",
    "driver": "",
    "truncate": "",
    "isolationlevel": "",
    "createtableoptions": "",
    "createtablecolumntypes": "",
}
_KAFKA_CLIENT: Final = {"bootstrap.servers": "bootstrapServers", "group.id": "", "key.deserializer": "", "value.deserializer": "", "key.serializer": "", "value.serializer": "", "enable.auto.commit": ""}  # fmt: skip

OWNED_CONF: Final = {
    "spark.master": "`mainstem run --cores`, or executors on a cluster",
    "spark.app.name": "metadata.name",
    "spark.driver.memory": "`mainstem run --heap`, or driver.heap on a cluster",
    "spark.driver.cores": "`mainstem run --cores`, or driver.cores on a cluster",
    "spark.driver.host": "",
    "spark.driver.bindAddress": "",
    "spark.driver.port": "",
    "spark.driver.blockManager.port": "",
    "spark.blockManager.port": "",
    "spark.driver.extraClassPath": "",
    "spark.driver.extraJavaOptions": "",
    "spark.executor.instances": "executors.instances",
    "spark.executor.cores": "executors.cores",
    "spark.executor.memory": "executors.heap",
    "spark.executor.memoryOverhead": "executors.resources",
    "spark.executor.memoryOverheadFactor": "executors.resources",
    "spark.executor.pyspark.memory": "executors.resources",
    "spark.executor.extraJavaOptions": "spark.executor.defaultJavaOptions",
    # The rest of dynamic allocation, its timeouts say, may be tuned.
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
    "spark.jars": "",
    "spark.jars.packages": "",
    "spark.jars.ivy": "",
    "spark.scheduler.mode": "queries[].pool",
    "spark.scheduler.allocation.file": "queries[].pool",
    "spark.sql.session.timeZone": "timeZone",
    "spark.sql.shuffle.partitions": "queries[].state.partitions",
    "spark.sql.variable.substitute": "parameters",
    "spark.sql.extensions": "",
    "spark.sql.catalog.spark_catalog": "",
    "spark.sql.streaming.checkpointLocation": "checkpoints.location",
    "spark.sql.streaming.queryEvolution.enableSourceEvolution": "",
    "spark.sql.streaming.offsetLog.formatVersion": "",
    "spark.sql.streaming.stateStore.providerClass": "queries[].state.provider",
    "spark.sql.streaming.stopActiveRunOnRestart": "",
}
OWNED_PREFIXES: Final = {
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
}
_SECRET_KEY: Final = re.compile(
    r"password|passwd|secret|sasl\.jaas|access[._-]?key|session[._-]?token|ssl\.keystore\.key|credential(?!\.provider\.path)",
    re.IGNORECASE,
)
_PRIVATE_KEY: Final = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----")
_URL_PASSWORD: Final = re.compile(r"[?&;](user|password)=", re.IGNORECASE)
_USER_INFO: Final = re.compile(r"[a-z][a-z0-9+.-]*://[^/\s:@]+:[^/\s@]+@", re.IGNORECASE)


def options(context: Context) -> Iterator[Problem]:
    """An option that the document has a field for, or that Mainstem sets itself, does not stand under `options`."""
    for path, given, owned in _maps(context):
        for key in given:
            if key.lower() in owned:
                yield context.problem((*path, key), _owned(key, owned[key.lower()]), "OwnedOption", key=True)


def spark_conf(context: Context) -> Iterator[Problem]:
    """`spark.conf` holds Spark properties, none that Mainstem owns."""
    for key in context.spec.spark.conf:
        path: Path = ("spark", "conf", key)
        prefix = next((prefix for prefix in OWNED_PREFIXES if key.startswith(prefix)), None)
        if key in OWNED_CONF:
            yield context.problem(path, _owned(key, OWNED_CONF[key]), "OwnedConf", key=True)
        elif prefix is not None:
            yield context.problem(path, _owned(key, OWNED_PREFIXES[prefix]), "OwnedConf", key=True)
        elif not key.startswith("spark."):
            message = f"{key!r} is not a Spark property: they start with spark."
            yield context.problem(path, message, "InvalidConf", key=True)


def client_properties(context: Context) -> Iterator[Problem]:
    """Properties of a connection are a client's own: Spark's prefix would make them something that no client knows."""
    for index, connection in enumerate(context.spec.connections):
        for key in connection.kafka.properties if connection.kafka else ():
            if key.lower().startswith("kafka."):
                message = f"properties are those of Kafka's clients, without Spark's prefix: {key[6:]}"
                yield context.problem(
                    ("connections", index, "kafka", "properties", key), message, "KafkaPrefix", key=True
                )


def secrets(context: Context) -> Iterator[Problem]:
    """A document holds no credential: it names a Secret."""
    conf: list[tuple[Path, Mapping[str, str]]] = [(("spark", "conf"), context.spec.spark.conf)]
    for path, given in conf + [(path, given) for path, given, _ in _maps(context)]:
        for key, value in given.items():
            if (_SECRET_KEY.search(key) and value) or _PRIVATE_KEY.search(value):
                message = f"{key} is a credential; it comes from a secret or the environment, never from the document"
                yield context.problem((*path, key), message, "SecretInDocument", key=True)
    for path, text in _urls(context):
        if _USER_INFO.search(text) or _URL_PASSWORD.search(text):
            message = "the address holds a user name and password; credentials never stand in a document"
            yield context.problem(path, message, "SecretInDocument")


def _owned(key: str, instead: str) -> str:
    if instead.lower() == key.lower():
        return f"{key} is a field of its own, one level up; it does not go under options"
    return f"{key} is set by Mainstem" + (f"; use {instead}" if instead else " and cannot be changed")


def _maps(context: Context) -> Iterator[Given]:
    """Every map of options and arguments that is passed through: where, what is given, what is owned there."""
    for index, connection in enumerate(context.spec.connections):
        if connection.kafka:
            yield ("connections", index, "kafka", "properties"), connection.kafka.properties, _KAFKA_CLIENT
        if connection.jdbc:
            yield ("connections", index, "jdbc", "properties"), connection.jdbc.properties, _JDBC
    for index, source in enumerate(context.spec.sources):
        yield from _source_maps(("sources", index), source)
    for index, view in enumerate(context.spec.views):
        if view.python:
            yield ("views", index, "python", "arguments"), view.python.arguments, {}
        if view.state:
            yield ("views", index, "state", "arguments"), view.state.arguments, {}
    for index, query in enumerate(context.spec.queries):
        for place, sink in enumerate(query.to):
            yield from _sink_maps(("queries", index, "to", place), sink)


def _source_maps(at: Path, source: Source) -> Iterator[Given]:
    if source.kafka:
        yield (*at, "kafka", "options"), source.kafka.options, _KAFKA_SOURCE
    if source.files:
        yield (*at, "files", "options"), source.files.options, _FILES
    if source.delta:
        yield (*at, "delta", "options"), source.delta.options, _DELTA_SOURCE
    if source.decode and (kind := source.decode.choice()) in _DECODE:
        yield (*at, "decode", kind, "options"), source.decode.member(kind).options, _DECODE[kind]
    if source.static:
        kind = source.static.choice()
        owned = {"csv": _CSV_TABLE, "jdbc": _JDBC_TABLE}.get(kind, _TABLE)
        yield (*at, "static", kind, "options"), getattr(source.static.member(kind), "options", {}), owned


def _sink_maps(at: Path, sink: Sink) -> Iterator[Given]:
    if sink.kafka:
        yield (*at, "kafka", "options"), sink.kafka.options, _KAFKA_SINK
    if sink.delta:
        yield (*at, "delta", "options"), sink.delta.options, _WRITER | _DELTA_SINK
    if sink.files:
        yield (*at, sink.choice(), "options"), sink.files.options, _FILE_WRITER
    if sink.jdbc:
        yield (*at, "jdbc", "options"), sink.jdbc.options, _JDBC_WRITER
    if sink.python:
        yield (*at, "python", "arguments"), sink.python.arguments, {}


def _urls(context: Context) -> Iterator[tuple[Path, str]]:
    yield from paths(context)
    for index, connection in enumerate(context.spec.connections):
        if connection.s3 and connection.s3.endpoint:
            yield ("connections", index, "s3", "endpoint"), connection.s3.endpoint
        if connection.jdbc:
            yield ("connections", index, "jdbc", "url"), connection.jdbc.url
