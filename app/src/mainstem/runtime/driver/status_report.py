"""Makes the driver's part of the resource's status from the statuses of the queries; pure.

The fields are those of `QueryProgress`. A test validates them with the models, and another one with an API server.
"""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final, NamedTuple

from pydantic.alias_generators import to_camel

from mainstem import logs
from mainstem.language.base import MAX_ITEMS
from mainstem.language.model.status.fields import LARGEST, Shown, earliest, moment
from mainstem.language.model.status.pipeline_status import MAX_BYTES
from mainstem.language.model.status.progress_parts import ExpectationProgress, SourceProgress
from mainstem.language.model.status.query_progress import QueryProgress
from mainstem.language.model.status.states import QueryState, is_active, tally
from mainstem.reasons import Reason
from mainstem.runtime.driver.executor_losses import MemoryLoss


LONGEST_OFFSET: Final = 256
LONGEST_MESSAGE: Final = 1024
LONGEST_REASON: Final = 128
"""Characters, as the resource's models bound them."""
BUDGET: Final = MAX_BYTES - 6 * 1024
"""Bytes of the driver's part; the rest is for the operator's conditions."""

_SHORT: Final = 160
"""Characters of a message if the status is too long."""


@dataclass(frozen=True)
class ExecutorCounts:
    """How many executors a driver has and wants, and why some are missing.

    Attributes:
        running: executors registered with the driver.
        wanted: executors that the document or dynamic allocation asks for.
        message: why some are missing, quoted from the scheduler or the kubelet; None if that is unknown.
        loss: the newest executor that ran out of memory.
    """

    running: int
    wanted: int
    message: str | None = None
    loss: MemoryLoss | None = None


class RefusedRevision(NamedTuple):
    """A changed document that a running driver did not apply.

    Attributes:
        revision: its revision.
        reason: why, one word.
        message: why, for people.
        retried: whether the driver tries again.
    """

    revision: str
    reason: Reason
    message: str
    retried: bool


def state(status: QueryProgress) -> str:
    """The state as the resource shows it: a running query that waits for data is `Idle`."""
    idle = status.state is QueryState.RUNNING and status.idle
    return str(QueryState.IDLE if idle else status.state)


def active(status: QueryProgress) -> bool:
    """Whether the query is healthy."""
    return is_active(status.state, status.reason)


def ready(statuses: Sequence[QueryProgress]) -> bool:
    """Whether every query is active."""
    return bool(statuses) and all(active(status) for status in statuses)


def query(status: QueryProgress) -> dict[str, Any]:
    """One entry of `status.queries`."""
    entry = _entry(status, reported=status.last_progress_time is not None)
    return entry | {"state": state(status)}


def summary(statuses: Sequence[QueryProgress], executors: ExecutorCounts | None) -> dict[str, Any]:
    """`status.summary`, which the printer columns show."""
    lags = [status.lag for status in statuses if status.lag is not None]
    rates = [status.rows_per_second for status in statuses if status.state is QueryState.RUNNING]
    summary_fields: dict[str, Any] = {
        "queries": tally(map(state, statuses)),
        "lag": _count(sum(lags)) if lags else None,
        "behindSince": earliest(
            status.behind_since for status in statuses if status.lag or status.behind_since
        ),
        "lastCommitTime": max(filter(None, (status.last_commit_time for status in statuses)), default=None),
        "rowsPerSecond": _rate(sum(rates)),
    }
    if executors:
        summary_fields["executors"] = f"{executors.running}/{executors.wanted}"
        reason, message = executors.loss or (None, executors.message)
        summary_fields["executorsReason"] = reason
        if message:
            summary_fields["executorsMessage"] = _shortened(message, LONGEST_MESSAGE)
    return _known(summary_fields)


def part(
    statuses: Sequence[QueryProgress],
    executors: ExecutorCounts | None,
    *,
    attempt: int,
    time: str,
    revision: str = "",
    refused: RefusedRevision | None = None,
    answered: int = 0,
    memory_peak: int | None = None,
) -> dict[str, Any]:
    """The driver's part of the status, shortened to `BUDGET`.

    Args:
        statuses: the queries in the order of the document.
        executors: None without executors.
        attempt: the driver start number.
        time: now, in RFC 3339.
        revision: the revision that runs; empty if it is not known.
        refused: the last changed document, if the driver did not apply it.
        answered: the number of the last document from the operator that the driver has applied or refused.
        memory_peak: the largest working set of the driver container, in bytes; None if it is not known.
    """
    reported = {
        "attempt": attempt,
        "time": time,
        "since": _since(statuses),
        "revision": revision or None,
        "refused": None if refused is None else _refused(refused),
        "answered": answered,
        "memoryPeakBytes": _count(memory_peak),
    }
    written: dict[str, Any] = {
        "queries": [query(status) for status in statuses],
        "summary": summary(statuses, executors),
        "reported": _known(reported),
    }
    for shorter in _SHORTER:
        if size(written) <= BUDGET:
            break
        written["queries"] = [shorter(entry) for entry in written["queries"]]
    return written


