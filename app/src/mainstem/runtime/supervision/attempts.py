"""Logs the failures and drains of queries, one line each."""

from typing import Any

from mainstem.runtime.failures.classification import Failure
from mainstem.runtime.query.drain import DrainOutcome
from mainstem.runtime.query.supervised_query import SupervisedQuery


def log_failure(log: Any, supervised: SupervisedQuery, failure: Failure, wait: float | None) -> None:
    """Log one line: the reason, the number of this restart in a row and of all allowed ones, and the wait; an error
    where no restart follows.

    A traceback of Python's stands behind it once, until it is another one: a query that fails in the same way again and
    again would fill the log.

    Args:
        log: of the supervisor.
        supervised: the query, its restart counted already.
        failure: why it failed.
        wait: seconds until it is started again; None for never.
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
    if not failure.outage:  # which is tried again without end
        attempt["attempts"] = supervised.restarts.settings.max_retries
    log.warning("query restarts", **fields, **attempt)


def log_drain(log: Any, supervised: SupervisedQuery, outcome: DrainOutcome) -> None:
    """Log one line: how the drain of a query ended, by its batches."""
    log.info(
        "query drained" if outcome.clean else "query cut",
        query=supervised.query.name,
        committed=outcome.committed,
        pending=outcome.pending,
        seconds=round(outcome.seconds, 2),
    )
