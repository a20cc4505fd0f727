"""Decodes lines of CSV, one per record."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.types import DataType, StringType, StructField, StructType

from mainstem.dataframes.column_names import quote
from mainstem.dataframes.decode import misfits
from mainstem.dataframes.decode.format import UNFIT, no_text, parser_options, text_of
from mainstem.dataframes.decode.values import is_unaltered


_CORRUPT: Final = "__mainstem_corrupt"
_END: Final = "__mainstem_end"
_MAX_COLUMNS: Final = 20480
_ESCAPES: Final = {
    r"\t": "\t",
    r"\r": "\r",
    r"\b": "\b",
    r"\f": "\f",
    r"\"": '"',
    r"\'": "'",
    r"\\": "\\",
}
"""Escape in `sep` -> the character that Spark reads it as.

Spark refuses other escapes, and reads no escapes in `quote`, `escape` and `comment`.
"""
_ESCAPE: Final = re.compile("|".join(map(re.escape, _ESCAPES)))


@dataclass(frozen=True)
class CsvFormat:
    """The format of lines with a field for each column of a schema.

    Attributes:
        schema: the columns, in the order of the fields.
        options: options of Spark's CSV reader.
    """

    schema: StructType
    options: Mapping[str, str]

    def parse(self, value: Column) -> Column:
        """The columns as a struct, and one more column after them.

        Mainstem adds a field of its own to the end of each line. The added column has this field only if the line has
        exactly one field for each other column. So an unclosed quote or a surplus field makes the record malformed.
        """
        frame_schema = StructType([*self.schema.fields]).add(_END, StringType()).add(_CORRUPT, StringType())
        options = parser_options(self.options) | {"columnNameOfCorruptRecord": _CORRUPT}
        return F.from_csv(self._with_end(text_of(value)), _ddl(frame_schema), options)

    def columns(self, record: Column) -> list[Column]:
        """The fields of the line."""
        return [record.getField(name).alias(name) for name in self.schema.fieldNames()]

    def is_whole(self, record: Column, value: Column, kind: DataType) -> Column:  # noqa: ARG002 - the text is checked
        """Whether the line is UTF-8, has as many fields as the schema has columns, and each field fits its column."""
        text = text_of(value)
        fits = (record[_END] == _END) & record[_CORRUPT].isNull() & F.is_valid_utf8(text)
        unaltered = is_unaltered(record, self.schema, text, self.options)
        return fits if unaltered is None else fits & unaltered

    def error(self, record: Column, value: Column) -> Column:
        """The error of a malformed line."""
        text = text_of(value)
        names = [field.name for field in self.schema.fields]
        strings = StructType([StructField(name, StringType()) for name in names]).add(_END, StringType())
        raw = F.from_csv(self._with_end(text), _ddl(strings), dict(self.options))
        wrong_count = F.lit(f"the line does not have {len(names)} fields: ")
        return (
            no_text(text)
            .when(text == "", "the record is empty")
            .when(
                ~F.coalesce(raw[_END] == _END, F.lit(False)), F.concat(wrong_count, misfits.beginning(text))
            )
            .otherwise(F.coalesce(misfits.in_csv(record, raw, self.schema, text, self.options), F.lit(UNFIT)))
        )

    def _with_end(self, text: Column) -> Column:
        """The line with Mainstem's field at its end; null if the parser must not see the line."""
        return F.when(self._is_parsable(text), F.concat(text, F.lit(f"{self._separator}{_END}")))

    @property
    def _separator(self) -> str:
        lower_options = {key.lower(): text for key, text in self.options.items()}
        return _ESCAPE.sub(
            lambda match: _ESCAPES[match[0]], lower_options.get("sep", lower_options.get("delimiter", ","))
        )

    def _is_parsable(self, text: Column) -> Column:
        """Whether Spark's parser accepts the line: a line with too many fields would fail the query, in every mode."""
        separators = F.length(text) - F.length(F.replace(text, F.lit(self._separator), F.lit("")))
        limit = (_MAX_COLUMNS - 2) * len(self._separator)
        return (text != "") & ((F.length(text) < limit) | (separators < limit))


def _ddl(schema: StructType) -> str:
    return ", ".join(f"{quote(field.name)} {field.dataType.simpleString()}" for field in schema.fields)
