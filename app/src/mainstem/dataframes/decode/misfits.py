"""Describes why a malformed record does not fit the schema: the column, its type and the beginning of its value.

Only malformed records are examined. Spark's parsers set a field that does not fit to null, and continue. If the same
field, read as text, is not null, it does not fit.
"""

import re
from collections.abc import Callable, Mapping
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

from mainstem import logs
from mainstem.dataframes.decode.values import is_unaltered
from mainstem.dataframes.spark_types import named


_BEGINNING: Final = 40
"""Characters of a value that a message shows: enough to recognize the value, too few for a whole document or key."""
_MAX_COLUMNS: Final = 200
"""Columns of an object that are examined; the plan grows with each."""
_CREDENTIAL: Final = re.compile(logs.CREDENTIAL_WORDS, re.IGNORECASE)
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
    text = F.regexp_replace(F.substring(value, 1, _BEGINNING + 1), r"[\x00-\x1f\x7f]", " ")
    cut = F.concat(F.substring(text, 1, _BEGINNING), F.lit("..."))
    return F.concat(F.lit("'"), F.when(F.length(text) > _BEGINNING, cut).otherwise(text), F.lit("'"))


def beginning_of_bytes(value: Column) -> Column:
    """The first bytes of a value, as hexadecimal digits."""
    size = F.octet_length(value)
    more = F.when(size > _BEGINNING // 2, "...").otherwise("")
    return F.concat(F.hex(F.substring(value, 1, _BEGINNING // 2)), more)


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
    return _first(_in_object(record, schema, text, _Line(text, options), ""))


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
        return _misfit(field, _is_unfit(record[field.name], field, line), value, line, "")

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


def _first(misfits: Column) -> Column:
    """The message about the first misfit in an array; a column that fits is null in it. Null if all columns fit."""
    unfit = F.filter(misfits, lambda each: each.isNotNull())
    messages = F.transform(unfit, lambda each: F.concat(each["message"], beginning(each["value"])))
    return F.get(messages, F.lit(0))


def _in_object(record: Column, schema: StructType, text: Column, line: _Line, within: str) -> Column:
    """The misfits among the fields of an object, and of the objects inside it, as an array."""

    def misfits(raw: Column) -> Column:
        inner: list[Column] = []
        own: list[Column] = []
        null_items: list[Column] = []  # a null item may also be in the record itself
        for field in schema.fields[:_MAX_COLUMNS]:
            parsed, value = record.getField(field.name), raw.getItem(field.name)
            if _has_fields(field.dataType):
                inner.append(_inside(parsed, field.dataType, value, line, f"{within}{field.name}"))
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


def _inside(parsed: Column, kind: DataType, text: Column, line: _Line, name: str) -> Column:
    """The misfits among the fields of a value, of the elements of an array, or of the values of a map, as an array.

    Args:
        parsed: the value.
        kind: its type, which has fields.
        text: its text in the record.
        line: the record.
        name: its path, such as `a.element` or `m.value`.
    """
    if isinstance(kind, StructType):
        return _in_object(parsed, kind, text, line, f"{name}.")
    if isinstance(kind, MapType):
        values, inner, each = F.map_values(parsed), kind.valueType, f"{name}.value"
        texts = F.map_values(fields_as_texts(text, line.options))
    else:
        assert isinstance(kind, ArrayType)
        values, inner, each = parsed, kind.elementType, f"{name}.element"
        texts = F.from_json(text, ArrayType(StringType()), dict(line.options))
    return _or_empty(
        F.flatten(F.zip_with(values, texts, lambda value, raw: _inside(value, inner, raw, line, each)))
    )


def _or_empty(misfits: Column) -> Column:
    """The misfits; an empty array if the text cannot be read."""
    return F.coalesce(misfits, F.array().cast("array<struct<message:string,value:string>>"))


def _is_unfit(value: Column, field: StructField, line: _Line) -> Column:
    """Whether a field is null or its value differs from the text; the fields of a struct are checked one by one."""
    kind = None if isinstance(field.dataType, StructType) else field.dataType
    unaltered = kind and is_unaltered(value, kind, line.text, line.options)
    return value.isNull() if unaltered is None else value.isNull() | ~F.coalesce(unaltered, F.lit(True))


def _misfit(field: StructField, unfit: Column, raw: Column, line: _Line, within: str) -> Column:
    """The message about a column and its value if the value does not fit, else null."""
    name = f"{within}{field.name}"
    value = F.lit("*****") if _CREDENTIAL.search(f"{name} {named(field.dataType)}") else raw
    message = F.lit(f"the column {name!r} must be {_form(field.dataType, line.options)}, but its value is ")
    return F.when(unfit & raw.isNotNull(), F.struct(message.alias("message"), value.alias("value")))


def _form(kind: DataType, options: Mapping[str, str]) -> str:
    """The type, with the pattern or an example of its text for dates and times."""
    lower_options = {key.lower(): value for key, value in options.items()}
    name = named(kind)
    name = name if len(name) <= _BEGINNING * 2 else f"{name[: _BEGINNING * 2]}..."
    if type(kind) not in _FORMS:
        return name
    option, example = _FORMS[type(kind)]
    pattern = lower_options.get(option.lower())
    return f"{name} of the {option} {pattern}" if pattern else f"{name}, {example}"
