"""The parts of a query's status: its sources, and the expectations of its views.

As in `query_progress`, a field is described once, here.
"""

from dataclasses import dataclass, field
from typing import ClassVar

from pydantic import ConfigDict

from mainstem.language.base import Identifier
from mainstem.language.model.status.fields import (
    Count,
    Metric,
    MetricUnit,
    Offset,
    Shown,
    describe,
    status_config,
)


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
        default=None,
        metadata=describe(Metric("source_lag_records", "Records of the topics that are not read yet.")),
    )
    """Records that are not read yet, over all partitions."""
    max_lag: Count | None = field(
        default=None,
        metadata=describe(
            Metric(
                "source_lag_max_records",
                "Records that are not read yet in the partition with the most of them.",
            )
        ),
    )
    """Records that are not read yet in the partition with the largest lag."""
    retained_records: Count | None = field(
        default=None,
        metadata=describe(
            Metric(
                "source_retained_records", "Records of the topics that Kafka still keeps, by their offsets."
            )
        ),
    )
    """Records of the topics that Kafka still keeps: a query with an empty checkpoint reads them from
    `startingOffsets: earliest`. By offsets, so transactions and compaction make it too large."""
    decoded: Count = field(
        default=0,
        metadata=describe(
            Metric("source_decoded_records", "Records decoded since the driver started.", counter=True)
        ),
    )
    """Records decoded since the driver started."""
    malformed: Count = field(
        default=0,
        metadata=describe(
            Metric("source_malformed_records", "Malformed records since the driver started.", counter=True)
        ),
    )
    """Malformed records since the driver started."""
    tombstones: Count = field(
        default=0,
        metadata=describe(
            Metric("source_skipped_tombstones", "Tombstones skipped since the driver started.", counter=True),
            Shown.NONZERO,
        ),
    )
    """Records of Kafka without a value, skipped since the driver started, as `onTombstone: skip` asks for."""
    expired: Count = field(
        default=0,
        metadata=describe(
            Metric("source_expired_offsets", "Offsets that expired before they were read.", counter=True),
            Shown.NONZERO,
        ),
    )
    """Offsets or files that expired before they were read, if `failOnDataLoss` is false; a lower bound."""
    passed_over: Count = field(
        default=0,
        metadata=describe(
            Metric("source_passed_over_files", "Files below the path that no batch reads."),
            Shown.NONZERO,
        ),
    )
    """Files below the path that no batch reads, because of their folder."""
    changed: Count = field(
        default=0,
        metadata=describe(
            Metric(
                "source_changed_files",
                "Files changed since they were listed for a batch, or of the name of another.",
            ),
            Shown.NONZERO,
        ),
    )
    """Files that have changed since Spark listed them for a batch, or with `fileNameOnly` have the name of such a file; no later
    batch reads them."""
    end_offset: Offset = None
    """The offset up to which the query has committed, or from which it begins, as Spark's JSON; absent if too long. The driver's
    `/status` has all."""


@dataclass(frozen=True)
class ExpectationProgress:
    """One expectation of a view that a query reads."""

    __pydantic_config__: ClassVar[ConfigDict] = status_config("view", "name", "passed", "violated")
    metric_labels: ClassVar[tuple[str, ...]] = ("query", "view", "expectation")

    view: Identifier
    """Name of the view."""
    name: Identifier
    """Name of the expectation."""
    passed: Count = field(
        default=0,
        metadata=describe(
            Metric(
                "expectation_passed_rows",
                "Rows that met the expectation since the driver started.",
                counter=True,
            )
        ),
    )
    """Rows that met the expectation since the driver started."""
    violated: Count = field(
        default=0,
        metadata=describe(
            Metric(
                "expectation_violated_rows",
                "Rows that violated the expectation since the driver started.",
                counter=True,
            )
        ),
    )
    """Rows that violated the expectation since the driver started."""
