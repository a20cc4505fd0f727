"""Logs the failures and drains of queries, one line each."""

from typing import Any

from mainstem.runtime.failures.classification import Failure
from mainstem.runtime.query.drain import DrainOutcome
from mainstem.runtime.query.supervised_query import SupervisedQuery


def log_failure(log: Any, supervised: SupervisedQuery, failure: Failure, wait: float | None) -> None:
    """Log one line for a failure: the reason, the number of the restart, the limit of restarts, and the wait. Without a
    restart the line is an error.

    The line includes a Python traceback only if it differs from the query's last one: a query that keeps failing in the
    same way would fill the log.

    Args:
        log: the log of the supervisor.
        supervised: the query, with this restart counted.
        failure: why it failed.
        wait: seconds until the query starts again; None for never.
    """
    fields: dict[str, Any] = {
        "query": supervised.query.name,
        "reason": failure.reason,
        "error": failure.message,
    }
    if failure.traceback and failure.traceback != supervised.logged_traceback:
        fields["exception"] = supervised.logged_traceback = failure.traceback
    if wait is None:
        log.error("query failed", **fields, restarts=supervised.restarts.in_a_row)
        return
    attempt: dict[str, Any] = {"seconds": wait, "attempt": supervised.restarts.in_a_row}
    if not failure.outage:  # an outage has no limit of restarts
        attempt["attempts"] = supervised.restarts.settings.max_retries
    log.warning("query restarts", **fields, **attempt)


def log_drain(log: Any, supervised: SupervisedQuery, outcome: DrainOutcome) -> None:
    """Log one line for the drain of a query: the last committed batch and the pending one."""
    log.info(
        "query drained" if outcome.clean else "query interrupted",
        query=supervised.query.name,
        committed=outcome.committed,
        pending=outcome.pending,
        seconds=round(outcome.seconds, 2),
    )
