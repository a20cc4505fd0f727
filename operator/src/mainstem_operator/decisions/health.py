"""The conditions of a running driver, computed from its report; pure."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from mainstem import reasons
from mainstem.language.model.status.fields import earliest
from mainstem.language.model.status.states import FINAL, OUTAGES, QueryState, is_active, tally

from mainstem_operator.observed.conditions import FALSE, TRUE, UNKNOWN, Condition, parsed
from mainstem_operator.observed.pod_status import PodWarning


SILENT_SECONDS: Final = 180.0
"""A running driver writes its report at least once a minute."""
STALLED_SECONDS: Final = 600.0
"""A batch may take so much longer than the one before; each pause between two restarts of a query is shorter."""
_MEMORY_LOSSES: Final = (reasons.EXECUTOR_OOM_KILLED, reasons.EXECUTOR_OUT_OF_MEMORY)
"""Reasons that a driver reports for an executor."""

_NO_SIGN: Final = {QueryState.STARTING, QueryState.STOPPED}
"""States of a query of which nothing is known yet, or any more."""
_NOT_RUN: Final = {*_NO_SIGN, QueryState.WAITING, QueryState.FAILED, QueryState.SUSPENDED}
"""States of a query that may not have run."""
_QUIET: Final = (QueryState.IDLE, QueryState.WAITING)
"""States of a query that reads nothing, and needs nothing but new data."""

Status = Mapping[str, Any]


def reported(status: Status, attempt: int) -> bool:
    """True if the driver with this start number wrote the numbers in the status."""
    return bool(status.get("reported", {}).get("attempt") == attempt)


def has_begun(status: Status, attempt: int) -> bool:
    """Whether the driver with this start number has begun its work: a query runs, or each one waits for something else."""
    states = {query["state"] for query in status.get("queries", ())} if reported(status, attempt) else set()
    return bool(states) and (not states & _NO_SIGN or not states <= _NOT_RUN)


def updating(status: Status) -> list[str]:
    """The queries that still end a batch of the document before the reported revision: their states are of that document."""
    return [query["name"] for query in status.get("queries", ()) if query.get("updating")]


def updated(status: Status) -> list[Mapping[str, Any]]:
    """The queries that run, or shall run, with the reported revision."""
    return [query for query in status.get("queries", ()) if not query.get("updating")]


def queries_active(status: Status, attempt: int) -> Condition:
    """Whether every query has committed a batch in this driver with the reported revision, or waits for data or for the
    end of a query that writes its input, and none is failed.
    """
    name = "QueriesActive"
    if not reported(status, attempt):
        return Condition(name, UNKNOWN, reasons.NOT_YET_REPORTED, "the driver has not reported yet")
    queries = updated(status)
    failed = [query for query in queries if query["state"] == "Failed"]
    if failed:
        failed.sort(key=lambda query: query.get("reason") == reasons.WRITER_FAILED)
        return Condition(
            name, FALSE, reasons.named(failed[0].get("reason", reasons.QUERY_FAILED)), _messages(failed)
        )
    restarting = [query for query in queries if query["state"] == "Restarting"]
    if restarting:
        return Condition(name, FALSE, _restart_reason(restarting), _messages(restarting))
    starting = [query["name"] for query in queries if not _active(query) and query["state"] != "Waiting"]
    messages = [f"no batch yet: {', '.join(starting)}"] if starting else []
    if old := updating(status):
        messages.append(f"still end a batch of the document before: {', '.join(old)}")
    if messages:
        return Condition(name, FALSE, reasons.QUERIES_STARTING, "; ".join(messages))
    if waiting := [query for query in queries if query["state"] == "Waiting" and not _active(query)]:
        return Condition(name, FALSE, reasons.QUERY_WAITING, _messages(waiting))
    return Condition(name, TRUE, reasons.ALL_ACTIVE, f"every query is active, {len(queries)} in all")


def data_flowing(status: Status, attempt: int) -> Condition:
    """Whether queries read rows; unknown while there is no new data, or while a batch runs whose rows are not reported."""
    name = "DataFlowing"
    if not reported(status, attempt):
        return Condition(name, UNKNOWN, reasons.NOT_YET_REPORTED)
    queries = status.get("queries", ())
    if any(query["state"] in ("Running", "Idle") and query.get("rowsPerSecond") for query in queries):
        return Condition(name, TRUE, reasons.ROWS_READ, "at least one query reads rows")
    live = [query for query in queries if query["state"] not in FINAL]
    busy = [query for query in live if query["state"] not in _QUIET or query.get("lag")]
    if busy:
        return Condition(name, UNKNOWN, reasons.ROWS_PENDING, _pending(busy))
    return Condition(name, UNKNOWN, reasons.IDLE, "no query has new data to read")


def _pending(busy: Sequence[Status]) -> str:
    """What the queries do that read no rows now and are not idle, how many records they have not read, since when they are
    behind, and when they committed last.
    """
    states = ", ".join(f"{query['name']} is {query['state']}" for query in busy)
    lag = sum(query.get("lag") or 0 for query in busy)
    since = earliest(query.get("behindSince") for query in busy if query.get("lag"))
    committed = earliest(query.get("lastCommitTime") for query in busy)
    parts = [
        f"no batch has read rows lately: {states}",
        lag and f"{lag:,} records are not read yet",
        since and f"behind since {since}",
        committed and f"last commit at {committed}",
    ]
    return "; ".join(part for part in parts if part)


def degraded(status: Status, attempt: int, now: datetime, executors: PodWarning | None = None) -> Condition:
    """Whether less runs than the document requests.

    Args:
        status: the status of the resource.
        attempt: the driver start number.
        now: the time, by the driver's clock.
        executors: why an executor pod does not start, if the driver does not know.
    """
    name = "Degraded"
    if not reported(status, attempt):
        return Condition(name, UNKNOWN, reasons.NOT_YET_REPORTED)
    silent = (now - parsed(status["reported"]["time"])).total_seconds()
    if silent > SILENT_SECONDS:
        return Condition(
            name,
            TRUE,
            reasons.DRIVER_NOT_REPORTING,
            f"the driver has not reported since {status['reported']['time']}",
        )
    queries = status.get("queries", ())
    failed = [query for query in queries if query["state"] == "Failed"]
    cut_off = [query for query in queries if query.get("reason") in OUTAGES]
    if worst := failed or cut_off:
        return Condition(
            name,
            TRUE,
            reasons.QUERY_FAILED if failed else reasons.named(cut_off[0]["reason"]),
            _messages(worst),
        )
    summary = status.get("summary", {})
    message = summary.get("executorsMessage")
    if message := message or (executors and f"{executors.reason}: {executors.message}"):
        reason = reasons.named(summary.get("executorsReason", ""))
        return Condition(
            name, TRUE, reason if reason in _MEMORY_LOSSES else reasons.EXECUTORS_UNSCHEDULABLE, message
        )
    if restarting := [query for query in queries if query["state"] == "Restarting"]:
        return Condition(name, TRUE, _restart_reason(restarting), _messages(restarting))
    return Condition(name, FALSE, reasons.AS_EXPECTED)


def data_stalled(status: Status, attempt: int, now: datetime) -> Condition:
    """Whether a query makes no progress: its batch takes ten minutes longer than the one before, or the first batch takes
    ten minutes; `now` is a time of the driver's clock.
    """
    name = "DataStalled"
    if not reported(status, attempt):
        return Condition(name, UNKNOWN, reasons.NOT_YET_REPORTED)
    queries = status.get("queries", ())
    first = [query["name"] for query in queries if _never_began(query, now)]
    later = [query["name"] for query in queries if _stalled(query, now)]
    messages = [f"no batch within 10 minutes after the start: {', '.join(first)}"] if first else []
    messages += (
        [f"the batch takes 10 minutes longer than the one before: {', '.join(later)}"] if later else []
    )
    if messages:
        return Condition(name, TRUE, reasons.NO_PROGRESS, "; ".join(messages))
    return Condition(name, FALSE, reasons.PROGRESSING)


def tidied(status: Status) -> dict[str, Any]:
    """The driver's part of the status after the driver has ended: without rates and lag, which are unknown then."""
    queries = [_stopped(query) for query in status.get("queries", ())]
    part: dict[str, Any] = {"summary": {"queries": tally(query["state"] for query in queries)}}
    if committed := status.get("summary", {}).get("lastCommitTime"):
        part["summary"]["lastCommitTime"] = committed
    if queries:
        part["queries"] = queries
    if "reported" in status:
        part["reported"] = dict(status["reported"])
    return part


