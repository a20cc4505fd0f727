"""The state of one query that the supervisor runs: the only mutable state of a run."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from pyspark.sql import SparkSession

from mainstem.dataframes import query as build
from mainstem.language.analysis.graph import Graph
from mainstem.language.analysis.occurrences import occurrence_names
from mainstem.language.model.queries import Query
from mainstem.language.model.status.query_progress import QueryProgress
from mainstem.runtime.checkpoint.batch_journal import BatchJournal
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
        occurrences: names of the streams in its plan, in the plan's order, each with the source's.
        restarts: its restart budget.
        status: its latest status; only `show` assigns it, so that each state follows from `transitions`.
        execution: the started stream or batch; None while the query does not run.
        journal: of a query that runs once, the record of its runs.
        due: when it is to be started (monotonic seconds); None where it is not.
        refresh: when its side inputs are to be read anew (monotonic seconds); None where they never are.
        absent: what it waits for before it can start.
        since: since when it waits for that.
        busy: when it last had data (monotonic seconds).
        resting: it runs, and waits for data.
        topic_ids: occurrence of a Kafka source -> topic -> id, of the topics that it reads.
        meter: counts the rows that it reads.
        resets: occurrence and topic of those whose offsets went back in a batch, by which a loss was counted.
        awaited_resets: of those that will, and whose loss is counted already or will be by that.
        notice: reason and message of what happened and needs nothing done, until the query starts again.
        logged_traceback: the traceback that the log has shown last.
        columns: of its rows, name -> type, once it was built.
    """

    query: Query
    session: SparkSession
    occurrences: dict[str, str]
    restarts: Restarts
    status: QueryProgress
    execution: Execution | None = None
    journal: BatchJournal | None = None
    due: float | None = None
    refresh: float | None = None
    absent: Absent | None = None
    since: datetime | None = None
    busy: float = 0.0
    resting: bool = False
    topic_ids: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    meter: Meter = field(default_factory=lambda: Meter(time.monotonic()))
    resets: set[tuple[str, str]] = field(default_factory=set)
    awaited_resets: set[tuple[str, str]] = field(default_factory=set)
    notice: tuple[str, str] | None = None
    logged_traceback: str = ""
    columns: Mapping[str, str] = field(default_factory=dict)

    @property
    def over(self) -> bool:
        """True where it does not run and will not run again."""
        return self.execution is None and self.due is None and self.absent is None

    @property
    def resident(self) -> bool:
        """True where its tasks hold their cores and never end by themselves."""
        return self.query.trigger is not None and self.query.trigger.resident

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

    def happen(self, event: QueryEvent, reason: str | None = None, message: str | None = None) -> None:
        """Take an event, which may change state, reason and message."""
        self.show(after(self.status, event, reason, message))

    def fail(self, reason: str, message: str, due: float | None) -> None:
        """Record a failure; `due` is when the query is started again (monotonic seconds), None for never."""
        self.due = due
        self.happen(QueryEvent.FAILURE if due is None else QueryEvent.RETRY, reason, message)
        self.show(replace(self.status, started_at=None, restarts=self.restarts.in_a_row))

    def wait_for(self, absent: Absent, now: float) -> None:
        """Record what the query waits for, and since when."""
        if self.absent is None or self.since is None:
            self.busy, self.since = now, datetime.now(UTC)
        self.absent = absent
        since = self.since.strftime("%Y-%m-%dT%H:%M:%SZ")
        self.happen(QueryEvent.INPUT_MISSING, absent.reason, f"{absent.message}; waited for since {since}")
        self.show(replace(self.status, started_at=None))


def supervised_queries(session: SparkSession, graph: Graph) -> list[SupervisedQuery]:
    """The queries of a pipeline before the first one starts, each with a session of its own."""
    since = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return [_supervised_query(session, graph, query, since) for query in graph.spec.queries]


def _supervised_query(session: SparkSession, graph: Graph, query: Query, since: str) -> SupervisedQuery:
    return SupervisedQuery(
        query=query,
        session=session.newSession(),
        occurrences={name: _source(graph, read) for name, read in occurrence_names(graph, query.from_)},
        restarts=Restarts(graph.spec.restart),
        status=QueryProgress(
            query.name,
            state=initial(suspended=query.suspend),
            pool=query.name,
            checkpoint=build.checkpoint(graph, query),
            counted_since=since,
        ),
    )


def _source(graph: Graph, relation: str) -> str:
    """The source whose records a relation has: its own, or those that do not parse."""
    source = graph.dead_letters.get(relation)
    return source.name if source else relation
