"""The interface of a started query, its implementation for streaming queries, and the base of those that wrap another one.

`BatchRun` is the implementation for queries that run once.
"""

from collections.abc import Callable
from typing import Any, Protocol

from pyspark.sql.streaming import StreamingQuery

from mainstem.runtime.clock import Clock
from mainstem.runtime.failures.classification import Failure, classify
from mainstem.runtime.query.drain import DrainOutcome, drain


class Execution(Protocol):
    """A started query.

    Attributes:
        id: the id of its checkpoint.
        run_id: the id of this start.
    """

    id: str
    run_id: str

    @property
    def active(self) -> bool:
        """Whether it runs."""

    @property
    def waiting(self) -> bool | None:
        """Whether it waits for data; None if that is unknown now."""

    @property
    def message(self) -> str:
        """The current activity, in Spark's words."""

    @property
    def last_progress(self) -> str | None:
        """The time of the last progress that Spark reports, or will report in a moment."""

    def failure(self) -> Failure | None:
        """Why it failed, once it has ended; None if it did not fail."""

    def drain(self, interrupt: Callable[[], bool]) -> DrainOutcome:
        """Stop it at a batch's end, or interrupt the batch once `interrupt` is true."""


class Stream:
    """A started streaming query of Spark.

    Args:
        query: the query in Spark.
        clock: the time of the run.
        resident: whether its tasks never end by themselves.
    """

    def __init__(self, query: StreamingQuery, clock: Clock, *, resident: bool) -> None:
        self._query, self._clock, self._resident = query, clock, resident
        self._java: Any = query._jsq  # noqa: SLF001 - pyspark copies every field over the wire, one call each
        self.id, self.run_id = str(query.id), str(query.runId)

    @property
    def active(self) -> bool:
        """Whether it runs."""
        return bool(self._query.isActive)

    @property
    def waiting(self) -> bool | None:
        """Whether it waits for data: not in a batch, and not while Spark opens and lists sources."""
        status = self._query.status
        if status["isDataAvailable"]:
            return False
        return True if str(status["message"]).startswith("Waiting") else None

    @property
    def message(self) -> str:
        """The current activity, in Spark's words."""
        return str(self._query.status["message"])

    @property
    def last_progress(self) -> str | None:
        """Time of the last batch's progress; Spark does not deliver the last progress of an idle query."""
        last = self._java.lastProgress()
        return last.timestamp() if last is not None and last.durationMs().containsKey("addBatch") else None

    def failure(self) -> Failure | None:
        """Why it failed, once it has ended."""
        error = self._java.exception()
        return classify(error.get()) if error.isDefined() else None

    def drain(self, interrupt: Callable[[], bool]) -> DrainOutcome:
        """Stop it at a batch's end, or interrupt the batch once `interrupt` is true."""
        return drain(self._query, interrupt, self._clock, resident=self._resident)


class Wrapper:
    """A started query that something else happens to; all that it reports comes from the query itself.

    Args:
        execution: the query.

    Attributes:
        execution: the query.
        id: the id of its checkpoint.
        run_id: the id of this start.
    """

    def __init__(self, execution: Execution) -> None:
        self.execution, self.id, self.run_id = execution, execution.id, execution.run_id
        self._interrupts: list[Callable[[], bool]] = []

    def _interrupted(self) -> bool:
        """Whether to interrupt its batch now: one of those who wait for its end asks for it."""
        return any(interrupt() for interrupt in self._interrupts)

    @property
    def waiting(self) -> bool | None:
        """Whether it waits for data; None if that is unknown now."""
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
        """Why it failed, once it has ended; None if it did not fail."""
        return self.execution.failure()
