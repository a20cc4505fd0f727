"""Sources for demos and tests: rows that are made up, and lines of a socket, which nobody keeps."""

from typing import Annotated

from pydantic import Field

from mainstem.language.base import Duration, Model, PositiveInt, Text


class RateSource(Model):
    """Generated rows (`timestamp`, `value`) at a steady rate; for demos and tests, not fault-tolerant."""

    rows_per_second: PositiveInt = 1
    """Rows made each second."""
    ramp_up_time: Duration | None = None
    """The rate is reached only after so long, in whole seconds."""
    num_partitions: PositiveInt | None = None
    """Spark partitions of a batch; without it as many as there are cores."""


class RateMicroBatchSource(Model):
    """Generated rows (`timestamp`, `value`), the same number in each batch; for demos and tests, not fault-tolerant."""

    rows_per_batch: PositiveInt
    """Rows made in each batch."""
    num_partitions: PositiveInt | None = None
    """Spark partitions of a batch; without it as many as there are cores."""
    start_timestamp: Annotated[int, Field(ge=0, le=2**53)] = 0
    """Time of the first batch's rows, in milliseconds since 1970."""
    advance_per_batch: Duration = "1 second"
    """The time of each batch's rows is so much later."""


class SocketSource(Model):
    """Lines (`value`) of a server's socket; for demos and tests: what was read is nowhere kept, and lost at a restart."""

    host: Text
    """Name or address of the server."""
    port: Annotated[int, Field(ge=1, le=65535)]
    """Its port."""
    include_timestamp: bool = False
    """Add the column `timestamp`: when the line was read."""
