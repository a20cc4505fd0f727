"""Sinks for a first look, for tests and for measurements."""

from typing import Annotated, ClassVar

from pydantic import Field

from mainstem.language.model.connectors.kinds import Delivery, Guarantee, SinkKind


class ConsoleSink(SinkKind):
    """Rows on the standard output, for a first look."""

    connection_kind: ClassVar = None
    options_field: ClassVar = ""
    owned_options: ClassVar = {}
    refusals: ClassVar = ()
    continuous: ClassVar = True
    real_time: ClassVar = True
    real_time_alternative: ClassVar = ""
    async_progress: ClassVar = True

    num_rows: Annotated[int, Field(ge=1, le=10_000)] = 20
    """At most so many rows a batch."""
    truncate: bool = True
    """Cut long values."""

    def guarantee(self) -> Guarantee:
        """Rows go to the standard output only."""
        return Guarantee(Delivery.NOT_KEPT, "for looking; a batch may be shown again")


class MemorySink(SinkKind):
    """The driver's memory, for tests: a temporary view of the query's session, called like the sink. It goes with the driver."""

    connection_kind: ClassVar = None
    options_field: ClassVar = ""
    owned_options: ClassVar = {}
    refusals: ClassVar = ()
    continuous: ClassVar = False
    real_time: ClassVar = False
    real_time_alternative: ClassVar = ""
    async_progress: ClassVar = False

    def guarantee(self) -> Guarantee:
        """Rows are lost when the driver ends."""
        return Guarantee(Delivery.NOT_KEPT, "for tests; gone with the driver")


class NoopSink(SinkKind):
    """Nowhere: every row is computed and none is kept, for measuring."""

    connection_kind: ClassVar = None
    options_field: ClassVar = ""
    owned_options: ClassVar = {}
    refusals: ClassVar = ()
    continuous: ClassVar = True
    real_time: ClassVar = False
    real_time_alternative: ClassVar = ""
    async_progress: ClassVar = True

    def guarantee(self) -> Guarantee:
        """Rows are discarded."""
        return Guarantee(Delivery.NOT_KEPT, "nothing is kept")
