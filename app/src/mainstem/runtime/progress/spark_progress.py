"""Spark's progress events to the status of a query; pure.

Field meanings and their traps (strings for numbers, sources without names, counters per batch) are Spark's:
StreamingQueryProgress.json of 4.2.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any

from mainstem.language.model import expectations
from mainstem.language.model.status.fields import moment
from mainstem.language.model.status.query_progress import ExpectationProgress, QueryProgress, SourceProgress
from mainstem.language.model.status.states import STALE, WATERMARK_AHEAD
from mainstem.runtime.progress.transitions import QueryEvent, after


METRIC = "mainstem."
_AHEAD = timedelta(hours=1)
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
    if ran and status.reason != STALE:  # which a batch does not mend
        status = replace(status, reason=None, message=None)
    with_spark_message = (
        watermark if watermark and not watermark.startswith("1970-01-01T00:00:00") else status.watermark
    )
    if is_ahead(with_spark_message, progress.get("timestamp")):
        message = (
            f"the watermark, {with_spark_message}, is more than an hour ahead of the clock: a record of the future moved it, and rows "
            "of today are dropped; set watermark.maxFuture, and start a new generation of the checkpoint"
        )
        status = replace(status, reason=WATERMARK_AHEAD, message=message)
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
        watermark=with_spark_message,
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


def is_ahead(watermark: str | None, now: str | None) -> bool:
    """Whether a watermark is more than an hour ahead of a time, both as Spark writes them."""
    if not watermark or not now:
        return False
    at = moment(watermark)
    return at is None or at - datetime.fromisoformat(now) > _AHEAD


def waiting(status: QueryProgress) -> QueryProgress:
    """The status of a query that is seen to wait for data: Spark sends no progress of an idle start."""
    return replace(after(status, QueryEvent.IDLE), idle=True)


def with_spark_message(status: QueryProgress, message: str) -> QueryProgress:
    """The status of a query whose tasks never end, from what Spark says of it: a continuous stream sends no progress at
    all, and a real-time one none before its first batch ends.
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
        good, bad = int(counts.get("decoded") or 0), int(counts.get("malformed") or 0)
        result.append(replace(source, decoded=source.decoded + good, malformed=source.malformed + bad))
    return tuple(result)


def _expectations(
    before: Sequence[ExpectationProgress], metrics: Mapping[str, Mapping[str, Any]]
) -> tuple[ExpectationProgress, ...]:
    """What was counted until now, and in this batch."""
    known = {(one.view, one.name): one for one in before}
    for metric, counts in metrics.items():
        if metric.startswith(expectations.METRIC):
            view, rows = metric.removeprefix(expectations.METRIC), int(counts.get(expectations.ROWS) or 0)
            for name in counts.keys() - {expectations.ROWS}:
                one = known.get((view, name), ExpectationProgress(view, name))
                bad = int(counts[name] or 0)
                known[view, name] = replace(one, passed=one.passed + rows - bad, violated=one.violated + bad)
    return tuple(sorted(known.values(), key=lambda one: (one.view, one.name)))


def went_back(progress: Mapping[str, Any], occurrences: Sequence[str]) -> set[tuple[str, str]]:
    """The occurrences and topics whose offsets went back in a batch: the topics were recreated."""
    found = set()
    for name, reported in zip(occurrences, progress.get("sources") or [], strict=False):
        start, end = reported.get("startOffset"), reported.get("endOffset")
        if _per_partition(start) and _per_partition(end):
            found |= {
                (name, topic)
                for topic, partitions in start.items()
                for partition, first in partitions.items()
                if int((end.get(topic) or {}).get(partition, first)) < int(first)
            }
    return found


def expired_offsets(start: Any, end: Any, earliest: Offsets | None) -> int:
    """The number of offsets of a batch that had expired when the batch was planned.

    Certain, and a lower bound: what expires while a batch runs is not seen. In a topic with transactions or compaction
    some of these offsets were no records. A batch that ends before it starts is one of a topic that was made anew: Spark
    goes on at its end, and reads nothing before that.

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
            gone += last if last < int(first) else max(0, min(last, there) - int(first))
    return gone


def lagging(source: SourceProgress, latest: Any, earliest: Offsets = MappingProxyType({})) -> SourceProgress:
    """The source with its lag behind the newest offsets of its topics; unchanged where either is not Kafka's.

    Args:
        source: with the end of the last batch.
        latest: topic -> partition -> the offset behind the last record.
        earliest: where partitions begin of which nothing was read yet; without it, at 0.
    """
    end = source.end_offset
    if not _per_partition(end) or not _per_partition(latest):
        return source
    behind = [
        max(0, int(newest) - int(offset(end, topic, partition, offset(earliest, topic, partition, 0))))
        for topic, partitions in latest.items()
        for partition, newest in partitions.items()
    ]
    return replace(source, partitions=len(behind), lag=sum(behind), max_lag=max(behind, default=0))


def offset(offsets: Offsets, topic: str, partition: str, default: int) -> int:
    """The offset of a partition, where there is one."""
    return int((offsets.get(topic) or {}).get(partition, default))


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