_LASTING: Final = (
    "name",
    "state",
    "pool",
    "checkpoint",
    "id",
    "batch",
    "lastProgressTime",
    "lastCommitTime",
    "reason",
    "message",
)


def _stopped(query: Mapping[str, Any]) -> dict[str, Any]:
    kept = {key: query[key] for key in _LASTING if key in query}
    return kept | {"state": query["state"] if query["state"] in FINAL else "Stopped"}


def _active(query: Mapping[str, Any]) -> bool:
    # A query is Running from its first progress event in this driver on: a batch, or a trigger without data.
    return is_active(query["state"], query.get("reason"))


def _stalled(query: Mapping[str, Any], now: datetime) -> bool:
    if query["state"] != "Running" or "lastProgressTime" not in query:
        return False
    # Spark reports progress at the end of a batch, with the time of its beginning: so count two batches.
    longest: float = 2 * query.get("batchDurationMs", 0) / 1000 + STALLED_SECONDS
    return (now - parsed(query["lastProgressTime"])).total_seconds() > longest


def _never_began(query: Mapping[str, Any], now: datetime) -> bool:
    """Whether a query that started ten minutes ago has neither committed a batch nor found that there is no data."""
    started = query.get("startedAt")
    if started is None or query["state"] not in ("Starting", "Restarting"):
        return False
    return (now - parsed(started)).total_seconds() > STALLED_SECONDS


def _restart_reason(restarting: Sequence[Mapping[str, Any]]) -> reasons.Reason:
    """The reason of restarting queries: of the first one whose credentials a server refuses, so that the reader sees it at
    once; otherwise that they restart.
    """
    refused = [query["reason"] for query in restarting if query.get("reason") in reasons.REFUSED_CREDENTIALS]
    return reasons.named(refused[0]) if refused else reasons.QUERY_RESTARTING


def _messages(queries: Sequence[Mapping[str, Any]]) -> str:
    return "; ".join(f"{query['name']}: {query.get('message', query['state'])}" for query in queries)[:2000]
