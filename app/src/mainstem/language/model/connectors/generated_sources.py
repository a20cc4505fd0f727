"""Sources for demos and tests: generated rows, and lines of a socket, which are not kept."""

from typing import Annotated, ClassVar

from pydantic import Field

from mainstem.language.base import Duration, PositiveInt, Text
from mainstem.language.model.connectors.kinds import DeclaredColumns, Delivery, SourceKind


class UnkeptSource(SourceKind):
    """A source whose rows are not kept, and so cannot be read again."""

    connection_kind: ClassVar = None
    options_field: ClassVar = ""
    owned_options: ClassVar = {}
    delivery: ClassVar = Delivery.NOT_KEPT
    real_time: ClassVar = False
    real_time_refuses: ClassVar = ()


class RateSource(UnkeptSource):
    """Generated rows (`timestamp`, `value`) at a steady rate; for demos and tests, not fault-tolerant."""

    continuous: ClassVar = True
    not_kept: ClassVar = "rate generates rows by the clock and keeps none"

    rows_per_second: PositiveInt = 1
    """Rows generated each second."""
    ramp_up_time: Duration | None = None
    """Time until the source reaches the rate, in whole seconds."""
    num_partitions: PositiveInt | None = None
    """Spark partitions of a batch; by default the number of cores."""

    def columns(self) -> DeclaredColumns | None:
        """The columns of Spark's source."""
        return DeclaredColumns(("timestamp", "value"))


class RateMicroBatchSource(UnkeptSource):
    """Generated rows (`timestamp`, `value`), the same number in each batch; for demos and tests, not fault-tolerant."""

    continuous: ClassVar = False
    not_kept: ClassVar = "rateMicroBatch generates rows and keeps none"

    rows_per_batch: PositiveInt
    """Rows generated in each batch."""
    num_partitions: PositiveInt | None = None
    """Spark partitions of a batch; by default the number of cores."""
    start_timestamp: Annotated[int, Field(ge=0, le=2**53)] = 0
    """Time of the first batch's rows, in milliseconds since 1970."""
    advance_per_batch: Duration = "1 second"
    """Difference between the times of two batches."""

    def columns(self) -> DeclaredColumns | None:
        """The columns of Spark's source."""
        return DeclaredColumns(("timestamp", "value"))


class SocketSource(UnkeptSource):
    """Lines (`value`) of a server's socket, for demos and tests. A restart loses the lines that the source has
    read.
    """

    continuous: ClassVar = True
    not_kept: ClassVar = "the lines of a socket are not kept; the lines of a batch are lost when it fails or the driver restarts"

    host: Text
    """Name or address of the server."""
    port: Annotated[int, Field(ge=1, le=65535)]
    """Port of the server."""
    include_timestamp: bool = False
    """Add the column `timestamp`: when the source read the line."""

    def columns(self) -> DeclaredColumns | None:
        """The columns of Spark's source."""
        return DeclaredColumns(("value", "timestamp") if self.include_timestamp else ("value",))
