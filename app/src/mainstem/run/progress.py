"""Spark's progress events to the status of a query; pure.

Field meanings and their traps (strings for numbers, sources without names, counters per batch) are Spark's:
StreamingQueryProgress.json of 4.2.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from mainstem.spec import expectations


METRIC = "mainstem."
Offsets = Mapping[str, Mapping[str, int]]
"""Topic -> partition -> offset."""


class State(StrEnum):
    """What a query is doing."""

    STARTING = "Starting"
    WAITING = "Waiting"
    RUNNING = "Running"
    RESTARTING = "Restarting"
    FAILED = "Failed"
    COMPLETED = "Completed"
    DRAINED = "Drained"
    CUT = "Cut"
    SUSPENDED = "Suspended"


@dataclass(frozen=True)
class SourceStatus:
    """One occurrence of a source in a query.

    Attributes:
        name: the occurrence: the source's name, or `<name>_2` for a second one.
        partitions: number of Kafka partitions, 0 for other sources.
        lag: records behind the newest, over all partitions; None where Spark does not tell.
        max_lag: the same for the worst partition.
        good: records that parsed, since the driver started.
        bad: records that did not.
        end_offset: where the last batch ended, as Spark has it.
        lost: offsets that had expired before they were read; at least so many.
    """

    name: str
    partitions: int = 0
    lag: int | None = None
    max_lag: int | None = None
    good: int = 0
    bad: int = 0
    end_offset: Any = None
    lost: int = 0


@dataclass(frozen=True)
class ExpectationStatus:
    """One expectation of a view that a query reads, since the driver started.

    Attributes:
        view: the view.
        name: the expectation.
        passed: rows that fulfilled it.
        violated: rows that did not.
    """

    view: str
    name: str
    passed: int = 0
    violated: int = 0


@dataclass(frozen=True)
class QueryStatus:
    """All that is known of a query. Sums count since the driver started; `batch` is the checkpoint's.

    Attributes:
        counted_since: when the driver began to count, ISO 8601.
        id: Spark's id of the checkpoint, the same across restarts.
        run_id: Spark's id of this start.
        batch: the last committed batch; None before the first.
        batches: batches with data, committed since the driver started.
        rows_per_second: input rows per second of the last batch with data.
        batch_duration_ms: how long it took.
        watermark: event time up to which state is final, ISO 8601.
        state_rows: rows in state stores.
        dropped_by_watermark: late rows that stateful operators dropped, as Spark counts them: an aggregation counts
            after its partial aggregation, one for each group and partition.
        last_progress_time: when Spark last reported, ISO 8601.
        idle: it waits for data, as far as is known; the same query with data is busy.
        restarts: restarts in a row.
        reason: why it failed last, None when it has been well since.
    """

    name: str
    state: State = State.STARTING
    pool: str = ""
    checkpoint: str = ""
    counted_since: str | None = None
    id: str | None = None
    run_id: str | None = None
    batch: int | None = None
    batches: int = 0
    input_rows: int = 0
    rows_per_second: float = 0.0
    batch_duration_ms: int | None = None
    watermark: str | None = None
    state_rows: int = 0
    state_bytes: int = 0
    dropped_by_watermark: int = 0
    sources: tuple[SourceStatus, ...] = ()
    expectations: tuple[ExpectationStatus, ...] = ()
    last_progress_time: str | None = None
    idle: bool = False
    restarts: int = 0
    reason: str | None = None
    message: str | None = None

    @property
    def bad(self) -> int:
        """Records that did not parse, over all sources."""
        return sum(source.bad for source in self.sources)

    @property
    def lost(self) -> int:
        """Offsets that had expired, over all sources."""
        return sum(source.lost for source in self.sources)

    @property
    def violated(self) -> int:
        """Violations of expectations; a row may violate several."""
        return sum(one.violated for one in self.expectations)

    @property
    def lag(self) -> int | None:
        """Records behind, over all sources that tell; None where none does."""
        known = [source.lag for source in self.sources if source.lag is not None]
        return sum(known) if known else None


def updated(
    status: QueryStatus,
    progress: Mapping[str, Any],
    occurrences: Sequence[str],
    earliest: Mapping[str, Offsets] = MappingProxyType({}),
) -> QueryStatus:
    """The status after one progress event.

    Args:
        status: before.
        progress: Spark's JSON, parsed.
        occurrences: names of the sources, in the order of the plan's leaves; Spark's JSON has none.
        earliest: occurrence -> the first offsets that its topics still had before the batch was planned, where known.
    """
    rows = int(progress.get("numInputRows") or 0)
    operators = progress.get("stateOperators") or []
    durations = progress.get("durationMs") or {}
    ran = "addBatch" in durations
    watermark = (progress.get("eventTime") or {}).get("watermark")
    if ran:
        status = replace(status, reason=None, message=None)
    return replace(
        status,
        state=State.RUNNING if status.state in (State.STARTING, State.RESTARTING) else status.state,
        idle=False if ran or rows else status.idle,
        id=progress.get("id"),
        run_id=progress.get("runId"),
        batch=int(progress["batchId"]) if ran else status.batch,
        batches=status.batches + (1 if ran and rows else 0),
        input_rows=status.input_rows + rows,
        rows_per_second=_number(progress.get("processedRowsPerSecond")) if rows else 0.0,
        batch_duration_ms=int(progress.get("batchDuration") or 0) if ran else status.batch_duration_ms,
        watermark=watermark
        if watermark and not watermark.startswith("1970-01-01T00:00:00")
        else status.watermark,
        state_rows=sum(int(op.get("numRowsTotal") or 0) for op in operators)
        if operators
        else status.state_rows,
        state_bytes=sum(int(op.get("memoryUsedBytes") or 0) for op in operators)
        if operators
        else status.state_bytes,
        dropped_by_watermark=status.dropped_by_watermark
        + sum(int(op.get("numRowsDroppedByWatermark") or 0) for op in operators),
        sources=_sources(status.sources, progress, occurrences, earliest),
        expectations=_expectations(status.expectations, progress.get("observedMetrics") or {}),
        last_progress_time=progress.get("timestamp"),
    )


def waiting(status: QueryStatus) -> QueryStatus:
    """The status of a query that is seen to wait for data: Spark sends no progress of an idle start."""
    if status.state not in (State.STARTING, State.RESTARTING):
        return replace(status, idle=True)
    return replace(status, state=State.RUNNING, idle=True, reason=None, message=None)


def told(status: QueryStatus, message: str) -> QueryStatus:
    """The status of a query whose tasks never end, from what Spark says of it: a continuous stream sends no progress at
    all, and a real-time one none before its first batch ends.
    """
    epoch = re.fullmatch(r"Committing epoch (\d+)", message)
    if epoch is None and message not in ("Running", "Processing new data"):
        return status
    state = State.RUNNING if status.state in (State.STARTING, State.RESTARTING) else status.state
    return replace(status, state=state, batch=int(epoch[1]) if epoch else status.batch)


def moment(text: str | None) -> datetime | None:
    """One of Spark's times; None for one beyond the year 9999, which no resource and no clock of ours can hold.

    Event time gets there where milliseconds are taken for seconds, and the watermark with it.
    """
    try:
        return None if text is None else datetime.fromisoformat(text)
    except ValueError:
        return None


def as_json(status: QueryStatus, *, offsets: bool = False) -> dict[str, Any]:
    """A status as JSON, keys in camelCase, without what is unknown."""
    plain = asdict(status)
    del plain["idle"]
    if not status.expectations:
        del plain["expectations"]
    for source in plain["sources"]:
        if not offsets:
            source.pop("end_offset")
    result = {_camel(key): value for key, value in plain.items() if value is not None}
    result["sources"] = [
        {_camel(key): value for key, value in source.items() if value is not None}
        for source in plain["sources"]
    ]
    if status.lag is not None:
        result["lag"] = status.lag
    return result


def _sources(
    before: Sequence[SourceStatus],
    progress: Mapping[str, Any],
    occurrences: Sequence[str],
    earliest: Mapping[str, Offsets],
) -> tuple[SourceStatus, ...]:
    known = {source.name: source for source in before}
    reported = progress.get("sources") or []
    metrics = progress.get("observedMetrics") or {}
    result = []
    for index, name in enumerate(occurrences):
        source = known.get(name, SourceStatus(name))
        if index < len(reported):
            source = _lagging(source, reported[index])
            gap = lost(
                reported[index].get("startOffset"), reported[index].get("endOffset"), earliest.get(name)
            )
            source = replace(source, lost=source.lost + gap)
        counts = metrics.get(METRIC + name) or {}
        good, bad = int(counts.get("good") or 0), int(counts.get("bad") or 0)
        result.append(replace(source, good=source.good + good, bad=source.bad + bad))
    return tuple(result)


def _expectations(
    before: Sequence[ExpectationStatus], metrics: Mapping[str, Mapping[str, Any]]
) -> tuple[ExpectationStatus, ...]:
    """What was counted until now, and in this batch."""
    known = {(one.view, one.name): one for one in before}
    for metric, counts in metrics.items():
        if metric.startswith(expectations.METRIC):
            view, rows = metric.removeprefix(expectations.METRIC), int(counts.get(expectations.ROWS) or 0)
            for name in counts.keys() - {expectations.ROWS}:
                one = known.get((view, name), ExpectationStatus(view, name))
                bad = int(counts[name] or 0)
                known[view, name] = replace(one, passed=one.passed + rows - bad, violated=one.violated + bad)
    return tuple(sorted(known.values(), key=lambda one: (one.view, one.name)))


def lost(start: Any, end: Any, earliest: Offsets | None) -> int:
    """Offsets of a batch that its topics had no more when it was planned.

    Certain, and a lower bound: what expires while a batch runs is not seen. In a topic with transactions or compaction
    some of these offsets were no records.

    Args:
        start: where the batch starts, as Spark has it.
        end: where it ends.
        earliest: the first offsets that there still were, asked before the batch was planned.
    """
    if earliest is None or not _per_partition(start) or not _per_partition(end):
        return 0
    gone = 0
    for topic, partitions in start.items():
        for partition, first in partitions.items():
            last = int((end.get(topic) or {}).get(partition, first))
            there = int(earliest.get(topic, {}).get(partition, first))
            gone += max(0, min(last, there) - int(first))
    return gone


def _lagging(source: SourceStatus, reported: Mapping[str, Any]) -> SourceStatus:
    end: Any = reported.get("endOffset")
    latest: Any = reported.get("latestOffset")
    if not _per_partition(end) or not _per_partition(latest):
        return replace(source, end_offset=end)
    behind = [
        max(0, int(newest) - int((end.get(topic) or {}).get(partition, 0)))
        for topic, partitions in latest.items()
        for partition, newest in partitions.items()
    ]
    return replace(
        source, end_offset=end, partitions=len(behind), lag=sum(behind), max_lag=max(behind, default=0)
    )


def _per_partition(offset: Any) -> bool:
    """True for Kafka's offsets: topic -> partition -> number."""
    return (
        isinstance(offset, dict)
        and bool(offset)
        and all(isinstance(value, dict) for value in offset.values())
    )


def _number(value: Any) -> float:
    number = float(value or 0.0)
    return round(number, 1) if math.isfinite(number) else 0.0


def _camel(key: str) -> str:
    head, *tail = key.split("_")
    return head + "".join(word.capitalize() for word in tail)
