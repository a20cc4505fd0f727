"""Describes why a malformed record does not fit the schema: the column, its type and the beginning of its value.

Only malformed records are examined. Spark's parsers set a field that does not fit to null, and continue. If the same
field, read as text, is not null, it does not fit.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, NamedTuple

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DateType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from mainstem.dataframes.decode.record_path import BEGINNING, RecordPath, cut, masked
from mainstem.dataframes.decode.values import is_unaltered
from mainstem.dataframes.spark_types import named


_LARGEST: Final = 16_384
"""Bytes of a record in which the digits of a number are looked for."""
_MAX_COLUMNS: Final = 200
"""Columns of an object that are examined; the plan grows with each."""
_NUMBER: Final = r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"
_RENDERED: Final = r"^-?[0-9]{1,20}\.[0-9]{1,20}(E-?[0-9]{1,3})?$"
"""How Spark renders a number with a fraction or an exponent that it reads as text: `1.0E7` for `10000000.0` and `1e7`."""
_FORMS: Final[Mapping[type[DataType], tuple[str, str]]] = {
    DateType: ("dateFormat", "such as 2024-01-31"),
    TimestampType: ("timestampFormat", "such as 2024-01-31T12:30:00Z"),
    TimestampNTZType: ("timestampNTZFormat", "such as 2024-01-31T12:30:00"),
}


class _Line(NamedTuple):
    """The text of a record and the options of its parser, which are the same for all columns."""

    text: Column
    options: Mapping[str, str]


def beginning(value: Column) -> Column:
    """The beginning of a text on one line, quoted."""
    return F.concat(F.lit("'"), cut(value), F.lit("'"))


def beginning_of_bytes(value: Column) -> Column:
    """The first bytes of a value, as hexadecimal digits."""
    size = F.octet_length(value)
    more = F.when(size > BEGINNING // 2, "...").otherwise("")
    return F.concat(F.hex(F.substring(value, 1, BEGINNING // 2)), more)


def in_json(record: Column, schema: StructType, text: Column, options: Mapping[str, str]) -> Column:
    """The message about the first column that does not fit in a well-formed JSON object.

    Args:
        record: the parsed object.
        schema: the columns of the object.
        text: the text of the object.
        options: options of Spark's JSON reader.

    Returns:
        A STRING, null if every column fits.
    """
    return _first(_in_object(record, schema, text, _Line(text, options), RecordPath()), text)


def in_csv(
    record: Column, raw: Column, schema: StructType, text: Column, options: Mapping[str, str]
) -> Column:
    """The message about the first column that does not fit in a line that has one field for each column.

    Args:
        record: the parsed line.
        raw: the line, parsed with all columns as STRING.
        schema: the columns.
        text: the text of the line.
        options: options of Spark's CSV reader.

    Returns:
        A STRING, null if every column fits.
    """
    line = _Line(text, options)

    def misfit(field: StructField, value: Column) -> Column:
        return _misfit(field, _is_unfit(record[field.name], field, line), value, line, RecordPath())

    def misfits(parsed: Column) -> Column:
        return F.array(*(misfit(field, parsed[field.name]) for field in schema.fields[:_MAX_COLUMNS]))

    return _first(bound(raw, misfits))


def fields_as_texts(text: Column, options: Mapping[str, str]) -> Column:
    """Key -> text of each field of a JSON object, by options of Spark's JSON reader; null if it cannot be read."""
    return F.from_json(text, MapType(StringType(), StringType()), dict(options))


def bound(value: Column, use: Callable[[Column], Column]) -> Column:
    """The result of `use` for a value that Spark computes once, because the value is the variable of a lambda.

    Spark never generates code for a lambda. Generated code for this expression, which few records need, would be so long
    that Java would no longer compile the code for all records. And Spark infers from a condition what holds for each
    column that is a part of it: it doubles its inferences with each field of a record that the condition has, up to a full
    heap with 14 columns. The fields of a lambda's variable are not those of the columns.
    """
    return F.get(F.transform(F.array(value), use), F.lit(0))


def _first(misfits: Column, text: Column | None = None) -> Column:
    """The message about the first misfit in an array; a column that fits is null in it. Null if all columns fit.

    Args:
        misfits: the array.
        text: the record's text, if the values are those that Spark has rendered.
    """

    def message(misfit: Column) -> Column:
        value = misfit["value"]
        return F.concat(misfit["message"], beginning(value if text is None else _as_written(value, text)))

    return bound(F.get(F.filter(misfits, lambda each: each.isNotNull()), F.lit(0)), message)


def _as_written(value: Column, text: Column) -> Column:
    """A number with the digits of the record, if it is certain which they are; other values as they are.

    They are certain if all numbers of the record's text that have this value have the same digits.
    """

    def digits(number: Column) -> Column:
        numbers = F.regexp_extract_all(text, F.lit(_NUMBER), F.lit(0))
        same = F.array_distinct(F.filter(numbers, lambda each: each.try_cast("double") == number))
        return bound(same, lambda texts: F.when(F.size(texts) == 1, F.get(texts, F.lit(0))).otherwise(value))

    is_rendered = F.rlike(value, F.lit(_RENDERED)) & (F.octet_length(text) <= _LARGEST)
    return F.when(is_rendered, bound(value.try_cast("double"), digits)).otherwise(value)


