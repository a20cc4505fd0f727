"""Changes queries of a running driver: builds the new ones beside the old ones, then replaces one at a time.

Nothing stops before every plan is built.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from pyspark.sql import SparkSession

from mainstem import logs
from mainstem.changes.transition import Step, Transition, renewed, transition
from mainstem.errors import NotReady
from mainstem.language.analysis.graph import Graph
from mainstem.language.model.status.query_progress import QueryProgress
from mainstem.runtime.preflight import readiness
from mainstem.runtime.query import changed_documents
from mainstem.runtime.query.analysis import Analysis
from mainstem.runtime.query.refusals import not_ready
from mainstem.runtime.query.starting import BuiltQuery, Starter
from mainstem.runtime.query.supervised_query import SupervisedQuery, supervised_queries
from mainstem.runtime.supervision.attempts import log_drain
from mainstem.runtime.supervision.draining import out_of_time
from mainstem.runtime.supervision.leaving import Leaving
from mainstem.runtime.supervision.lifecycle import QueryLifecycle
from mainstem.runtime.supervision.waiting_queries import WaitingQueries


class NeedsDriver(Exception):
    """Only a new driver can run the document.

    Attributes:
        causes: the fields, or sentences.
    """

    def __init__(self, causes: Sequence[str]) -> None:
        super().__init__(", ".join(causes))
        self.causes = tuple(causes)


@dataclass(frozen=True)
class Successor:
    """What takes the place of a query.

    Attributes:
        supervised: the query of the new document.
        built: its plan; None if it is suspended, waits for an input, must not start, or is tried again.
        is_retry: whether it only starts again after a permanent failure; it is built at its start, and can fail alone.
    """

    supervised: SupervisedQuery
    built: BuiltQuery | None = None
    is_retry: bool = False


def checked_way(
    session: SparkSession, running: Graph, wanted: Graph, failed: Collection[str]
) -> tuple[Transition, dict[str, NotReady]]:
    """The way to another document, compared with the checkpoints; and failed query -> why it must not start.

    Args:
        session: any session.
        running: the graph of the running document.
        wanted: the graph of the other document.
        failed: the queries that have failed permanently. They start again, and refuse no document.

    Raises:
        NeedsDriver: only a new driver can run the document.
        NotReady: `CheckpointIncompatible`, or the store does not answer.
    """
    way = transition(running, wanted).retrying(failed, wanted)
    if causes := way.driver or changed_documents.chosen_at_start(session, wanted, way.begun):
        raise NeedsDriver(causes)
    starting = {name for name in failed if way.steps.get(name) in (Step.REPLACE, Step.RETRY)}
    refused = changed_documents.refuse_misread(session, way.verdict, wanted, way.begun, starting)
    if causes := renewed(wanted, refused):
        raise NeedsDriver(causes)
    return way, refused


def successors(
    session: SparkSession,
    graph: Graph,
    way: Transition,
    starter: Starter,
    analysis: Analysis,
    waiting: WaitingQueries,
    owner: str,
    refused: Mapping[str, NotReady] = MappingProxyType({}),
) -> dict[str, Successor]:
    """Query -> its successor, for all queries that change and stay in the document.

    Args:
        session: the application's session.
        graph: the graph of the new document.
        way: what changes.
        starter: starts queries of the new document.
        analysis: builds the queries of the new document.
        waiting: keeps those that wait for an input.
        owner: the name under which the pipeline owns tables.
        refused: failed query -> why it must not start on its checkpoint; `analysis` takes it.

    Raises:
        SpecInvalid: Spark refuses a changed query; with all problems.
        NotReady: something that a changed query needs does not exist.
    """
    changed = [name for name, step in way.steps.items() if step not in (Step.KEEP, Step.REMOVE)]
    made = {
        each.query.name: each
        for each in supervised_queries(session, graph, starter.clock)
        if each.query.name in changed
    }
    new = [made[name] for name in changed if name in way.built and name not in refused]
    only = graph.running_only(way.built.difference(refused))
    if unready := readiness.before_session(only) or readiness.in_session(session, only, owner, starter.clock):
        raise not_ready(unready)
    waiting.begin(new, analysis.refusals)
    analysis.refusals.check(analysis.problems, some=False, strict=True)
    for each in new:
        if each.absent is not None and way.steps[each.query.name] is Step.REPLACE:
            # A query that is new waits for its input. One that runs does not stop to wait.
            raise NotReady(each.absent.message, reason=each.absent.reason, transient=True)
    present = [each for each in new if each.absent is None]
    built = {
        each.query.name: plan for each, plan in analysis.document(starter, present, some=True, strict=True)
    }
    if taken := _taken(starter, present, built, way.moved):
        raise not_ready(taken)
    for name, error in refused.items():
        analysis.refusals.add(made[name], error)
    again = {name for name, step in way.steps.items() if step is Step.RETRY and name not in refused}
    return {name: Successor(each, built.get(name), name in again) for name, each in made.items()}


def _taken(
    starter: Starter,
    queries: Sequence[SupervisedQuery],
    built: Mapping[str, BuiltQuery],
    moved: Collection[str],
) -> dict[str, NotReady]:
    """Query -> that a sink's folder has data of another checkpoint, before a query stops for it."""
    errors = {}
    for each in queries:
        plan = built[each.query.name]
        if each.query.name in moved:
            try:
                starter.refuse_taken(each, plan)
            except NotReady as error:
                errors[each.query.name] = error
    return errors


