"""The status of a query: what the runtime fills, and what the resource, `/status`, the metrics and the lines show.

A field is described once, here: its type and meaning, when the resource shows it, and its metric. These classes are
plain dataclasses: the runtime copies and fills them without validation, and `Status` validates them.
"""

from dataclasses import dataclass, field
from typing import Annotated, ClassVar

from pydantic import ConfigDict, Field, StringConstraints, WithJsonSchema

from mainstem.language.base import LIST_MAP, MAX_ITEMS, Identifier, Label
from mainstem.language.model.status.fields import (
    Count,
    Message,
    Metric,
    MetricUnit,
    Offset,
    Rate,
    Reason,
    Short,
    Shown,
    Time,
    describe,
    status_config,
)
from mainstem.language.model.status.states import QueryState


@dataclass(frozen=True)
class SourceProgress:
    """One occurrence of a source in a query."""

    __pydantic_config__: ClassVar[ConfigDict] = status_config("name")
    metric_labels: ClassVar[tuple[str, ...]] = ("query", "source")

    name: Identifier
    """The source's name, or `<name>_2` for a second occurrence."""
    partitions: Count = field(
        default=0,
        metadata=describe(
            Metric("source_partitions", "Partitions of the topics.", unit=MetricUnit.NONZERO), Shown.NONZERO
        ),
    )
    """Partitions of the topics."""
    lag: Count | None = field(
        default=None, metadata=describe(Metric("source_lag_records", "Records behind the newest."))
    )
    """Records behind the newest, over all partitions."""
    max_lag: Count | None = field(
        default=None, metadata=describe(Metric("source_lag_max_records", "The same for the worst partition."))
    )
    """The same for the worst partition."""
    decoded: Count = field(
        default=0,
        metadata=describe(
            Metric("source_decoded_records", "Records that parsed since the driver's start.", counter=True)
        ),
    )
    """Records that were decoded, since the driver started."""
    malformed: Count = field(
        default=0,
        metadata=describe(Metric("source_malformed_records", "Records that did not.", counter=True)),
    )
    """Records that did not."""
    expired: Count = field(
        default=0,
        metadata=describe(
            Metric("source_expired_offsets", "Offsets that had expired before they were read.", counter=True),
            Shown.NONZERO,
        ),
    )
    """Offsets, or files, that had expired before they were read, where `failOnDataLoss` is false; at least so many."""
    end_offset: Offset = None
    """Where the last batch ended, in Spark's words; absent where that is long: the driver's `/status` has all."""


@dataclass(frozen=True)
class ExpectationProgress:
    """One expectation of a view that a query reads."""

    __pydantic_config__: ClassVar[ConfigDict] = status_config("view", "name", "passed", "violated")
    metric_labels: ClassVar[tuple[str, ...]] = ("query", "view", "expectation")

    view: Identifier
    """The view."""
    name: Identifier
    """The expectation."""
    passed: Count = field(
        default=0,
        metadata=describe(
            Metric(
                "expectation_passed_rows", "Rows that fulfilled it since the driver's start.", counter=True
            )
        ),
    )
    """Rows that fulfilled it, since the driver started."""
    violated: Count = field(
        default=0,
        metadata=describe(Metric("expectation_violated_rows", "Rows that violated it.", counter=True)),
    )
    """Rows that did not."""


