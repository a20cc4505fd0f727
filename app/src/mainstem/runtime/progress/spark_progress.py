"""Computes the status of a query from Spark's progress events; pure.

The fields and their traps (strings for numbers, sources without names, counters for each batch) are those of
`StreamingQueryProgress.json` in Spark 4.2.
"""

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any, TypeGuard

from mainstem import reasons
from mainstem.language.model import expectations
from mainstem.language.model.decode import OTHER_CASE
from mainstem.language.model.status.fields import moment
from mainstem.language.model.status.progress_parts import ExpectationProgress, SourceProgress
from mainstem.language.model.status.query_progress import QueryProgress
from mainstem.runtime.clock import stamp
from mainstem.runtime.progress.transitions import QueryEvent, after


METRIC = "mainstem."
_AHEAD = timedelta(hours=1)
_RECORDS = ("decoded", "malformed", "tombstones")
"""Kinds of records that a decoder counts, as `DecodedRecords` and `SourceProgress` name them."""
Offsets = Mapping[str, Mapping[str, int]]
"""Topic -> partition -> offset."""


def updated(
    status: QueryProgress,
    progress: Mapping[str, Any],
    occurrences: Sequence[str],
    earliest: Mapping[str, Offsets] = MappingProxyType({}),
) -> QueryProgress:
    """The status after one progress event.

    Args:
        status: the status before the event.
        progress: Spark's JSON, parsed.
        occurrences: names of the sources, in the order of the plan's leaves; Spark's JSON has none.
        earliest: occurrence -> the first offsets of its topics before Spark planned the batch, if known.
    """
    rows = int(progress.get("numInputRows") or 0)
    operators = progress.get("stateOperators") or []
    durations = progress.get("durationMs") or {}
    ran = "addBatch" in durations
    if ran and status.reason != reasons.SIDE_INPUTS_STALE:  # a batch does not read side inputs again
        status = replace(status, reason=None, message=None)
    reported = (progress.get("eventTime") or {}).get("watermark")
    known = reported and not reported.startswith("1970-01-01T00:00:00")
    watermark = reported if known else status.watermark
    if is_ahead(watermark, progress.get("timestamp")):
        message = (
            f"the watermark, {watermark}, is more than an hour ahead of the clock: a record with a future time moved it, "
            "and Spark drops the rows of today as late; set watermark.maxFuture, and start a new generation of the "
            "checkpoint"
        )
        status = replace(status, reason=reasons.WATERMARK_AHEAD, message=message)
    elif status.reason is None and (message := _other_case(progress, occurrences)):
        status = replace(status, reason=reasons.KEYS_DIFFER_IN_CASE, message=message)
    return replace(
        after(status, QueryEvent.PROGRESS),
        idle=False if ran or rows else status.idle,
        id=progress.get("id"),
        run_id=progress.get("runId"),
        batch=int(progress["batchId"]) if ran else status.batch,
        batches=status.batches + (1 if ran and rows else 0),
        input_rows=status.input_rows + rows,
        processed_rows_per_second=_number(progress.get("processedRowsPerSecond"))
        if rows
        else status.processed_rows_per_second,
        batch_duration_ms=int(progress.get("batchDuration") or 0) if ran else status.batch_duration_ms,
        watermark=watermark,
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
        last_commit_time=(ran and _committed_at(progress)) or status.last_commit_time,
    )


def _committed_at(progress: Mapping[str, Any]) -> str | None:
    """When a batch was committed: Spark reports when it began, and how long it took. None for a run that an earlier driver
    has committed: it takes no time.
    """
    took = timedelta(milliseconds=int(progress.get("batchDuration") or 0))
    return stamp(datetime.fromisoformat(progress["timestamp"]) + took) if took else None


def _other_case(progress: Mapping[str, Any], occurrences: Sequence[str]) -> str:
    """The warning about the first source of a batch with a key that differs from a column only in case; empty without one."""
    metrics = progress.get("observedMetrics") or {}
    for name in occurrences:
        if keys := (metrics.get(METRIC + name) or {}).get(OTHER_CASE):
            return (
                f"JSON objects of the source {name!r} have the key {keys}: keys are case-sensitive, so this column is NULL; "
                "write the key in the schema as the objects have it"
            )
    return ""


def is_ahead(watermark: str | None, now: str | None) -> bool:
    """Whether a watermark is more than an hour ahead of a time; both are Spark's texts."""
    if not watermark or not now:
        return False
    at = moment(watermark)
    return at is None or at - datetime.fromisoformat(now) > _AHEAD


def waiting(status: QueryProgress) -> QueryProgress:
    """The status of a query that waits for data: Spark sends no progress for a start without data."""
    return replace(after(status, QueryEvent.IDLE), idle=True)


def with_spark_message(status: QueryProgress, message: str) -> QueryProgress:
    """The status of a query whose tasks never end, from Spark's status message: a continuous stream sends no progress,
    and a real-time stream sends none before its first batch ends.
    """
    epoch = re.fullmatch(r"Committing epoch (\d+)", message)
    if epoch is None and message not in ("Running", "Processing new data"):
        return status
    running = after(status, QueryEvent.PROGRESS)
    return replace(running, batch=int(epoch[1])) if epoch else running


