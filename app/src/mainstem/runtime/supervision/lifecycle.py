"""The life of each query: its start, its failures and restarts, its end and its drain."""

from dataclasses import dataclass, field, replace
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from mainstem import logs, reasons
from mainstem.dataframes.batch_query import BatchQuery
from mainstem.errors import Fenced, NotReady, SpecInvalid
from mainstem.language.analysis.graph import Graph
from mainstem.runtime.clock import Clock, stamp
from mainstem.runtime.failures.classification import Failure, classify
from mainstem.runtime.failures.repeated_errors import FailedAttempt, repeated
from mainstem.runtime.progress.transitions import QueryEvent
from mainstem.runtime.query.drain import DrainOutcome
from mainstem.runtime.query.execution import Execution
from mainstem.runtime.query.starting import BuiltQuery, Starter
from mainstem.runtime.query.supervised_query import SupervisedQuery
from mainstem.runtime.stop import StopRequested
from mainstem.runtime.supervision.attempts import log_drain, log_failure
from mainstem.runtime.supervision.current import Current
from mainstem.runtime.supervision.draining import stopped
from mainstem.runtime.supervision.events import EventQueue
from mainstem.runtime.supervision.refreshing import Refresher, Refreshing
from mainstem.runtime.supervision.renewals import Renewals
from mainstem.runtime.supervision.stalls import Stall, Stalls
from mainstem.runtime.supervision.unwritten import log_unwritten
from mainstem.runtime.supervision.waiting_queries import WaitingQueries