def _in_object(record: Column, schema: StructType, text: Column, line: _Line, within: RecordPath) -> Column:
    """The misfits among the fields of an object, and of the objects inside it, as an array."""

    def misfits(raw: Column) -> Column:
        inner: list[Column] = []
        own: list[Column] = []
        null_items: list[Column] = []  # a null item may also be in the record itself
        for field in schema.fields[:_MAX_COLUMNS]:
            parsed, value = record.getField(field.name), raw.getItem(field.name)
            if _has_fields(field.dataType):
                inner.append(_inside(parsed, field.dataType, value, line, within.field(field.name)))
            if isinstance(field.dataType, ArrayType):
                empty = F.exists(parsed, lambda item: item.isNull())
                null_items.append(_misfit(field, empty, value, line, within))
            unfit = _is_unfit(parsed, field, line)
            own.append(_misfit(field, unfit, value, line, within))
        return F.concat(*inner, F.array(*own, *null_items)) if inner else F.array(*own, *null_items)

    return _or_empty(bound(fields_as_texts(text, line.options), misfits))


def _has_fields(kind: DataType) -> bool:
    """Whether a type has fields of its own, at any depth: they are examined one by one."""
    if isinstance(kind, ArrayType):
        return _has_fields(kind.elementType)
    return isinstance(kind, StructType) or (isinstance(kind, MapType) and _has_fields(kind.valueType))


def _inside(parsed: Column, kind: DataType, text: Column, line: _Line, path: RecordPath) -> Column:
    """The misfits among the fields of a value, of the elements of an array, or of the values of a map, as an array.

    Args:
        parsed: the value.
        kind: its type, which has fields.
        text: its text in the record.
        line: the record.
        path: the way to it.
    """
    if isinstance(kind, StructType):
        return _in_object(parsed, kind, text, line, path)
    if isinstance(kind, MapType):
        texts = F.map_entries(fields_as_texts(text, line.options))
        pairs = F.arrays_zip(F.map_values(parsed).alias("value"), texts.alias("raw"))
        misfits = F.transform(pairs, partial(_in_entry, kind.valueType, line, path))
    else:
        assert isinstance(kind, ArrayType)
        texts = F.from_json(text, ArrayType(StringType()), dict(line.options))
        pairs = F.arrays_zip(parsed.alias("value"), texts.alias("raw"))
        misfits = F.transform(pairs, partial(_in_element, kind.elementType, line, path))
    return _or_empty(F.flatten(misfits))


def _in_entry(kind: DataType, line: _Line, path: RecordPath, pair: Column, _number: Column) -> Column:
    key, text = pair["raw"]["key"], pair["raw"]["value"]
    return _inside(pair["value"], kind, text, line, path.entry(key))


def _in_element(kind: DataType, line: _Line, path: RecordPath, pair: Column, number: Column) -> Column:
    return _inside(pair["value"], kind, pair["raw"], line, path.element(number))


def _or_empty(misfits: Column) -> Column:
    """The misfits; an empty array if the text cannot be read."""
    return F.coalesce(misfits, F.array().cast("array<struct<message:string,value:string>>"))


def _is_unfit(value: Column, field: StructField, line: _Line) -> Column:
    """Whether a field is null or its value differs from the text; the fields of a struct are checked one by one."""
    kind = None if isinstance(field.dataType, StructType) else field.dataType
    unaltered = kind and is_unaltered(value, kind, line.text, line.options)
    return value.isNull() if unaltered is None else value.isNull() | ~F.coalesce(unaltered, F.lit(True))


def _misfit(field: StructField, unfit: Column, raw: Column, line: _Line, within: RecordPath) -> Column:
    """The message about a column and its value if the value does not fit, else null."""
    path = within.field(field.name)
    hidden = path.is_credential(field.dataType)
    form = F.lit(f"' must be {_form(field.dataType, line.options)}, but its value is ")
    message = F.concat(F.lit("the column '"), path.text(hidden), form).alias("message")
    value = masked(raw, hidden).alias("value")
    return F.when(unfit & raw.isNotNull(), F.struct(message, value))


def _form(kind: DataType, options: Mapping[str, str]) -> str:
    """The type, with the pattern or an example of its text for dates and times."""
    lower_options = {key.lower(): value for key, value in options.items()}
    name = named(kind)
    name = name if len(name) <= BEGINNING * 2 else f"{name[: BEGINNING * 2]}..."
    if type(kind) not in _FORMS:
        return name
    option, example = _FORMS[type(kind)]
    pattern = lower_options.get(option.lower())
    return f"{name} of the {option} {pattern}" if pattern else f"{name}, {example}"
