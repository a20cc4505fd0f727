"""What the formats of records have in common."""

from typing import Protocol

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit


class Format(Protocol):
    """One format; `value` is the record as it was read, BINARY or STRING."""

    def parse(self, value: Column) -> Column:
        """The record as a struct: its columns, and what else it takes to judge it. It never fails."""

    def columns(self, record: Column) -> list[Column]:
        """The columns of what `parse` gave, under their names."""

    def is_whole(self, record: Column, value: Column) -> Column:
        """Whether what `parse` gave is all of the record, and fits; null counts as no."""

    def why(self, value: Column) -> Column:
        """What is wrong with a record that is not whole."""


def text_of(value: Column) -> Column:
    """The record as STRING."""
    return value.cast("string")


def no_text(text: Column) -> Column:
    """What is wrong with a record that is no text at all; more cases may follow."""
    return F.when(text.isNull(), "the record has no value").when(~F.is_valid_utf8(text), "not valid UTF-8")