class Successions:
    """Stops the queries that change, each at the end of its batch, and starts their successors.

    Attributes:
        pending: query that still stops -> its successor; None for one that leaves the document.
    """

    def __init__(self) -> None:
        self.pending: dict[str, Successor | None] = {}
        self._log = logs.get("mainstem")

    def marked(self, status: QueryProgress) -> QueryProgress:
        """The status, marked as updating while the query still stops."""
        return replace(status, updating=status.name in self.pending)

    def enter(
        self, way: Transition, new: Mapping[str, Successor], graph: Graph, lifecycle: QueryLifecycle
    ) -> None:
        """Put the queries into the order of the new document, begin to stop those that change, and start the new ones."""
        old = {supervised.query.name: supervised for supervised in lifecycle.queries}
        interrupt = out_of_time(graph.spec.drain, lifecycle.clock)
        names = dict.fromkeys([*way.steps, *old])  # a query of an earlier document may still stop
        lifecycle.queries[:] = [old.get(name) or new[name].supervised for name in names]
        for name, step in way.steps.items():
            supervised = old.get(name)
            if supervised is None:
                _begin(new[name], lifecycle)
            elif step is Step.KEEP:
                successor = self.pending.get(name)
                _keep(successor.supervised if successor else supervised, graph)
            else:
                self.pending[name] = new.get(name)
                if supervised.execution is not None and not isinstance(supervised.execution, Leaving):
                    supervised.execution = Leaving(name, supervised.execution, interrupt)
        lifecycle.waiting.watch(lifecycle.queries)

    def tick(self, supervised: SupervisedQuery, lifecycle: QueryLifecycle) -> None:
        """Once a query that changes has stopped, put its successor into its place, and start it."""
        execution = supervised.execution
        if lifecycle.stop.requested or (execution is not None and execution.active):
            return  # the end of the run drains what still stops
        lifecycle.events.settle(lifecycle.queries, supervised)
        lifecycle.renewals.ended(supervised)
        supervised.execution = None
        if isinstance(execution, Leaving) and execution.outcome:
            log_drain(self._log, supervised, execution.outcome)
        place = next(index for index, each in enumerate(lifecycle.queries) if each is supervised)
        successor = self.pending.pop(supervised.query.name)
        if successor is None:
            del lifecycle.queries[place]
            return
        inherit(successor.supervised, supervised)
        lifecycle.queries[place] = successor.supervised
        lifecycle.waiting.watch(lifecycle.queries)
        _begin(successor, lifecycle)


def _keep(supervised: SupervisedQuery, graph: Graph) -> None:
    name = supervised.query.name
    supervised.query = next(query for query in graph.spec.queries if query.name == name)
    supervised.restarts.settings = graph.spec.restart


def _begin(successor: Successor, lifecycle: QueryLifecycle) -> None:
    lifecycle.events.listener.attach(successor.supervised.session)
    if successor.built is not None:
        lifecycle.restart(successor.supervised, successor.built)
    elif successor.is_retry:
        successor.supervised.due = lifecycle.clock.seconds()


def inherit(new: SupervisedQuery, old: SupervisedQuery) -> None:
    """Continue the counters of a query on the same checkpoint: they survive the restart of a query."""
    if new.status.checkpoint != old.status.checkpoint:
        return
    was, now = old.status, new.status
    new.show(
        replace(
            was,
            state=now.state,
            pool=now.pool,
            reason=now.reason,
            message=now.message,
            started_at=None,
            restarts=0,
            idle=False,
            sources=tuple(source for source in was.sources if source.name in new.occurrences),
        )
    )
    new.busy = old.busy
    # Until it starts, its offsets are those of the topics that the old one has read.
    new.topic_ids = {name: ids for name, ids in old.topic_ids.items() if name in new.occurrences}
    new.awaited_resets = {(name, topic) for name, topic in old.awaited_resets if name in new.occurrences}


def with_unready(graph: Graph, unready: Mapping[str, NotReady]) -> Graph:
    """The graph as its document is written: a start suspends the queries that are not ready."""
    names = {query.name for query in graph.spec.queries if not query.suspend} | unready.keys()
    return graph.running_only(names) if unready else graph
