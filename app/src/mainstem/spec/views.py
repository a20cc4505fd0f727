"""Transformations: SQL, and steps for what SQL cannot say."""

from typing import Annotated, ClassVar

from pydantic import Field

from mainstem.spec.base import Columns, Identifier, Model, Sql
from mainstem.spec.expectations import Expectations
from mainstem.spec.sources import Watermark
from mainstem.spec.yamltext import Path


class Deduplicate(Model):
    """The relation without rows that were seen before; those seen are kept as state."""

    from_: Annotated[Identifier, Field(alias="from")]
    """Source or view that is read."""
    columns: Columns | None = None
    """Rows are the same that are equal in these columns; without it, in all columns."""
    within_watermark: bool = False
    """Rows are the same only within the watermark's delay; event times may differ, and state is dropped behind them."""


class View(Model):
    """A named transformation, read by queries and other views like a source: one of `sql`, `deduplicate`."""

    one_of: ClassVar = ("sql", "deduplicate")

    name: Identifier
    """Name under which SQL reads it."""
    sql: Sql | None = None
    """Exactly one query in Spark SQL over sources and views."""
    deduplicate: Deduplicate | None = None
    """Each row once."""
    expectations: Expectations = ()
    """What its rows should be; looked at before the watermark."""
    watermark: Watermark | None = None
    """Event time that the view computes, and how late a row may be."""

    @property
    def quarantine(self) -> str | None:
        """Name of the relation of rows that are put aside; None where none are."""
        aside = any(one.on_violation == "quarantine" for one in self.expectations)
        return f"{self.name}_quarantine" if aside else None

    @property
    def inputs(self) -> tuple[tuple[Path, str], ...]:
        """Relations that a view without SQL reads, each with the path below the view where it is named, in order."""
        if self.deduplicate:
            return ((("deduplicate", "from"), self.deduplicate.from_),)
        return ()
