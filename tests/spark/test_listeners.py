"""Listeners of the user's own, and Spark's metrics of each query."""

from pathlib import Path
from typing import Any, ClassVar

import pytest
from harness.supervisor_loop import Stage
from harness.waiting import within
from mainstem.errors import NotReady
from mainstem.language.model.status.states import QueryState
from pyspark.sql import SparkSession
from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)


pytestmark = pytest.mark.S38


class Recorder(StreamingQueryListener):
    """Writes down what it hears."""

    events: ClassVar[list[tuple[str, Any]]] = []

    def onQueryStarted(self, event: QueryStartedEvent) -> None:
        self.events.append(("started", event.name))

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        self.events.append(("progress", (event.progress.name, event.progress.numInputRows)))

    def onQueryIdle(self, event: QueryIdleEvent) -> None:
        self.events.append(("idle", event.id))

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:
        self.events.append(("terminated", event.exception))


class Broken(Recorder):
    """Fails on every event."""

    def onQueryStarted(self, event: QueryStartedEvent) -> None:
        raise ValueError(event.name)

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        raise SystemError(event.progress.name)

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:
        raise KeyError(event.exception)


class NoListener:
    """No listener, although the document names it as one."""


@pytest.fixture
def stage(spark: SparkSession, tmp_path: Path) -> Stage:
    Recorder.events.clear()
    return Stage(spark.newSession(), tmp_path)


def test_a_listener_receives_every_query_and_a_broken_listener_fails_none(stage: Stage) -> None:
    stage.put("lines", "a", "b")
    queries = [
        stage.query("lines", "one", trigger={"availableNow": True}),
        stage.query("lines", "two", trigger={"availableNow": True}),
    ]
    names = [f"{__name__}:Broken", f"{__name__}:Recorder"]
    with stage.running(sources=[stage.files("lines")], queries=queries, listeners=names) as run:
        run.to_the_end()
        assert set(run.states().values()) == {QueryState.COMPLETED}
    assert [event for event in Recorder.events if event[0] == "started"] == [
        ("started", "to-one"),
        ("started", "to-two"),
    ]
    progress = [event[1] for event in Recorder.events if event[0] == "progress" and event[1][1]]
    assert sorted(progress) == [("to-one", 2), ("to-two", 2)]
    assert Recorder.events.count(("terminated", None)) == 2


@pytest.mark.parametrize("name", ["no.such:Thing", f"{__name__}:Missing", f"{__name__}:NoListener"])
def test_a_listener_that_cannot_be_created_is_reported_at_the_start(stage: Stage, name: str) -> None:
    stage.put("lines", "a")
    with (
        pytest.raises(NotReady, match="the listener ") as error,
        stage.running(
            sources=[stage.files("lines")], queries=[stage.query("lines", "one")], listeners=[name]
        ),
    ):
        pass
    assert error.value.reason == "ListenerNotFound"


def test_the_metrics_of_spark_have_each_query(stage: Stage) -> None:
    """As its sinks get them, Prometheus' among them: rates, latency, state, watermark."""
    stage.put("lines", "a")
    system: Any = stage.spark._jvm.org.apache.spark.SparkEnv.get().metricsSystem()
    with stage.running(sources=[stage.files("lines")], queries=[stage.query("lines", "one")]) as run:
        run.until(lambda: run["to-one"].batches == 1)
        metric_sources = within(
            10, "a source of metrics", lambda: system.getSourcesByName("spark.streaming.to-one")
        )
        names = set(metric_sources.apply(0).metricRegistry().getGauges().keySet())
    paths = [handler.getContextPath() for handler in system.getServletHandlers()]
    assert {"/metrics/json", "/metrics/prometheus"} <= set(paths)
    assert {"inputRate-total", "processingRate-total", "latency", "states-rowsTotal"} <= names