@dataclass(frozen=True)
class QueryProgress:
    """What a query does."""

    __pydantic_config__: ClassVar[ConfigDict] = status_config("name", "state")
    metric_labels: ClassVar[tuple[str, ...]] = ("query",)

    name: Label
    """Name of the query."""
    state: Annotated[
        QueryState, WithJsonSchema({"enum": [str(state) for state in QueryState], "type": "string"})
    ] = QueryState.STARTING
    """`Idle` waits for data, `Waiting` for a source that is not there. `Suspended` is kept down by the document. `Stopped`
    has no living driver."""
    pool: Label = ""
    """Its scheduler pool."""
    checkpoint: Annotated[str, StringConstraints(max_length=1280)] = ""
    """Its checkpoint."""
    counted_since: Time | None = field(default=None, metadata=describe(shown=Shown.NEVER))
    """When the driver began to count."""
    id: Short | None = None
    """Spark's id of the checkpoint; the same across restarts."""
    run_id: Short | None = None
    """Spark's id of this start."""
    started_at: Time | None = None
    """When this start began; absent while it is not started."""
    batch: Annotated[int, Field(ge=-1)] | None = field(
        default=None, metadata=describe(Metric("query_batch", "The last committed batch."))
    )
    """The last committed batch."""
    batches: Count = field(
        default=0,
        metadata=describe(
            Metric("query_batches", "Batches with data since the driver's start.", counter=True), Shown.NEVER
        ),
    )
    """Batches with data, since the driver started."""
    rows_per_second: Rate = field(
        default=0.0,
        metadata=describe(Metric("query_rows_per_second", "Input rows per second of time."), Shown.REPORTED),
    )
    """Input rows per second by the clock on the wall, over the last 10 seconds or between the last batches; 0 when idle."""
    processed_rows_per_second: Rate = field(
        default=0.0,
        metadata=describe(
            Metric("query_processed_rows_per_second", "How fast the last batch was processed."),
            Shown.REPORTED,
        ),
    )
    """How fast Spark processed the last batch with data, in rows per second; without the pauses between batches."""
    input_rows: Count = field(
        default=0,
        metadata=describe(
            Metric("query_input_rows", "Rows read since the driver's start.", counter=True), Shown.REPORTED
        ),
    )
    """Input rows since the driver started."""
    batch_duration_ms: Count | None = field(
        default=None,
        metadata=describe(
            Metric("query_batch_duration_seconds", "How long the last batch took.", unit=MetricUnit.SECONDS),
        ),
    )
    """How long the last batch took."""
    lag: Count | None = field(
        default=None, metadata=describe(Metric("query_lag_records", "Records behind the newest."))
    )
    """Records behind, over all its sources that tell."""
    watermark: Time | None = field(
        default=None,
        metadata=describe(
            Metric("query_watermark_lag_seconds", "How long ago the watermark is.", unit=MetricUnit.AGE)
        ),
    )
    """Event time up to which its state is final."""
    state_rows: Count = field(
        default=0, metadata=describe(Metric("query_state_rows", "Rows in the query's state."), Shown.REPORTED)
    )
    """Rows in its state."""
    state_bytes: Count = field(
        default=0,
        metadata=describe(Metric("query_state_bytes", "Memory that the state takes."), Shown.REPORTED),
    )
    """Memory that the state takes."""
    dropped_by_watermark: Count = field(
        default=0,
        metadata=describe(
            Metric("query_dropped_rows", "Late rows dropped since the driver's start.", counter=True),
            Shown.REPORTED,
        ),
    )
    """Late rows that were dropped, as Spark counts them, since the driver started."""
    last_progress_time: Time | None = field(
        default=None,
        metadata=describe(
            Metric(
                "query_last_progress_timestamp_seconds",
                "When the trigger began that Spark reported last.",
                unit=MetricUnit.TIMESTAMP,
            ),
        ),
    )
    """When the trigger began that Spark reported last."""
    idle: bool = field(default=False, metadata=describe(shown=Shown.NEVER))
    """The running query waits for data."""
    restarts: Count = field(default=0, metadata=describe(Metric("query_restarts", "Restarts in a row.")))
    """Restarts in a row."""
    reason: Reason | None = None
    """Why it failed last; absent when it has been well since. Of one that runs also `SideInputsStale`, `WatermarkAhead`."""
    message: Message | None = None
    """The same in words."""
    sources: Annotated[
        tuple[SourceProgress, ...], Field(max_length=MAX_ITEMS, json_schema_extra=LIST_MAP)
    ] = ()
    """What it reads."""
    expectations: Annotated[
        tuple[ExpectationProgress, ...],
        Field(max_length=MAX_ITEMS, json_schema_extra={"x-kubernetes-list-type": "atomic"}),
    ] = ()
    """What it expects of its views' rows, the most violated first; the driver's `/status` has all."""

    def __post_init__(self) -> None:
        """Add up the lag of the sources whose lag is known."""
        known = [source.lag for source in self.sources if source.lag is not None]
        object.__setattr__(self, "lag", sum(known) if known else None)

    @property
    def malformed(self) -> int:
        """Malformed records, over all sources."""
        return sum(source.malformed for source in self.sources)

    @property
    def expired(self) -> int:
        """Expired offsets, over all sources."""
        return sum(source.expired for source in self.sources)

    @property
    def violated(self) -> int:
        """Violations of expectations; a row may violate several."""
        return sum(expectation.violated for expectation in self.expectations)
