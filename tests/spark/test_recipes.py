"""The recipes of docs/recipes.md: the tests that lie beside each, and a run where a test cannot stand in."""

import json
import os
from pathlib import Path

import pytest
import yaml
from harness import sparks
from harness.sampling import only, sampled
from mainstem.dataframes import query as build
from mainstem.language.document import read_text
from mainstem.testing import steps
from mainstem.testing.files import suite
from mainstem.testing.report import CaseOutcome, lines
from pyspark.sql import SparkSession


RECIPES = Path(__file__).resolve().parents[2] / "k8s" / "samples" / "recipes"
TESTS = sorted(RECIPES.glob("*.test.yaml"))
DOCUMENTS = sorted(set(RECIPES.glob("*.yaml")) - set(TESTS))


@pytest.mark.full(
    gate="spark/test_cases.py::test_the_test_command_runs_the_tests_beside_a_sample_and_writes_junit"
)
@pytest.mark.parametrize(
    "file",
    only(TESTS, [file for file in TESTS if file.name.startswith("busy-shops")]),
    ids=lambda file: file.name.partition(".")[0],
)
def test_the_cases_beside_a_recipe_pass(spark: SparkSession, file: Path) -> None:
    reports: list[CaseOutcome] = []
    outcomes = steps.run(suite(file, {}), spark.newSession(), reports.append)
    assert outcomes == reports
    assert all(outcome.passed for outcome in outcomes), "\n".join(map(lines, outcomes))


@pytest.mark.parametrize(
    ("order_of_files", "hours"),
    sampled(
        [(["11", "12", "10"], ["11:00 1"]), (["10", "11", "12"], ["10:00 5", "11:00 1"])],
        every=2,
    ),
    ids=["oldest-rows-last", "in-the-order-of-their-rows"],
)
def test_files_are_read_in_the_order_of_their_modification(
    spark: SparkSession, tmp_path: Path, order_of_files: list[str], hours: list[str]
) -> None:
    """The rows of 10 o'clock are late where their file is the newest; names play no part."""
    spec = yaml.safe_load((RECIPES / "files-in-order.yaml").read_text(encoding="utf-8"))["spec"]
    spec["sources"][0]["files"]["path"] = str(tmp_path / "orders")
    spec["queries"][0]["to"][0]["parquet"]["path"] = str(tmp_path / "hourly")
    spec["queries"][0]["state"] = {"partitions": 1}
    spec["checkpoints"]["location"] = str(tmp_path / "checkpoints")
    for minute, hour in enumerate(order_of_files):
        _write(tmp_path / "orders", hour, pieces={"10": 5, "11": 1, "12": 1}[hour], minute=minute)
    sparks.run(spark, spec)
    rows = spark.read.parquet(str(tmp_path / "hourly")).orderBy("hour").collect()
    assert [f"{row.hour:%H:%M} {row.sold}" for row in rows] == hours


def _write(folder: Path, hour: str, *, pieces: int, minute: int) -> None:
    """A file with one order at half past the hour, last modified in the given minute."""
    folder.mkdir(exist_ok=True)
    file = folder / f"{99 - int(hour)}.json"
    row = {"at": f"2026-01-01T{hour}:30:00Z", "product": "figs", "pieces": pieces}
    file.write_text(json.dumps(row) + "\n", encoding="utf-8")
    modified = 1_767_225_600 + 60 * minute
    os.utime(file, (modified, modified))


@pytest.mark.parametrize(
    "file",
    only(DOCUMENTS, [file for file in DOCUMENTS if file.name.startswith(("order-shares", "changed-prices"))]),
    ids=lambda file: file.name.partition(".")[0],
)
def test_a_run_resolves_the_sources_of_a_recipe(spark: SparkSession, tmp_path: Path, file: Path) -> None:
    """`mainstem test` reads other sources; a run has to find the document's own in Spark's plan."""
    document = yaml.safe_load(file.read_text(encoding="utf-8"))
    for source in document["spec"]["sources"]:
        source["files"]["path"] = str(tmp_path / source["name"])
        (tmp_path / source["name"]).mkdir()
    [checked] = read_text(yaml.safe_dump(document))
    graph = checked.graph
    [query] = checked.pipeline.spec.queries
    writer = build.build(spark.newSession(), graph, query)
    names = {name.removesuffix("_2") for name in build.occurrences(writer)}
    assert names == {source["name"] for source in document["spec"]["sources"]}
