"""Reads side inputs again while a query runs.

Mainstem builds a replacement beside the running query, stops the running query at the end of its batch, and starts the
replacement on the same checkpoint. If the replacement cannot be built, the running query keeps its old side inputs, its
status shows that, and the next refresh tries again.
"""

import threading
from collections.abc import Callable
from dataclasses import replace

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from mainstem import logs, reasons
from mainstem.errors import MainstemError
from mainstem.language.analysis.graph import Graph
from mainstem.language.base import seconds
from mainstem.language.model.queries import Query
from mainstem.runtime.failures.classification import Failure, classify
from mainstem.runtime.query.drain import DrainOutcome
from mainstem.runtime.query.execution import Execution, Wrapper
from mainstem.runtime.query.starting import BuiltQuery
from mainstem.runtime.query.supervised_query import SupervisedQuery
from mainstem.runtime.supervision.draining import stopped


def every(graph: Graph, query: Query) -> float | None:
    """Seconds between two refreshes of a query; None without a `refresh`, and for a query that ends by itself."""
    intervals = [
        seconds(source.static.refresh)
        for source in graph.sources_of(query.from_)
        if source.static and source.static.refresh
    ]
    return min(intervals) if intervals and not graph.ends(query) else None


class Refreshing(Wrapper):
    """A running query while its replacement is built; no longer active once the replacement can start.

    Args:
        name: the name of the query.
        execution: the running query.
        build: builds the replacement; may take long.

    Attributes:
        built: the replacement, once it is built.
        fault: why the replacement could not be built.
    """

    def __init__(self, name: str, execution: Execution, build: Callable[[], BuiltQuery]) -> None:
        super().__init__(execution)
        self.built: BuiltQuery | None = None
        self.fault: Failure | None = None
        self._name, self._build = name, build
        self._lock = threading.Lock()
        self._called_off = False
        self._outcome: DrainOutcome | None = None
        self._thread = threading.Thread(target=self._run, name=f"refresh-{name}", daemon=True)
        self._thread.start()

    @property
    def active(self) -> bool:
        """Whether the query runs, or is stopping."""
        return self._thread.is_alive() or self.execution.active

    @property
    def given_up(self) -> bool:
        """Whether the query runs on because its replacement could not be built."""
        return not self._thread.is_alive() and self.execution.active

    def drain(self, interrupt: Callable[[], bool]) -> DrainOutcome:
        """Stop it for good; does not wait for a replacement that is being built."""
        with self._lock:
            self._called_off = self.built is None
            self._interrupts.append(interrupt)
        if not self._called_off:
            self._thread.join()
        return self._outcome or self.execution.drain(interrupt)

    def _run(self) -> None:
        try:
            built = self._build()
        except (MainstemError, PySparkException, Py4JError, ConnectionError) as error:
            self.fault = classify(error)
            logs.get("mainstem").warning(
                "side inputs could not be read again",
                query=self._name,
                reason=self.fault.reason,
                error=self.fault.message,
            )
            return
        with self._lock:
            if self._called_off:
                return
            self.built = built
        # A refresh interrupts no batch; the end of the run may.
        self._outcome = stopped(self._name, self.execution, self._interrupted)


class Refresher:
    """Starts the refresh of side inputs when it is due.

    Args:
        graph: the document's.
        build: builds a query again.
    """

    def __init__(self, graph: Graph, build: Callable[[SupervisedQuery], BuiltQuery]) -> None:
        self._every = {query.name: every(graph, query) for query in graph.spec.queries}
        self._build = build

    def started(self, supervised: SupervisedQuery, now: float) -> None:
        """Record that the query read its side inputs now (monotonic seconds)."""
        interval = self._every[supervised.query.name] if supervised.journal is None else None
        supervised.refresh = None if interval is None else now + interval
        if supervised.status.reason == reasons.SIDE_INPUTS_STALE:
            supervised.show(replace(supervised.status, reason=None, message=None))

    def tick(self, supervised: SupervisedQuery, now: float) -> None:
        """Start a refresh that is due; return to the old execution if the replacement could not be built."""
        if isinstance(supervised.execution, Refreshing):
            if supervised.execution.given_up:
                fault, supervised.execution = supervised.execution.fault, supervised.execution.execution
                self.started(supervised, now)
                if fault:
                    message = f"side inputs could not be read again: {fault.message} ({fault.reason})"
                    supervised.show(
                        replace(supervised.status, reason=reasons.SIDE_INPUTS_STALE, message=message)
                    )
        elif (
            supervised.execution is not None and supervised.refresh is not None and now >= supervised.refresh
        ):
            supervised.execution = Refreshing(
                supervised.query.name, supervised.execution, lambda: self._build(supervised)
            )
