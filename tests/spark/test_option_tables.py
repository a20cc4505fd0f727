"""Tables that say what Spark takes, held against Spark itself."""

import random
from typing import Any

import pytest
from harness.sampling import only
from mainstem.language.rules.connectors.datetime_patterns import faults
from mainstem.language.rules.connectors.sink_options import KNOWN
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession


LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
SPECIAL = [
    "'",
    "''",
    "'T'",
    "'a",
    "[",
    "]",
    "[yy]",
    "]yy[",
    "{",
    "}",
    "#",
    "-",
    ":",
    " ",
    ".",
    ";",
    "é",
    "'['",
    "'{'",
    "[[yy]",
    "[]]",
]


def patterns() -> list[str]:
    """Each letter in each number, what is special, and mixtures."""
    single = [letter * count for letter in LETTERS for count in (*range(1, 12), 19, 20)]
    mixed = random.Random(7)
    pieces = [*single, *SPECIAL]
    return [*single, *SPECIAL, *("".join(mixed.choices(pieces, k=mixed.randint(2, 6))) for _ in range(400))]


@pytest.mark.parametrize("every", only([25, 1], {25}), ids=lambda every: f"each of {every}")
@pytest.mark.parametrize("parsing", [True, False])
def test_patterns_are_rejected_where_spark_rejects_them(
    spark: SparkSession, *, parsing: bool, every: int
) -> None:
    jvm: Any = spark._jvm
    formatter = jvm.org.apache.spark.sql.catalyst.util.TimestampFormatter
    zone = jvm.java.time.ZoneId.of("UTC")

    def refused(pattern: str) -> bool:
        try:
            formatter.apply(pattern, zone, parsing)
        except (Py4JJavaError, PySparkException):
            return True
        return False

    ours = {
        each: any(fault.certain for fault in faults(each, parsing=parsing)) for each in patterns()[::every]
    }
    assert [each for each, ours_refuse in ours.items() if ours_refuse != refused(each)] == []


def test_the_known_options_of_writers_are_those_of_spark(spark: SparkSession) -> None:
    jvm: Any = spark._jvm
    sql = jvm.org.apache.spark.sql
    tables = {
        "csv": sql.catalyst.csv.CSVOptions,
        "json": sql.catalyst.json.JSONOptions,
        "text": sql.execution.datasources.text.TextOptions,
        "parquet": sql.execution.datasources.parquet.ParquetOptions,
        "orc": sql.execution.datasources.orc.OrcOptions,
    }
    for kind, table in tables.items():
        options = table.getAllOptions()
        spark_has = {option.lower() for option in options.mkString(",").split(",")}
        ours = {name.lower() for name in KNOWN[kind]} - {"maxrecordsperfile", "retention"}
        assert ours - spark_has == set(), kind