def _refused(refused: RefusedRevision) -> dict[str, Any]:
    return {
        "revision": refused.revision,
        "reason": refused.reason[:LONGEST_REASON],
        "message": _shortened(refused.message, LONGEST_MESSAGE),
        "retried": refused.retried,
    }


def _since(statuses: Sequence[QueryProgress]) -> str | None:
    return min((status.counted_since for status in statuses if status.counted_since), default=None)


def meaning(written: Mapping[str, Any]) -> Any:
    """The fields whose change is worth a write: all but the time of writing and the time of Spark's idle reports."""
    queries = [
        {key: value for key, value in entry.items() if key != "lastProgressTime"}
        for entry in written["queries"]
    ]
    document = {key: written["reported"].get(key) for key in ("revision", "refused", "answered")}
    return {"queries": queries, "summary": written["summary"], "document": document}


def size(part: Mapping[str, Any]) -> int:
    """The size of a part in bytes, as JSON."""
    return len(json.dumps(part, separators=(",", ":"), ensure_ascii=False).encode())


def _entry(part: QueryProgress | SourceProgress | ExpectationProgress, *, reported: bool) -> dict[str, Any]:
    """The fields that the resource shows, without those that have no value.

    Args:
        part: a query, or a source or an expectation of one.
        reported: whether Spark has reported progress of the query.
    """
    shown = {Shown.KNOWN, Shown.NONZERO} | ({Shown.REPORTED} if reported else set())
    entry = {}
    for field in fields(part):
        value, when = getattr(part, field.name), field.metadata.get("shown", Shown.KNOWN)
        if when in shown and (value or when is not Shown.NONZERO):
            entry[to_camel(field.name)] = _CONVERSIONS.get(field.name, _plain)(value)
    return _known(entry)


def _plain(value: Any) -> Any:
    """A value of the resource; None for one that it leaves out."""
    if isinstance(value, tuple):
        return [_entry(part, reported=True) for part in value]
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _count(value)
    return value or None


def _worst(expectations: Sequence[ExpectationProgress]) -> list[dict[str, Any]]:
    """The most violated expectations, as many as the resource may have."""
    worst = sorted(
        expectations,
        key=lambda expectation: (-expectation.violated, expectation.view, expectation.name),
    )
    return [_entry(expectation, reported=True) for expectation in worst[:MAX_ITEMS]]


def _short_offset(end: Any) -> str | None:
    text = end if isinstance(end, str) else json.dumps(end, separators=(",", ":"))
    return text if end is not None and len(text) <= LONGEST_OFFSET else None


def _count(number: float | None) -> int | None:
    """A whole number within the bounds of the resource: one odd counter must not cost the whole status."""
    return None if number is None else max(0, min(round(number), LARGEST))


def _rate(number: float) -> int | None:
    """A rate as a whole number; a rate below one a second is not 0."""
    return _count(math.ceil(number) if number < 1 else number)


_CONVERSIONS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "batch": lambda batch: None if batch is None else min(batch, LARGEST),
    "rows_per_second": _rate,
    "watermark": lambda time: time if moment(time) else None,
    "reason": lambda reason: reason[:LONGEST_REASON] if reason else None,
    "message": lambda message: _shortened(message, LONGEST_MESSAGE) if message else None,
    "end_offset": _short_offset,
    "expectations": _worst,
}
"""Field -> how the resource shows its value, where that differs from `_plain`."""


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
    return _known(entry | {"expectations": [each for each in entry["expectations"] if each["violated"]]})


# The parts that go first if the status is too long: `/status` has them too, or they follow from other fields.
_SHORTER: Final[tuple[Callable[[dict[str, Any]], dict[str, Any]], ...]] = (
    _without_offsets,
    _without_fulfilled,
    _with_short_message,
    _without("checkpoint", "runId"),
    _without("expectations"),
    _without("sources"),
    _without("behindSince", "lastCommitTime"),
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
