"""A value of a partition column is read back as it was written, or the batch fails with the name of the column."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml
from harness import sparks, tables
from harness.documents import pipeline_head
from harness.sampling import only
from mainstem.dataframes.sinks.partition_values import folder_bytes
from mainstem.dataframes.sinks.sink_checks import misfits
from mainstem.errors import SpecInvalid
from mainstem.language.document import read_text
from mainstem.runtime.failures.classification import classify
from mainstem.runtime.maintenance.maintenance import session_by_path
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F


pytestmark = pytest.mark.S26
SINKS = ("delta", "merge", "parquet", "orc", "csv", "json", "text")
NULL_FOLDER = "__HIVE_DEFAULT_PARTITION__"
EXACT: dict[str, tuple[str, ...]] = {
    "STRING": (
        *(f"'a{sign}b'" for sign in '=%/:*?[]{}#"<>|^~`$&+,;@!() '),
        *("' '", "'  a  '", "'.'", "'..'", "'../up'", "'/'", r"'\\'", r"'\''", "'null'", "'NULL'", "'a%20b'", "'%2F'"),
        *("'é'", "'e\u0301'", "'日本'", "'👩‍🚀'", "'\u200f'", "'\ufeff'", r"'\t'", r"'\n'", r"'\r'", r"'\u0001'", r"'\u007f'"),
        *("'1'", "'01'", "'1.0'", "'true'", "'2024-01-01'", "'-'", "'_a'", "'.a'", f"'{NULL_FOLDER}x'"),
        # With `p=` the name of the folder has 255 bytes; `%` becomes `%25`.
        *("repeat('a', 253)", "concat('a', repeat('日', 84))", "concat('a', repeat('%', 84))"),
    ),
    "DOUBLE": ("'NaN'", "0.0", "-0.0D", "'Infinity'", "'-Infinity'", "1e-300", "4.9e-324", "0.1D + 0.2D", "1e22"),
    "FLOAT": ("'NaN'", "-0.0", "3.4028235e38", "1e-45"),
    "DECIMAL(10,2)": ("1.20", "-0.01", "99999999.99", "0"),
    "DECIMAL(38,18)": ("1.000000000000000001", "-99999999999999999999"),
    "DATE": ("'0001-01-01'", "'1582-10-04'", "'9999-12-31'", "date_from_unix_date(3000000)"),
    "TIMESTAMP_NTZ": ("'2024-03-31 02:30:00'", "'2024-10-27 02:30:00.000001'", "'0001-01-01 00:00:00'"),
    "TIMESTAMP": ("'2024-10-27T01:30:00.000001Z'", "'0001-01-01T00:00:00Z'", "timestamp_micros(253402300800000000)"),
    "BOOLEAN": ("true", "false"),
    "BIGINT": ("9223372036854775807", "-9223372036854775808"),
    "TINYINT": ("-128",),
}  # fmt: skip
"""Values of each type that each sink keeps, as SQL; each type also keeps null."""
ALTERED: dict[str, tuple[str, ...]] = {
    "STRING": (
        *("''", f"'{NULL_FOLDER}'", r"'\0'", r"'a\0b'", "X'FF'", "X'61C3'"),
        *("repeat('a', 254)", "concat('aa', repeat('日', 84))", "concat('aa', repeat('%', 84))"),
    ),
    "TIMESTAMP": ("'2018-02-18T02:30:00Z'",),
}
"""Values that no partition keeps; the time in Sao Paulo, where an hour was repeated until 2018."""


def spec(folder: Path, sink: str, sql: str, *, batches: bool = False, **more: Any) -> dict[str, Any]:
    """A query that writes `p` and `id` to a sink that `p` partitions; `batches`: beside a second sink."""
    kind = "delta" if sink == "merge" else sink
    settings: dict[str, Any] = {"path": f"{folder}/out", "partitionBy": ["p"]}
    if sink == "merge":
        settings["merge"] = {"keys": ["p", "id"], "allowNullKeys": True}
    to = [{"name": "table", kind: settings}, *([{"name": "none", "noop": {}}] if batches else [])]
    files = {"path": f"{folder}/in", "format": "json", "schema": "batch INT"}
    mode = {"outputMode": "update"} if sink == "merge" else {}
    return {
        "sources": [{"name": "lines", "files": files | {"maxFilesPerTrigger": 1}}],
        "views": [{"name": "v", "sql": sql}],
        "queries": [{"name": "q", "from": "v", "to": to, **mode}],
        "checkpoints": {"location": f"{folder}/checkpoints"},
        **more,
    }


def selected(kind: str, values: tuple[str, ...], sink: str) -> str:
    """The view: a row for each value in each batch, with its place as id."""
    rows = ", ".join(
        f"named_struct('id', {place}, 'p', CAST({value} AS {kind}))" for place, value in enumerate(values)
    )
    key = "CAST(row.id AS STRING) AS id" if sink == "text" else "row.id"
    return f"SELECT {key}, row.p FROM (SELECT explode(array({rows})) AS row FROM lines)"


def give(folder: Path, batches: int) -> None:
    (folder / "in").mkdir()
    for number in range(batches):
        (folder / "in" / f"{number}.json").write_text(json.dumps({"batch": number}))


@pytest.mark.parametrize("batches", only([False, True], [True]), ids=["alone", "beside another"])
@pytest.mark.parametrize("sink", only(SINKS, ("merge", "parquet")))
@pytest.mark.parametrize("kind", only(EXACT, ("STRING",)))
def test_each_value_is_read_back_as_it_was_written(
    spark: SparkSession, tmp_path: Path, kind: str, sink: str, batches: bool
) -> None:
    values = (*EXACT[kind], "NULL")
    give(tmp_path, 2)
    used = sparks.run(spark, spec(tmp_path, sink, selected(kind, values, sink), batches=batches))
    back = read_back(used, tmp_path, sink, kind)
    want = used.sql(selected(kind, values, sink).replace("FROM lines", "FROM VALUES (1)"))
    times = 1 if sink == "merge" else 2
    assert counted(back) == dict.fromkeys(counted(want), times)


def read_back(used: SparkSession, folder: Path, sink: str, kind: str) -> Any:
    """The rows of the sink, as Spark reads them with the types that were written."""
    if sink in ("delta", "merge"):
        return used.read.format("delta").load(f"{folder}/out")
    if sink != "text":
        return used.read.schema(f"id INT, p {kind}").format(sink).load(f"{folder}/out")
    used.conf.set("spark.sql.sources.partitionColumnTypeInference.enabled", "false")
    return used.read.text(f"{folder}/out").withColumnRenamed("value", "id")


def counted(frame: Any) -> Counter[tuple[Any, ...]]:
    """Each row with the bits of its value, and how often it is there: -0.0 is not 0.0, and NaN is NaN."""
    cells = frame.selectExpr("CAST(id AS INT) AS id", "CAST(p AS STRING) AS text", "p IS NULL AS missing")
    return Counter(tuple(row) for row in cells.collect())


@pytest.mark.parametrize("batches", only([False, True], [False]), ids=["alone", "beside another"])
@pytest.mark.parametrize(
    ("kind", "value", "sink"),
    only(
        [(kind, value, sink) for kind, values in ALTERED.items() for value in values for sink in SINKS],
        [
            *(("STRING", "''", sink) for sink in ("delta", "merge", "csv")),
            ("STRING", "repeat('a', 254)", "parquet"),
        ],
    ),
)
def test_a_batch_with_a_value_that_would_be_altered_fails_with_the_name_of_the_column(
    spark: SparkSession, tmp_path: Path, kind: str, value: str, sink: str, batches: bool
) -> None:
    give(tmp_path, 1)
    sql = selected(kind, ("NULL", value), sink)
    with pytest.raises(StreamingQueryException) as failed:
        sparks.run(spark, spec(tmp_path, sink, sql, batches=batches, timeZone="America/Sao_Paulo"))
    failure = classify(failed.value)
    assert (failure.reason, failure.permanent) == ("PartitionValueNotSupported", True)
    assert "the partition column 'p' has " in failure.message
    assert "SQLSTATE" not in failure.message
    if sink in ("delta", "merge"):
        assert tables.records(tmp_path / "out") == []
    else:
        assert not list((tmp_path / "out").glob("_spark_metadata/[0-9]*"))


def test_the_length_of_a_folder_counts_its_escaped_characters(spark: SparkSession) -> None:
    jvm: Any = spark._jvm
    escape = jvm.org.apache.spark.sql.catalyst.catalog.ExternalCatalogUtils.escapePathName
    texts = [*map(chr, range(1, 128)), "é", "日", "👩‍🚀", "a/b", ""]
    [lengths] = spark.range(1).select(*(folder_bytes(text, F.lit(text)) for text in texts)).collect()
    assert list(lengths) == [2 * len(escape(text).encode()) + 1 for text in texts]


@pytest.mark.parametrize("sink", only(SINKS, ("delta",)))
@pytest.mark.parametrize(
    ("kind", "zone"), [("BINARY", "UTC"), ("TIMESTAMP", "Europe/Zurich"), ("TIMESTAMP", "Africa/Casablanca")]
)
def test_a_type_that_a_partition_does_not_keep_is_refused(
    spark: SparkSession, tmp_path: Path, kind: str, zone: str, sink: str
) -> None:
    give(tmp_path, 1)
    with pytest.raises(SpecInvalid) as refused:
        sparks.run(spark, spec(tmp_path, sink, selected(kind, ("NULL",), sink), timeZone=zone))
    [problem] = refused.value.problems
    place = "delta" if sink == "merge" else sink
    assert (problem.reason, problem.path) == (
        "PartitionTypeNotSupported",
        f"spec.queries[0].to[0].{place}.partitionBy[0]",
    )


@pytest.mark.parametrize(
    ("kafka", "zone", "refused"),
    [
        ({"keyColumn": "at"}, "Europe/Zurich", "keyColumn"),
        ({"valueColumn": "nested"}, "Europe/Zurich", "valueColumn"),
        ({"headers": {"h": "AT"}}, "America/New_York", "headers.h"),
        ({"headersColumn": "named"}, "Europe/Zurich", "headersColumn"),
        ({"key": ["at"], "value": ["nested"]}, "Europe/Zurich", None),
        ({"headers": {"partitionBy": "bytes"}}, "Europe/Zurich", None),
        ({"keyColumn": "timestamp", "headers": {"h": "local"}}, "Europe/Zurich", None),
        ({"keyColumn": "at", "valueColumn": "nested"}, "Asia/Tokyo", None),
        ({"keyColumn": "at"}, "UTC", None),
    ],
)
def test_a_record_of_kafka_has_no_time_without_its_offset_where_an_hour_is_repeated(
    spark: SparkSession, kafka: dict[str, Any], zone: str, refused: str | None
) -> None:
    sql = "SELECT at, array(struct(at)) AS nested, map('k', at) AS named, 'x' AS timestamp, CAST(at AS TIMESTAMP_NTZ) AS local, X'FF' AS bytes FROM t"
    whole = {
        "timeZone": zone,
        "connections": [{"name": "k", "kafka": {"bootstrapServers": "nowhere:9092"}}],
        "sources": [{"name": "t", "files": {"path": "/nowhere", "format": "json", "schema": "at TIMESTAMP"}}],
        "views": [{"name": "v", "sql": sql}],
        "queries": [{"name": "q", "from": "v", "to": [{"name": "out", "kafka": {"connection": "k", "topic": "t"} | kafka}]}],
        "checkpoints": {"location": "/nowhere"},
    }  # fmt: skip
    [document] = read_text(yaml.safe_dump(pipeline_head("times") | {"spec": whole}))
    own = spark.newSession()
    own.conf.set("spark.sql.session.timeZone", zone)
    frame = own.sql(sql.replace("FROM t", "FROM VALUES (current_timestamp()) AS t (at)"))
    problems = misfits(document.graph, document.graph.spec.queries[0], frame)
    assert [(each.reason, each.path) for each in problems] == (
        [("TimeNeedsOffset", f"spec.queries[0].to[0].kafka.{refused}")] if refused else []
    )


@pytest.mark.parametrize(
    ("options", "zone", "is_refused"),
    [
        ({"timestampFormat": "yyyy-MM-dd HH:mm:ss.SSSSSS"}, "Europe/Zurich", True),
        ({"TIMESTAMPFORMAT": "yyyy-MM-dd'T'HH:mm:ss'Z'"}, "Europe/Zurich", True),
        ({"timestampFormat": "yyyy-MM-dd HH:mm:ss VV"}, "America/New_York", True),
        ({"timestampFormat": "yyyy-MM-dd HH:mm", "timeZone": "Europe/Zurich"}, "UTC", True),
        ({"timestampFormat": "yyyy-MM-dd HH:mm", "timeZone": "+02:00"}, "Europe/Zurich", False),
        ({"timestampFormat": "yyyy-MM-dd HH:mm", "timezone": "UTC"}, "Europe/Zurich", False),
        ({"timestampFormat": "yyyy-MM-dd'T'HH:mm:ssXXX"}, "Europe/Zurich", False),
        ({"timestampFormat": "yyyy-MM-dd HH:mm z"}, "Europe/Zurich", False),
        ({"timestampFormat": "yyyy-MM-dd HH:mm"}, "Asia/Tokyo", False),
        ({"timestampNTZFormat": "yyyy-MM-dd HH:mm"}, "Europe/Zurich", False),
        ({}, "Europe/Zurich", False),
    ],
)
@pytest.mark.parametrize("kind", ["csv", "json"])
def test_files_have_no_time_without_its_offset_where_an_hour_is_repeated(
    spark: SparkSession, kind: str, options: dict[str, str], zone: str, is_refused: bool
) -> None:
    time = "at" if kind == "csv" else "array(struct(at))"  # CSV has no arrays
    columns = {time: "at", "CAST(at AS DATE)": "day"}
    own = spark.newSession()
    own.conf.set("spark.sql.session.timeZone", zone)
    for value, column in columns.items():
        sink = {"name": "out", kind: {"path": "/out", "options": options, "partitionBy": ["p"]}}
        [document] = read_text(yaml.safe_dump(pipeline_head("times") | {"spec": {
            "timeZone": zone,
            "sources": [{"name": "t", "files": {"path": "/nowhere", "format": "json", "schema": "at TIMESTAMP, p STRING"}}],
            "views": [{"name": "v", "sql": f"SELECT {value} AS {column}, p FROM t"}],
            "queries": [{"name": "q", "from": "v", "to": [sink]}],
            "checkpoints": {"location": "/nowhere"},
        }}))  # fmt: skip
        frame = own.sql(f"SELECT {value} AS {column}, '' AS p FROM VALUES (current_timestamp()) AS t (at)")
        problems = misfits(document.graph, document.graph.spec.queries[0], frame)
        name = next((name for name in options if name.lower() == "timestampformat"), "")
        expected = [("TimeNeedsOffset", f"spec.queries[0].to[0].{kind}.options.{name}")]
        assert [(each.reason, each.path) for each in problems] == (
            expected if is_refused and column == "at" else []
        )


@pytest.mark.parametrize("kind", ["csv", "json"])
def test_files_keep_both_hours_of_a_repeated_one(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    times = {"2024-10-27T00:30:00.000001Z", "2024-10-27T01:30:00Z"}
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.json").write_text("\n".join(json.dumps({"at": time}) for time in sorted(times)))
    own = sparks.run(spark, {
        "timeZone": "Europe/Zurich",
        "sources": [{"name": "t", "files": {"path": f"{tmp_path}/in", "format": "json", "schema": "at TIMESTAMP"}}],
        "queries": [{"name": "q", "from": "t", "to": [{"name": "out", kind: {"path": f"{tmp_path}/out"}}]}],
        "checkpoints": {"location": f"{tmp_path}/checkpoints"},
    })  # fmt: skip
    written = own.read.format(kind).schema("at TIMESTAMP").load(f"{tmp_path}/out")
    read = {row["t"] for row in written.selectExpr("unix_micros(at) AS t").collect()}
    assert read == {1729989000000001, 1729992600000000}


@pytest.mark.full(
    gate="spark/test_partition_values.py::test_a_batch_with_a_value_that_would_be_altered_fails_with_the_name_of_the_column"
)
@pytest.mark.parametrize("batches", only([False, True], [False]), ids=["alone", "beside another"])
@pytest.mark.parametrize(("kind", "value"), only([("STRING", "''"), ("BINARY", "X'FF'")], [("STRING", "''")]))
def test_the_partitions_of_an_existing_table_count_without_partition_by(
    spark: SparkSession, tmp_path: Path, kind: str, value: str, batches: bool
) -> None:
    give(tmp_path, 1)
    table = spark.sql(f"SELECT 0 AS id, CAST('a' AS {kind}) AS p")
    table.write.format("delta").partitionBy("p").save(f"{tmp_path}/out")
    whole = spec(tmp_path, "delta", selected(kind, (value,), "delta"), batches=batches)
    del whole["queries"][0]["to"][0]["delta"]["partitionBy"]
    with pytest.raises(StreamingQueryException) as failed:
        sparks.run(spark, whole)
    assert classify(failed.value).reason == "PartitionValueNotSupported"
    assert spark.read.format("delta").load(f"{tmp_path}/out").count() == 1


@pytest.mark.full(
    gate="spark/test_partition_values.py::test_a_batch_with_a_value_that_would_be_altered_fails_with_the_name_of_the_column"
)
@pytest.mark.parametrize(
    "settings", ["'delta.columnMapping.mode' = 'name'", "'delta.randomizeFilePrefixes' = 'true'"]
)
@pytest.mark.parametrize("sink", ["delta", "merge"])
def test_a_table_whose_folders_have_other_names_takes_a_text_of_any_length(
    spark: SparkSession, tmp_path: Path, sink: str, settings: str
) -> None:
    give(tmp_path, 1)
    other = session_by_path(spark)
    table = f"delta.`{tmp_path}/out`"
    other.sql(
        f"CREATE TABLE {table} (id INT, p STRING) USING delta PARTITIONED BY (p) TBLPROPERTIES ({settings})"
    )
    sparks.run(spark, spec(tmp_path, sink, selected("STRING", ("repeat('a', 300)",), sink)))
    assert [row.p for row in other.table(table).collect()] == ["a" * 300]


KEYS: dict[str, tuple[str, ...]] = {kind: (*values, "NULL") for kind, values in EXACT.items()} | {
    "BINARY": ("X''", "X'00'", "X'FF'", "NULL"),
    "STRING": (*EXACT["STRING"], "''", f"'{NULL_FOLDER}'", r"'\0'", "repeat('a', 70000)", "NULL"),
    "VARCHAR(3)": ("''", "'a'", "'a  '", "NULL"),
    "STRUCT<a: INT, b: STRING>": ("named_struct('a', 1, 'b', '')", "named_struct('a', NULL, 'b', NULL)", "NULL"),
    "ARRAY<DOUBLE>": ("array()", "array(NULL)", "array(DOUBLE('NaN'))", "NULL"),
}  # fmt: skip


@pytest.mark.full(gate="spark/test_partition_values.py::test_each_value_is_read_back_as_it_was_written")
@pytest.mark.parametrize("kind", only(KEYS, ("DOUBLE",)))
def test_a_merge_replaces_by_equal_keys_always(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    give(tmp_path, 3)
    rows = selected(kind, KEYS[kind], "merge")
    sql = rows.replace("row.p", "row.p, batch").replace("SELECT explode", "SELECT batch, explode")
    whole = spec(tmp_path, "merge", sql)
    # 0.0 and -0.0 are equal, and come from one record.
    merge = {"keys": ["p"], "allowNullKeys": True, "sequenceBy": ["batch", "id"]}
    whole["queries"][0]["to"][0]["delta"] = {"path": f"{tmp_path}/out", "merge": merge}
    used = sparks.run(spark, whole)
    table = used.read.format("delta").load(f"{tmp_path}/out")
    keys = used.sql(rows.replace("FROM lines", "FROM VALUES (1)")).select("p").distinct().count()
    assert [row.batch for row in table.select("batch").collect()] == [2] * keys
