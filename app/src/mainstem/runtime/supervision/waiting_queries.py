"""Keeps queries that wait for an input, a server or the end of a writer, from the start of a run or once an input was deleted."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from pyspark.sql import SparkSession

from mainstem import logs, reasons
from mainstem.errors import NotReady
from mainstem.language.analysis.graph import Graph
from mainstem.language.analysis.writers import Writer, awaited, writers
from mainstem.language.model.status.states import FINAL, QueryState
from mainstem.runtime.clock import Clock
from mainstem.runtime.failures.classification import Failure
from mainstem.runtime.preflight.inputs import Absent, Inputs, waits
from mainstem.runtime.progress.transitions import QueryEvent
from mainstem.runtime.query.refusals import Refusals
from mainstem.runtime.query.supervised_query import SupervisedQuery
from mainstem.runtime.supervision.attempts import log_failure
from mainstem.runtime.supervision.input_poller import InputPoller


_ENDED: Final = FINAL - {QueryState.SUSPENDED}
"""States of a query that does not write any more in this run. A suspended one may start with another document."""


class WaitingQueries:
    """The waiting queries, each with its missing input, or with the writers of its input that have not ended.

    A query that ends reads what other queries of the document write once these have ended, so that it reads all of their
    rows.

    Args:
        session: the application's session.
        graph: the graph of the document.
        clock: the time of the run.
        inputs: looks for the inputs; by default all must exist.

    Attributes:
        graph: as above, until `begin`; a query that is suspended in it writes nothing.
    """

    def __init__(
        self, session: SparkSession, graph: Graph, clock: Clock, inputs: Inputs | None = None
    ) -> None:
        self._clock = clock
        self._inputs = inputs or Inputs(session, graph)
        self._poller = InputPoller(self._inputs, clock)
        self._awaited: Mapping[str, Sequence[Writer]] = {}
        self._log = logs.get("mainstem")
        self.graph = graph

    def begin(self, queries: Sequence[SupervisedQuery], refusals: Refusals) -> None:
        """Look for the inputs of queries that have not begun; `take` polls for the missing ones from then on, in a thread.

        Refuses a query whose source is missing if the query does not wait for it, and a query whose source cannot be
        checked for another reason than an outage.
        """
        self._awaited = awaited(self.graph)
        known: dict[str, Absent | None] = {}
        for supervised in queries:
            with refusals.collecting(supervised):
                absent = self._absent(supervised, known)
                if absent is not None and not absent.outage and not waits(self.graph, supervised.query):
                    raise NotReady(absent.message, reason=absent.reason)
                if known_writers := self._writers(supervised):
                    self._wait(supervised, _not_ended(known_writers))
                elif absent is not None:
                    self._wait(supervised, absent)

    def watch(self, queries: Sequence[SupervisedQuery]) -> None:
        """Poll for the missing inputs of exactly these queries from now on, except those whose writers have not ended."""
        self._poller.look_for(
            supervised.query
            for supervised in queries
            if supervised.absent and not self._unended(supervised, queries)
        )

    def again(
        self, supervised: SupervisedQuery, queries: Sequence[SupervisedQuery], failure: Failure
    ) -> bool:
        """Whether a failed query waits from now on, because a topic that it reads was deleted."""
        if failure.reason != reasons.TOPIC_NOT_FOUND or not waits(self.graph, supervised.query):
            return False
        try:
            absent = self._absent(supervised, {})
        except NotReady:
            return False
        if absent is None:  # the query writes the topic, or the topic exists again
            return False
        self._wait(supervised, absent)
        self.watch(queries)
        return True

    def take(self, queries: Sequence[SupervisedQuery]) -> None:
        """Take the poller's result: a query whose inputs all exist is due, unless the writers of its input have not ended."""
        polled = self._poller.take()
        for supervised in queries:
            if supervised.absent is None or self.holds(supervised, queries):
                continue
            if supervised.query.name not in polled:
                continue
            absent = polled[supervised.query.name]
            if absent is not None and (absent.outage or self._may_come(supervised, queries)):
                self._wait(supervised, absent)
            else:  # if the input cannot appear any more, Spark reports it
                supervised.absent, supervised.due = None, self._clock.seconds()
                supervised.happen(QueryEvent.INPUT_PRESENT)
        self.watch(queries)

    def holds(self, supervised: SupervisedQuery, queries: Sequence[SupervisedQuery]) -> bool:
        """Whether a query must not start now: it waits for the end of a writer of its input, or fails with it."""
        failed = {each.query.name for each in queries if each.status.state is QueryState.FAILED}
        if writer := next((each for each in self._writers(supervised) if each.query in failed), None):
            message = f"source {writer.source!r}: the query {writer.query!r} writes it, and has failed"
            supervised.fail(reasons.WRITER_FAILED, message, None)
            log_failure(self._log, supervised, Failure(reasons.WRITER_FAILED, message), None)
        elif unended := self._unended(supervised, queries):
            self._wait(supervised, _not_ended(unended))
        else:
            return False
        return True

    def released(self, supervised: SupervisedQuery, queries: Sequence[SupervisedQuery]) -> bool:
        """Whether all writers have ended for which a query waited, so that only the look for its inputs is missing."""
        is_held = supervised.absent is not None and supervised.absent.reason == reasons.WRITER_NOT_ENDED
        return is_held and not self._unended(supervised, queries)

    def close(self) -> None:
        """Stop polling."""
        self._poller.close()

    def _absent(self, supervised: SupervisedQuery, known: dict[str, Absent | None]) -> Absent | None:
        """The missing input of a query; a server that does not answer the check counts as an outage."""
        try:
            return self._inputs.absent(supervised.query, known)
        except NotReady as error:
            absent = Absent(error.reason, error.message)
            if not absent.outage:
                raise
            return absent

    def _may_come(self, supervised: SupervisedQuery, queries: Sequence[SupervisedQuery]) -> bool:
        """Whether the input may still appear: not for a bounded query once all queries that could write it are over."""
        names = {writer.query for writer in writers(self.graph, supervised.query)}
        return not self.graph.ends(supervised.query) or any(
            not other.over for other in queries if other.query.name in names
        )

    def _writers(self, supervised: SupervisedQuery) -> Sequence[Writer]:
        return self._awaited.get(supervised.query.name, ())

    def _unended(self, supervised: SupervisedQuery, queries: Iterable[SupervisedQuery]) -> list[Writer]:
        """The writers for whose end the query waits; one that has not begun has not ended."""
        ended = {each.query.name for each in queries if each.status.state in _ENDED}
        return [writer for writer in self._writers(supervised) if writer.query not in ended]

    def _wait(self, supervised: SupervisedQuery, absent: Absent) -> None:
        if supervised.absent != absent:
            log = self._log.info if absent.reason == reasons.WRITER_NOT_ENDED else self._log.warning
            log("query waits", query=supervised.query.name, reason=absent.reason, waits_for=absent.message)
        supervised.wait_for(absent, self._clock)


def _not_ended(unended: Sequence[Writer]) -> Absent:
    message = "; ".join(
        f"source {writer.source!r}: the query {writer.query!r} writes it, and has not ended"
        for writer in unended
    )
    return Absent(reasons.WRITER_NOT_ENDED, message)
