"""Settings of a pipeline that differ from Spark's defaults, with reasons; docs/architecture.md has the measurements."""

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from mainstem.language.analysis.graph import Graph
from mainstem.language.analysis.steps import STATEFUL, steps
from mainstem.language.model.connections import KafkaConnection
from mainstem.language.model.connectors.delta import DeltaSink, DeltaSource
from mainstem.language.model.connectors.kinds import Kind
from mainstem.language.model.connectors.static_sources import DeltaTable
from mainstem.language.model.sinks import Sink


_PARQUET_SINKS: Final = ("delta", "parquet")
"""Keys of the sinks that write Parquet files."""


class Default(NamedTuple):
    """One setting whose value differs from Spark's default.

    Attributes:
        setting: its name in Spark, Delta or Kafka.
        value: Mainstem's value.
        spark: the default without Mainstem.
        why: the reason for Mainstem's value.
        change: the field of the document that changes the value; empty if no field does.
        when: whether the setting matters for a document.
    """

    setting: str
    value: str
    spark: str
    why: str
    change: str
    when: Callable[[Graph], bool]


def _always(_graph: Graph) -> bool:
    return True


def _keeps_state(graph: Graph) -> bool:
    return any(step.doing in STATEFUL for query in graph.spec.queries for step in steps(graph, query.from_))


def _has(*kinds: type[Kind]) -> Callable[[Graph], bool]:
    """Whether a document has a connection, source, table or sink of one of these classes."""
    return lambda graph: any(isinstance(settings, kinds) for settings in _settings(graph))


def _settings(graph: Graph) -> Iterator[Kind]:
    yield from (connection.settings for connection in graph.spec.connections)
    yield from (source.connector for source in graph.spec.sources)
    yield from (sink.connector for sink in _sinks(graph))


def _sinks(graph: Graph) -> Iterator[Sink]:
    return (sink for query in graph.spec.queries for sink in query.to)


def _writes_parquet(graph: Graph) -> bool:
    return any(sink.choice() in _PARQUET_SINKS for sink in _sinks(graph))


def _on_s3(graph: Graph) -> bool:
    return graph.spec.checkpoints.location.startswith("s3a://")


DEFAULTS: Final = (
    Default(
        "spark.sql.shuffle.partitions",
        "8",
        "200",
        "a batch of a windowed count took 6,504 ms with 200, and 440 ms with 2",
        "queries[].state.partitions",
        _keeps_state,
    ),
    Default(
        "spark.sql.streaming.stateStore.providerClass",
        "RocksDB",
        "a map on the heap",
        "state does not fill the Java heap",
        "queries[].state.provider",
        _keeps_state,
    ),
    Default(
        "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled",
        "true",
        "false",
        "a batch writes only changes, not the whole store, and took 370 to 470 ms instead of 526",
        "spark.conf",
        _keeps_state,
    ),
    Default(
        "spark.databricks.delta.snapshotPartitions",
        "the cores, at most 8",
        "50",
        "Delta rebuilds its snapshot in every batch; a batch took 1,590 ms with 1, and 6,300 ms with 50",
        "spark.conf",
        _has(DeltaSource, DeltaTable, DeltaSink),
    ),
    Default(
        "spark.databricks.delta.properties.defaults.enableDeletionVectors",
        "false",
        "true",
        "readers that do not support deletion vectors can still read the tables",
        "spark.conf",
        _has(DeltaSource, DeltaTable, DeltaSink),
    ),
    Default(
        "spark.sql.parquet.outputTimestampType",
        "TIMESTAMP_MICROS",
        "INT96",
        "with INT96, other readers show wrong times outside the years 1677 to 2262, or fail",
        "",
        _writes_parquet,
    ),
    Default(
        "spark.scheduler.mode",
        "FAIR",
        "FIFO",
        "each query has a pool, so the tasks of a light query do not wait behind those of a heavy query",
        "queries[].pool",
        _always,
    ),
    Default(
        "spark.sql.session.timeZone",
        "UTC",
        "the machine's",
        "the same document gives the same results on every machine",
        "timeZone",
        _always,
    ),
    Default(
        "spark.sql.streaming.queryEvolution.enableSourceEvolution",
        "true",
        "false",
        "sources can be added, dropped and reordered on the same checkpoint",
        "",
        _always,
    ),
    Default(
        "spark.sql.streaming.checkpointFileManagerClass",
        "Mainstem's own",
        "write and rename",
        "S3 has no rename; Mainstem writes a file with one PUT, which fails if the file already exists",
        "",
        _on_s3,
    ),
    Default(
        "request.timeout.ms",
        "15 s",
        "30 s",
        "an unreachable broker causes an error within seconds, not minutes",
        "connections[].kafka.properties",
        _has(KafkaConnection),
    ),
)


def defaults(graph: Graph) -> Iterator[Default]:
    """The settings that matter for a document."""
    return (default for default in DEFAULTS if default.when(graph))
