"""Decodes JSON objects, one per record."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.types import ArrayType, BooleanType, DataType, StringType, StructType

from mainstem.dataframes.decode import misfits
from mainstem.dataframes.decode.format import UNFIT, no_text, parser_options, text_of
from mainstem.dataframes.decode.values import has_whole_escapes, is_unaltered, with_wide_bytes


_OBJECT: Final = "__mainstem_object"
_CORRUPT: Final = "__mainstem_corrupt"
_END: Final = "__mainstem_end"
LIMITS: Final = {"maxNestingDepth": 1000, "maxStringLen": 20_000_000, "maxNumLen": 1000}
"""Options of Spark's reader for the limits of its parser, Jackson (StreamReadConstraints), with their defaults."""


@dataclass(frozen=True)
class JsonFormat:
    """The format of JSON objects whose fields fit a schema.

    Attributes:
        schema: the columns.
        options: those of Spark's JSON reader.
        many: a record is one object, or an array of them; see `objects`.
    """

    schema: StructType
    options: Mapping[str, str]
    many: bool = False

    def parse(self, value: Column) -> Column:
        """The object within a frame, as a struct, and the frame's end."""
        framed = (
            StructType()
            .add(_OBJECT, with_wide_bytes(self._kind))
            .add(_END, BooleanType())
            .add(_CORRUPT, StringType())
        )
        options = parser_options(self.options) | {"columnNameOfCorruptRecord": _CORRUPT}
        text = text_of(value)
        return F.from_json(_framed(_as_array(text) if self.many else text), framed, options)

    def columns(self, record: Column) -> list[Column]:
        """The fields of the object."""
        found = record.getField(_OBJECT)
        return [
            _narrow(found.getField(field.name), field.dataType).alias(field.name) for field in self.schema
        ]

    def is_whole(self, record: Column, value: Column, kind: DataType) -> Column:  # noqa: ARG002 - the text is asked
        """Whether the record is a whole, well-formed object in UTF-8, and nothing else, whose fields fit the schema.

        Spark's from_json alone would take the first object of an array or of several, replace bytes that are no UTF-8,
        and give null for an empty text: ways to lose a record without a word.
        """
        fits = record[_CORRUPT].isNull() & record[_OBJECT].isNotNull() & record[_END]
        if self.many:
            fits &= F.forall(record[_OBJECT], lambda found: found.isNotNull())
        text = text_of(value)
        fits &= F.is_valid_utf8(text) & has_whole_escapes(text)
        unaltered = is_unaltered(record[_OBJECT], self._kind, text, self.options)
        return fits if unaltered is None else fits & unaltered

    def why(self, record: Column, value: Column) -> Column:
        """What is wrong with the record, as far as Spark's other parser of JSON can tell."""
        text = text_of(value)
        shown = F.concat(F.lit(": "), misfits.beginning(text))
        tree = F.try_parse_json(text)
        framed_end = F.try_variant_get(F.try_parse_json(_framed(text)), f"$.{_END}", "boolean")
        return (
            no_text(text)
            .when(F.trim(text) == "", "the record is empty")
            .when(~has_whole_escapes(text), r"a \u escape is half of a surrogate pair")
            .when(tree.isNull(), F.concat(self._no_json(text), shown))
            .when(~self._is_of_objects(F.schema_of_variant(tree)), F.concat(F.lit(self._wanted()), shown))
            .when(framed_end.isNull(), "something follows the JSON object")
            .otherwise(F.coalesce(self._misfit(record, text), F.lit(UNFIT)))
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

    def _misfit(self, record: Column, text: Column) -> Column:
        """What is said of the first column that does not fit, of the first object that has one; null where none is found."""
        if not self.many:
            return misfits.in_json(record[_OBJECT], self.schema, text, self.options)

        def in_one(element: Column) -> Column:
            parsed = F.from_json(element, with_wide_bytes(self.schema), parser_options(self.options))
            return misfits.in_json(parsed, self.schema, element, self.options)

        each = F.transform(F.from_json(_as_array(text), ArrayType(StringType()), dict(self.options)), in_one)
        return F.get(F.filter(each, lambda said: said.isNotNull()), F.lit(0))

    @property
    def _kind(self) -> DataType:
        return ArrayType(self.schema) if self.many else self.schema

    def _is_of_objects(self, kind: Column) -> Column:
        objects = kind.startswith("OBJECT")
        return objects | kind.startswith("ARRAY<OBJECT") if self.many else objects

    def _wanted(self) -> str:
        return "not a JSON object, or an array of them" if self.many else "not a JSON object"


def objects(records: DataFrame, record: str, whole: str) -> DataFrame:
    """The objects of each record of `many`, one a row; a record that is not whole stays one row.

    Args:
        records: has the parsed record, and the column that says whether it is whole.
        record: name of the column that `parse` gave; it has the one object then.
        whole: name of the column that says whether it is.
    """
    found = F.col(record)[_OBJECT]
    none = F.lit(None).cast(_element(records.schema[record].dataType))
    rows = records.withColumn(record, F.explode(F.when(F.col(whole), found).otherwise(F.array(none))))
    return rows.withColumn(record, F.struct(F.col(record).alias(_OBJECT)))


def _narrow(column: Column, kind: DataType) -> Column:
    return column if with_wide_bytes(kind) == kind else column.try_cast(kind)


def _element(record: DataType) -> DataType:
    kind = record[_OBJECT].dataType if isinstance(record, StructType) else record
    return kind.elementType if isinstance(kind, ArrayType) else kind


def _as_array(text: Column) -> Column:
    is_array = F.ltrim(text, F.lit(" \t\r\n")).startswith("[")
    return F.when(is_array, text).otherwise(F.concat(F.lit("["), text, F.lit("]")))


def _framed(text: Column) -> Column:
    """The record as a field of an object that ends behind it.

    Spark's parser stops behind the first object and leaves out what follows; within a frame that does not parse, or
    the frame's end is not seen. The line break ends a comment, where the document's options allow them. What passes is
    a record that goes on as the inside of an object would: `{"a": 1}, "b": {"c": 2}`.
    """
    return F.concat(F.lit(f'{{"{_OBJECT}":'), text, F.lit(f'\n,"{_END}":true}}'))