@dataclass(frozen=True)
class QueryLifecycle:
    """Starts, restarts and ends the queries of one pipeline, and records their failures.

    Attributes:
        queries: all queries, in the order of the document.
        starter: builds and starts a query.
        stop: whether the run is asked to end; nothing starts again then.
        events: Spark's progress events.
        waiting: the queries that wait for an input.
        refresher: reads side inputs again.
        renewals: compares the ids of topics.
        current: explains a failure by an outage.
        stalls: finds queries that make no progress.
        graph: the graph of the document.
        clock: the time of the run.
    """

    queries: list[SupervisedQuery]
    starter: Starter
    stop: StopRequested
    events: EventQueue
    waiting: WaitingQueries
    refresher: Refresher
    renewals: Renewals
    current: Current
    stalls: Stalls
    graph: Graph
    clock: Clock
    _log: Any = field(default_factory=lambda: logs.get("mainstem"))

    def begin(self, supervised: SupervisedQuery, built: BuiltQuery) -> None:
        """Start a query for the first time, unless a topic that it reads was recreated."""
        if refusal := self._topic_refusal(supervised, built):
            self.fail(supervised, refusal, self.clock.seconds())
        else:
            self._start(supervised, self.starter.started(supervised, built))

    def restart(
        self, supervised: SupervisedQuery, built: BuiltQuery | None = None, *, refreshed: bool = False
    ) -> None:
        """Start a query again; `built` is its plan, if it is built already, `refreshed` whether only for new side inputs."""
        supervised.due = None
        try:
            built = built or self.starter.built(supervised)
            self.starter.prepare(supervised, built)
            if refusal := self._topic_refusal(supervised, built):
                self.fail(supervised, refusal, self.clock.seconds())
                return
            execution = self.starter.started(supervised, built)
        except (SpecInvalid, NotReady, Fenced, PySparkException, Py4JError) as error:
            self.fail(supervised, classify(error), self.clock.seconds())
        else:
            self._start(supervised, execution, refreshed=refreshed)

    def check(self, supervised: SupervisedQuery, now: float) -> None:
        """Check whether a running query waits for data, makes progress, and still reads the same topics."""
        supervised.look()
        if refusal := self.renewals.tick(supervised):
            if supervised.execution is not None:
                stopped(supervised.query.name, supervised.execution, lambda: True)
            supervised.execution = None
            self.fail(supervised, refusal, now)
        elif stall := self._stall(supervised, now):
            self._interrupt(supervised, stall, now)

    def _stall(self, supervised: SupervisedQuery, now: float) -> Stall | None:
        if supervised.execution is None:
            return None
        return self.stalls.tick(supervised, now, outage=self.current.outage(supervised) is not None)

    def _interrupt(self, supervised: SupervisedQuery, stall: Stall, now: float) -> None:
        """Interrupt a batch that makes no progress. A batch that ignores this stays: two runs must not share a checkpoint."""
        execution = supervised.execution
        if execution is None:
            return
        stopped(supervised.query.name, execution, lambda: True)
        if execution.active:
            self._log.error(
                "a batch without progress cannot be interrupted; only a new driver can end it",
                query=supervised.query.name,
                remedy="set another spec.restartNonce, or end this run and start it again",
            )
            return
        supervised.execution = None
        self.fail(supervised, stall.failure, now, stalled=stall.seconds)

    def end(self, supervised: SupervisedQuery, now: float) -> None:
        """Take the end of an execution: start its replacement, complete the query, or record its failure."""
        self.events.settle(self.queries, supervised)
        execution = supervised.execution
        failure = execution.failure() if execution is not None else None
        if failure is None and isinstance(execution, Refreshing) and execution.built is not None:
            if not self.stop.requested:  # otherwise the drain takes the stopped execution
                supervised.execution = None
                self.restart(supervised, execution.built, refreshed=True)
            return
        supervised.execution = None
        if failure is not None and self._starts_again(supervised, failure):
            return
        if failure is None:
            supervised.happen(QueryEvent.END)
            self._log.info("query completed", query=supervised.query.name, batch=supervised.status.batch)
            log_unwritten(self._log, self.graph, supervised)
            return
        self.fail(supervised, failure, now)

    def _starts_again(self, supervised: SupervisedQuery, failure: Failure) -> bool:
        """Start a query at once that needs only another plan, unless it has done so at the same batch already."""
        attempt = FailedAttempt(failure.message, supervised.status.batch)
        if failure.reason != reasons.FOLDER_COLUMN_APPEARED or supervised.failed == attempt:
            return False
        supervised.failed = attempt
        if self.stop.requested:
            supervised.happen(QueryEvent.INTERRUPTION)
            return True
        self._log.info(
            "the query starts again",
            query=supervised.query.name,
            reason=failure.reason,
            cause=failure.message,
        )
        self.restart(supervised)
        return True

    def fail(
        self, supervised: SupervisedQuery, failure: Failure, now: float, *, stalled: float = 0.0
    ) -> None:
        """Record a failure: the query waits for a deleted topic, starts again after a pause, or stays failed."""
        if not self.stop.requested and self.waiting.again(supervised, self.queries, failure):
            return
        failure, committed = self.current.explained(supervised, failure), supervised.status.batch
        attempt = FailedAttempt(failure.message, committed)
        writes = any(sink.python for sink in supervised.query.to)
        failure = repeated(failure, supervised.failed, committed, writes=writes)
        supervised.failed = attempt
        wait = (
            None
            if failure.permanent
            else supervised.restarts.next(now, outage=failure.outage, stalled=stalled)
        )
        supervised.fail(failure.reason, failure.message, None if wait is None else now + wait)
        log_failure(self._log, supervised, failure, wait)
        if wait is None:
            log_unwritten(self._log, self.graph, supervised)

    def drain(self, supervised: SupervisedQuery, outcome: DrainOutcome | None) -> None:
        """Record how the drain of a query ended; None for a query that did not run."""
        if outcome is None:
            return
        failure = supervised.execution.failure() if supervised.execution is not None else None
        supervised.execution = None
        supervised.show(replace(supervised.status, batch=outcome.committed))
        if failure is not None and failure.reason != reasons.FOLDER_COLUMN_APPEARED:
            self.fail(supervised, replace(failure, permanent=True), self.clock.seconds())
            return
        supervised.happen(QueryEvent.DRAIN if outcome.clean and failure is None else QueryEvent.INTERRUPTION)
        log_drain(self._log, supervised, outcome)
        log_unwritten(self._log, self.graph, supervised)

    def _topic_refusal(self, supervised: SupervisedQuery, built: BuiltQuery) -> Failure | None:
        """The failure of a query that must not start because a topic was recreated; None if it may start."""
        return None if isinstance(built, BatchQuery) else self.renewals.begin(supervised)

    def _start(self, supervised: SupervisedQuery, execution: Execution, *, refreshed: bool = False) -> None:
        now = self.clock.seconds()
        supervised.execution = execution
        if not refreshed:  # new side inputs are no new data
            supervised.busy, supervised.resting = now, False
        supervised.restarts.started(now)
        self.refresher.started(supervised, now)
        self.current.begin(supervised, refreshed=refreshed)
        # Spark may not report an idle query for a long time, so the status gets the ids now.
        begun = stamp(self.clock.now())
        supervised.show(
            replace(
                supervised.status,
                id=execution.id,
                run_id=execution.run_id,
                started_at=supervised.status.started_at if refreshed else begun,
            )
        )
        event = "side inputs read again" if refreshed else "query started"
        self._log.info(event, query=supervised.query.name, id=execution.id)
