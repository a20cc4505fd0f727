"""A document is refused for a schema only where Spark certainly refuses it too."""

from typing import Any

import pytest
from harness.documents import pipeline_head
from mainstem.errors import SpecInvalid
from mainstem.language.document import read_object


def refusals(schema: str, conf: dict[str, str] | None = None, **source: Any) -> list[str]:
    files = {"path": "/lake/in", "format": "json", "schema": schema}
    spec = {
        "spark": {"conf": conf or {}},
        "sources": [{"name": "s", **({"files": files} | source)}],
        "queries": [{"name": "q", "from": "s", "to": [{"name": "t", "console": {}}]}],
        "checkpoints": {"location": "/lake/checkpoints"},
    }
    try:
        read_object(pipeline_head("p") | {"spec": spec})
    except SpecInvalid as refused:
        return [problem.reason for problem in refused.problems if not problem.warning]
    return []


@pytest.mark.parametrize(
    ("schema", "conf", "refused"),
    [
        ("id INT, Id INT", {}, ["DuplicateColumn"]),
        ("id INT, Id INT", {"spark.sql.caseSensitive": "true"}, []),
        ("a VARCHAR(3)", {}, ["SchemaInvalid"]),
        ("a VARCHAR(3)", {"spark.sql.legacy.charVarcharAsString": "true"}, []),
        ("a VARCHAR(3)", {"spark.sql.preserveCharVarcharTypeInfo": "true"}, []),
        ('"a b" INT', {}, ["SchemaInvalid"]),
        ('"a b" INT', {"spark.sql.ansi.doubleQuotedIdentifiers": "true"}, []),
        (f"a {'ARRAY<' * 150}INT{'>' * 150}", {}, []),
        ("struct<a: INT, b: ARRAY<STRING>>", {}, []),
    ],
)
def test_properties_of_spark_decide_what_a_schema_may_have(
    schema: str, conf: dict[str, str], refused: list[str]
) -> None:
    assert refusals(schema, conf) == refused


@pytest.mark.parametrize(
    ("kind", "refused"),
    [
        ("TIMESTAMP", []),
        ("TIMESTAMP_LTZ", []),
        ("STRUCT<start: TIMESTAMP, end: TIMESTAMP>", []),
        ("TIMESTAMP_NTZ", ["WatermarkNotAllowed"]),
        ("DATE", ["WatermarkNotAllowed"]),
        ("BIGINT", ["WatermarkNotAllowed"]),
        ("STRING", ["WatermarkNotAllowed"]),
    ],
)
def test_event_time_is_a_timestamp_or_a_window(kind: str, refused: list[str]) -> None:
    watermark = {"column": "At", "delay": "1 minute"}
    assert refusals(f"at {kind}", watermark=watermark) == refused
    two = {"spark.sql.caseSensitive": "true"}
    assert refusals(f"At {kind}, at STRING", two, watermark=watermark) == []


def test_the_types_of_somebody_elses_connector_are_not_known() -> None:
    spark = {"format": "org.example.Stream", "schema": "at STRING, id VARCHAR(3), ID INT"}
    watermark = {"column": "at", "delay": "1 minute"}
    assert refusals("", files=None, spark=spark, watermark=watermark) == []
