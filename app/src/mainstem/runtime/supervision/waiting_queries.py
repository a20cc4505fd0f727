"""Queries that wait for their inputs or for a server: from the start of a run, or once an input goes away."""

import time
from collections.abc import Sequence

from pyspark.sql import SparkSession

from mainstem import logs
from mainstem.errors import NotReady
from mainstem.language.analysis.graph import Graph
from mainstem.runtime.failures.classification import Failure
from mainstem.runtime.preflight.inputs import Absent, Inputs, makers, waits
from mainstem.runtime.progress.transitions import QueryEvent
from mainstem.runtime.query.refusals import Refusals
from mainstem.runtime.query.supervised_query import SupervisedQuery
from mainstem.runtime.supervision.input_poller import InputPoller


class WaitingQueries:
    """The queries that wait, and what each waits for.

    Args:
        session: the application's session.
        graph: the document's.
    """

    def __init__(self, session: SparkSession, graph: Graph) -> None:
        self._graph = graph
        self._inputs = Inputs(session, graph)
        self._poller = InputPoller(self._inputs)
        self._log = logs.get("mainstem")

    def begin(self, queries: Sequence[SupervisedQuery], refusals: Refusals) -> None:
        """Look for the inputs of all queries, and poll for the missing ones from then on, in a thread.

        A query is refused where a source is not there and it does not wait; or where nobody can be asked for another
        reason than an outage.
        """
        known: dict[str, Absent | None] = {}
        for supervised in queries:
            with refusals.collecting(supervised):
                absent = self._absent(supervised, known)
                if absent is not None and not absent.outage and not waits(self._graph, supervised.query):
                    raise NotReady(absent.message, reason=absent.reason)
                if absent is not None:
                    self._wait(supervised, absent, time.monotonic())
        self._poller.look_for(supervised.query for supervised in queries if supervised.absent)

    def again(
        self, supervised: SupervisedQuery, queries: Sequence[SupervisedQuery], failure: Failure
    ) -> bool:
        """Whether a failed query waits from now on because a topic that it reads has gone."""
        if failure.reason != "TopicNotFound" or not waits(self._graph, supervised.query):
            return False
        try:
            absent = self._absent(supervised, {})
        except NotReady:
            return False
        if absent is None:  # it is a topic that the query writes, or it is back already
            return False
        self._wait(supervised, absent, time.monotonic())
        self._poller.look_for(supervised.query for supervised in queries if supervised.absent)
        return True

    def take(self, queries: Sequence[SupervisedQuery], now: float) -> None:
        """Take what the poller has seen: a query whose sources are all there is due."""
        polled = self._poller.take()
        for supervised in queries:
            if supervised.absent is None or supervised.query.name not in polled:
                continue
            absent = polled[supervised.query.name]
            if absent is not None and (absent.outage or self._may_come(supervised, queries)):
                self._wait(supervised, absent, now)
            else:  # where it cannot come any more it is Spark that says so
                supervised.absent, supervised.due = None, now
                supervised.happen(QueryEvent.INPUT_PRESENT)
        if polled:
            self._poller.look_for(supervised.query for supervised in queries if supervised.absent)

    def close(self) -> None:
        """Stop polling."""
        self._poller.close()

    def _absent(self, supervised: SupervisedQuery, known: dict[str, Absent | None]) -> Absent | None:
        """What the query waits for; a server that falls silent while it is asked is an outage as well."""
        try:
            return self._inputs.absent(supervised.query, known)
        except NotReady as error:
            absent = Absent(error.reason, error.message)
            if not absent.outage:
                raise
            return absent

    def _may_come(self, supervised: SupervisedQuery, queries: Sequence[SupervisedQuery]) -> bool:
        """False for a bounded query once all queries of the document that could make what is absent are over."""
        hopes = makers(self._graph, supervised.query)
        return not self._graph.ends(supervised.query) or any(
            not other.over for other in queries if other.query.name in hopes
        )

    def _wait(self, supervised: SupervisedQuery, absent: Absent, now: float) -> None:
        if supervised.absent != absent:
            self._log.warning(
                "query waits", query=supervised.query.name, reason=absent.reason, waits_for=absent.message
            )
        supervised.wait_for(absent, now)
