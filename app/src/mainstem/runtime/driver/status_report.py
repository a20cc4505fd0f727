"""Makes the driver's part of the resource's status from the statuses of the queries; pure.

Its fields are those of `mainstem.language.model.status`; a test holds them against the models and against an API server.
"""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from mainstem import logs
from mainstem.language.base import MAX_ITEMS
from mainstem.language.model.status import MAX_BYTES, tally
from mainstem.runtime.driver.executor_losses import MemoryLoss
from mainstem.runtime.progress.query_status import (
    ExpectationStatus,
    QueryState,
    QueryStatus,
    SourceStatus,
    moment,
)


LONGEST_OFFSET: Final = 256
LONGEST_MESSAGE: Final = 1024
LONGEST_REASON: Final = 128
"""Characters, as the resource's models bound them."""
BUDGET: Final = MAX_BYTES - 6 * 1024
"""Bytes of the driver's part; the rest is for the operator's conditions."""

_MOST: Final = 2**53 - 1
"""The largest number that every reader of JSON takes as it is."""
_WELL: Final = (QueryState.RUNNING, QueryState.COMPLETED, QueryState.SUSPENDED)
_SHORT: Final = 160
"""Characters of a message where not all fits."""


@dataclass(frozen=True)
class ExecutorCounts:
    """The numbers of a driver's executors, and why some are missing.

    Attributes:
        running: registered with the driver.
        wanted: asked for.
        message: why some are missing, in the scheduler's or the kubelet's words; None where nothing is known.
        loss: the newest one that ran out of memory.
    """

    running: int
    wanted: int
    message: str | None = None
    loss: MemoryLoss | None = None


def state(status: QueryStatus) -> str:
    """The state as the resource shows it: a running query that waits for data is `Idle`."""
    return "Idle" if status.state is QueryState.RUNNING and status.idle else str(status.state)


def active(status: QueryStatus) -> bool:
    """Whether the query is well and was seen to be: in this driver it has committed a batch, found nothing to do, or
    come to its end.
    """
    return status.state in _WELL


def ready(statuses: Sequence[QueryStatus]) -> bool:
    """Whether every query is active."""
    return bool(statuses) and all(active(status) for status in statuses)


def query(status: QueryStatus) -> dict[str, Any]:
    """One entry of `status.queries`."""
    seen = status.last_progress_time is not None
    found: dict[str, Any] = {
        "name": status.name,
        "state": state(status),
        "pool": status.pool or None,
        "checkpoint": status.checkpoint or None,
        "id": status.id,
        "runId": status.run_id,
        "startedAt": status.started_at,
        "batch": None if status.batch is None else min(status.batch, _MOST),
        "rowsPerSecond": _rate(status.rows_per_second) if seen else None,
        "processedRowsPerSecond": _count(status.processed_rows_per_second) if seen else None,
        "inputRows": _count(status.input_rows) if seen else None,
        "batchDurationMs": _count(status.batch_duration_ms),
        "lag": _count(status.lag),
        "watermark": status.watermark if moment(status.watermark) else None,
        "stateRows": _count(status.state_rows) if seen else None,
        "stateBytes": _count(status.state_bytes) if seen else None,
        "droppedByWatermark": _count(status.dropped_by_watermark) if seen else None,
        "lastProgressTime": status.last_progress_time,
        "restarts": status.restarts,
        "reason": status.reason[:LONGEST_REASON] if status.reason else None,
        "message": _shortened(status.message, LONGEST_MESSAGE) if status.message else None,
        "sources": [_source(source) for source in status.sources],
        "expectations": [_expectation(one) for one in _worst(status.expectations)],
    }
    return _known(found)


def summary(statuses: Sequence[QueryStatus], executors: ExecutorCounts | None) -> dict[str, Any]:
    """`status.summary`: what the printer columns show."""
    lags = [status.lag for status in statuses if status.lag is not None]
    rates = [status.rows_per_second for status in statuses if status.state is QueryState.RUNNING]
    found: dict[str, Any] = {
        "queries": tally(map(state, statuses)),
        "lag": _count(sum(lags)) if lags else None,
        "rowsPerSecond": _rate(sum(rates)),
    }
    if executors:
        found["executors"] = f"{executors.running}/{executors.wanted}"
        reason, message = executors.loss or (None, executors.message)
        found["executorsReason"] = reason
        if message:
            found["executorsMessage"] = _shortened(message, LONGEST_MESSAGE)
    return _known(found)


