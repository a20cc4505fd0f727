"""Connectors that Mainstem does not bring: in Python, and from a jar that the document names."""

import json
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest
import yaml
from harness import sparks
from harness.documents import pipeline_head
from harness.driver import DriverProcess
from mainstem.runtime.failures.classification import classify
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession


pytestmark = pytest.mark.S32
SAMPLES = Path(__file__).resolve().parents[2] / "k8s" / "samples" / "connectors"
JAR = Path(__file__).resolve().parents[1] / "usercode" / "java" / "connectors.jar"


@pytest.fixture
def counter(tmp_path: Path) -> dict[str, Any]:
    """The spec of the sample, with its folders in the test's."""
    spec: dict[str, Any] = yaml.safe_load((SAMPLES / "counter.yaml").read_text(encoding="utf-8"))["spec"]
    spec["queries"][0]["to"][0]["spark"]["options"]["folder"] = str(tmp_path / "lines")
    return spec | {"checkpoints": {"location": str(tmp_path / "checkpoints")}}


def numbers(folder: Path) -> list[int]:
    return [
        int(line) for file in sorted((folder / "lines").glob("*.txt")) for line in file.read_text().split()
    ]


def test_a_python_connector_reads_and_writes_and_continues_after_a_stop(
    spark: SparkSession, counter: dict[str, Any], tmp_path: Path
) -> None:
    counter["sources"][0]["spark"]["options"]["last"] = "4"
    sparks.run(spark, counter)
    assert numbers(tmp_path) == list(range(1, 5))
    assert len(list((tmp_path / "lines").glob("*.txt"))) > 1, "it came in batches"
    counter["sources"][0]["spark"]["options"]["last"] = "6"
    sparks.run(spark, counter)
    assert numbers(tmp_path) == list(range(1, 7))


def test_a_class_that_is_no_connector_is_rejected_by_name(
    spark: SparkSession, counter: dict[str, Any]
) -> None:
    counter["sources"][0]["spark"]["python"] = "counter:Part"
    with pytest.raises(Exception, match=r"'counter:Part' is not a class derived from .*DataSource") as error:
        sparks.run(spark, counter)
    assert classify(error.value).reason == "FunctionNotUsable"


def test_an_unknown_format_is_rejected_by_name(spark: SparkSession, counter: dict[str, Any]) -> None:
    counter["sources"][0]["spark"] = {"format": "mongodb"}
    with pytest.raises(Py4JJavaError) as error:
        sparks.run(spark, counter)
    failure = classify(error.value)
    assert (failure.reason, failure.permanent) == ("ConnectorNotFound", True)
    assert (
        failure.message == "no connector called mongodb is on the class path; name its jar in spec.packages"
    )


def test_spark_has_no_dialect_for_the_rejected_scheme(spark: SparkSession) -> None:
    """The day it has one, the rule about jdbc:mariadb: can go."""
    dialects: Any = spark._jvm.org.apache.spark.sql.jdbc.JdbcDialects
    quoted = {
        scheme: dialects.get(f"jdbc:{scheme}://h/d").quoteIdentifier("id") for scheme in ("mysql", "mariadb")
    }
    assert quoted == {"mysql": "`id`", "mariadb": '"id"'}


def document(folder: Path) -> Path:
    """A document with a jar beside it that has a connector for streams and one for batches."""
    (folder / "jars").mkdir(parents=True)
    shutil.copy(JAR, folder / "jars")
    (folder / "secrets" / "shelf").mkdir(parents=True)
    (folder / "secrets" / "shelf" / "key").write_text("nobody-shall-see-this")
    sink = {"format": "shelf", "connection": "shelf", "options": {"folder": f"{folder}/out"}}
    spec: dict[str, Any] = {
        "packages": {"jars": ["jars/connectors.jar"]},
        "connections": [
            {"name": "shelf", "spark": {"secretOptions": {"token": {"name": "shelf", "key": "key"}}}}
        ],
        "sources": [{"name": "ticks", "spark": {"format": "ticks", "options": {"rowsPerSecond": "50"}}}],
        "queries": [
            {"name": "keep", "from": "ticks", "to": [{"name": "shelf", "spark": sink | {"mode": "batch"}}]}
        ],
        "checkpoints": {"location": f"{folder}/checkpoints"},
    }
    head = pipeline_head("jars")
    file = folder / "jars.yaml"
    file.write_text(yaml.safe_dump(head | {"spec": spec}))
    return file


def kept(folder: Path) -> list[dict[str, Any]]:
    return [
        json.loads(line)
        for file in (folder / "out").glob("part-*.json")
        for line in file.read_text().splitlines()
    ]


@pytest.mark.full(
    gate="spark/test_connectors.py::test_a_python_connector_reads_and_writes_and_continues_after_a_stop"
)
def test_connectors_come_from_a_jar_beside_the_document(tmp_path: Path) -> None:
    """One reads a stream, one writes batches, with a secret that no output shows."""
    environment = {"MAINSTEM_SECRETS": str(tmp_path / "secrets")}
    arguments = ("--cores=2", "-v")
    with DriverProcess(document(tmp_path), tmp_path / "run", env=environment, arguments=arguments) as driver:
        driver.until(lambda: len(kept(tmp_path)) >= 50, within=120)
        driver.send(signal.SIGTERM)
        assert driver.wait(60) == 0
        output = driver.stderr + "".join(driver.stdout) + driver.report.read_text()
    rows = kept(tmp_path)
    values = sorted(row["value"] for row in rows)
    assert values == list(range(len(values))), "every row of the batches that ended, once"
    assert {row["token"] for row in rows} == {"nobody-shall-see-this"}
    assert "nobody-shall-see-this" not in output
