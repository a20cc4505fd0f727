"""JSON objects, one a record."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.types import BooleanType, DataType, StringType, StructType

from mainstem.build.decode import misfits
from mainstem.build.decode.format import no_text, text_of


_OBJECT: Final = "__mainstem_object"
_CORRUPT: Final = "__mainstem_corrupt"
_END: Final = "__mainstem_end"
LIMITS: Final = {"maxNestingDepth": 1000, "maxStringLen": 20_000_000, "maxNumLen": 1000}
"""Options of Spark's reader for the limits of its parser, Jackson (StreamReadConstraints), with their defaults."""


@dataclass(frozen=True)
class JsonFormat:
    """JSON objects whose fields fit a schema.

    Attributes:
        schema: the columns.
        options: those of Spark's JSON reader.
    """

    schema: StructType
    options: Mapping[str, str]

    def parse(self, value: Column) -> Column:
        """The object within a frame, and the frame's end."""
        framed = StructType().add(_OBJECT, self.schema).add(_END, BooleanType()).add(_CORRUPT, StringType())
        options = dict(self.options) | {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": _CORRUPT}
        return F.from_json(_framed(text_of(value)), framed, options)

    def columns(self, record: Column) -> list[Column]:
        """The fields of the object."""
        found = record.getField(_OBJECT)
        return [found.getField(name).alias(name) for name in self.schema.fieldNames()]

    def is_whole(self, record: Column, value: Column, kind: DataType) -> Column:  # noqa: ARG002 - the text is asked
        """A whole, well-formed object in UTF-8, and nothing else, whose fields fit the schema.

        Spark's from_json alone would take the first object of an array or of several, replace bytes that are no UTF-8,
        and give null for an empty text: ways to lose a record without a word.
        """
        fits = record[_CORRUPT].isNull() & record[_OBJECT].isNotNull() & record[_END]
        return fits & F.is_valid_utf8(text_of(value))

    def why(self, record: Column, value: Column) -> Column:
        """What is wrong, as far as Spark's other parser of JSON can tell."""
        text = text_of(value)
        shown = F.concat(F.lit(": "), misfits.beginning(text))
        tree = F.try_parse_json(text)
        framed_end = F.try_variant_get(F.try_parse_json(_framed(text)), f"$.{_END}", "boolean")
        return (
            no_text(text)
            .when(F.trim(text) == "", "the record is empty")
            .when(tree.isNull(), F.concat(self._no_json(text), shown))
            .when(
                ~F.schema_of_variant(tree).startswith("OBJECT"), F.concat(F.lit("not a JSON object"), shown)
            )
            .when(framed_end.isNull(), "something follows the JSON object")
            .otherwise(misfits.in_json(record[_OBJECT], self.schema, text, self.options))
        )

    def _no_json(self, text: Column) -> Column:
        """What is said of a text that the parser refuses, which may be for a limit of its own."""
        given = {key.lower(): value for key, value in self.options.items()}
        depth, length, digits = (int(given.get(name.lower(), most)) for name, most in LIMITS.items())
        opened = F.length(text) - F.length(F.translate(text, "[{", ""))
        return (
            F.when(opened > depth, f"not valid JSON, or nested deeper than {depth} (maxNestingDepth)")
            .when(
                F.length(text) > length,
                f"not valid JSON, or a string of more than {length} characters (maxStringLen)",
            )
            .when(
                F.regexp_like(text, F.lit(f"[0-9]{{{digits + 1}}}")),
                f"not valid JSON, or a number of more than {digits} digits (maxNumLen)",
            )
            .otherwise("not valid JSON")
        )


def _framed(text: Column) -> Column:
    """The record as a field of an object that ends behind it.

    Spark's parser stops behind the first object and leaves out what follows; within a frame that does not parse, or
    the frame's end is not seen. The line break ends a comment, where the document's options allow them. What passes is
    a record that goes on as the inside of an object would: `{"a": 1}, "b": {"c": 2}`.
    """
    return F.concat(F.lit(f'{{"{_OBJECT}":'), text, F.lit(f'\n,"{_END}":true}}'))
