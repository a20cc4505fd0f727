"""The session has the defaults that `mainstem explain` tells, and a document may change them."""

from pathlib import Path

import pytest
from mainstem.dataframes.query import build
from mainstem.explain.defaults import DEFAULTS
from mainstem.language.document import read_text
from pyspark.sql import SparkSession


pytestmark = pytest.mark.S39

SHOWN = {
    "spark.sql.streaming.stateStore.providerClass": "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
    "spark.databricks.delta.snapshotPartitions": "2",
}
"""Values that `explain` tells in words."""
ELSEWHERE = {
    "spark.sql.shuffle.partitions": "a query's own session has it",
    "spark.sql.streaming.checkpointFileManagerClass": "with checkpoints on S3 only",
    "request.timeout.ms": "Kafka's, see test_kafka_options.py",
}
DOCUMENT = """
apiVersion: mainstem.dev/v1alpha1
kind: StreamingPipeline
metadata: {{name: tuned}}
spec:
  sources: [{{name: ticks, rate: {{}}}}]
  queries:
    - {{name: plain, from: ticks, to: [{{name: out, console: {{}}}}]}}
    - {{name: tuned, from: ticks, to: [{{name: out, console: {{}}}}], state: {{partitions: 3}}, pool: {{weight: 2}}}}
  checkpoints: {{location: {folder}}}
"""


def test_the_session_has_the_defaults_that_explain_lists(spark: SparkSession) -> None:
    for default in DEFAULTS:
        if default.setting not in ELSEWHERE:
            wanted = SHOWN.get(default.setting, default.value)
            value = spark.conf.get(default.setting, None) or spark.sparkContext.getConf().get(default.setting)
            assert value == wanted, default.setting


def test_a_query_has_its_own_number_of_partitions(spark: SparkSession, tmp_path: Path) -> None:
    [document] = read_text(DOCUMENT.format(folder=tmp_path))
    graph = document.graph
    for query, partitions in zip(graph.spec.queries, ("8", "3"), strict=True):
        session = spark.newSession()
        build(session, graph, query)
        assert session.conf.get("spark.sql.shuffle.partitions") == partitions