def part(
    statuses: Sequence[QueryStatus], executors: ExecutorCounts | None, *, attempt: int, time: str
) -> dict[str, Any]:
    """The driver's part of the status, short enough for a resource.

    Args:
        statuses: the queries in the order of the document.
        executors: None where there are none.
        attempt: which start of the pipeline this is.
        time: now, as RFC 3339 has it.
    """
    found: dict[str, Any] = {
        "queries": [query(status) for status in statuses],
        "summary": summary(statuses, executors),
        "reported": _known({"attempt": attempt, "time": time, "since": _since(statuses)}),
    }
    for shorter in _SHORTER:
        if size(found) <= BUDGET:
            break
        found["queries"] = [shorter(entry) for entry in found["queries"]]
    return found


def _since(statuses: Sequence[QueryStatus]) -> str | None:
    return min((status.counted_since for status in statuses if status.counted_since), default=None)


def meaning(written: Mapping[str, Any]) -> Any:
    """The fields of a part whose change is worth a write: all but the times of writing and of Spark's idle reports."""
    queries = [
        {key: value for key, value in entry.items() if key != "lastProgressTime"}
        for entry in written["queries"]
    ]
    return {"queries": queries, "summary": written["summary"]}


def size(part: Mapping[str, Any]) -> int:
    """The size of a part in bytes, as JSON."""
    return len(json.dumps(part, separators=(",", ":"), ensure_ascii=False).encode())


def _source(source: SourceStatus) -> dict[str, Any]:
    end = source.end_offset
    text = end if isinstance(end, str) else json.dumps(end, separators=(",", ":"))
    return _known(
        {
            "name": source.name,
            "partitions": source.partitions or None,
            "lag": _count(source.lag),
            "maxLag": _count(source.max_lag),
            "decoded": _count(source.decoded),
            "malformed": _count(source.malformed),
            "expired": _count(source.expired) if source.expired else None,
            "endOffset": text if end is not None and len(text) <= LONGEST_OFFSET else None,
        }
    )


def _worst(expectations: Sequence[ExpectationStatus]) -> list[ExpectationStatus]:
    """As many as the resource has room for."""
    return sorted(expectations, key=lambda one: (-one.violated, one.view, one.name))[:MAX_ITEMS]


def _expectation(expectation: ExpectationStatus) -> dict[str, Any]:
    return {
        "view": expectation.view,
        "name": expectation.name,
        "passed": _count(expectation.passed),
        "violated": _count(expectation.violated),
    }


def _count(number: float | None) -> int | None:
    """A whole number within the bounds of the resource: one odd counter must not cost the whole status."""
    return None if number is None else max(0, min(round(number), _MOST))


def _rate(number: float) -> int | None:
    """A rate as a whole number; what is less than one a second is not 0."""
    return _count(math.ceil(number) if number < 1 else number)


def _known(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if value is not None and value != []}


def _shortened(text: str, most: int) -> str:
    text = logs.redact(text)
    return text if len(text) <= most else f"{text[: most - 3]}..."


def _without(*keys: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda entry: {key: value for key, value in entry.items() if key not in keys}


def _without_offsets(entry: dict[str, Any]) -> dict[str, Any]:
    drop = _without("endOffset")
    return entry | {"sources": [drop(source) for source in entry["sources"]]} if "sources" in entry else entry


def _with_short_message(entry: dict[str, Any]) -> dict[str, Any]:
    return entry | {"message": _shortened(entry["message"], _SHORT)} if "message" in entry else entry


def _without_fulfilled(entry: dict[str, Any]) -> dict[str, Any]:
    """Without the expectations that no row violates."""
    if "expectations" not in entry:
        return entry
    return _known(entry | {"expectations": [one for one in entry["expectations"] if one["violated"]]})


# What goes first where all does not fit: what the driver's `/status` has as well, and what can be told from the rest.
_SHORTER: Final[tuple[Callable[[dict[str, Any]], dict[str, Any]], ...]] = (
    _without_offsets,
    _without_fulfilled,
    _with_short_message,
    _without("checkpoint", "runId"),
    _without("expectations"),
    _without("sources"),
    _without("id", "pool", "message"),
    _without(
        "stateBytes",
        "processedRowsPerSecond",
        "inputRows",
        "droppedByWatermark",
        "restarts",
        "lastProgressTime",
        "startedAt",
    ),
    _without("watermark", "stateRows", "batchDurationMs"),
)
