"""Which types a sink stores, merges by and keeps in a partition: what Mainstem takes for certain is what Spark and Delta do."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from harness.pipebench import PipeBench
from mainstem.dataframes.declared_types import declared
from mainstem.dataframes.query import build
from mainstem.errors import SpecInvalid
from mainstem.language.model.sinks import Sink
from mainstem.language.rules.connectors.sink_columns import unfit
from pyspark.errors import AnalysisException, StreamingQueryException
from pyspark.sql import SparkSession
from pyspark.sql.types import DataType, StructField, StructType


VALUES = {
    "BOOLEAN": "true",
    "INT": "1",
    "DECIMAL(10,2)": "CAST(1 AS DECIMAL(10,2))",
    "STRING": "'a'",
    "STRING COLLATE UTF8_LCASE": "'a' COLLATE UTF8_LCASE",
    "BINARY": "X'00'",
    "DATE": "DATE'2026-01-01'",
    "TIMESTAMP": "TIMESTAMP'2026-01-01'",
    "TIMESTAMP_NTZ": "TIMESTAMP_NTZ'2026-01-01'",
    "INTERVAL DAY TO SECOND": "INTERVAL '1 0:0:0' DAY TO SECOND",
    "INTERVAL YEAR TO MONTH": "INTERVAL '1-1' YEAR TO MONTH",
    "INTERVAL": "make_interval(1, 2)",
    "ARRAY<INT>": "array(1)",
    "MAP<STRING, INT>": "map('a', 1)",
    "STRUCT<x: INT>": "named_struct('x', 1)",
    "STRUCT<x: MAP<STRING, INT>>": "named_struct('x', map('a', 1))",
    "ARRAY<MAP<STRING, INT>>": "array(map('a', 1))",
    "STRUCT<x: INTERVAL>": "named_struct('x', make_interval(1, 2))",
    "VARIANT": "parse_json('1')",
    "ARRAY<VARIANT>": "array(parse_json('1'))",
}
"""A value of each type; TIME is in no source and no sink of Spark 4.2."""
FORMATS = ("delta", "parquet", "orc", "json", "csv")
IN_A_FOLDER = {
    name
    for name in VALUES
    if name != "BINARY" and name.partition("<")[0] not in ("ARRAY", "MAP", "STRUCT", "VARIANT")
}


@pytest.fixture(scope="module")
def types(spark: SparkSession) -> dict[str, DataType]:
    selected = spark.sql(
        f"SELECT {', '.join(f'{value} AS c{at}' for at, value in enumerate(VALUES.values()))}"
    )
    return dict(zip(VALUES, (field.dataType for field in selected.schema), strict=True))


@pytest.mark.S31
def test_types_have_the_names_of_a_document(types: dict[str, DataType]) -> None:
    assert {name: str(declared(kind)) for name, kind in types.items()} == {name: name for name in VALUES}


@pytest.mark.S31
@pytest.mark.parametrize("sink", FORMATS)
def test_a_sink_stores_the_types_that_spark_writes(
    spark: SparkSession, types: dict[str, DataType], sink: str
) -> None:
    takes = asked(spark, sink)
    assert {name for name, kind in types.items() if takes(kind)} == {
        name for name, kind in types.items() if fits(sink, kind)
    }


@pytest.mark.S31
def test_a_merge_compares_the_types_that_spark_compares(
    spark: SparkSession, types: dict[str, DataType]
) -> None:
    stored = {name: kind for name, kind in types.items() if fits("delta", kind)}
    for role in ({"keys": ["c"]}, {"keys": ["id"], "sequenceBy": "c"}):
        known = {name for name, kind in stored.items() if fits("delta", kind, merge=role)}
        assert known == {name for name in stored if is_compared(spark, VALUES[name])}


@pytest.mark.S31
@pytest.mark.parametrize("sink", ["delta", "csv"])
def test_a_partition_has_a_single_value_that_text_keeps(types: dict[str, DataType], sink: str) -> None:
    known = {name for name, kind in types.items() if fits(sink, kind, partitionBy=["c"])}
    assert known == {name for name in IN_A_FOLDER if sink == "csv" or fits("delta", types[name])}


@pytest.mark.full(gate="spark/test_sink_types.py::test_a_sink_stores_the_types_that_spark_writes")
@pytest.mark.parametrize("sink", FORMATS)
@pytest.mark.parametrize("name", VALUES)
def test_a_batch_fails_for_just_these_types(
    spark: SparkSession, tmp_path: Path, name: str, sink: str
) -> None:
    bench = PipeBench(spark, tmp_path, {"s": "id INT"})
    bench.put("s", {"id": 1})
    view = {"name": "v", "sql": f"SELECT id, {VALUES[name]} AS c FROM s"}
    to = [{"name": "t", sink: {"path": f"{tmp_path}/t"}}]
    graph = bench.graph(view, query={"to": to})
    session = spark.newSession()
    try:
        build(session, graph, graph.spec.queries[0])
    except SpecInvalid:
        session.conf.set("spark.sql.streaming.checkpointLocation", f"{tmp_path}/c")
        frame = (
            session.readStream.format("json")
            .schema("id INT")
            .name("s")
            .load(f"{tmp_path}/s")
            .selectExpr("id", f"{VALUES[name]} AS c")
        )
        with pytest.raises(StreamingQueryException, match="UNSUPPORTED_DATA_TYPE"):
            frame.writeStream.format(sink).trigger(availableNow=True).start(f"{tmp_path}/t").awaitTermination(
                60
            )
    else:
        bench.start(view, query={"to": to}).awaitTermination(60)


@pytest.mark.S31
def test_a_type_that_only_spark_knows_is_refused_at_the_start(spark: SparkSession, tmp_path: Path) -> None:
    bench = PipeBench(spark, tmp_path, {"s": "id INT"})
    sinks = [
        {"name": "lines", "csv": {"path": "/out"}},
        {"name": "table", "delta": {"path": "/table", "merge": {"keys": ["m"]}, "partitionBy": ["xs"]}},
        {"name": "orc", "orc": {"path": "/orc"}},
    ]
    graph = bench.graph(
        {"name": "v", "sql": "SELECT id, array(id) AS xs, map(id, id) AS m FROM s"}, query={"to": sinks}
    )
    with pytest.raises(SpecInvalid) as error:
        build(spark.newSession(), graph, graph.spec.queries[0])
    assert [(each.path.removeprefix("spec.queries[0].to"), each.message, each.reason) for each in error.value.problems] == [
        ("[0].csv", "'v' has the column 'm' of the type MAP<INT, INT>, and csv has no type MAP<INT, INT>; write to_json of it in a view", "TypeNotSupported"),
        ("[0].csv", "'v' has the column 'xs' of the type ARRAY<INT>, and csv has no type ARRAY<INT>; write to_json of it in a view", "TypeNotSupported"),
        ("[1].delta.merge.keys[0]", "'v' has the column 'm' of the type MAP<INT, INT>, and Spark compares no MAP and no VARIANT; write to_json of it in a view", "TypeNotSupported"),
        ("[1].delta.partitionBy[0]", "'v' has the partition column 'xs' of the type ARRAY<INT>, and a partition keeps text only; use one of its parts, or to_json of it in a view", "PartitionTypeNotSupported"),
    ]  # fmt: skip


def fits(sink: str, kind: DataType, **settings: Any) -> bool:
    """Whether Mainstem has nothing against a column `c` of the type."""
    model = Sink.model_validate({"name": "t", sink: {"path": "/t", **settings}})
    return not list(unfit(model, {"c": declared(kind)}, "UTC", delta_checks=True))


def asked(spark: SparkSession, sink: str) -> Callable[[DataType], bool]:
    """What the writer of a sink itself answers: whether it takes a type."""
    jvm: Any = spark._jvm
    if sink == "delta":
        find = jvm.org.apache.spark.sql.delta.schema.SchemaUtils.findUnsupportedDataTypes
        return lambda kind: find(java(spark, kind)).isEmpty()
    formats = jvm.org.apache.spark.sql.execution.datasources
    made = {
        "parquet": formats.parquet.ParquetFileFormat,
        "orc": formats.orc.OrcFileFormat,
        "json": formats.json.JsonFileFormat,
        "csv": formats.csv.CSVFileFormat,
    }[sink]()
    return lambda kind: made.supportDataType(java(spark, kind).head().dataType())


def java(spark: SparkSession, kind: DataType) -> Any:
    """The schema of one column `c` in the JVM."""
    return spark._jsparkSession.parseDataType(StructType([StructField("c", kind)]).json())


def is_compared(spark: SparkSession, value: str) -> bool:
    try:
        spark.sql(f"SELECT a <=> a, a > a FROM (SELECT {value} AS a)")
    except AnalysisException:
        return False
    return True
