"""The means to run documents and writes within the test's own process."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from harness.documents import pipeline_head
from harness.jdbcbench import JdbcBench, WriteRows
from harness.postgres import Postgres
from harness.waiting import asked
from mainstem import names
from mainstem.language.analysis.graph import Graph
from mainstem.language.document import read_text
from mainstem.language.model.status.query_progress import QueryProgress
from mainstem.runtime.clock import Clock
from mainstem.runtime.preflight import checks, readiness
from mainstem.runtime.stop import Stop
from mainstem.runtime.supervision.supervisor import Supervisor
from pyspark.sql import SparkSession


@dataclass
class Pipelines:
    """Runs documents in the session, with all that `mainstem run` does but for the process.

    Attributes:
        spark: the session.
        folder: for checkpoints, and whatever the test puts there.
    """

    spark: SparkSession
    folder: Path

    def graph(self, spec: dict[str, Any] | str, values: dict[str, str] | None = None) -> Graph:
        """The graph of a spec, or of a whole text, checked."""
        if isinstance(spec, str):
            [document] = read_text(spec, overrides=values)
            return document.graph
        head = pipeline_head("t")
        rest = {"checkpoints": {"location": str(self.folder / "checkpoints")}, "restart": {"policy": "Never"}}
        [document] = read_text(json.dumps(head | {"spec": rest | spec}))
        return document.graph

    def run(
        self,
        spec: dict[str, Any] | str,
        *,
        values: dict[str, str] | None = None,
        until: Callable[[list[QueryProgress]], bool] = lambda _: False,
        within: float = 120,
    ) -> list[QueryProgress]:
        """Run to the end, or drain once something holds; how the queries stand then."""
        graph = self.graph(spec, values)
        checks.check_servers(graph)
        checks.check_checkpoint_store(self.spark, graph)
        unready = readiness.in_session(self.spark, graph, graph.pipeline.name, Clock())
        supervisor = Supervisor(self.spark, graph, lambda _: None, Stop())
        try:
            supervisor.start(unready=unready)
            self._wait(supervisor, until, within)
        finally:
            supervisor.drain()
            supervisor.close()
        return supervisor.statuses

    def _wait(
        self, supervisor: Supervisor, until: Callable[[list[QueryProgress]], bool], within: float
    ) -> None:
        over = asked(within, lambda: not supervisor.tick() or until(supervisor.statuses), 0.05)
        assert over, supervisor.statuses


@pytest.fixture
def write_rows(
    spark: SparkSession, postgres: Postgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> WriteRows:
    """Runs a query that writes a table, over further rows to its end."""
    postgres.secret(tmp_path / "secrets", "pg")
    monkeypatch.setenv(names.ENV_SECRETS, str(tmp_path / "secrets"))
    return JdbcBench(spark, postgres, tmp_path).write


@pytest.fixture
def table(postgres: Postgres, request: pytest.FixtureRequest) -> str:
    """Name of a table for this test alone, in a schema of its own."""
    schema = "s" + format(abs(hash(request.node.nodeid)), "x")
    postgres.run(f'CREATE SCHEMA "{schema}"')
    return f"{schema}.orders"


@pytest.fixture
def pipelines(spark: SparkSession, tmp_path: Path) -> Pipelines:
    return Pipelines(spark, tmp_path)
