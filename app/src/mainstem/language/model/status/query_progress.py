"""The status of a query: what the runtime fills, and what the resource, `/status`, the metrics and the lines show.

A field is described once, here: its type and meaning, when the resource shows it, and its metric. These classes are
plain dataclasses: the runtime copies and fills them without validation, and `Status` validates them.
"""

from dataclasses import dataclass, field
from typing import Annotated, ClassVar

from pydantic import ConfigDict, Field, StringConstraints, WithJsonSchema

from mainstem.language.base import LIST_MAP, MAX_ITEMS, Label
from mainstem.language.model.status.fields import (
    Count,
    Message,
    Metric,
    MetricUnit,
    Rate,
    Reason,
    Short,
    Shown,
    Time,
    describe,
    status_config,
)
from mainstem.language.model.status.progress_parts import ExpectationProgress, SourceProgress
from mainstem.language.model.status.states import QueryState


@dataclass(frozen=True)
class QueryProgress:
    """The progress of a query."""

    __pydantic_config__: ClassVar[ConfigDict] = status_config("name", "state")
    metric_labels: ClassVar[tuple[str, ...]] = ("query",)

    name: Label
    """Name of the query."""
    state: Annotated[
        QueryState, WithJsonSchema({"enum": [str(state) for state in QueryState], "type": "string"})
    ] = QueryState.STARTING
    """`Idle` waits for data, `Waiting` for something that does not exist or does not answer. The document suspends a
    `Suspended` query. A `Stopped` query has no running driver."""
    pool: Label = ""
    """Scheduler pool of the query."""
    checkpoint: Annotated[str, StringConstraints(max_length=1280)] = ""
    """Location of the checkpoint."""
    counted_since: Time | None = field(default=None, metadata=describe(shown=Shown.NEVER))
    """When the driver began to count."""
    id: Short | None = None
    """Spark's id of the checkpoint; the same across restarts."""
    run_id: Short | None = None
    """Spark's id of this start of the query."""
    started_at: Time | None = None
    """When the query started; absent if the query is not started."""
    batch: Annotated[int, Field(ge=-1)] | None = field(
        default=None, metadata=describe(Metric("query_batch", "The last committed batch."))
    )
    """The last committed batch."""
    batches: Count = field(
        default=0,
        metadata=describe(
            Metric("query_batches", "Batches with data since the driver started.", counter=True), Shown.NEVER
        ),
    )
    """Batches with data since the driver started."""
    rows_per_second: Rate = field(
        default=0.0,
        metadata=describe(
            Metric("query_rows_per_second", "Rows read per second of wall-clock time."), Shown.REPORTED
        ),
    )
    """Rows read per second of wall-clock time, in the last 10 seconds or between the last batches; 0 while no rows
    arrive."""
    processed_rows_per_second: Rate = field(
        default=0.0,
        metadata=describe(
            Metric("query_processed_rows_per_second", "Rows per second within the last batch."),
            Shown.REPORTED,
        ),
    )
    """How fast Spark processed the last batch with data, in rows per second; without the pauses between batches."""
    input_rows: Count = field(
        default=0,
        metadata=describe(
            Metric("query_input_rows", "Rows read since the driver started.", counter=True), Shown.REPORTED
        ),
    )
    """Rows read since the driver started."""
    batch_duration_ms: Count | None = field(
        default=None,
        metadata=describe(
            Metric("query_batch_duration_seconds", "Duration of the last batch.", unit=MetricUnit.SECONDS),
        ),
    )
    """Duration of the last batch."""
    lag: Count | None = field(
        default=None,
        metadata=describe(Metric("query_lag_records", "Records of the topics that are not read yet.")),
    )
    """Records that are not read yet, over all sources whose lag is known."""
    watermark: Time | None = field(
        default=None,
        metadata=describe(
            Metric("query_watermark_lag_seconds", "Time from the watermark until now.", unit=MetricUnit.AGE)
        ),
    )
    """Event time before which the query treats rows as late."""
    state_rows: Count = field(
        default=0, metadata=describe(Metric("query_state_rows", "Rows in the query's state."), Shown.REPORTED)
    )
    """Rows in the query's state."""
    state_bytes: Count = field(
        default=0,
        metadata=describe(Metric("query_state_bytes", "Memory that the query's state uses."), Shown.REPORTED),
    )
    """Memory that the query's state uses."""
    dropped_by_watermark: Count = field(
        default=0,
        metadata=describe(
            Metric("query_dropped_rows", "Late rows dropped since the driver started.", counter=True),
            Shown.REPORTED,
        ),
    )
    """Late rows dropped since the driver started, as Spark counts them."""
    last_progress_time: Time | None = field(
        default=None,
        metadata=describe(
            Metric(
                "query_last_progress_timestamp_seconds",
                "Start of the last trigger that Spark reported.",
                unit=MetricUnit.TIMESTAMP,
            ),
        ),
    )
    """Start of the last trigger that Spark reported."""
    last_commit_time: Time | None = field(
        default=None,
        metadata=describe(
            Metric(
                "query_last_commit_timestamp_seconds",
                "When the last batch was committed.",
                unit=MetricUnit.TIMESTAMP,
            ),
        ),
    )
    """When the last batch was committed. A stream knows it from its checkpoint when it starts; with a continuous trigger it is
    never known."""
    behind_since: Time | None = field(
        default=None,
        metadata=describe(
            Metric(
                "query_behind_seconds",
                "Seconds since the query had committed every record of its topics; no sample while it has, or if that is unknown.",
                unit=MetricUnit.AGE,
            ),
        ),
    )
    """Every record that its topics had at this time is committed, and of later ones some are not, or that is not known. Absent if
    all are, and until the query has caught up in this driver with this document."""
    idle: bool = field(default=False, metadata=describe(shown=Shown.NEVER))
    """The running query waits for data."""
    updating: bool = field(default=False, metadata=describe(shown=Shown.NONZERO))
    """The query still ends a batch of the document before `reported.revision`; then it starts again with the changed one,
    or leaves the document. Absent otherwise."""
    restarts: Count = field(default=0, metadata=describe(Metric("query_restarts", "Restarts in a row.")))
    """Restarts in a row."""
    reason: Reason | None = None
    """Why the query failed last; absent once it is healthy. A running query can have a reason too, such as
    `WatermarkAhead`."""
    message: Message | None = None
    """The reason in words for people."""
    sources: Annotated[
        tuple[SourceProgress, ...], Field(max_length=MAX_ITEMS, json_schema_extra=LIST_MAP)
    ] = ()
    """The sources that the query reads."""
    expectations: Annotated[
        tuple[ExpectationProgress, ...],
        Field(max_length=MAX_ITEMS, json_schema_extra={"x-kubernetes-list-type": "atomic"}),
    ] = ()
    """The expectations of the query's views, the most violated first. The driver's `/status` has all of them."""

    def __post_init__(self) -> None:
        """Add up the lag of the sources whose lag is known."""
        known = [source.lag for source in self.sources if source.lag is not None]
        object.__setattr__(self, "lag", sum(known) if known else None)

    @property
    def malformed(self) -> int:
        """Malformed records, over all sources."""
        return sum(source.malformed for source in self.sources)

    @property
    def tombstones(self) -> int:
        """Tombstones that were skipped, over all sources."""
        return sum(source.tombstones for source in self.sources)

    @property
    def expired(self) -> int:
        """Expired offsets, over all sources."""
        return sum(source.expired for source in self.sources)

    @property
    def violated(self) -> int:
        """Violations of expectations; a row may violate several."""
        return sum(expectation.violated for expectation in self.expectations)
