"""Side inputs read anew while a query runs: it is built again beside the running one, which is then stopped at its
batch's end; the new one is started on the same checkpoint in its place.

What goes wrong goes wrong while it is built: the running query goes on with what it had, its status says so, and the
next time comes.
"""

import math
import threading
import time
from collections.abc import Callable
from dataclasses import replace

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from mainstem import logs
from mainstem.errors import MainstemError
from mainstem.language.analysis.graph import Graph
from mainstem.language.base import seconds
from mainstem.language.model.queries import Query
from mainstem.language.model.status.states import STALE
from mainstem.runtime.failures.classification import Failure, classify
from mainstem.runtime.query.drain import DrainOutcome
from mainstem.runtime.query.execution import Execution
from mainstem.runtime.query.starting import BuiltQuery
from mainstem.runtime.query.supervised_query import SupervisedQuery
from mainstem.runtime.supervision.draining import stopped


def every(graph: Graph, query: Query) -> float | None:
    """Seconds between two refreshes of a query; None where no side input asks for any, or the query ends by itself."""
    intervals = [
        seconds(source.static.refresh)
        for source in graph.sources_of(query.from_)
        if source.static and source.static.refresh
    ]
    return min(intervals) if intervals and not graph.ends(query) else None


class Refreshing:
    """A running query while its replacement is built; no longer active once the replacement can start.

    Args:
        name: of the query.
        execution: the running query.
        build: makes it anew; may take its time.

    Attributes:
        execution: the running query.
        built: what takes its place, once it is built.
        fault: why nothing could be built.
    """

    def __init__(self, name: str, execution: Execution, build: Callable[[], BuiltQuery]) -> None:
        self.execution, self.id, self.run_id = execution, execution.id, execution.run_id
        self.built: BuiltQuery | None = None
        self.fault: Failure | None = None
        self._name, self._build = name, build
        self._deadline = math.inf
        self._force: Callable[[], bool] = lambda: False
        self._lock = threading.Lock()
        self._called_off = False
        self._outcome: DrainOutcome | None = None
        self._thread = threading.Thread(target=self._run, name=f"refresh-{name}", daemon=True)
        self._thread.start()

    @property
    def active(self) -> bool:
        """Whether it runs, or is being stopped."""
        return self._thread.is_alive() or self.execution.active

    @property
    def given_up(self) -> bool:
        """Whether it runs on because its replacement could not be built."""
        return not self._thread.is_alive() and self.execution.active

    @property
    def waiting(self) -> bool | None:
        """Whether it waits for data; None where that is not known just now."""
        return self.execution.waiting

    @property
    def message(self) -> str:
        """The current activity, in Spark's words."""
        return self.execution.message

    @property
    def last_progress(self) -> str | None:
        """The time of the last progress that Spark reports, or will report in a moment."""
        return self.execution.last_progress

    def failure(self) -> Failure | None:
        """Why it failed, once it is over; None where it did not."""
        return self.execution.failure()

    def drain(self, deadline: float, force: Callable[[], bool]) -> DrainOutcome:
        """Stop it for good; does not wait for a replacement that is being built."""
        with self._lock:
            self._called_off = self.built is None
            self._deadline, self._force = deadline, force
        if not self._called_off:
            self._thread.join()
        return self._outcome or self.execution.drain(deadline, force)

    def _run(self) -> None:
        try:
            built = self._build()
        except (MainstemError, PySparkException, Py4JError, ConnectionError) as error:
            self.fault = classify(error)
            told = {"reason": self.fault.reason, "error": self.fault.message}
            logs.get("mainstem").warning("side inputs are not read anew", query=self._name, **told)
            return
        with self._lock:
            if self._called_off:
                return
            self.built = built
        self._outcome = stopped(self._name, self.execution, math.inf, self._forced)

    def _forced(self) -> bool:
        """Nothing cuts a batch but the end of the run."""
        return self._force() or time.monotonic() >= self._deadline


class Refresher:
    """Starts the refresh of side inputs when it is due.

    Args:
        graph: the document's.
        build: makes a query anew.
    """

    def __init__(self, graph: Graph, build: Callable[[SupervisedQuery], BuiltQuery]) -> None:
        self._every = {query.name: every(graph, query) for query in graph.spec.queries}
        self._build = build

    def started(self, supervised: SupervisedQuery, now: float) -> None:
        """Record that the query has read its side inputs just now (monotonic seconds)."""
        interval = self._every[supervised.query.name] if supervised.journal is None else None
        supervised.refresh = None if interval is None else now + interval
        if supervised.status.reason == STALE:
            supervised.show(replace(supervised.status, reason=None, message=None))

    def tick(self, supervised: SupervisedQuery, now: float) -> None:
        """Start a refresh that is due, and take up the old execution where the replacement could not be built."""
        if isinstance(supervised.execution, Refreshing):
            if supervised.execution.given_up:
                fault, supervised.execution = supervised.execution.fault, supervised.execution.execution
                self.started(supervised, now)
                if fault:
                    message = f"side inputs are not read anew: {fault.message} ({fault.reason})"
                    supervised.show(replace(supervised.status, reason=STALE, message=message))
        elif (
            supervised.execution is not None and supervised.refresh is not None and now >= supervised.refresh
        ):
            supervised.execution = Refreshing(
                supervised.query.name, supervised.execution, lambda: self._build(supervised)
            )
