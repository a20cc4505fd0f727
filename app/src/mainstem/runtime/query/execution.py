"""A started query as the supervisor sees it, whether Spark streams it or runs it once."""

from collections.abc import Callable
from typing import Any, Protocol

from pyspark.sql.streaming import StreamingQuery

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
        """Whether it waits for data; None where that is not known just now."""

    @property
    def message(self) -> str:
        """The current activity, in Spark's words."""

    @property
    def last_progress(self) -> str | None:
        """The time of the last progress that Spark reports, or will report in a moment."""

    def failure(self) -> Failure | None:
        """Why it failed, once it is over; None where it did not."""

    def drain(self, deadline: float, force: Callable[[], bool]) -> DrainOutcome:
        """Stop it at a batch's end, or interrupt the batch at the deadline."""


class Stream:
    """A started streaming query of Spark.

    Args:
        query: Spark's.
        resident: its tasks never end by themselves.
    """

    def __init__(self, query: StreamingQuery, *, resident: bool) -> None:
        self._query, self._resident = query, resident
        self._java: Any = query._jsq  # noqa: SLF001 - pyspark copies every field over the wire, one call each
        self.id, self.run_id = str(query.id), str(query.runId)

    @property
    def active(self) -> bool:
        """Whether it runs."""
        return bool(self._query.isActive)

    @property
    def waiting(self) -> bool | None:
        """Whether it waits for data; while sources are opened and listed, it does not, nor in a batch."""
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
        """Time of the last batch's progress: the last one of an idle query is none that is delivered."""
        last = self._java.lastProgress()
        return last.timestamp() if last is not None and last.durationMs().containsKey("addBatch") else None

    def failure(self) -> Failure | None:
        """Why it failed, once it is over."""
        error = self._java.exception()
        return classify(error.get()) if error.isDefined() else None

    def drain(self, deadline: float, force: Callable[[], bool]) -> DrainOutcome:
        """Stop it at a batch's end, or interrupt the batch at the deadline."""
        return drain(self._query, deadline, force, resident=self._resident)
