"""What a driver tells Prometheus, under names that stay as they are. The namespace is for the scrape to add.

With the label `pipeline`:

- `mainstem_ready`: 1 where every query is active; `mainstem_attempt`: which start of the pipeline this is.
- `mainstem_executors_running`, `mainstem_executors_wanted`: where there are executors.

With `pipeline` and `query` besides:

- `mainstem_query_state{state}`: 1 for the state that it is in, 0 for the others.
- `mainstem_query_batch`: the last committed batch; `mainstem_query_batches_total`: batches with data, since the start.
- `mainstem_query_input_rows_total`, `mainstem_query_dropped_rows_total`: rows read, late rows dropped, since the start.
- `mainstem_query_rows_per_second`: input rows by the clock on the wall; `mainstem_query_processed_rows_per_second` and
  `mainstem_query_batch_duration_seconds`: of the last batch with data.
- `mainstem_query_lag_records`: behind the newest, over all sources that tell.
- `mainstem_query_watermark_lag_seconds`: how long ago the watermark is.
- `mainstem_query_last_progress_timestamp_seconds`: when the trigger began that Spark reported last.
- `mainstem_query_state_rows`, `mainstem_query_state_bytes`; `mainstem_query_restarts`: in a row.

With `pipeline`, `query` and `source`:

- `mainstem_source_lag_records`, `mainstem_source_lag_max_records` (the worst partition), `mainstem_source_partitions`.
- `mainstem_source_decoded_records_total`, `mainstem_source_malformed_records_total`: since the start.
- `mainstem_source_expired_offsets_total`: expired before they were read, since the start.

With `pipeline`, `query`, `view` and `expectation`:

- `mainstem_expectation_passed_rows_total`, `mainstem_expectation_violated_rows_total`: since the start.

What is not known has no sample.
"""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any, Final, get_args

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from mainstem.language.model.status import QueryProgress
from mainstem.runtime.driver.driver_state import DriverState
from mainstem.runtime.driver.status_report import state
from mainstem.runtime.progress.query_status import QueryStatus, moment


STATES: Final[tuple[str, ...]] = get_args(QueryProgress.model_fields["state"].annotation)
Family = GaugeMetricFamily | CounterMetricFamily
Sample = tuple[tuple[str, ...], float | None]


class Metrics(Collector):
    """The Prometheus collector of one driver: makes the metrics from the current state at each scrape."""

    def __init__(self, pipeline: str, attempt: int, driver: DriverState) -> None:
        self._pipeline, self._attempt, self._driver = pipeline, attempt, driver

    def collect(self) -> Iterator[Family]:
        """All metric families."""
        yield from self._of_pipeline()
        statuses = tuple(self._driver.statuses)
        yield self._states(statuses)
        for name, text, counts, value in _QUERIES:
            samples: Iterable[Sample] = (((status.name,), value(status)) for status in statuses)
            yield self._family(name, text, ("query",), samples, counts=counts)
        for name, text, counts, value in _SOURCES:
            samples = (((status.name, s.name), value(s)) for status in statuses for s in status.sources)
            yield self._family(name, text, ("query", "source"), samples, counts=counts)
        for name, text, value in _EXPECTATIONS:
            samples = (((q.name, e.view, e.name), value(e)) for q in statuses for e in q.expectations)
            yield self._family(name, text, ("query", "view", "expectation"), samples, counts=True)

    def _of_pipeline(self) -> Iterator[Family]:
        executors = self._driver.executors
        yield self._gauge("ready", "1 where every query is active.", float(self._driver.ready()))
        yield self._gauge("attempt", "Which start of the pipeline this is.", self._attempt)
        if executors:
            yield self._gauge("executors_running", "Executors that run.", executors.running)
            yield self._gauge("executors_wanted", "Executors that are wanted.", executors.wanted)

    def _gauge(self, name: str, text: str, value: float) -> Family:
        return self._family(name, text, (), [((), value)], counts=False)

    def _states(self, statuses: Iterable[QueryStatus]) -> Family:
        samples = (
            ((status.name, name), float(name == state(status))) for status in statuses for name in STATES
        )
        return self._family(
            "query_state", "1 for the state that the query is in.", ("query", "state"), samples, counts=False
        )

    def _family(
        self, name: str, text: str, labels: tuple[str, ...], samples: Iterable[Sample], *, counts: bool
    ) -> Family:
        kind = CounterMetricFamily if counts else GaugeMetricFamily
        family: Family = kind(f"mainstem_{name}", text, labels=("pipeline", *labels))
        for values, number in samples:
            if number is not None:
                family.add_metric([self._pipeline, *values], number)
        return family


def _seconds(milliseconds: int | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1000


def _timestamp(text: str | None) -> float | None:
    time = moment(text)
    return None if time is None else time.timestamp()


def _age(text: str | None) -> float | None:
    seconds = _timestamp(text)
    return None if seconds is None else datetime.now(UTC).timestamp() - seconds


# Name, help, whether it only ever grows, value.
_QUERIES: Final[tuple[tuple[str, str, bool, Any], ...]] = (
    ("query_batch", "The last committed batch.", False, lambda q: q.batch),
    ("query_batches", "Batches with data since the driver's start.", True, lambda q: q.batches),
    ("query_input_rows", "Rows read since the driver's start.", True, lambda q: q.input_rows),
    (
        "query_dropped_rows",
        "Late rows dropped since the driver's start.",
        True,
        lambda q: q.dropped_by_watermark,
    ),
    ("query_rows_per_second", "Input rows per second of time.", False, lambda q: q.rows_per_second),
    (
        "query_processed_rows_per_second",
        "How fast the last batch was processed.",
        False,
        lambda q: q.processed_rows_per_second,
    ),
    (
        "query_batch_duration_seconds",
        "How long the last batch took.",
        False,
        lambda q: _seconds(q.batch_duration_ms),
    ),
    ("query_lag_records", "Records behind the newest.", False, lambda q: q.lag),
    ("query_watermark_lag_seconds", "How long ago the watermark is.", False, lambda q: _age(q.watermark)),
    (
        "query_last_progress_timestamp_seconds",
        "When the trigger began that Spark reported last.",
        False,
        lambda q: _timestamp(q.last_progress_time),
    ),
    ("query_state_rows", "Rows in the query's state.", False, lambda q: q.state_rows),
    ("query_state_bytes", "Memory that the state takes.", False, lambda q: q.state_bytes),
    ("query_restarts", "Restarts in a row.", False, lambda q: q.restarts),
)
_SOURCES: Final[tuple[tuple[str, str, bool, Any], ...]] = (
    ("source_lag_records", "Records behind the newest.", False, lambda s: s.lag),
    ("source_lag_max_records", "The same for the worst partition.", False, lambda s: s.max_lag),
    ("source_partitions", "Partitions of the topics.", False, lambda s: s.partitions or None),
    ("source_decoded_records", "Records that parsed since the driver's start.", True, lambda s: s.decoded),
    ("source_malformed_records", "Records that did not.", True, lambda s: s.malformed),
    ("source_expired_offsets", "Offsets that had expired before they were read.", True, lambda s: s.expired),
)
_EXPECTATIONS: Final[tuple[tuple[str, str, Any], ...]] = (
    ("expectation_passed_rows", "Rows that fulfilled it since the driver's start.", lambda e: e.passed),
    ("expectation_violated_rows", "Rows that violated it.", lambda e: e.violated),
)
