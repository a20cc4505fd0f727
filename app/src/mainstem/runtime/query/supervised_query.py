"""The state of one query that the supervisor runs: the only mutable state of a run."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from pyspark.sql import SparkSession

from mainstem import reasons
from mainstem.dataframes import query as build
from mainstem.language.analysis.graph import Graph
from mainstem.language.analysis.occurrences import source_occurrences
from mainstem.language.model.queries import Query
from mainstem.language.model.status.query_progress import QueryProgress
from mainstem.runtime.checkpoint.batch_journal import BatchJournal
from mainstem.runtime.clients.kafka_admin import TopicOffsets
from mainstem.runtime.clock import Clock, stamp
from mainstem.runtime.failures.repeated_errors import FailedAttempt
from mainstem.runtime.preflight.inputs import Absent
from mainstem.runtime.progress.rates import Meter
from mainstem.runtime.progress.spark_progress import waiting, with_spark_message
from mainstem.runtime.progress.transitions import QueryEvent, after, initial
from mainstem.runtime.query.execution import Execution
from mainstem.runtime.query.restarts import Restarts


@dataclass
class SupervisedQuery:
    """The state of one query that the supervisor runs.

    Attributes:
        query: the query.
        session: the Spark session of the query.
        occurrences: name of each stream in its plan -> name of the source, in the plan's order.
        restarts: its restart budget.
        status: its latest status; only `show` assigns it, so that each state follows from `transitions`.
        meter: counts the rows that it reads.
        execution: the started stream or batch; None while the query does not run.
        journal: the record of the runs, for a query that runs once.
        due: when the query starts next (monotonic seconds); None if no start is planned.
        refresh: when its side inputs are read again (monotonic seconds); None without a refresh.
        absent: the missing input that it waits for.
        since: since when it waits for the input.
        busy: when it last had data (monotonic seconds).
        resting: whether it runs and waits for data.
        caught_up_at: the last time at which every record that its topics had was committed; None before it is known.
        offered: occurrence of a Kafka source -> the offsets of its topics right before the last start.
        topic_ids: occurrence of a Kafka source -> topic -> id, of the topics that it reads.
        resets: occurrence and topic whose offsets went back in a batch; the loss was counted by that.
        awaited_resets: occurrence and topic whose offsets will go back; the loss is counted already, or by that.
        notice: reason and message of an event that needs no action; cleared at the next start.
        logged_traceback: the last traceback in the log.
        failed: its last failure in this run.
    """

    query: Query
    session: SparkSession
    occurrences: dict[str, str]
    restarts: Restarts
    status: QueryProgress
    meter: Meter
    execution: Execution | None = None
    journal: BatchJournal | None = None
    due: float | None = None
    refresh: float | None = None
    absent: Absent | None = None
    since: datetime | None = None
    busy: float = 0.0
    resting: bool = False
    caught_up_at: datetime | None = None
    offered: Mapping[str, TopicOffsets] = field(default_factory=dict)
    topic_ids: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    resets: set[tuple[str, str]] = field(default_factory=set)
    awaited_resets: set[tuple[str, str]] = field(default_factory=set)
    notice: tuple[reasons.Reason, str] | None = None
    logged_traceback: str = ""
    failed: FailedAttempt | None = None

    @property
    def over(self) -> bool:
        """Whether the query neither runs nor will run again."""
        return self.execution is None and self.due is None and self.absent is None

    @property
    def resident(self) -> bool:
        """Whether its tasks keep their cores and never end by themselves."""
        return self.query.trigger is not None and self.query.trigger.resident

    @property
    def bounded(self) -> bool:
        """Whether it reads only what exists when it starts, and then ends."""
        return self.query.trigger is not None and self.query.trigger.bounded

    def caught_up(self, moment: datetime, now: datetime) -> None:
        """Record that every record that its topics had at a moment is committed; the clock may have been set back since the last."""
        last = self.caught_up_at
        self.caught_up_at = moment if last is None or last > now else max(last, moment)

    def look(self) -> None:
        """Update whether a running query waits for data."""
        if self.execution is None:
            return
        if self.resident:
            self.show(with_spark_message(self.status, self.execution.message))
        elif (waits := self.execution.waiting) is not None:
            self.resting = waits
            self.show(waiting(self.status) if waits else replace(self.status, idle=False))

    def show(self, status: QueryProgress) -> None:
        """Replace the status."""
        self.status = status

    def happen(
        self, event: QueryEvent, reason: reasons.Reason | None = None, message: str | None = None
    ) -> None:
        """Take an event, which may change state, reason and message."""
        self.show(after(self.status, event, reason, message))

    def fail(self, reason: reasons.Reason, message: str, due: float | None) -> None:
        """Record a failure; `due` is when the query starts again (monotonic seconds), None for never."""
        self.due, self.absent = due, None
        self.happen(QueryEvent.FAILURE if due is None else QueryEvent.RETRY, reason, message)
        self.show(replace(self.status, started_at=None, restarts=self.restarts.in_a_row))

    def wait_for(self, absent: Absent, clock: Clock) -> None:
        """Record the missing input that the query waits for, and since when."""
        if self.absent is None or self.since is None:
            self.busy, self.since = clock.seconds(), clock.now()
        self.absent, self.due = absent, None
        message = f"{absent.message}; waiting since {stamp(self.since)}"
        self.happen(QueryEvent.INPUT_MISSING, absent.reason, message)
        self.show(replace(self.status, started_at=None))


def supervised_queries(session: SparkSession, graph: Graph, clock: Clock) -> list[SupervisedQuery]:
    """The queries of a pipeline before the first start, each with its own session."""
    return [_supervised_query(session, graph, query, clock) for query in graph.spec.queries]


def close_journals(queries: Iterable[SupervisedQuery]) -> None:
    """Close the journals: all queries have ended, and a later start of a query that runs once is another run."""
    for supervised in queries:
        if supervised.journal is not None:
            supervised.journal.close()


def _supervised_query(session: SparkSession, graph: Graph, query: Query, clock: Clock) -> SupervisedQuery:
    return SupervisedQuery(
        query=query,
        session=session.newSession(),
        occurrences=source_occurrences(graph, query),
        restarts=Restarts(graph.spec.restart),
        status=QueryProgress(
            query.name,
            state=initial(suspended=query.suspend),
            pool=query.name,
            checkpoint=build.checkpoint(graph, query),
            counted_since=stamp(clock.now()),
        ),
        meter=Meter(clock.seconds()),
    )
