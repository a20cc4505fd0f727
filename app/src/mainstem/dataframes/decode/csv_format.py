"""Decodes lines of CSV, one per record."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.types import DataType, StringType, StructField, StructType

from mainstem.dataframes.decode import misfits
from mainstem.dataframes.decode.format import UNFIT, no_text, parser_options, text_of
from mainstem.dataframes.decode.values import is_unaltered


_CORRUPT: Final = "__mainstem_corrupt"
_END: Final = "__mainstem_end"
_MAX_COLUMNS: Final = 20480
_ESCAPED: Final = {
    r"\t": "\t",
    r"\r": "\r",
    r"\b": "\b",
    r"\f": "\f",
    r"\"": '"',
    r"\'": "'",
    r"\\": "\\",
}
"""Escapes within `sep` -> what Spark makes of them; it refuses others, and knows none in `quote`, `escape` and `comment`."""
_ESCAPE: Final = re.compile("|".join(map(re.escape, _ESCAPED)))


@dataclass(frozen=True)
class CsvFormat:
    """The format of lines with a field for each column of a schema.

    Attributes:
        schema: the columns, in the order of the fields.
        options: those of Spark's CSV reader.
    """

    schema: StructType
    options: Mapping[str, str]

    def parse(self, value: Column) -> Column:
        """The columns as a struct, and one more behind them.

        A field of our own ends each line: it stands in its column only where all before it were read, one for each of
        the others. So what follows an unclosed quote, or a field too many, is no part of a good record.
        """
        framed = StructType([*self.schema.fields]).add(_END, StringType()).add(_CORRUPT, StringType())
        options = parser_options(self.options) | {"columnNameOfCorruptRecord": _CORRUPT}
        return F.from_csv(self._framed(text_of(value)), _ddl(framed), options)

    def columns(self, record: Column) -> list[Column]:
        """The fields of the line."""
        return [record.getField(name).alias(name) for name in self.schema.fieldNames()]

    def is_whole(self, record: Column, value: Column, kind: DataType) -> Column:  # noqa: ARG002 - the text is asked
        """Whether the line is UTF-8 and has as many fields as the schema has columns, all of which fit."""
        text = text_of(value)
        fits = (record[_END] == _END) & record[_CORRUPT].isNull() & F.is_valid_utf8(text)
        unaltered = is_unaltered(record, self.schema, text, self.options)
        return fits if unaltered is None else fits & unaltered

    def why(self, record: Column, value: Column) -> Column:
        """What is wrong with the line, as far as that can be known."""
        text = text_of(value)
        names = [field.name for field in self.schema.fields]
        strings = StructType([StructField(name, StringType()) for name in names]).add(_END, StringType())
        raw = F.from_csv(self._framed(text), _ddl(strings), dict(self.options))
        number = F.lit(f"the line does not have {len(names)} fields: ")
        return (
            no_text(text)
            .when(text == "", "the record is empty")
            .when(~F.coalesce(raw[_END] == _END, F.lit(False)), F.concat(number, misfits.beginning(text)))
            .otherwise(F.coalesce(misfits.in_csv(record, raw, self.schema, text, self.options), F.lit(UNFIT)))
        )

    def _framed(self, text: Column) -> Column:
        """The line with a field of our own behind it; null where no parser is to see it."""
        return F.when(self._parses(text), F.concat(text, F.lit(f"{self._separator}{_END}")))

    @property
    def _separator(self) -> str:
        given = {key.lower(): text for key, text in self.options.items()}
        return _ESCAPE.sub(lambda match: _ESCAPED[match[0]], given.get("sep", given.get("delimiter", ",")))

    def _parses(self, text: Column) -> Column:
        """A line with more fields than Spark's parser has room for fails the query, in whatever mode."""
        separators = F.length(text) - F.length(F.replace(text, F.lit(self._separator), F.lit("")))
        room = (_MAX_COLUMNS - 2) * len(self._separator)
        return (text != "") & ((F.length(text) < room) | (separators < room))


def _ddl(schema: StructType) -> str:
    quoted = [(field.name.replace("`", "``"), field.dataType.simpleString()) for field in schema.fields]
    return ", ".join(f"`{name}` {kind}" for name, kind in quoted)
