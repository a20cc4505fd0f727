"""Versions, commands and columns in the README, compared with the code."""

import io
import json
import re
import tomllib
from pathlib import Path
from typing import Any

import click
from mainstem.cli import main
from mainstem.language.model.status.progress_parts import SourceProgress
from mainstem.language.model.status.query_progress import QueryProgress
from mainstem.language.model.status.states import QueryState
from mainstem.runtime.clock import Clock
from mainstem.runtime.console.reporter import Lines
from mainstem.runtime.spark import java
from mainstem.schema.crd import crd


ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def project(folder: str) -> dict[str, Any]:
    return tomllib.loads((ROOT / folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def pin(package: str) -> str:
    """The exact version of a Python package of the app."""
    extras = [name for names in project("app")["optional-dependencies"].values() for name in names]
    [version] = [each.partition("==")[2] for each in extras if each.partition("==")[0] == package]
    return version


def jar(artifact: str) -> str:
    """The version of a jar that the app brings along."""
    pom = (ROOT / "app" / "jars" / "pom.xml").read_text(encoding="utf-8")
    [version] = re.findall(rf"<artifactId>{re.escape(artifact)}</artifactId><version>(.*?)</version>", pom)
    return version


def first_match(pattern: str, *path: str) -> str:
    """The version that a file of the test harness pins."""
    [version] = re.findall(pattern, (ROOT / "tests" / "harness").joinpath(*path).read_text(encoding="utf-8"))
    return version


def row(part: str) -> str:
    """The row of a part in the README's table of versions."""
    table = README.partition("\n## Versions\n")[2].partition("\n## ")[0]
    [text] = re.findall(rf"^\| {part} \| (.*) \|$", table, re.MULTILINE)
    return text


def test_the_versions_of_spark_and_delta_are_the_pinned_ones() -> None:
    assert row("Apache Spark") == pin("pyspark") == jar("spark-sql-kafka-0-10_2.13")
    assert row("Delta Lake") == pin("delta-spark") == jar("delta-spark_4.2_2.13")


def test_the_versions_of_kafka_and_kubernetes_are_those_of_the_tests() -> None:
    broker = first_match(r"<kafka.version>(.*?)</kafka.version>", "kafka", "pom.xml")
    assert row("Apache Kafka") == f"brokers {broker}, clients {jar('kafka-clients')}"
    kubernetes = first_match(r"k8s\.io/kubernetes v(\S+)", "go", "kubernetes", "go.mod")
    assert row("Kubernetes") == kubernetes


def test_python_and_java_of_the_images_are_those_of_debian() -> None:
    assert "ARG BASE=debian:bookworm-slim" in (ROOT / "Dockerfile").read_text(encoding="utf-8")
    assert row("Python").endswith("the images have 3.11")
    assert row("Java").endswith("the images have 17")


def test_python_and_java_are_those_of_the_packages_and_tests() -> None:
    for folder in ("app", "operator"):
        assert project(folder)["requires-python"] == ">=3.11"
    assert row("Python").startswith("3.11 or newer")
    assert row("Java").startswith(" or ".join(java.VERSIONS))


def test_the_version_of_the_postgresql_driver_is_the_pinned_one() -> None:
    assert row("PostgreSQL").endswith(f"JDBC driver {jar('postgresql')}")


def test_every_command_and_every_option_of_run_is_explained() -> None:
    visible = [name for name, command in main.commands.items() if not command.hidden]
    assert [name for name in visible if f"`mainstem {name}" not in README] == []
    chapter = README.partition("\n## Commands\n")[2].partition("\n## ")[0]
    table = re.findall(r"^\| (`-.*?) \|", chapter, re.MULTILINE)
    explained = {flag for cell in table for flag in re.findall(r"(?<![\w-])--?[a-z][a-z-]*", cell)}
    options = {
        flag
        for option in main.commands["run"].params
        if isinstance(option, click.Option)
        for flag in option.opts
    }
    assert explained == options


def test_the_columns_of_kubectl_get_are_those_of_the_definition() -> None:
    columns = crd()["spec"]["versions"][0]["additionalPrinterColumns"]
    shown = [column["name"].upper() for column in columns if not column.get("priority")]
    header = next(line for line in README.splitlines() if line.startswith("NAME "))
    assert re.split(r"\s{2,}", header) == ["NAME", *shown]
    [wide] = re.findall(r"`-o wide` adds (.*?)\.", README)
    assert [
        column["name"] for column in columns if column.get("priority") and column["name"].lower() not in wide
    ] == []
    assert "reason" not in wide


def test_the_json_line_has_the_fields_of_a_completed_query() -> None:
    """All fields but those of state over event time, of Kafka and of failures."""
    [line] = [json.loads(line) for line in README.splitlines() if line.startswith('{"event"')]
    status = QueryProgress(
        name="archive", state=QueryState.COMPLETED, counted_since="t", id="i", run_id="r", started_at="t", batch=0,
        batch_duration_ms=1, sources=(SourceProgress("orders"),), last_progress_time="t",
    )  # fmt: skip
    stream = io.StringIO()
    Lines(stream, "orders", Clock()).changed([status])
    written = json.loads(stream.getvalue())
    assert list(line) == list(written)
    assert list(line["sources"][0]) == list(written["sources"][0])
