"""Finds running queries whose batch makes no progress."""

from dataclasses import dataclass
from typing import Final, NamedTuple

from mainstem import reasons
from mainstem.language.base import seconds
from mainstem.language.model.pipeline import Restart
from mainstem.language.model.status.query_progress import QueryProgress
from mainstem.runtime.failures.classification import Failure
from mainstem.runtime.query.supervised_query import SupervisedQuery


MILLISECONDS: Final = 1000.0


@dataclass(frozen=True)
class Moment:
    """When a query last made progress, and what it had done until then.

    Attributes:
        run: Spark's id of the start.
        batch: the last committed batch.
        at: when this was first known (monotonic seconds).
    """

    run: str | None
    batch: int | None
    at: float


def after(last: Moment | None, status: QueryProgress, now: float, *, excused: bool) -> Moment:
    """The last progress of a query, as known now; pure.

    Args:
        last: the last progress as known before; None if the query was not looked at yet.
        status: the status.
        now: monotonic seconds.
        excused: the query waits for data, or for a server that does not answer: no progress is expected.
    """
    moment = Moment(status.run_id, status.batch, now)
    if last is None or excused or (last.run, last.batch) != (moment.run, moment.batch):
        return moment
    return last


def stalled_seconds(last: Moment, status: QueryProgress, limit: float, now: float) -> float | None:
    """Seconds without progress, if they are more than the last batch took and `limit` seconds; else None; pure."""
    waited = now - last.at
    expected = (status.batch_duration_ms or 0) / MILLISECONDS
    return waited if waited > limit + expected else None


class Stall(NamedTuple):
    """A query that is to be started again.

    Attributes:
        failure: what its status shows.
        seconds: how long it made no progress.
    """

    failure: Failure
    seconds: float


class Stalls:
    """Watches the running queries, and names the one that is to be started again.

    A query whose tasks never end by themselves is not watched: it has no batches to wait for.

    Args:
        restart: what the document sets.
    """

    def __init__(self, restart: Restart) -> None:
        self._acts = restart.on_stall == "restart"
        self._limit = seconds(restart.stall_after)
        self._moments: dict[str, Moment] = {}

    def tick(self, supervised: SupervisedQuery, now: float, *, outage: bool) -> Stall | None:
        """The stall of a query, if the document wants it restarted.

        Args:
            supervised: a running query.
            now: monotonic seconds.
            outage: whether a server that it uses does not answer.
        """
        if not self._acts or supervised.resident or supervised.journal is not None:
            return None
        name, status = supervised.query.name, supervised.status
        moment = after(self._moments.get(name), status, now, excused=outage or supervised.resting)
        self._moments[name] = moment
        waited = stalled_seconds(moment, status, self._limit, now)
        if waited is None:
            return None
        del self._moments[name]
        batch = 0 if status.batch is None else status.batch + 1
        message = f"batch {batch} made no progress for {waited:.0f} seconds and was interrupted"
        return Stall(Failure(reasons.QUERY_STALLED, message), waited)
