"""Decodes JSON objects, one per record."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.types import ArrayType, BooleanType, DataType, StringType, StructType

from mainstem.dataframes import positions
from mainstem.dataframes.decode import json_keys, misfits
from mainstem.dataframes.decode.format import UNFIT, no_text, parser_options, text_of
from mainstem.dataframes.decode.json_keys import KeyCheck
from mainstem.dataframes.decode.values import has_whole_escapes, is_unaltered, with_wide_bytes


_OBJECT: Final = "__mainstem_object"
_NUMBER: Final = "__mainstem_number"
_CORRUPT: Final = "__mainstem_corrupt"
_END: Final = "__mainstem_end"
_PARSED: Final = "__mainstem_parsed"
LIMITS: Final = {"maxNestingDepth": 1000, "maxStringLen": 20_000_000, "maxNumLen": 1000}
"""Options of Spark's reader for the limits of its parser, Jackson (StreamReadConstraints), with their defaults."""


@dataclass(frozen=True)
class JsonFormat:
    """The format of JSON objects whose fields fit a schema.

    Attributes:
        schema: the columns.
        options: options of Spark's JSON reader.
        many: a record is one object or an array of objects; see `objects`.
        keys: each object has at least one of them; without any, objects may have other keys only.
    """

    schema: StructType
    options: Mapping[str, str]
    many: bool = False
    keys: tuple[str, ...] = ()

    def parse(self, value: Column) -> Column:
        """The object inside a frame as a struct, and the end of the frame; see `_in_frame`."""
        frame_schema = (
            StructType()
            .add(_OBJECT, with_wide_bytes(self._kind))
            .add(_END, BooleanType())
            .add(_CORRUPT, StringType())
        )
        options = parser_options(self.options) | {"columnNameOfCorruptRecord": _CORRUPT}
        text = text_of(value)
        return F.from_json(_in_frame(_as_array(text) if self.many else text), frame_schema, options)

    def columns(self, record: Column) -> list[Column]:
        """The fields of the object."""
        content = record.getField(_OBJECT)
        return [
            _narrow(content.getField(field.name), field.dataType).alias(field.name) for field in self.schema
        ]

    def is_whole(self, record: Column, value: Column, kind: DataType) -> Column:
        """Whether the record is exactly one well-formed object in UTF-8, whose fields fit the schema.

        Spark's from_json alone would take only the first of several objects, replace bytes that are not UTF-8, and return
        null for an empty text. Each of these would lose a record silently.
        """
        fits = _is_parsed(record, many=self.many)
        text = text_of(value)
        fits &= F.is_valid_utf8(text) & has_whole_escapes(text)
        if check := self._key_check:
            fits &= self._has_columns(record, text, kind, check)
        unaltered = is_unaltered(record[_OBJECT], self._kind, text, self.options)
        return fits if unaltered is None else fits & unaltered

    def error(self, record: Column, value: Column) -> Column:
        """The error of a malformed record.

        Spark's other JSON parser, the one of VARIANT, finds why this one did not parse the record.
        """
        text = text_of(value)
        excerpt = F.concat(F.lit(": "), misfits.beginning(text))
        tree = F.try_parse_json(text)
        frame_end = F.try_variant_get(F.try_parse_json(_in_frame(text)), f"$.{_END}", "boolean")
        not_parsed = (
            F.when(record[_PARSED] if self.many else _is_parsed(record), None)
            .when(tree.isNull(), F.concat(self._no_json(text), excerpt))
            .when(
                ~self._is_of_objects(F.schema_of_variant(tree)),
                F.concat(F.lit(self._not_an_object()), excerpt),
            )
            .when(frame_end.isNull(), "something follows the JSON object")
        )
        return (
            no_text(text)
            .when(F.trim(text) == "", "the record is empty")
            .when(~has_whole_escapes(text), r"a \u escape is half of a surrogate pair")
            .otherwise(
                F.coalesce(not_parsed, self._misfit(record, text), self._no_column(text), F.lit(UNFIT))
            )
        )

    def other_case(self, value: Column) -> Column:
        """A key of an object of the record that differs only in case from a column; see `KeyCheck.other_case`."""
        text = text_of(value)
        check = KeyCheck(tuple(self.schema.fieldNames()), self.options)
        if not self.many:
            return check.other_case(text)
        return F.get(F.array_compact(F.transform(self._elements(text), check.other_case)), F.lit(0))

    def _no_json(self, text: Column) -> Column:
        """The error of a text that the parser refuses, possibly for one of the parser's limits."""
        lower_options = {key.lower(): value for key, value in self.options.items()}
        depth, length, digits = (int(lower_options.get(name.lower(), most)) for name, most in LIMITS.items())
        openings = F.length(text) - F.length(F.translate(text, "[{", ""))
        return (
            F.when(openings > depth, f"not valid JSON, or nested deeper than {depth} (maxNestingDepth)")
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
        """The error of the first column that does not fit, in the first object that has one; null if there is none."""
        if not self.many:
            return misfits.in_json(record[_OBJECT], self.schema, text, self.options)

        def misfit_of(element: Column) -> Column:
            parsed = F.from_json(element, with_wide_bytes(self.schema), parser_options(self.options))
            return misfits.in_json(parsed, self.schema, element, self.options)

        messages = F.transform(self._elements(text), misfit_of)
        return F.get(F.filter(messages, lambda message: message.isNotNull()), F.lit(0))

    def _has_columns(self, record: Column, text: Column, kind: DataType, check: KeyCheck) -> Column:
        """Whether each object of the record has a key that is a column.

        The keys are read only if an object has no value in any column, because the text is parsed once more for them.
        """
        content, element = record[_OBJECT], _element(kind)
        if self.many:
            have_values = F.forall(content, lambda fields: json_keys.has_value(fields, element))
            return have_values | F.forall(self._elements(text), check.has_key)
        return json_keys.has_value(content, element) | check.has_key(text)

    def _no_column(self, text: Column) -> Column:
        """The error of the first object without a column; null if there is none."""
        check = self._key_check
        if check is None:
            return F.lit(None).cast("string")
        texts = self._elements(text) if self.many else F.array(text)
        return F.get(F.transform(F.filter(texts, lambda each: ~check.has_key(each)), check.error), F.lit(0))

    @property
    def _key_check(self) -> KeyCheck | None:
        return KeyCheck(self.keys, self.options) if self.keys else None

    def _elements(self, text: Column) -> Column:
        """The text of each object of a record."""
        return F.from_json(_as_array(text), ArrayType(StringType()), dict(self.options))

    @property
    def _kind(self) -> DataType:
        return ArrayType(self.schema) if self.many else self.schema

    def _is_of_objects(self, kind: Column) -> Column:
        objects = kind.startswith("OBJECT")
        return objects | kind.startswith("ARRAY<OBJECT") if self.many else objects

    def _not_an_object(self) -> str:
        return "not a JSON object, or an array of them" if self.many else "not a JSON object"


def objects(records: DataFrame, record: str, whole: str) -> DataFrame:
    """One row for each object of each record of a format with `many`; a record that is not whole stays one row.

    A row keeps whether its record was parsed, for `JsonFormat.error`.

    Args:
        records: the rows, with the columns `record` and `whole`.
        record: name of the column from `parse`; in the result it has one object.
        whole: name of the BOOLEAN column that is true if the record is whole.
    """
    elements = F.col(record)[_OBJECT]
    no_element = F.lit(None).cast(_element(records.schema[record].dataType))
    exploded = F.posexplode(F.when(F.col(whole), elements).otherwise(F.array(no_element)))
    others = [name for name in records.columns if name != record]
    parsed = _is_parsed(F.col(record), many=True).alias(_PARSED)
    rows = records.select(*others, parsed, exploded.alias(_NUMBER, record))
    if positions.POSITION in others:
        rows = rows.withColumn(positions.POSITION, positions.at_element(F.col(_NUMBER)))
    return rows.withColumn(record, F.struct(F.col(record).alias(_OBJECT), _PARSED)).drop(_NUMBER, _PARSED)


def _is_parsed(record: Column, *, many: bool = False) -> Column:
    """Whether Spark's parser has read the whole text of a record as an object, or with `many` as objects only."""
    is_parsed = record[_CORRUPT].isNull() & record[_OBJECT].isNotNull() & record[_END]
    return is_parsed & F.forall(record[_OBJECT], lambda item: item.isNotNull()) if many else is_parsed


def _narrow(column: Column, kind: DataType) -> Column:
    return column if with_wide_bytes(kind) == kind else column.try_cast(kind)


def _element(record: DataType) -> DataType:
    kind = record[_OBJECT].dataType if isinstance(record, StructType) else record
    return kind.elementType if isinstance(kind, ArrayType) else kind


def _as_array(text: Column) -> Column:
    is_array = F.ltrim(text, F.lit(" \t\r\n")).startswith("[")
    return F.when(is_array, text).otherwise(F.concat(F.lit("["), text, F.lit("]")))


def _in_frame(text: Column) -> Column:
    """The record as a field of an object that ends after it: the frame.

    Spark's parser stops after the first object and ignores the rest. In a frame, surplus text either does not parse or
    hides the end of the frame. The line break ends a comment, which the document's options may allow. One malformed
    record passes: one that continues like the inside of an object, `{"a": 1}, "b": {"c": 2}`.
    """
    return F.concat(F.lit(f'{{"{_OBJECT}":'), text, F.lit(f'\n,"{_END}":true}}'))