def _sources(
    before: Sequence[SourceProgress],
    progress: Mapping[str, Any],
    occurrences: Sequence[str],
    earliest: Mapping[str, Offsets],
) -> tuple[SourceProgress, ...]:
    known = {source.name: source for source in before}
    reported = progress.get("sources") or []
    metrics = progress.get("observedMetrics") or {}
    result = []
    for index, name in enumerate(occurrences):
        source = known.get(name, SourceProgress(name))
        if index < len(reported):
            source = replace(source, end_offset=reported[index].get("endOffset"))
            source = lagging(source, reported[index].get("latestOffset"))
            gap = expired_offsets(
                reported[index].get("startOffset"), reported[index].get("endOffset"), earliest.get(name)
            )
            source = replace(source, expired=source.expired + gap)
        counts = metrics.get(METRIC + name) or {}
        sums = {kind: getattr(source, kind) + int(counts.get(kind) or 0) for kind in _RECORDS}
        result.append(replace(source, **sums))
    return tuple(result)


def _expectations(
    before: Sequence[ExpectationProgress], metrics: Mapping[str, Mapping[str, Any]]
) -> tuple[ExpectationProgress, ...]:
    """The counts until now and of this batch."""
    known = {(expectation.view, expectation.name): expectation for expectation in before}
    for metric, counts in metrics.items():
        if metric.startswith(expectations.METRIC):
            view, rows = metric.removeprefix(expectations.METRIC), int(counts.get(expectations.ROWS) or 0)
            for name in counts.keys() - {expectations.ROWS}:
                count = known.get((view, name), ExpectationProgress(view, name))
                violated = int(counts[name] or 0)
                known[view, name] = replace(
                    count, passed=count.passed + rows - violated, violated=count.violated + violated
                )
    return tuple(known[key] for key in sorted(known))


def read_all(progress: Mapping[str, Any], occurrences: Sequence[str], topics: Collection[str]) -> bool:
    """Whether a batch committed all records that its topics had when it was planned.

    Args:
        progress: Spark's JSON, parsed.
        occurrences: names of the sources, in the order of the plan's leaves.
        topics: those that are streams of Kafka.
    """
    reported = dict(zip(occurrences, progress.get("sources") or [], strict=False))
    sources = [reported.get(name, {}) for name in topics]
    return "addBatch" in (progress.get("durationMs") or {}) and all(
        reaches(source.get("endOffset"), source.get("latestOffset")) for source in sources
    )


def went_back(progress: Mapping[str, Any], occurrences: Sequence[str]) -> set[tuple[str, str]]:
    """The occurrences and topics whose offsets went back in a batch: the topics were recreated."""
    recreated = set()
    for name, reported in zip(occurrences, progress.get("sources") or [], strict=False):
        start, end = reported.get("startOffset"), reported.get("endOffset")
        if per_partition(start) and per_partition(end):
            recreated |= {
                (name, topic)
                for topic, partitions in start.items()
                for partition, first in partitions.items()
                if int((end.get(topic) or {}).get(partition, first)) < int(first)
            }
    return recreated


def expired_offsets(start: Any, end: Any, earliest: Offsets | None) -> int:
    """The number of offsets of a batch that had expired when the batch was planned.

    The number is a lower bound: it leaves out offsets that expire while the batch runs. In a topic with transactions or
    compaction some of these offsets were no records. If a batch ends before it starts, the topic was recreated: Spark
    continues at the topic's end, and reads nothing before that.

    Args:
        start: Spark's offsets at the start of the batch.
        end: Spark's offsets at its end.
        earliest: the first offsets of the topics, asked before Spark planned the batch.
    """
    if earliest is None or not per_partition(start) or not per_partition(end):
        return 0
    gone = 0
    for topic, partitions in start.items():
        for partition, first in partitions.items():
            last = int((end.get(topic) or {}).get(partition, first))
            there = int(earliest.get(topic, {}).get(partition, first))
            gone += last if last < int(first) else max(0, min(last, there) - int(first))
    return gone


def lagging(source: SourceProgress, latest: Any, earliest: Offsets = MappingProxyType({})) -> SourceProgress:
    """The source with its lag behind the newest offsets of its topics; unchanged for a source other than Kafka.

    Args:
        source: the source with the end of the last batch.
        latest: topic -> partition -> the offset after the last record.
        earliest: topic -> partition -> the first offset; 0 if it is missing. What has expired is no lag.
    """
    behind = _unread(source.end_offset, latest, earliest)
    if behind is None:
        return source
    return replace(source, partitions=len(behind), lag=sum(behind), max_lag=max(behind, default=0))


def reaches(end: Any, latest: Any) -> bool:
    """Whether nothing is unread from an offset of Kafka on; False for another offset."""
    unread = _unread(end, latest)
    return unread is not None and not any(unread)


def _unread(end: Any, latest: Any, earliest: Offsets = MappingProxyType({})) -> list[int] | None:
    """The records of each partition from an offset on; None if the offsets are not Kafka's."""
    if not per_partition(end) or not per_partition(latest):
        return None
    return [
        max(0, int(newest) - max(offset(end, topic, partition, 0), offset(earliest, topic, partition, 0)))
        for topic, partitions in latest.items()
        for partition, newest in partitions.items()
    ]


def retaining(source: SourceProgress, earliest: Offsets, latest: Offsets) -> SourceProgress:
    """The source with the records that its topics still keep."""
    kept = (
        max(0, newest - offset(earliest, topic, partition, newest))
        for topic, partitions in latest.items()
        for partition, newest in partitions.items()
    )
    return replace(source, retained_records=sum(kept))


def offset(offsets: Offsets, topic: str, partition: str, default: int) -> int:
    """The offset of a partition, or the default."""
    return int((offsets.get(topic) or {}).get(partition, default))


def per_partition(offset: Any) -> TypeGuard[Offsets]:
    """Whether it is an offset of Kafka: topic -> partition -> number."""
    return (
        isinstance(offset, dict)
        and bool(offset)
        and all(isinstance(value, dict) for value in offset.values())
    )


def _number(value: Any) -> float:
    number = float(value or 0.0)
    return round(number, 1) if math.isfinite(number) else 0.0
