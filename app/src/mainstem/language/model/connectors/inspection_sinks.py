"""Sinks for a first look, for tests and for measuring."""

from typing import Annotated

from pydantic import Field

from mainstem.language.base import Model


class ConsoleSink(Model):
    """Rows on the standard output, for a first look."""

    num_rows: Annotated[int, Field(ge=1, le=10_000)] = 20
    """At most so many rows a batch."""
    truncate: bool = True
    """Cut long values."""


class MemorySink(Model):
    """The driver's memory, for tests: a temporary view of the query's session, called like the sink. It goes with the driver."""


class NoopSink(Model):
    """Nowhere: every row is computed and none is kept, for measuring."""
