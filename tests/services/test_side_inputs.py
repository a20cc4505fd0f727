"""Side inputs that change while a query runs: what its next batch reads."""

import json
from pathlib import Path
from typing import Any

import pytest
from harness.postgres import Postgres
from harness.waiting import within
from mainstem.dataframes.views.builder import Builder
from mainstem.errors import NotReady
from mainstem.language.analysis.graph import Graph
from mainstem.language.document import read_text
from mainstem.runtime.failures.classification import classify
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession


pytestmark = [pytest.mark.S09, pytest.mark.S20]

ROW = "k INT, v STRING"


def graph(folder: Path, postgres: Postgres, tables: dict[str, Any]) -> Graph:
    """A stream of ids, left joined with every table."""
    columns = "".join(f", {name}.v AS {name}" for name in tables)
    joins = "".join(f" LEFT JOIN {name} ON {name}.k = 1" for name in tables)
    spec = {
        "connections": [{"name": "shop", "jdbc": {"url": postgres.url, "secretRef": {"name": "pg"}}}],
        "sources": [
            {"name": "ids", "files": {"path": str(folder / "in"), "format": "json", "schema": "id INT"}},
            *({"name": name, "static": table} for name, table in tables.items()),
        ],
        "views": [{"name": "joined", "sql": f"SELECT id{columns} FROM ids{joins}"}],
        "queries": [{"name": "q", "from": "joined", "to": [{"name": "out", "console": {}}]}],
        "checkpoints": {"location": str(folder / "checkpoints")},
    }
    head = {"apiVersion": "mainstem.dev/v1alpha1", "kind": "StreamingPipeline"}
    [document] = read_text(json.dumps(head | {"metadata": {"name": "side-inputs"}, "spec": spec}))
    return document.graph


def put(folder: Path, number: int) -> None:
    (folder / "in").mkdir(exist_ok=True)
    (folder / "in" / f"{number}.json").write_text(json.dumps({"id": number}) + "\n")


def rows(spark: SparkSession, value: str) -> Any:
    return spark.createDataFrame([(1, value)], ROW).coalesce(1).write


@pytest.fixture(autouse=True)
def secrets(postgres: Postgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    postgres.secret(tmp_path / "secrets", "pg")
    monkeypatch.setenv("MAINSTEM_SECRETS", str(tmp_path / "secrets"))
    return tmp_path / "secrets" / "pg"


def test_a_running_query_reads_changed_tables_by_their_kind(
    spark: SparkSession, postgres: Postgres, tmp_path: Path
) -> None:
    """Delta and databases are asked anew in each batch; a fixed version never changes, nor does a listing of files."""
    delta, files = str(tmp_path / "delta"), tmp_path / "csv"
    rows(spark, "old").format("delta").save(delta)
    spark.sql(f"CREATE TABLE side_by_name USING delta LOCATION '{delta}'")
    files.mkdir()
    (files / "a.csv").write_text("1,old\n")
    postgres.run("CREATE TABLE side (k INT, v TEXT)")
    postgres.run("INSERT INTO side VALUES (1, 'old')")
    tables = {
        "newest": {"delta": {"path": delta}},
        "fixed": {"delta": {"path": delta, "version": 0}},
        "listed": {"csv": {"path": str(files), "schema": ROW}},
        "whole": {"jdbc": {"connection": "shop", "table": "side"}},
        "asked": {"jdbc": {"connection": "shop", "query": "SELECT k, upper(v) AS v FROM side"}},
        "named": {"table": {"name": "side_by_name"}},
    }
    put(tmp_path, 1)
    batches: list[tuple[Any, ...]] = []
    frame = Builder(spark.newSession(), graph(tmp_path, postgres, tables)).relation("joined")
    query = (
        frame.writeStream.foreachBatch(lambda batch, _: batches.extend(map(tuple, batch.collect())))
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .start()
    )
    try:
        within(90, "the first batch", lambda: batches)
        rows(spark, "new").format("delta").mode("overwrite").save(delta)
        (files / "b.csv").write_text("1,new\n")
        postgres.run("UPDATE side SET v = 'new'")
        put(tmp_path, 2)
        within(90, "the second batch", lambda: len(batches) > 1)
    finally:
        query.stop()
        spark.sql("DROP TABLE side_by_name")
    assert batches == [
        (1, "old", "old", "old", "old", "OLD", "old"),
        (2, "new", "old", "old", "new", "NEW", "new"),
    ]


def test_a_missing_or_wrong_secret_is_reported(
    spark: SparkSession, postgres: Postgres, tmp_path: Path, secrets: Path
) -> None:
    document = graph(tmp_path, postgres, {"whole": {"jdbc": {"connection": "shop", "table": "pg_tables"}}})
    put(tmp_path, 1)
    (secrets / "password").write_text("wrong")
    with pytest.raises(PySparkException) as refused:
        Builder(spark.newSession(), document).relation("whole")
    failure = classify(refused.value)
    assert (failure.reason, failure.permanent) == ("DatabaseNotAuthorized", False)
    assert "wrong" not in failure.message
    (secrets / "password").unlink()
    with pytest.raises(NotReady) as missing:
        Builder(spark.newSession(), document).relation("whole")
    assert missing.value.reason == "SecretNotFound"
