"""One query under supervision: the only mutable state of a run."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime

from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQuery

from mainstem.run.inputs import Absent
from mainstem.run.progress import QueryStatus, State, told, waiting
from mainstem.run.restarts import Restarts
from mainstem.spec.queries import Query


@dataclass
class Run:
    """One query under supervision.

    Attributes:
        query: the query.
        session: its own.
        occurrences: names of the streams in its plan, in the plan's order, each with the source's.
        restarts: what is left of its budget.
        status: what is known of it.
        handle: Spark's, while it runs.
        due: when it is to be started (monotonic seconds); None where it is not.
        absent: what it waits for before it can start.
        since: since when it waits for that.
        busy: when it last had data (monotonic seconds).
        resting: it runs, and waits for data.
    """

    query: Query
    session: SparkSession
    occurrences: dict[str, str]
    restarts: Restarts
    status: QueryStatus
    handle: StreamingQuery | None = None
    due: float | None = None
    absent: Absent | None = None
    since: datetime | None = None
    busy: float = 0.0
    resting: bool = False

    @property
    def over(self) -> bool:
        """True where it neither runs nor ever will."""
        return self.handle is None and self.due is None and self.absent is None

    @property
    def resident(self) -> bool:
        """True where its tasks hold their cores and never end by themselves."""
        return self.query.trigger is not None and self.query.trigger.resident

    def look(self) -> None:
        """Whether a running query waits for data; while sources are opened and listed it does not, nor in a batch."""
        if self.handle is None:
            return
        status = self.handle.status
        if self.resident:
            self.status = told(self.status, str(status["message"]))
        elif status["isDataAvailable"]:
            self.resting = False
            self.status = replace(self.status, idle=False)
        elif str(status["message"]).startswith("Waiting"):
            self.resting = True
            self.status = waiting(self.status)

    def wait_for(self, absent: Absent, now: float) -> None:
        """It waits for a source; what it is and since when stands in its status."""
        if self.absent is None or self.since is None:
            self.busy, self.since = now, datetime.now(UTC)
        self.absent = absent
        since = self.since.strftime("%Y-%m-%dT%H:%M:%SZ")
        self.status = replace(
            self.status,
            state=State.WAITING,
            reason=absent.reason,
            message=f"{absent.message}; waited for since {since}",
        )
