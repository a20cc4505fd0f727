"""A table of a database that is not there yet, on a real PostgreSQL."""

from pathlib import Path

import pytest
from harness.postgres import Postgres
from harness.supervisor_loop import Stage
from mainstem import names
from mainstem.language.model.status.states import QueryState
from mainstem.runtime.supervision import input_poller
from pyspark.sql import SparkSession


pytestmark = [
    pytest.mark.faults,
    pytest.mark.full(gate="spark/test_waiting.py::test_a_query_waits_for_a_missing_table_of_the_catalog"),
]


@pytest.mark.S09
def test_a_query_waits_for_a_missing_table_of_a_database(
    spark: SparkSession, postgres: Postgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(input_poller, "LOOK_SECONDS", 0.2)
    monkeypatch.setenv(names.ENV_SECRETS, str(tmp_path / "secrets"))
    postgres.secret(tmp_path / "secrets", "pg")
    stage = Stage(spark.newSession(), tmp_path)
    stage.put("lines", "a")
    prices = {"name": "prices", "static": {"jdbc": {"connection": "shop", "table": "late_prices"}}}
    with stage.running(
        connections=[{"name": "shop", "jdbc": {"url": postgres.url, "secretRef": {"name": "pg"}}}],
        sources=[stage.files("lines"), prices],
        views=[{"name": "priced", "sql": "SELECT value, price FROM lines CROSS JOIN prices"}],
        queries=[stage.query("priced", "out")],
    ) as run:
        run.until(lambda: run["to-out"].state is QueryState.WAITING)
        assert run["to-out"].reason == "TableNotFound"
        assert (run["to-out"].message or "").startswith(
            "source 'prices': relation \"late_prices\" does not exist; waiting since "
        )
        postgres.run("CREATE TABLE late_prices AS SELECT 7 AS price")
        run.until(lambda: stage.rows("out") == [{"value": "a", "price": 7}])
