"""Makes the metrics of a driver for Prometheus. Their names stay the same. The scrape adds the namespace.

A metric of a query, a source or an expectation is declared beside its field in `language.model.status`.
All metrics have the prefix `mainstem_` and the label `pipeline`. A metric without a value has no sample.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields
from datetime import datetime
from typing import Any, Final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from mainstem.language.model.status.fields import Metric, MetricUnit, moment
from mainstem.language.model.status.progress_parts import ExpectationProgress, SourceProgress
from mainstem.language.model.status.query_progress import QueryProgress
from mainstem.language.model.status.states import QueryState
from mainstem.names import METRIC_PREFIX
from mainstem.runtime.driver.driver_state import DriverState
from mainstem.runtime.driver.status_report import state


Family = GaugeMetricFamily | CounterMetricFamily
Sample = tuple[tuple[str, ...], float | None]
Part = QueryProgress | SourceProgress | ExpectationProgress


class Metrics(Collector):
    """The Prometheus collector of one driver: makes the metrics from the current state at each scrape."""

    def __init__(self, pipeline: str, attempt: int, driver: DriverState) -> None:
        self._pipeline, self._attempt, self._driver = pipeline, attempt, driver

    def collect(self) -> Iterator[Family]:
        """All metric families."""
        yield from self._of_pipeline()
        statuses = tuple(self._driver.statuses)
        yield self._states(statuses)
        yield from self._of_fields(QueryProgress, [((q.name,), q) for q in statuses])
        yield from self._of_fields(
            SourceProgress, [((q.name, s.name), s) for q in statuses for s in q.sources]
        )
        expectations = [((q.name, e.view, e.name), e) for q in statuses for e in q.expectations]
        yield from self._of_fields(ExpectationProgress, expectations)

    def _of_fields(self, kind: type[Part], parts: Iterable[tuple[tuple[str, ...], Part]]) -> Iterator[Family]:
        """A family for each field that declares a metric."""
        for field in fields(kind):
            metric: Metric | None = field.metadata.get("metric")
            if metric is not None:
                value, now = _VALUES[metric.unit], self._driver.clock.now()
                samples = ((labels, value(getattr(part, field.name), now)) for labels, part in parts)
                yield self._family(
                    metric.name, metric.help, kind.metric_labels, samples, counts=metric.counter
                )

    def _of_pipeline(self) -> Iterator[Family]:
        executors = self._driver.executors
        yield self._gauge("ready", "1 where every query is active.", float(self._driver.ready()))
        yield self._gauge("attempt", "Which start of the pipeline this is.", self._attempt)
        if executors:
            yield self._gauge("executors_running", "Executors that run.", executors.running)
            yield self._gauge("executors_wanted", "Executors that are wanted.", executors.wanted)

    def _gauge(self, name: str, text: str, value: float) -> Family:
        return self._family(name, text, (), [((), value)], counts=False)

    def _states(self, statuses: Iterable[QueryProgress]) -> Family:
        samples = (
            ((status.name, name), float(name == state(status))) for status in statuses for name in QueryState
        )
        return self._family(
            "query_state", "1 for the state that the query is in.", ("query", "state"), samples, counts=False
        )

    def _family(
        self, name: str, text: str, labels: tuple[str, ...], samples: Iterable[Sample], *, counts: bool
    ) -> Family:
        kind = CounterMetricFamily if counts else GaugeMetricFamily
        family: Family = kind(f"{METRIC_PREFIX}{name}", text, labels=("pipeline", *labels))
        for values, number in samples:
            if number is not None:
                family.add_metric([self._pipeline, *values], number)
        return family


def _seconds(milliseconds: int | None, _now: datetime) -> float | None:
    return None if milliseconds is None else milliseconds / 1000


def _timestamp(text: str | None, _now: datetime) -> float | None:
    time = moment(text)
    return None if time is None else time.timestamp()


def _age(text: str | None, now: datetime) -> float | None:
    seconds = _timestamp(text, now)
    return None if seconds is None else now.timestamp() - seconds


_VALUES: Final[dict[MetricUnit, Callable[[Any, datetime], float | None]]] = {
    MetricUnit.NUMBER: lambda number, _now: number,
    MetricUnit.NONZERO: lambda number, _now: number or None,
    MetricUnit.SECONDS: _seconds,
    MetricUnit.TIMESTAMP: _timestamp,
    MetricUnit.AGE: _age,
}
"""Unit -> the metric's value, from the field's and the time of the scrape."""
