"""A column whose name has a dot is that column in each field that names columns; a name that is none leads to a field of one."""

import json
from pathlib import Path
from typing import Any

import pytest
from harness.pipebench import PipeBench
from harness.sampling import only
from mainstem.dataframes.query import build
from mainstem.dataframes.sinks import kafka_records
from mainstem.errors import SpecInvalid
from mainstem.language.model.connectors.kafka_sink import KafkaSink
from pyspark.sql import SparkSession
from spark.test_stateful import COUNTERS


EVENTS = {
    "files": {"format": "json", "schema": "`user` STRING, `ev.time` TIMESTAMP, `shop.id` STRING, `n.1` INT"},
    "watermark": {"column": "ev.time", "delay": "0 seconds"},
}

PARSED = "SELECT r.* FROM (SELECT from_json(value, 'user STRING, `ev.time` TIMESTAMP') AS r FROM raw)"


@pytest.fixture
def bench(spark: SparkSession, tmp_path: Path) -> PipeBench:
    bench = PipeBench(spark, tmp_path, {"events": EVENTS})
    bench.put("events", event("ann", 0, 1), event("ann", 1, 2), event("ann", 1, 2))
    return bench


def event(user: str, second: int, number: int) -> dict[str, Any]:
    return {"user": user, "ev.time": f"2026-01-01T00:00:{second:02}Z", "shop.id": "a", "n.1": number}


@pytest.mark.S14
def test_event_time_keys_sequence_and_partition_are_columns_with_dots(bench: PipeBench) -> None:
    """The step without duplicates has a watermark by a window of the view's own column."""
    views: list[dict[str, Any]] = [
        {"name": "once", "deduplicate": {"from": "events", "columns": ["shop.id", "ev.time"]}},
        {"name": "v", "sql": "SELECT `shop.id`, `ev.time`, `n.1` FROM once"},
    ]
    merge = {"keys": ["shop.id"], "sequenceBy": "ev.time"}
    sinks = [
        {"name": "table", "delta": {"path": str(bench.folder / "out"), "merge": merge, "partitionBy": ["shop.id"]}},
    ]  # fmt: skip
    [row] = bench.run(*views, query={"to": sinks})
    assert (row[0], row[2]) == ("a", 2)
    bench.put("events", event("ann", 30, 7), event("ann", 20, 5))
    [row] = bench.run(*views, query={"to": sinks})
    assert (row[0], row[2]) == ("a", 7)


@pytest.mark.full(
    gate="spark/test_column_names.py::test_event_time_keys_sequence_and_partition_are_columns_with_dots"
)
@pytest.mark.S14
def test_files_are_partitioned_by_a_column_with_a_dot(bench: PipeBench) -> None:
    sink = {"name": "lines", "csv": {"path": str(bench.folder / "csv"), "partitionBy": ["shop.id"]}}
    bench.run({"name": "v", "sql": "SELECT `shop.id`, `n.1` FROM events"}, query={"to": [sink]})
    assert list(bench.folder.glob("csv/shop.id=a/*.csv"))


@pytest.mark.S23
@pytest.mark.parametrize("way", only(COUNTERS, {"pandas"}))
def test_code_that_keeps_state_gets_no_column_with_a_dot(bench: PipeBench, way: str) -> None:
    """Which PySpark itself cannot do; the watermark of a view is on one, in backticks or without."""
    graph = bench.graph(*counted(bench, "parsed", way))
    with pytest.raises(SpecInvalid) as error:
        build(bench.spark.newSession(), graph, graph.spec.queries[0])
    [problem] = error.value.problems
    assert (problem.path, problem.reason) == ("spec.views", "StateNotAllowed")
    assert "'ev.time'; give it another name in a view, such as ev_time" in problem.message


@pytest.mark.full(gate="spark/test_column_names.py::test_code_that_keeps_state_gets_no_column_with_a_dot")
@pytest.mark.S23
@pytest.mark.parametrize("way", COUNTERS)
def test_code_that_keeps_state_gets_the_column_under_another_name(bench: PipeBench, way: str) -> None:
    assert bench.run(*counted(bench, "named", way)) == [("ann", 3)]


def counted(bench: PipeBench, relation: str, way: str) -> list[dict[str, Any]]:
    """Views of a stream of texts: parsed, with the watermark `ev.time`; with other names; and the counts of one of both."""
    files = bench.sources[0]["files"]
    bench.sources = [
        {"name": "raw", "files": {**files, "format": "text", "schema": None}},
        *bench.sources,
    ]
    state = {"keys": ["user"], "schema": "user STRING, n BIGINT", **COUNTERS[way]}
    return [
        {"name": "parsed", "sql": PARSED, "watermark": {"column": "`ev.time`", "delay": "1 second"}},
        {"name": "named", "sql": "SELECT `user`, `ev.time` AS at, 'x' AS page FROM parsed"},
        {"name": "v", "state": {"from": relation, **state}},
    ]


@pytest.mark.S09
def test_a_record_has_columns_with_dots_and_fields_of_columns(spark: SparkSession) -> None:
    frame = spark.sql(
        "SELECT 'k' AS `shop.id`, named_struct('b', 1, 'c.d', 2) AS a, 'v' AS `v.v`, 't' AS `t.t`, map('h', 'x') AS `h.h`"
    )
    sink = {"connection": "k", "key": ["shop.id", "a.b", "a.`c.d`"], "valueColumn": "v.v"}
    more = {"topicColumn": "t.t", "headersColumn": "h.h"}

    [record] = kafka_records.records(frame, KafkaSink.model_validate(sink | more)).collect()

    assert json.loads(record.key) == {"shop.id": "k", "b": 1, "c.d": 2}
    assert (record.value, record.topic) == ("v", "t")
    assert [(header.key, bytes(header.value)) for header in record.headers] == [("h", b"x")]


@pytest.mark.S09
def test_values_and_headers_of_a_record_are_columns_with_dots(spark: SparkSession) -> None:
    frame = spark.sql("SELECT 'k' AS `shop.id`, named_struct('b', 1) AS a")
    sink = {"connection": "k", "topic": "t", "value": ["*"], "headers": {"x": "shop.id", "y": "a.b"}}

    [record] = kafka_records.records(frame, KafkaSink.model_validate(sink)).collect()

    assert json.loads(record.value) == {"shop.id": "k", "a": {"b": 1}}
    assert [(header.key, bytes(header.value)) for header in record.headers] == [("x", b"k"), ("y", b"1")]
