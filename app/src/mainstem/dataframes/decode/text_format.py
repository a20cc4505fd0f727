"""Decodes plain text into one column."""

from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.types import DataType

from mainstem.dataframes.decode.format import no_text, text_of


@dataclass(frozen=True)
class TextFormat:
    """The format of plain text: the record is the column `value`; an empty text is a record too."""

    def parse(self, value: Column) -> Column:
        """The text as a struct."""
        return F.struct(text_of(value).alias("value"))

    def columns(self, record: Column) -> list[Column]:
        """The text."""
        return [record.getField("value").alias("value")]

    def is_whole(self, record: Column, value: Column, kind: DataType) -> Column:  # noqa: ARG002 - nothing is parsed
        """Whether the text is UTF-8."""
        return F.is_valid_utf8(text_of(value))

    def error(self, record: Column, value: Column) -> Column:  # noqa: ARG002 - nothing is parsed
        """What is wrong with the record."""
        return no_text(text_of(value))
