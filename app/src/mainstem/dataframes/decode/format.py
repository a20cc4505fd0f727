"""The interface of the record formats, and functions that they share."""

from collections.abc import Mapping
from typing import Final, Protocol

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.types import DataType

from mainstem.dataframes.decode import misfits


UNFIT: Final = "a field does not fit the schema"
_DATE: Final = {"dateFormat": "yyyy-MM-dd"}


class RecordFormat(Protocol):
    """A record format; `value` is the undecoded record, BINARY or STRING."""

    def parse(self, value: Column) -> Column:
        """The record as a struct: its columns, and fields that `is_whole` and `error` need. It never fails."""

    def columns(self, record: Column) -> list[Column]:
        """The columns of the struct from `parse`, under their names."""

    def is_whole(self, record: Column, value: Column, kind: DataType) -> Column:
        """Whether the struct from `parse` has the whole record and fits the schema; null counts as no."""

    def error(self, record: Column, value: Column) -> Column:
        """The error of a record that is not whole, from the struct of `parse` and the record itself."""


def parser_options(options: Mapping[str, str]) -> dict[str, str]:
    """The options of Spark's parsers of JSON and CSV.

    A DATE has the form `2013-01-31` unless the document sets `dateFormat`. Spark alone accepts any text that begins with
    a date, and ignores the rest.
    """
    date = {} if "dateformat" in map(str.lower, options) else _DATE
    return {**date, **options, "mode": "PERMISSIVE"}


def text_of(value: Column) -> Column:
    """The record as STRING."""
    return value.cast("string")


def no_text(text: Column) -> Column:
    """The error of a record that is not text; the caller may add cases with `when`."""
    bytes_ = F.concat(F.lit("not valid UTF-8: "), misfits.beginning_of_bytes(text.cast("binary")))
    return F.when(text.isNull(), "the record has no value").when(~F.is_valid_utf8(text), bytes_)
