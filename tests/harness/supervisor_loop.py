"""Pipelines in the one session of the tier; the test runs the supervisor's loop: no process, terminal or signals."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from mainstem.checkpoints.owner import DriverIdentity
from mainstem.language.document import Document, read_text
from mainstem.language.model.status.query_progress import QueryProgress
from mainstem.language.model.status.states import QueryState
from mainstem.runtime.clock import Clock
from mainstem.runtime.preflight import checks, readiness
from mainstem.runtime.stop import Stop
from mainstem.runtime.supervision.supervisor import TICK, Supervisor
from pyspark.sql import SparkSession

from harness import tables
from harness.documents import pipeline_head
from harness.waiting import asked


SECONDS = 60.0
_NUMBERS = count()
"""Of new files, in the order in which they are read."""


class Stage:
    """Pipelines below one folder; the test runs their loops."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark = spark
        self.folder = folder

    def files(self, name: str) -> dict[str, Any]:
        return {"name": name, "files": {"path": str(self.folder / name)}}

    def table(self, name: str) -> dict[str, Any]:
        return {"name": name, "static": {"delta": {"path": str(self.folder / name)}}}

    def query(self, read: str, written: str, **more: Any) -> dict[str, Any]:
        sink = {"name": "table", "delta": {"path": str(self.folder / written)}}
        return {"name": f"to-{written}", "from": read, "to": [sink], "state": {"partitions": 1}, **more}

    def put(self, source: str, *lines: str) -> None:
        """A new file of a source, whole at once."""
        (self.folder / source).mkdir(exist_ok=True)
        text = "".join(f"{line}\n" for line in lines)
        name = f"{next(_NUMBERS):06}"
        written = self.folder / f".{source}-{name}"
        written.write_text(text, encoding="utf-8")
        written.rename(self.folder / source / f"{name}.txt")

    def rows(self, table: str) -> list[dict[str, Any]]:
        return sorted(tables.records(self.folder / table), key=str)

    @contextmanager
    def running(
        self, driver: DriverIdentity | None = None, clock: Clock | None = None, **spec: Any
    ) -> Iterator["Turning"]:
        """A pipeline that was started, and is drained at the end; `driver` is who owns its checkpoints."""
        with self.running_document(self.document(**spec), driver, clock) as turning:
            yield turning

    def document(self, **spec: Any) -> Document:
        """The document of a spec, checked."""
        spec["checkpoints"] = {"location": str(self.folder / "checkpoints"), **spec.get("checkpoints", {})}
        spec.setdefault("restart", {"policy": "Never"})
        [document_read] = read_text(json.dumps({**pipeline_head("staged"), "spec": spec}))
        return document_read

    @contextmanager
    def running_document(
        self, document_read: Document, driver: DriverIdentity | None = None, clock: Clock | None = None
    ) -> Iterator["Turning"]:
        """The same for a document."""
        clock = clock or Clock()
        unready = readiness.before_session(document_read.graph)
        graph = readiness.suspend_unready(document_read, unready).graph
        silent = checks.check_servers(graph)
        checks.check_checkpoint_store(self.spark, graph)
        unready |= readiness.in_session(self.spark, graph, graph.pipeline.name, clock, silent)
        turning = Turning(
            Supervisor(
                self.spark,
                graph,
                lambda _statuses: None,
                Stop(),
                driver=driver,
                locate=document_read.problem,
                clock=clock,
            )
        )
        try:
            turning.supervisor.start(unready=unready)
            yield turning
        finally:
            turning.supervisor.drain()
            turning.supervisor.close()


class Turning:
    """The supervisor's loop, run by the test."""

    def __init__(self, supervisor: Supervisor) -> None:
        self.supervisor = supervisor

    def until(self, holds: Callable[[], bool], within: float = SECONDS) -> None:
        """Tick until the condition is true, at most so many seconds."""

        def holds_or_ended() -> bool:
            if holds():
                return True
            if self.supervisor.tick():
                return False
            assert holds(), self.supervisor.statuses
            return True

        assert asked(within, holds_or_ended, TICK / 4), self.supervisor.statuses

    def to_the_end(self, within: float = SECONDS) -> None:
        """Tick until all queries have ended, at most so many seconds."""
        assert asked(within, lambda: not self.supervisor.tick(), TICK / 4), self.supervisor.statuses

    def __getitem__(self, query: str) -> QueryProgress:
        return next(status for status in self.supervisor.statuses if status.name == query)

    def states(self) -> dict[str, QueryState]:
        return {status.name: status.state for status in self.supervisor.statuses}
