"""Sinks for a first look, for tests and for measurements."""

from typing import Annotated, ClassVar

from pydantic import Field

from mainstem.language.model.connectors.kinds import Delivery, Guarantee, SinkKind


class InspectionSink(SinkKind):
    """A sink that keeps no rows for other readers."""

    connection_kind: ClassVar = None
    options_field: ClassVar = ""
    owned_options: ClassVar = {}
    refusals: ClassVar = ()
    real_time_alternative: ClassVar = ""


class ConsoleSink(InspectionSink):
    """Prints rows to standard output, for a first look."""

    continuous: ClassVar = True
    real_time: ClassVar = True
    async_progress: ClassVar = True

    num_rows: Annotated[int, Field(ge=1, le=10_000)] = 20
    """The maximum number of rows to print in a batch."""
    truncate: bool = True
    """Whether to truncate long values."""

    def guarantee(self) -> Guarantee:
        """Rows go to the standard output only."""
        return Guarantee(
            Delivery.NOT_KEPT, "rows are only printed; after a failure a batch may be printed again"
        )

    def repeated(self, mode: str) -> str:  # noqa: ARG002 - Delta and JDBC use it
        """Rows go to the standard output only."""
        return "shows their rows again"


class MemorySink(InspectionSink):
    """Keeps rows in the driver's memory, for tests: a temporary view with the sink's name. The rows are lost with the driver."""

    continuous: ClassVar = False
    real_time: ClassVar = False
    async_progress: ClassVar = False

    def guarantee(self) -> Guarantee:
        """Rows are lost when the driver ends."""
        return Guarantee(Delivery.NOT_KEPT, "for tests; rows are lost when the driver ends")

    def repeated(self, mode: str) -> str:  # noqa: ARG002 - Delta and JDBC use it
        """Rows are lost when the driver ends."""
        return "keeps no rows between two drivers"


class NoopSink(InspectionSink):
    """Computes every row and discards it, for measurements."""

    continuous: ClassVar = True
    real_time: ClassVar = False
    async_progress: ClassVar = True

    def guarantee(self) -> Guarantee:
        """Rows are discarded."""
        return Guarantee(Delivery.NOT_KEPT, "rows are discarded")

    def repeated(self, mode: str) -> str:  # noqa: ARG002 - Delta and JDBC use it
        """Rows are discarded."""
        return "keeps no rows"
