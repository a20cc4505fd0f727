"""Runs the queries of a pipeline: starts them, restarts those that fail, and drains them at the end.

Each query has its own session and pool. A failed query does not end the others: it is built and started again after a pause,
in the same driver. Once its budget (`restart`) is spent, it stays failed, the others run on, and the run ends with its
failure. A query whose source does not exist yet waits for it, and the others start without it.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from pyspark.sql import SparkSession

from mainstem import reasons
from mainstem.changes.transition import continued
from mainstem.checkpoints.owner import DriverIdentity
from mainstem.errors import NotReady
from mainstem.language.analysis.graph import Graph
from mainstem.language.loading.problems import Locate, without_text
from mainstem.language.model.status.query_progress import QueryProgress
from mainstem.language.model.status.states import QueryState
from mainstem.runtime.checkpoint.ownership import Ownership
from mainstem.runtime.clock import Clock
from mainstem.runtime.files.expired_files import ExpiredFiles
from mainstem.runtime.maintenance.orphan_removal import OrphanCleaner
from mainstem.runtime.query.analysis import Analysis
from mainstem.runtime.query.starting import Starter
from mainstem.runtime.query.supervised_query import SupervisedQuery, close_journals, supervised_queries
from mainstem.runtime.spark.pools import set_pools
from mainstem.runtime.stop import StopRequested
from mainstem.runtime.supervision.changing import Successions, checked_way, successors, with_unready
from mainstem.runtime.supervision.current import Current
from mainstem.runtime.supervision.document_recorder import DocumentRecorder
from mainstem.runtime.supervision.draining import drained, out_of_time
from mainstem.runtime.supervision.events import EventQueue
from mainstem.runtime.supervision.lifecycle import QueryLifecycle
from mainstem.runtime.supervision.listeners import Listeners
from mainstem.runtime.supervision.polls import Polls
from mainstem.runtime.supervision.refreshing import Refresher
from mainstem.runtime.supervision.renewals import Renewals
from mainstem.runtime.supervision.stalls import Stalls
from mainstem.runtime.supervision.waiting_queries import WaitingQueries


TICK: Final = 0.2
LOOK_SECONDS: Final = 2.0
NOTHING: Final[Mapping[str, NotReady]] = {}


class Supervisor:
    """Runs the queries of one pipeline.

    Args:
        session: the application's session.
        graph: the graph of the checked document.
        changed: called with all statuses after every change.
        stop: whether the run is asked to end, and to end at once; no query starts after that.
        run: the name of the run that this start continues; empty if each start is its own run.
        driver: who owns the checkpoints; by default the pipeline's name.
        locate: makes a problem of a place in the document.
        clock: the time of the run.

    Attributes:
        analysis: the problems that Spark finds in the document.
    """

    def __init__(
        self,
        session: SparkSession,
        graph: Graph,
        changed: Callable[[list[QueryProgress]], None],
        stop: StopRequested,
        run: str = "",
        driver: DriverIdentity | None = None,
        locate: Locate = without_text,
        clock: Clock | None = None,
    ) -> None:
        self._clock = clock = clock or Clock()
        self._session, self._changed, self._stop, self._run = session, changed, stop, run
        self._polls = Polls(session, graph, clock)
        self._renewals = Renewals(graph, self._polls.topics)
        self._listeners = Listeners(graph.spec.listeners, clock)
        files = ExpiredFiles(session, graph)
        self._events = EventQueue(self._polls.topics, files, self._listeners.pass_on, clock)
        self._driver = driver or DriverIdentity(graph.pipeline.name)
        self._ownership = Ownership(
            self._driver,
            clock,
            conditional=graph.spec.checkpoints.require_conditional_writes,
            take_over=graph.spec.checkpoints.take_over,
        )
        self._orphans = OrphanCleaner(session, graph, clock, self._ownership.owns)
        self._looked = 0.0
        self._queries = supervised_queries(session, graph, clock)
        self._records = DocumentRecorder(session, graph, clock)
        self._successions = Successions()
        waiting = WaitingQueries(session, graph, clock)
        self._take_over(graph, self._starter_of(graph, locate), Analysis(graph, locate), waiting)
        for new in self._queries:
            self._events.listener.attach(new.session)

    def _starter_of(self, graph: Graph, locate: Locate) -> Starter:
        suspect = self._orphans.suspect
        return Starter(graph, self._ownership, self._clock, self._events.put, self._run, suspect, locate)

    def _take_over(self, graph: Graph, starter: Starter, analysis: Analysis, waiting: WaitingQueries) -> None:
        """Make a document the one that runs; all parts that read the document are made anew."""
        self._graph = graph
        self._starter, self.analysis, self._waiting = starter, analysis, waiting
        self._current = Current(self._polls, graph, self._clock)
        self._refresher = Refresher(graph, starter.built)
        self._lifecycle = QueryLifecycle(
            self._queries,
            starter,
            self._stop,
            self._events,
            waiting,
            self._refresher,
            self._renewals,
            self._current,
            Stalls(graph.spec.restart),
            graph,
            self._clock,
        )

    @property
    def statuses(self) -> list[QueryProgress]:
        """The current statuses of the queries, in the order of the document."""
        return [self._successions.marked(self._current.status(supervised)) for supervised in self._queries]

    @property
    def failures(self) -> list[QueryProgress]:
        """The statuses of queries that failed and do not start again; last those that failed with another query."""
        failed = [each.status for each in self._queries if each.status.state is QueryState.FAILED]
        return sorted(failed, key=lambda status: status.reason == reasons.WRITER_FAILED)

    @property
    def fenced(self) -> bool:
        """Whether a newer driver has taken over a checkpoint: then this driver ends."""
        return any(status.reason == reasons.FENCED for status in self.failures)

    @property
    def waiting(self) -> list[QueryProgress]:
        """The statuses of queries that wait for a source; last those that wait for the end of another query."""
        waiting = [each.status for each in self._queries if each.absent is not None]
        return sorted(waiting, key=lambda status: status.reason == reasons.WRITER_NOT_ENDED)

    def start(self, *, strict: bool = False, unready: Mapping[str, NotReady] = NOTHING) -> None:
        """Build all queries that are not suspended and whose sources exist, prepare their checkpoints and folders, then
        start those that can start; with `strict` all or none.

        Args:
            strict: one refused query prevents the start of all.
            unready: query -> the known reason why it is not ready; none of these queries starts.

        Raises:
            SpecInvalid: Spark's analysis refuses every query, or with `strict` any part; with all problems.
            NotReady: something outside the document prevents the start of every query, or with `strict` of one.
        """
        first, refusals = self._starter.first, self.analysis.refusals
        self._graph = self._waiting.graph = with_unready(self._graph, unready)
        for supervised in (each for each in self._queries if each.query.name in unready):
            refusals.add(supervised, unready[supervised.query.name])
        self._waiting.begin(refusals.others(self._queries), refusals)
        self._polls.start()
        self._orphans.start()
        queries = [supervised for supervised in refusals.others(self._queries) if supervised.absent is None]
        built = self.analysis.document(self._starter, queries, some=bool(self.waiting), strict=strict)
        self._starter.claim([supervised for supervised in self._queries if not supervised.query.suspend])
        for supervised, ready in built:
            with self.analysis.guarded(supervised):
                first(supervised.query, partial(self._starter.prepare, supervised, ready))
        built = [
            (supervised, ready) for supervised, ready in built if supervised in refusals.others(self._queries)
        ]
        refusals.check(self.analysis.problems, some=bool(built or self.waiting), strict=strict)
        self._refused()
        for supervised, ready in built:
            if self._stop.requested:
                return
            with self.analysis.guarded(supervised):
                first(supervised.query, partial(self._lifecycle.begin, supervised, ready))
            self._changed(self.statuses)  # the other starts may take long
            refusals.check(self.analysis.problems, some=True, strict=strict)
            self._refused()

    def _refused(self) -> None:
        for supervised, failure in self.analysis.refusals.take():
            self._lifecycle.fail(supervised, failure, self._clock.seconds())

    def tick(self) -> bool:
        """Take events, start queries that are due, and check running ones; False once no query is left to run."""
        self._events.take(self._queries)
        now = self._clock.seconds()
        look = now - self._looked >= LOOK_SECONDS
        self._looked = now if look else self._looked
        self._waiting.take(self._queries)
        for supervised in list(self._queries):
            if supervised.query.name in self._successions.pending:
                self._successions.tick(supervised, self._lifecycle)
                continue
            self._refresher.tick(supervised, now)
            if supervised.execution is not None and not supervised.execution.active:
                self._lifecycle.end(supervised, now)
            elif self._is_due(supervised, now):
                self._changed(self.statuses)  # a start may take long, and many may be due
                self._lifecycle.restart(supervised)
            elif look or supervised.status.state in (QueryState.STARTING, QueryState.RESTARTING):
                self._lifecycle.check(supervised, now)
        self._records.tick(self._settled())
        self._changed(self.statuses)
        over = all(supervised.over for supervised in self._queries) and not self._successions.pending
        if over and not self.failures:
            close_journals(self._queries)
        return not over or self._polls.files.pending

    def apply(self, graph: Graph, locate: Locate = without_text) -> None:
        """Change to another document of the pipeline, while the queries that it does not touch run on.

        Every changed query is built first. Then each stops at the end of its batch, as `drain` of the new document asks, and
        its successor starts; `tick` does that. Pools and restart budgets change at once. A query that has failed permanently
        gets another try. If anything is raised, nothing has changed.

        Args:
            graph: the graph of the checked document.
            locate: makes a problem of a place in it.

        Raises:
            NeedsDriver: only a new driver can run it.
            SpecInvalid: Spark refuses a changed query; with all problems.
            NotReady: something that a changed query needs does not exist; `CheckpointIncompatible`.
        """
        graph = continued(self._graph, graph)
        failed = [status.name for status in self.failures]
        way, refused = checked_way(self._session, self._graph, graph, failed)
        starter, analysis = self._starter_of(graph, locate), Analysis(graph, locate)
        waiting = WaitingQueries(self._session, graph, self._clock)
        try:
            new = successors(
                self._session, graph, way, starter, analysis, waiting, self._driver.pipeline, refused
            )
        except BaseException:
            waiting.close()
            raise
        self._waiting.close()
        self._polls.adopt(graph)
        self._events.files = ExpiredFiles(self._session, graph)
        self._orphans.adopt(graph)
        self._records.adopt(graph, way.kept)
        self._take_over(graph, starter, analysis, waiting)
        set_pools(self._session, graph.spec.queries)
        self._refused()
        self._successions.enter(way, new, graph, self._lifecycle)
        self._changed(self.statuses)

    def idle_seconds(self) -> float:
        """Seconds since a query last had data or waited for a restart; a query that waits for a source does not count."""
        now = self._clock.seconds()
        for supervised in self._queries:
            supervised.look()
            busy = not supervised.resting or self._current.outage(supervised)
            due = supervised.due is not None or self._waiting.released(supervised, self._queries)
            if due or (supervised.execution is not None and busy):
                supervised.busy = now
        return now - max(supervised.busy for supervised in self._queries)

    def drain(self) -> bool:
        """Stop all queries at the ends of their batches, as `drain` of the document asks; True if no batch was interrupted."""
        self._waiting.close()
        late = out_of_time(self._graph.spec.drain, self._clock)
        outcomes = drained(
            self._queries, lambda: self._stop.force or late(), lambda: self._changed(self.statuses)
        )
        for supervised in self._queries:
            self._events.settle(self._queries, supervised)
            supervised.due = None
            self._lifecycle.drain(supervised, outcomes.get(supervised.query.name))
        self._records.tick(self._settled())
        self._changed(self.statuses)
        return all(outcome.clean for outcome in outcomes.values())

    def close(self) -> None:
        """Stop all polling, remove orphan files, and let listeners take the last events."""
        for part in (self._waiting, self._polls, self._renewals, self._orphans, self._listeners):
            part.close()

    def _settled(self) -> list[SupervisedQuery]:
        """The queries that run the plan of the present document."""
        return [each for each in self._queries if each.query.name not in self._successions.pending]

    def _is_due(self, supervised: SupervisedQuery, now: float) -> bool:
        """Whether to start a query now: it is due, all servers that it uses answer, and the writers of its input have ended."""
        due = supervised.due is not None and now >= supervised.due and not self._stop.requested
        answers = due and self._current.outage(supervised) is None
        return answers and not self._waiting.holds(supervised, self._queries)
