"""The status of a query, which the table, the JSON lines, the report, the endpoints and the resource show; pure."""

from dataclasses import asdict, dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Final


STALE: Final = "SideInputsStale"
"""Reason of a query that runs, and whose side inputs could not be read anew when it was time."""

WATERMARK_AHEAD: Final = "WatermarkAhead"
"""Reason of a query that runs, and whose watermark is ahead of the clock: rows of today come too late."""


class QueryState(StrEnum):
    """The state of a query."""

    STARTING = "Starting"
    WAITING = "Waiting"
    RUNNING = "Running"
    RESTARTING = "Restarting"
    FAILED = "Failed"
    COMPLETED = "Completed"
    DRAINED = "Drained"
    INTERRUPTED = "Interrupted"
    SUSPENDED = "Suspended"


@dataclass(frozen=True)
class SourceStatus:
    """The status of one occurrence of a source in a query.

    Attributes:
        name: the occurrence: the source's name, or `<name>_2` for a second one.
        partitions: number of Kafka partitions, 0 for other sources.
        lag: records behind the newest, over all partitions; None where Spark does not tell.
        max_lag: the same for the worst partition.
        decoded: records that were decoded, since the driver started.
        malformed: records that did not.
        end_offset: where the last batch ended, as Spark has it.
        expired: offsets that had expired before they were read; at least so many.
    """

    name: str
    partitions: int = 0
    lag: int | None = None
    max_lag: int | None = None
    decoded: int = 0
    malformed: int = 0
    end_offset: Any = None
    expired: int = 0


@dataclass(frozen=True)
class ExpectationStatus:
    """The status of one expectation of a view that a query reads, since the driver started.

    Attributes:
        view: the view.
        name: the expectation.
        passed: rows that fulfilled it.
        violated: rows that did not.
    """

    view: str
    name: str
    passed: int = 0
    violated: int = 0


@dataclass(frozen=True)
class QueryStatus:
    """The status of a query. Sums count since the driver started; `batch` is the checkpoint's.

    Attributes:
        counted_since: when the driver began to count, ISO 8601.
        id: Spark's id of the checkpoint, the same across restarts.
        run_id: Spark's id of this start.
        started_at: when this start began, ISO 8601; None while it is not started.
        batch: the last committed batch; None before the first.
        batches: batches with data, committed since the driver started.
        rows_per_second: input rows over the time between reports, by the clock on the wall; 0 while nothing comes.
        processed_rows_per_second: how fast Spark processed the last batch with data, pauses between batches left out.
        batch_duration_ms: how long that batch took.
        watermark: event time up to which state is final, ISO 8601.
        state_rows: rows in state stores.
        dropped_by_watermark: late rows that stateful operators dropped, as Spark counts them: an aggregation counts
            after its partial aggregation, one for each group and partition.
        last_progress_time: when the trigger began that Spark reported last, ISO 8601.
        idle: it waits for data, as far as is known; the same query with data is busy.
        restarts: restarts in a row.
        reason: why it failed last, None when it has been well since; or that its side inputs are old.
    """

    name: str
    state: QueryState = QueryState.STARTING
    pool: str = ""
    checkpoint: str = ""
    counted_since: str | None = None
    id: str | None = None
    run_id: str | None = None
    started_at: str | None = None
    batch: int | None = None
    batches: int = 0
    input_rows: int = 0
    rows_per_second: float = 0.0
    processed_rows_per_second: float = 0.0
    batch_duration_ms: int | None = None
    watermark: str | None = None
    state_rows: int = 0
    state_bytes: int = 0
    dropped_by_watermark: int = 0
    sources: tuple[SourceStatus, ...] = ()
    expectations: tuple[ExpectationStatus, ...] = ()
    last_progress_time: str | None = None
    idle: bool = False
    restarts: int = 0
    reason: str | None = None
    message: str | None = None

    @property
    def malformed(self) -> int:
        """Records that did not parse, over all sources."""
        return sum(source.malformed for source in self.sources)

    @property
    def expired(self) -> int:
        """Offsets that had expired, over all sources."""
        return sum(source.expired for source in self.sources)

    @property
    def violated(self) -> int:
        """Violations of expectations; a row may violate several."""
        return sum(one.violated for one in self.expectations)

    @property
    def lag(self) -> int | None:
        """Records behind, over all sources whose lag is known; None where none is."""
        known = [source.lag for source in self.sources if source.lag is not None]
        return sum(known) if known else None


def moment(text: str | None) -> datetime | None:
    """Parse one of Spark's times; None for one beyond the year 9999, which no resource and no clock of ours can hold.

    Event time gets there where milliseconds are taken for seconds, and the watermark with it.
    """
    try:
        return None if text is None else datetime.fromisoformat(text)
    except ValueError:
        return None


def as_json(status: QueryStatus, *, offsets: bool = False) -> dict[str, Any]:
    """The status as JSON, keys in camelCase, without unknown values."""
    plain = asdict(status)
    del plain["idle"]
    if not status.expectations:
        del plain["expectations"]
    for source in plain["sources"]:
        if not offsets:
            source.pop("end_offset")
    result = {_camel(key): value for key, value in plain.items() if value is not None}
    result["sources"] = [
        {_camel(key): value for key, value in source.items() if value is not None}
        for source in plain["sources"]
    ]
    if status.lag is not None:
        result["lag"] = status.lag
    return result


def _camel(key: str) -> str:
    head, *tail = key.split("_")
    return head + "".join(word.capitalize() for word in tail)
